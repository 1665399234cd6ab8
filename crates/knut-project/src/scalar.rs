//! What a plain YAML scalar means. The reference client reads YAML 1.1, in which `yes`, `010` and
//! `2024-01-01` are no strings; a spec that knut takes must mean the same there.

/// The type of a scalar that stands without quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainType {
    Null,
    Boolean,
    Number,
    Date,
    Text,
}

impl PlainType {
    /// The type of the plain scalar `text`. Source: YAML 1.1 as PyYAML resolves it.
    pub(crate) fn of(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => Self::Null,
            "yes" | "Yes" | "YES" | "no" | "No" | "NO" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE"
            | "on" | "On" | "ON" | "off" | "Off" | "OFF" => Self::Boolean,
            _ if is_integer(text) || is_float(text) => Self::Number,
            _ if is_date(text) => Self::Date,
            _ => Self::Text,
        }
    }

    /// The type with its article, for messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Null => "empty",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Date => "a date",
            Self::Text => "a string",
        }
    }
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn all(text: &str, is_one: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(|byte| is_one(byte) || byte == b'_')
}

/// Digits, underscores too, that begin with a digit.
fn is_digits(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && all(text, |byte| byte.is_ascii_digit())
}

fn is_integer(text: &str) -> bool {
    let text = unsigned(text);
    if let Some(binary) = text.strip_prefix("0b") {
        return all(binary, |byte| matches!(byte, b'0' | b'1'));
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return all(hex, |byte| byte.is_ascii_hexdigit());
    }
    if let Some(octal) = text.strip_prefix('0') {
        return octal.is_empty() || all(octal, |byte| matches!(byte, b'0'..=b'7'));
    }
    match text.split_once(':') {
        Some((first, rest)) => is_digits(first) && is_sixty_parts(rest),
        None => is_digits(text),
    }
}

/// Parts of a number in base 60, each 0 to 59: `1:30` is ninety.
fn is_sixty_parts(text: &str) -> bool {
    text.split(':').all(|part| match part.as_bytes() {
        [one] => one.is_ascii_digit(),
        [tens, one] => matches!(tens, b'0'..=b'5') && one.is_ascii_digit(),
        _ => false,
    })
}

fn is_float(text: &str) -> bool {
    let bare = unsigned(text);
    if matches!(bare, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let Some((whole, rest)) = bare.split_once('.') else { return false };
    if let Some((first, parts)) = whole.split_once(':') {
        return is_digits(first) && is_sixty_parts(parts) && (rest.is_empty() || all(rest, |b| b.is_ascii_digit()));
    }
    let (fraction, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    // The sign is not optional: `1.5e3` is a string.
    let has_exponent = exponent.is_none_or(|exponent| {
        exponent.starts_with(['-', '+']) && exponent.len() > 1 && exponent[1..].bytes().all(|b| b.is_ascii_digit())
    });
    let has_number = if whole.is_empty() {
        // Without a whole part, PyYAML takes no sign.
        bare.len() == text.len() && is_digits(fraction)
    } else {
        is_digits(whole) && (fraction.is_empty() || all(fraction, |b| b.is_ascii_digit()))
    };
    has_exponent && has_number
}

fn is_date(text: &str) -> bool {
    let is_number = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    let (date, time) = text.split_at(end);
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    if time.is_empty() {
        return is_number(year, 4..=4) && is_number(month, 2..=2) && is_number(day, 2..=2);
    }
    let clock = match time.strip_prefix(['T', 't']) {
        Some(clock) => clock,
        None => time.trim_start_matches([' ', '\t']),
    };
    // The seconds may have a fraction and a zone after them, whose spelling decides nothing here.
    let clock: Vec<&str> = clock.splitn(3, ':').collect();
    let [hour, minute, second] = clock[..] else { return false };
    let second = second.get(..2).unwrap_or_default();
    is_number(year, 4..=4)
        && is_number(month, 1..=2)
        && is_number(day, 1..=2)
        && is_number(hour, 1..=2)
        && is_number(minute, 2..=2)
        && is_number(second, 2..=2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_have_the_types_of_yaml_1_1() {
        let cases = [
            (PlainType::Null, vec!["", "~", "null", "NULL"]),
            (PlainType::Boolean, vec!["true", "False", "yes", "NO", "on", "Off"]),
            (
                PlainType::Number,
                vec![
                    "4",
                    "-4",
                    "+4",
                    "1_000",
                    "0",
                    "010",
                    "0x1F",
                    "0b11",
                    "1:30",
                    "190:20:30",
                    "4.",
                    "4.5",
                    "-4.5",
                    "1_0.5",
                    ".5",
                    "1.5e+3",
                    "1.5E-3",
                    ".inf",
                    "-.INF",
                    ".nan",
                    "1:30.5",
                ],
            ),
            (PlainType::Date, vec!["2024-01-31", "2024-1-3 4:05:06", "2024-01-31T04:05:06Z"]),
            (
                PlainType::Text,
                vec![
                    "a",
                    "y",
                    "nO",
                    "tRUE",
                    "4m",
                    "1e5",
                    "1.5e3",
                    "08",
                    "0o7",
                    "-.5",
                    "1:75",
                    "1:",
                    "2024-1-3",
                    "nil",
                    "2024-01-31x",
                    "_1",
                    "+",
                    "-",
                    ".",
                    "1.2.3",
                    "0x",
                    "4-5",
                    "::",
                    "spark",
                ],
            ),
        ];
        for (expected, texts) in cases {
            for text in texts {
                assert_eq!(PlainType::of(text), expected, "{text}");
            }
        }
    }
}
