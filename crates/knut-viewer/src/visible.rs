//! Text from a server, made safe to show: nothing in it can act on a terminal or turn lines around.

use std::borrow::Cow;
use std::fmt::Write as _;

/// `text` with every control character, every mark that changes the direction of text and every
/// character without width that joins nothing written as its code point, `\u{1b}`. Line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Whether [`visible`] replaces it.
pub fn is_hidden(c: char) -> bool {
    let turns_text =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}');
    // Nothing to see, but another name: `orders` with a zero-width space in it.
    let is_invisible = matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{ad}');
    let breaks_line = matches!(c, '\u{2028}' | '\u{2029}' | '\u{85}');
    turns_text || is_invisible || breaks_line || (c.is_control() && c != '\n' && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C095
    #[test]
    fn what_could_act_on_a_terminal_is_shown_instead() {
        for (text, shown) in [
            ("plain ünï 漢 🚀\n\tnext", "plain ünï 漢 🚀\n\tnext"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("\u{1b}]52;c;x\u{7}", "\\u{1b}]52;c;x\\u{7}"),
            ("a\rb\u{8}\u{9b}c", "a\\u{d}b\\u{8}\\u{9b}c"),
            ("\u{202e}evil\u{2066}", "\\u{202e}evil\\u{2066}"),
            ("\u{feff}or\u{200b}ders 👩\u{200d}💻", "\\u{feff}or\\u{200b}ders 👩\u{200d}💻"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}
