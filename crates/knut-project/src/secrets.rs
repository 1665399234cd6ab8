//! Secrets that stand in a project's files, kept out of what is shown of them.

/// What a connection string's token follows.
const TOKEN: &str = "token=";

/// The text with the tokens of connection strings as asterisks, byte for byte as long, so that
/// places in it stay what they are.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = find(rest) {
        let (before, after) = rest.split_at(at + TOKEN.len());
        out.push_str(before);
        let is_end = |c: char| c.is_whitespace() || matches!(c, ';' | '"' | '\'' | '`' | ',' | '}' | ']');
        let (token, others) = after.split_at(after.find(is_end).unwrap_or(after.len()));
        out.push_str(&"*".repeat(token.len()));
        rest = others;
    }
    out.push_str(rest);
    out
}

fn find(text: &str) -> Option<usize> {
    text.as_bytes().windows(TOKEN.len()).position(|window| window.eq_ignore_ascii_case(TOKEN.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_hidden_and_places_stay() {
        for (text, shown) in [
            ("sc://h/;token=SEKRIT", "sc://h/;token=******"),
            ("a: \"sc://h/;TOKEN=é;user_id=u\"", "a: \"sc://h/;TOKEN=**;user_id=u\""),
            ("token=", "token="),
            ("token=a token=b\n", "token=* token=*\n"),
            ("no secret", "no secret"),
        ] {
            assert_eq!(masked(text), shown);
            assert_eq!(text.len(), shown.len());
        }
    }
}
