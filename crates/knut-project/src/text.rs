//! Reads text files that nobody has checked: bounded in size, strictly UTF-8.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::code::Code;
use crate::problem::{Lines, Problem};

/// The longest piece of somebody's file that a message repeats, in characters.
const MAX_QUOTED_CHARS: usize = 120;

/// The byte order mark of UTF-8.
const BOM: &[u8] = &[0xEF, 0xBB, 0xBF];

/// Reads a text file, without its byte order mark.
///
/// `shown` names the file in messages. The file is read only up to `max_bytes`, so that a device
/// or a huge file named by mistake does no harm.
pub(crate) fn read(path: &Path, shown: &str, max_bytes: u64) -> Result<String, Problem> {
    // A named pipe would be waited for without end.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Problem::new(Code::UNREADABLE_FILE, shown, "this is not a regular file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Err(Problem::new(Code::UNREADABLE_FILE, shown, format!("the file cannot be read: {}", reason(&error))));
    }
    if u64::try_from(bytes.len()).is_ok_and(|n_bytes| n_bytes > max_bytes) {
        return Err(Problem::new(Code::UNREADABLE_FILE, shown, format!("the file is larger than {max_bytes} bytes")));
    }
    decode(&bytes, shown).map(str::to_owned)
}

/// The beginning of a file that is not UTF-8, to be shown; `None` if it cannot be read.
pub(crate) fn read_lossy(path: &Path, max_bytes: u64) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(max_bytes).read_to_end(&mut bytes).ok()?;
    let body = bytes.strip_prefix(BOM).unwrap_or(&bytes);
    Some(String::from_utf8_lossy(body).into_owned())
}

/// Takes bytes as UTF-8, without a byte order mark.
pub(crate) fn decode<'a>(bytes: &'a [u8], shown: &str) -> Result<&'a str, Problem> {
    let save = "save the file as UTF-8";
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        let message = "the file is UTF-16, not UTF-8: a UTF-16 byte order mark stands at byte offset 0";
        return Err(Problem::new(Code::NOT_UTF8, shown, message).help(save));
    }
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let body = &bytes[start..];
    let invalid = std::str::from_utf8(body).err().map(|error| error.valid_up_to());
    let nul = body.iter().position(|byte| *byte == 0);
    let Some(first) = invalid.into_iter().chain(nul).min() else {
        // Decoded anew, because the borrow of the first result ends with its error.
        return std::str::from_utf8(body).map_err(|_| Problem::new(Code::NOT_UTF8, shown, "the file is not UTF-8"));
    };
    let message = match body[first] {
        0 if first <= 1 => format!("a NUL byte stands at byte offset {}: the file looks like UTF-16", start + first),
        0 => format!("a NUL byte stands at byte offset {}", start + first),
        byte => {
            format!("the file is not UTF-8: byte 0x{byte:02X} at byte offset {} begins no character", start + first)
        }
    };
    let before = std::str::from_utf8(&body[..first]).unwrap_or_default();
    Err(Problem::new(Code::NOT_UTF8, shown, message).at(Lines::new(before).place(before.len())).help(save))
}

/// An error of the file system in the words of this crate's messages.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    }
}

/// Somebody's text in backticks, cut when long.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("`{}…`", visible(&text[..end], |_| false)),
        None => format!("`{}`", visible(text, |_| false)),
    }
}

/// A text in which characters that could act on a terminal are written as escapes, except those
/// that may stay.
pub(crate) fn visible(text: &str, may_stay: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) && !may_stay(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Control characters, and those that hide or turn the text around them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C002, C024: byte order marks, UTF-16, NUL and invalid bytes.
    #[test]
    fn bytes_are_utf8_without_bom_or_refused_with_their_offset() {
        let check = |bytes: &[u8], expected: Result<&str, &str>| {
            let result = decode(bytes, "f").map_err(|problem| problem.to_string());
            assert_eq!(result.as_ref().map(|text| &**text).map_err(|message| &**message), expected, "{bytes:?}");
        };
        check(b"", Ok(""));
        check("é\r\n".as_bytes(), Ok("é\r\n"));
        check(b"\xEF\xBB\xBFa", Ok("a"));
        let utf16 = "f: the file is UTF-16, not UTF-8: a UTF-16 byte order mark stands at byte offset 0";
        check(b"\xFF\xFEa\0", Err(utf16));
        check(b"\xFE\xFF\0a", Err(utf16));
        check(b"a\0b\0", Err("f:1:2: a NUL byte stands at byte offset 1: the file looks like UTF-16"));
        check(b"ab\ncd\0", Err("f:2:3: a NUL byte stands at byte offset 5"));
        check(
            b"\xEF\xBB\xBF\xC3\xA9\xFFx",
            Err("f:1:2: the file is not UTF-8: byte 0xFF at byte offset 5 begins no character"),
        );
        check(b"a\xE6\xBC", Err("f:1:2: the file is not UTF-8: byte 0xE6 at byte offset 1 begins no character"));
    }

    #[test]
    fn a_file_over_the_limit_is_refused_without_reading_it_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, "f", 5).unwrap(), "12345");
        assert_eq!(read(&path, "f", 4).unwrap_err().message, "the file is larger than 4 bytes");
        let missing = read(&folder.path().join("g"), "g", 4).unwrap_err();
        assert_eq!(missing.to_string(), "g: the file cannot be read: there is no such file");
    }

    #[test]
    fn quoted_text_cannot_act_on_a_terminal() {
        assert_eq!(quoted("a\u{1B}[31m\u{202E}"), r"`a\u{1b}[31m\u{202e}`");
        assert_eq!(quoted(&"x".repeat(500)).chars().count(), MAX_QUOTED_CHARS + 3);
    }
}
