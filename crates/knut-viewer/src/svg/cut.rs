//! Names that are too long lose their middle: the ends of names differ most.

/// How many cells of a monospaced font a character takes: what China, Japan and Korea write takes
/// two, what is put onto another character none.
fn cells_of(c: char) -> u32 {
    match u32::from(c) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f | 0x20d0..=0x20ff => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// How many cells a text takes.
pub(super) fn cells(text: &str) -> f64 {
    f64::from(text.chars().map(cells_of).sum::<u32>())
}

/// The text, with an ellipsis for its middle if it has more than `most` characters.
pub(super) fn cut_to(text: &str, most: usize) -> String {
    let n = text.chars().count();
    if n <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let (head, tail) = (kept / 2, kept - kept / 2);
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(n - tail).collect();
    format!("{begin}…{end}")
}
