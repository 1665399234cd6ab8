//! The one place that reads the text of a pipeline event.
//!
//! The protocol has no structured event, so the texts of Spark 4.1 to 4.3 are matched here, each
//! in full. Reading is total: a text that matches nothing is [`EventText::Unknown`] and is shown
//! as it is. Source: Spark 4.3, `FlowProgressEventLogger`, `GraphExecution`, `RunTerminationReason`.

use crate::Diagnostic;

/// What a pipeline event says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventText {
    /// It is about one flow.
    Flow {
        /// The flow's name as sent: parts joined by dots, unquoted.
        flow: String,
        /// What happened to it.
        event: FlowEvent,
    },
    /// `Run is COMPLETED.`
    RunCompleted,
    /// The run failed. No released server sends these: the failure comes as the stream's error.
    RunFailed {
        /// The text as sent.
        message: String,
    },
    /// A text of no known form.
    Unknown,
}

/// What happened to a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FlowEvent {
    /// It waits for its upstream or for a free slot.
    Queued,
    /// It is not part of the run's selection.
    Excluded,
    /// Its query is being planned. Streaming flows skip this.
    Planning,
    /// It is being started.
    Starting,
    /// It is running.
    Running,
    /// It is complete. Of a streaming flow the server says so even before it says FAILED.
    Completed,
    /// It failed.
    Failed {
        /// How.
        reason: FailureReason,
        /// The error that came with it; `None` when none did.
        error: Option<Diagnostic>,
    },
    /// It did not run because its upstream failed.
    Skipped,
    /// It was complete before and is not run again.
    AlreadyProcessed,
    /// It was stopped.
    Stopped,
    /// It waits for new data.
    Idle,
}

/// In which way a flow failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureReason {
    /// An attempt failed. The server may try again: the text is the same for the last attempt.
    Attempt,
    /// The last attempt failed and the flow is not tried again.
    RetriesExhausted {
        /// How often it was tried again.
        max_retries: u32,
    },
    /// A stream's sources changed; only a full refresh helps.
    SourcesChanged,
    /// Its query could not be resolved.
    Unresolved,
    /// Its query could not be resolved because one that it reads could not be.
    UnresolvedUpstream,
    /// It could not be stopped.
    NotStopped,
}

/// What separates an event's own text from the error it carries.
const ERROR: &str = "\nError: ";

impl EventText {
    /// Reads the text of an event.
    pub fn parse(message: &str) -> Self {
        let (head, error) = match message.split_once(ERROR) {
            Some((head, error)) => (head, Some(error)),
            None => (message, None),
        };
        if let Some((flow, event)) = error.is_none().then(|| plain_flow_event(head)).flatten() {
            return Self::Flow { flow: flow.to_owned(), event };
        }
        if let Some((flow, reason)) = failure(head) {
            let error = error.map(Diagnostic::from_text);
            return Self::Flow { flow: flow.to_owned(), event: FlowEvent::Failed { reason, error } };
        }
        match head {
            "Run is COMPLETED." => Self::RunCompleted,
            _ if is_run_failure(head) => Self::RunFailed { message: message.to_owned() },
            _ => Self::Unknown,
        }
    }
}

/// The text between `prefix` and `suffix`, unless it is empty.
fn between<'a>(text: &'a str, prefix: &str, suffix: &str) -> Option<&'a str> {
    text.strip_prefix(prefix)?.strip_suffix(suffix).filter(|inner| !inner.is_empty())
}

/// Events without an error. The server quotes the flow in some and not in others.
fn plain_flow_event(text: &str) -> Option<(&str, FlowEvent)> {
    let quoted = [
        ("' is EXCLUDED.", FlowEvent::Excluded),
        ("' SKIPPED due to upstream failure(s).", FlowEvent::Skipped),
        ("' has been processed by a previous iteration and will not be rerun.", FlowEvent::AlreadyProcessed),
        ("' has STOPPED.", FlowEvent::Stopped),
        ("' is IDLE, waiting for new data.", FlowEvent::Idle),
    ];
    let bare = [
        (" is QUEUED.", FlowEvent::Queued),
        (" is PLANNING.", FlowEvent::Planning),
        (" is STARTING.", FlowEvent::Starting),
        (" is RUNNING.", FlowEvent::Running),
        (" has COMPLETED.", FlowEvent::Completed),
    ];
    let found = |prefix: &'static str| {
        move |(suffix, event): (&'static str, FlowEvent)| between(text, prefix, suffix).map(|flow| (flow, event))
    };
    quoted.into_iter().find_map(found("Flow '")).or_else(|| bare.into_iter().find_map(found("Flow ")))
}

fn failure(text: &str) -> Option<(&str, FailureReason)> {
    // Spark 4.1 and 4.2 wrap this one over several lines and name the flow twice.
    if let Some(rest) = text.strip_prefix("\nFlow '") {
        let (flow, rest) = rest.split_once("' had streaming sources added or removed. ")?;
        let refresh =
            format!("Please perform a\nfull refresh in order to rebuild '{flow}' against the current set of\nsources.");
        return (rest.trim_end() == refresh).then_some((flow, FailureReason::SourcesChanged));
    }
    let whole = [
        ("Failed to resolve flow: '", "'.", FailureReason::Unresolved),
        ("Failed to resolve flow due to upstream failure: '", "'.", FailureReason::UnresolvedUpstream),
        ("Flow '", "' has FAILED.", FailureReason::Attempt),
        ("Flow '", "' has failed to stop.", FailureReason::NotStopped),
        (
            "Flow '",
            "' had streaming sources added or removed. It will not be retried. Please perform a full refresh to rebuild it \
             against the current sources.",
            FailureReason::SourcesChanged,
        ),
    ];
    whole
        .into_iter()
        .find_map(|(prefix, suffix, reason)| between(text, prefix, suffix).map(|flow| (flow, reason)))
        .or_else(|| {
            let inner = between(text, "Flow '", " times and will not be restarted.")?;
            let (flow, times) = inner.rsplit_once("' has FAILED more than ")?;
            let max_retries = times.parse().ok()?;
            (!flow.is_empty()).then_some((flow, FailureReason::RetriesExhausted { max_retries }))
        })
}

fn is_run_failure(text: &str) -> bool {
    text.starts_with("Run is FAILED since ")
        || text == "Run FAILED unexpectedly."
        || text == "Pipeline execution failed."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(name: &str, event: FlowEvent) -> EventText {
        EventText::Flow { flow: name.to_owned(), event }
    }

    fn failed(name: &str, reason: FailureReason, error: Option<&str>) -> EventText {
        flow(name, FlowEvent::Failed { reason, error: error.map(Diagnostic::from_text) })
    }

    /// The whole table of the server's texts (docs/protocol.md, "Event texts").
    #[test]
    fn every_text_of_the_server_is_read() {
        let cases = [
            ("Flow c.d.t is QUEUED.", flow("c.d.t", FlowEvent::Queued)),
            ("Flow 'c.d.t' is EXCLUDED.", flow("c.d.t", FlowEvent::Excluded)),
            ("Flow c.d.t is PLANNING.", flow("c.d.t", FlowEvent::Planning)),
            ("Flow c.d.t is STARTING.", flow("c.d.t", FlowEvent::Starting)),
            ("Flow c.d.t is RUNNING.", flow("c.d.t", FlowEvent::Running)),
            ("Flow c.d.t has COMPLETED.", flow("c.d.t", FlowEvent::Completed)),
            ("Flow 'c.d.t' has FAILED.", failed("c.d.t", FailureReason::Attempt, None)),
            (
                "Flow 'c.d.t' has FAILED.\nError: [A_B] boom SQLSTATE: P0001\nboom\n\nError: again",
                failed("c.d.t", FailureReason::Attempt, Some("[A_B] boom SQLSTATE: P0001\nboom\n\nError: again")),
            ),
            (
                "Flow 'c.d.t' has FAILED more than 2 times and will not be restarted.\nError: null",
                failed("c.d.t", FailureReason::RetriesExhausted { max_retries: 2 }, Some("null")),
            ),
            (
                "Flow 'c.d.t' had streaming sources added or removed. It will not be retried. Please perform a full refresh \
                 to rebuild it against the current sources.\nError: x",
                failed("c.d.t", FailureReason::SourcesChanged, Some("x")),
            ),
            (
                "\nFlow 'c.d.t' had streaming sources added or removed. Please perform a\nfull refresh in order to rebuild \
                 'c.d.t' against the current set of\nsources.\n\nError: x",
                failed("c.d.t", FailureReason::SourcesChanged, Some("x")),
            ),
            ("Failed to resolve flow: 'c.d.t'.\nError: x", failed("c.d.t", FailureReason::Unresolved, Some("x"))),
            (
                "Failed to resolve flow due to upstream failure: 'c.d.t'.\nError: x",
                failed("c.d.t", FailureReason::UnresolvedUpstream, Some("x")),
            ),
            ("Flow 'c.d.t' has failed to stop.\nError: x", failed("c.d.t", FailureReason::NotStopped, Some("x"))),
            ("Flow 'c.d.t' SKIPPED due to upstream failure(s).", flow("c.d.t", FlowEvent::Skipped)),
            (
                "Flow 'c.d.t' has been processed by a previous iteration and will not be rerun.",
                flow("c.d.t", FlowEvent::AlreadyProcessed),
            ),
            ("Flow 'c.d.t' has STOPPED.", flow("c.d.t", FlowEvent::Stopped)),
            ("Flow 'c.d.t' is IDLE, waiting for new data.", flow("c.d.t", FlowEvent::Idle)),
            ("Run is COMPLETED.", EventText::RunCompleted),
        ];
        for (text, expected) in cases {
            assert_eq!(EventText::parse(text), expected, "{text}");
        }
        for text in [
            "Run is FAILED since flow 'c.d.t' has failed.",
            "Run is FAILED since flow 'c.d.t' has failed more than 2 times.",
            "Run is FAILED since following flows have failed to stop: a, b.",
            "Run is FAILED since stopping flow execution has failed.",
            "Run FAILED unexpectedly.",
            "Pipeline execution failed.",
        ] {
            assert_eq!(EventText::parse(text), EventText::RunFailed { message: text.to_owned() }, "{text}");
        }
    }

    /// C085, C104: names that look like events, and texts of no known form.
    #[test]
    fn odd_names_and_unknown_texts_never_confuse_it() {
        let cases = [
            ("Flow x is RUNNING is QUEUED.", flow("x is RUNNING", FlowEvent::Queued)),
            ("Flow it's is QUEUED.", flow("it's", FlowEvent::Queued)),
            ("Flow 'it's' is EXCLUDED.", flow("it's", FlowEvent::Excluded)),
            ("Flow 'a.b has FAILED' has FAILED.", failed("a.b has FAILED", FailureReason::Attempt, None)),
            ("Flow 'a' has FAILED.' has FAILED.", failed("a' has FAILED.", FailureReason::Attempt, None)),
            ("Flow 'quoted' is QUEUED.", flow("'quoted'", FlowEvent::Queued)),
            ("Flow spark_catalog.default.目录 is RUNNING.", flow("spark_catalog.default.目录", FlowEvent::Running)),
            ("Flow 'a' has FAILED more than many times and will not be restarted.", EventText::Unknown),
            ("Flow x is STOPPED.", EventText::Unknown),
            ("Flow x is IDLE.", EventText::Unknown),
            ("Flow  is QUEUED.", EventText::Unknown),
            ("Flow '' is EXCLUDED.", EventText::Unknown),
            ("Run is CANCELED.", EventText::Unknown),
            ("Run is COMPLETED", EventText::Unknown),
            ("", EventText::Unknown),
            ("\nError: ", EventText::Unknown),
            ("Der Fluss läuft.", EventText::Unknown),
        ];
        for (text, expected) in cases {
            assert_eq!(EventText::parse(text), expected, "{text}");
        }
        assert_eq!(EventText::parse(&"x".repeat(1 << 20)), EventText::Unknown);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC*|(Flow |Run |'|is |has |FAILED|QUEUED|\\.|\n|Error: )*") {
            EventText::parse(&text);
        }

        #[test]
        fn any_name_comes_back(name in "[^\n]+") {
            proptest::prop_assert_eq!(EventText::parse(&format!("Flow '{name}' has FAILED.\nError: e")),
                failed(&name, FailureReason::Attempt, Some("e")));
            proptest::prop_assert_eq!(EventText::parse(&format!("Flow '{name}' is EXCLUDED.")),
                flow(&name, FlowEvent::Excluded));
        }
    }
}
