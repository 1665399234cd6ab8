//! Takes the serialized file descriptor out of a `*_pb2.py` module, without Python.
//!
//! The generated modules hold one call `AddSerializedFile(b'…')`. Only the bytes literals that `protoc` and code
//! formatters write are understood; anything else is an error, because a wrong guess would be a wrong schema.

use std::fmt;

/// The call whose argument is the descriptor.
const CALL: &str = "AddSerializedFile(";

/// Why no descriptor could be taken from a module. Offsets are in bytes from the start of the module's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LiteralError {
    /// The module does not call `AddSerializedFile`.
    NoCall,
    /// Something other than a `b'…'` or `b"…"` literal, or the closing parenthesis, stands at the offset.
    Unexpected { offset: usize },
    /// The text ends, or the line breaks, before the literal does.
    Unterminated { start: usize },
    /// A backslash is followed by something that is not one of the escapes of a bytes literal.
    UnknownEscape { offset: usize },
    /// A character that a bytes literal cannot hold as it stands.
    NotAscii { offset: usize },
}

impl fmt::Display for LiteralError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCall => write!(f, "no call of `{CALL}…)`"),
            Self::Unexpected { offset } => {
                write!(f, "expected a bytes literal or `)` at byte {offset}")
            }
            Self::Unterminated { start } => {
                write!(f, "the bytes literal that starts at byte {start} does not end")
            }
            Self::UnknownEscape { offset } => write!(f, "unknown escape at byte {offset}"),
            Self::NotAscii { offset } => {
                write!(f, "a byte that is not ASCII in the bytes literal, at byte {offset}")
            }
        }
    }
}

impl std::error::Error for LiteralError {}

/// The bytes that `module` hands to `AddSerializedFile`. Adjacent literals are joined, as Python does.
pub(super) fn serialized_file(module: &str) -> Result<Vec<u8>, LiteralError> {
    let call = module.find(CALL).ok_or(LiteralError::NoCall)?;
    let mut reader = Reader { text: module.as_bytes(), at: call + CALL.len() };
    let mut bytes = Vec::new();
    reader.skip_space();
    reader.literal(&mut bytes)?;
    loop {
        reader.skip_space();
        match reader.peek() {
            Some(b')') => return Ok(bytes),
            _ => reader.literal(&mut bytes)?,
        }
    }
}

/// A place in the module's text.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Reads one `b'…'` or `b"…"` and appends what it stands for.
    fn literal(&mut self, bytes: &mut Vec<u8>) -> Result<(), LiteralError> {
        let start = self.at;
        let (Some(b'b'), Some(quote @ (b'\'' | b'"'))) = (self.next(), self.next()) else {
            return Err(LiteralError::Unexpected { offset: start });
        };
        loop {
            let offset = self.at;
            match self.next() {
                None | Some(b'\n' | b'\r') => return Err(LiteralError::Unterminated { start }),
                Some(byte) if byte == quote => return Ok(()),
                Some(b'\\') => {
                    if self.peek().is_none() {
                        return Err(LiteralError::Unterminated { start });
                    }
                    let byte = self.escape().ok_or(LiteralError::UnknownEscape { offset })?;
                    bytes.push(byte);
                }
                Some(byte) if byte.is_ascii() => bytes.push(byte),
                Some(_) => return Err(LiteralError::NotAscii { offset }),
            }
        }
    }

    /// Reads what follows a backslash: a single-letter escape, `xHH`, or one to three octal digits.
    fn escape(&mut self) -> Option<u8> {
        let byte = match self.next()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'a' => 0x07,
            b'b' => 0x08,
            b'v' => 0x0b,
            b'f' => 0x0c,
            quoted @ (b'\\' | b'\'' | b'"') => quoted,
            b'x' => {
                let high = digit(self.next()?, 16)?;
                let low = digit(self.next()?, 16)?;
                high << 4 | low
            }
            first @ b'0'..=b'7' => {
                let mut value = digit(first, 8)?;
                for _ in 0..2 {
                    let Some(next) = self.peek().and_then(|byte| digit(byte, 8)) else {
                        break;
                    };
                    self.at += 1;
                    // Three octal digits can say more than a byte holds.
                    value = value.checked_mul(8)?.checked_add(next)?;
                }
                value
            }
            _ => return None,
        };
        Some(byte)
    }
}

/// The value of an ASCII digit in the given base.
fn digit(byte: u8, base: u32) -> Option<u8> {
    u8::try_from(char::from(byte).to_digit(base)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(literals: &str, expected: Result<&[u8], LiteralError>) {
        let module = format!("x = 1\nDESCRIPTOR = pool.{CALL}{literals}");
        assert_eq!(serialized_file(&module), expected.map(<[u8]>::to_vec), "{literals}");
    }

    /// The offset of the first byte after the opening parenthesis in `check`'s module.
    const ARGUMENT: usize = "x = 1\nDESCRIPTOR = pool.".len() + CALL.len();

    #[test]
    fn every_escape_of_a_bytes_literal_is_read() {
        check(r"b'plain')", Ok(b"plain"));
        check(r"b'\n\r\t\a\b\v\f')", Ok(b"\n\r\t\x07\x08\x0b\x0c"));
        check(r#"b'\\ \' \" "')"#, Ok(b"\\ ' \" \""));
        check(r"b'\x00\xfF\x7f')", Ok(b"\x00\xff\x7f"));
        check(r"b'\0\12\1234\377\08')", Ok(b"\x00\n\x534\xff\x008"));
        check("b'')", Ok(b""));
    }

    #[test]
    fn adjacent_literals_are_joined() {
        check("\n    b'one '\n    b\"two\"\n)", Ok(b"one two"));
    }

    #[test]
    fn a_truncated_literal_is_an_error() {
        let unterminated = || Err(LiteralError::Unterminated { start: ARGUMENT });
        check("b'abc", unterminated());
        check("b'abc\\", unterminated());
        check("b'abc\n')", unterminated());
        check(r"b'abc\')", unterminated());
        check(r"b'\x4", Err(LiteralError::UnknownEscape { offset: ARGUMENT + 2 }));
        check("b'abc'", Err(LiteralError::Unexpected { offset: ARGUMENT + 6 }));
        check("", Err(LiteralError::Unexpected { offset: ARGUMENT }));
        check("b", Err(LiteralError::Unexpected { offset: ARGUMENT }));
    }

    #[test]
    fn an_unknown_escape_is_an_error() {
        for literal in [r"b'ab\q')", r"b'ab\u0041')", r"b'ab\xg0')", r"b'ab\400')", r"b'ab\8')"] {
            check(literal, Err(LiteralError::UnknownEscape { offset: ARGUMENT + 4 }));
        }
    }

    #[test]
    fn what_is_not_a_bytes_literal_is_an_error() {
        check("'text')", Err(LiteralError::Unexpected { offset: ARGUMENT }));
        check("rb'raw')", Err(LiteralError::Unexpected { offset: ARGUMENT }));
        check("b'a', 1)", Err(LiteralError::Unexpected { offset: ARGUMENT + 4 }));
        check("b'é')", Err(LiteralError::NotAscii { offset: ARGUMENT + 2 }));
        assert_eq!(serialized_file("import os\n"), Err(LiteralError::NoCall));
    }
}
