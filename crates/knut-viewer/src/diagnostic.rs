//! An error of the server, taken apart as far as its text allows.

/// An error of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Spark's error class, such as `DIVIDE_BY_ZERO`; `None` when the server gave none: some of
    /// its errors have no class.
    pub error_class: Option<String>,
    /// The SQLSTATE, such as `22012`; `None` when the server gave none.
    pub sql_state: Option<String>,
    /// The JVM class of the exception; `None` when only its text is known, as in events.
    pub exception: Option<String>,
    /// The whole text as sent, with causes and logical plans.
    pub message: String,
}

const SQL_STATE: &str = "SQLSTATE: ";

impl Diagnostic {
    /// Reads class and SQLSTATE out of a text in Spark's form, `[CLASS] … SQLSTATE: 12345 …`.
    ///
    /// Only a class at the very beginning counts: a user's own message may quote another one.
    pub fn from_text(message: impl Into<String>) -> Self {
        let message = message.into();
        let error_class = leading_class(&message).map(str::to_owned);
        let sql_state = sql_state_end(&message).map(|end| message[end - 5..end].to_owned());
        Self { error_class, sql_state, exception: None, message }
    }

    /// The message without the logical plan and the repeated causes that follow it.
    ///
    /// Spark puts the SQLSTATE at the end of what a person should read; a position in the
    /// statement may follow it. A message without SQLSTATE is given whole, up to its first
    /// empty line.
    pub fn summary(&self) -> &str {
        let text = self.message.trim();
        let Some(end) = sql_state_end(text) else {
            return text.split("\n\n").next().unwrap_or(text).trim_end();
        };
        let rest = &text[end..];
        // `; line 4 pos 7;` is worth keeping, the plan after it is not.
        let line = rest.find('\n').map_or(rest, |newline| &rest[..newline]);
        text[..end + if line.starts_with("; line ") { line.len() } else { 0 }].trim_end_matches(';')
    }
}

fn leading_class(message: &str) -> Option<&str> {
    let text = message.trim_start().strip_prefix('[')?;
    let class = &text[..text.find(']')?];
    let is_class = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_' || c == '.';
    (!class.is_empty() && class.chars().all(is_class)).then_some(class)
}

/// Where the first SQLSTATE of a text ends.
fn sql_state_end(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text[from..].find(SQL_STATE) {
        let start = from + found + SQL_STATE.len();
        let state = text.as_bytes().get(start..start + 5);
        if state.is_some_and(|state| state.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())) {
            return Some(start + 5);
        }
        from = start;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, class: Option<&str>, state: Option<&str>, summary: &str) {
        let diagnostic = Diagnostic::from_text(text);
        assert_eq!(diagnostic.error_class.as_deref(), class, "{text}");
        assert_eq!(diagnostic.sql_state.as_deref(), state, "{text}");
        assert_eq!(diagnostic.summary(), summary, "{text}");
    }

    #[test]
    fn class_state_and_summary_come_out_of_the_text() {
        let boom = "[USER_RAISED_EXCEPTION] boom SQLSTATE: P0001";
        check(boom, Some("USER_RAISED_EXCEPTION"), Some("P0001"), boom);
        let column =
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `idd` cannot be resolved. SQLSTATE: 42703; line 4 pos 7";
        check(
            &format!("{column};\n'Project ['idd]\n+- LocalRelation <empty>, [id#151L]\n"),
            Some("UNRESOLVED_COLUMN.WITH_SUGGESTION"),
            Some("42703"),
            column,
        );
        check("Storage must be specified to start a run.", None, None, "Storage must be specified to start a run.");
        check(
            "\nFailed to resolve flows in the pipeline.\n\nA flow can",
            None,
            None,
            "Failed to resolve flows in the pipeline.",
        );
        check("", None, None, "");
        check("[not a class] text", None, None, "[not a class] text");
        check("[A] SQLSTATE: é SQLSTATE: 0", Some("A"), None, "[A] SQLSTATE: é SQLSTATE: 0");
        check("[A] SQLSTATE: é SQLSTATE: 00001", Some("A"), Some("00001"), "[A] SQLSTATE: é SQLSTATE: 00001");
        check(
            "quoted [INVALID_HANDLE.SESSION_CLOSED] inside",
            None,
            None,
            "quoted [INVALID_HANDLE.SESSION_CLOSED] inside",
        );
    }
}
