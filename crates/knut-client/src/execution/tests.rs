//! The machine, one rule at a time.

use std::collections::BTreeMap;

use super::*;

/// A stream that ends at once.
const END: Input = Input::EndOfStream { open_for: Duration::ZERO };

fn response(id: &str) -> Input {
    Input::Response { id: id.to_owned(), is_complete: false }
}

fn complete() -> Input {
    Input::Response { id: "last".to_owned(), is_complete: true }
}

fn broken() -> Input {
    Input::Failed(Failure::Transport(TransportFailure::new("broken")))
}

fn verdict(class: &str) -> Input {
    let error_class = Some(class.to_owned());
    Input::Failed(Failure::Verdict(ServerError {
        message: class.to_owned(),
        error_class,
        sql_state: None,
        message_parameters: BTreeMap::new(),
        classes: Vec::new(),
        error_id: None,
    }))
}

/// A run on a server that can be asked.
fn a_run() -> Course {
    Course { kind: Kind::Run, has_status: true, ..Course::default() }
}

/// A statement on a server that cannot be asked.
fn old() -> Course {
    Course::default()
}

fn rows() -> Course {
    Course { kind: Kind::Rows, has_status: true, ..Course::default() }
}

/// Feeds the inputs and tells each action in a few words.
fn tell_all(course: Course, begin: Begin, inputs: Vec<Input>) -> Vec<String> {
    let (mut execution, first) = Execution::begin(course, begin);
    let actions = inputs.into_iter().map(|input| execution.step(input, 0.0)).collect::<Vec<_>>();
    [first].iter().chain(&actions).map(tell).collect()
}

fn run(inputs: Vec<Input>) -> Vec<String> {
    tell_all(a_run(), Begin::Execute, inputs)
}

fn last(course: Course, inputs: Vec<Input>) -> String {
    tell_all(course, Begin::Execute, inputs).pop().unwrap()
}

fn tell(action: &Action) -> String {
    match action {
        Action::Read => "read".to_owned(),
        Action::After { wait, retry, then } => {
            let then = match then {
                Then::Execute => "execute".to_owned(),
                Then::Reattach(id) => format!("reattach {}", id.as_deref().unwrap_or("-")),
                Then::AskStatus => "ask".to_owned(),
            };
            let retry = retry.as_ref().map(|retry| format!(" try {}", retry.attempt)).unwrap_or_default();
            format!("{then} in {}{retry}", wait.as_millis())
        }
        Action::End(Ending::Complete) => "complete".to_owned(),
        Action::End(Ending::Verdict(error)) => format!("verdict {}", error.message),
        Action::End(Ending::Status(state, refusal)) => {
            format!("{state} instead of {}", refusal.as_ref().map_or("-", |error| &error.message))
        }
        Action::End(Ending::Forgotten(error)) => format!("forgotten {}", error.message),
        Action::End(Ending::Preempted) => "preempted".to_owned(),
        Action::End(Ending::Lost(reason)) => format!("lost {reason}"),
        Action::End(Ending::SessionLost(reason)) => format!("session lost {reason}"),
    }
}

#[test]
fn a_graceful_end_is_not_the_end() {
    let told = run(vec![response("a"), END, response("b"), complete(), END, broken()]);
    assert_eq!(told, ["execute in 0", "read", "reattach a in 0", "read", "complete", "complete", "complete"]);
}

#[test]
fn empty_rounds_keep_the_last_id_back_off_and_end() {
    let told = run(vec![response("a"), END, END, END]);
    assert_eq!(told[2..], ["reattach a in 0", "reattach a in 0", "reattach a in 100"]);
    let many = run(std::iter::repeat_n(END, 101).collect());
    assert_eq!(many.last().unwrap(), "lost the server ends every stream without a response");
}

/// A healthy run may have nothing to say for hours.
#[test]
fn silence_costs_nothing_while_the_server_says_that_it_runs() {
    let round = || [Input::Silence, Input::Status(OperationState::Running)];
    let told = run(std::iter::repeat_with(round).take(500).flatten().collect());
    assert!(told[1..].chunks(2).all(|round| round == ["ask in 0", "reattach - in 0"]), "{told:?}");
}

#[test]
fn a_silent_server_that_cannot_be_asked_is_given_up_after_an_hour() {
    let silences = |n| std::iter::repeat_n(Input::Silence, n).collect::<Vec<_>>();
    assert_eq!(last(old(), silences(20)), "reattach - in 0");
    assert_eq!(last(old(), silences(21)), "lost the server has been silent for too long");
    // A full round in between says that it is alive.
    let full = || Input::EndOfStream { open_for: Duration::from_mins(2) };
    let quiet = std::iter::repeat_n([Input::Silence, full()], 500).flatten().collect();
    assert_eq!(last(old(), quiet), "reattach - in 0");
    // One that could be asked and does not answer counts as broken.
    assert_eq!(
        run(vec![Input::Silence, Input::Silence, broken()])[1..],
        ["ask in 0", "ask in 50 try 1", "ask in 200 try 2"]
    );
}

/// What tells that messages are missing says nothing about the execution, which may still run.
#[test]
fn what_the_server_forgot_is_no_verdict() {
    let gone = |class, state| run(vec![response("a"), verdict(class), Input::Status(state)]).pop().unwrap();
    let position = "INVALID_CURSOR.POSITION_NOT_AVAILABLE";
    assert_eq!(gone(position, OperationState::Succeeded), format!("succeeded instead of {position}"));
    assert_eq!(gone(position, OperationState::Failed), format!("failed instead of {position}"));
    assert_eq!(gone(position, OperationState::Cancelled), format!("cancelled instead of {position}"));
    assert_eq!(gone(position, OperationState::Unknown), format!("forgotten {position}"));
    assert_eq!(last(old(), vec![response("a"), verdict(position)]), format!("forgotten {position}"));
    let plain = Input::Failed(crate::status::classify(&tonic::Status::internal("a proxy's words")));
    assert_eq!(run(vec![response("a"), plain]).pop().unwrap(), "lost a proxy's words");
}

/// The session went, and whatever was in it.
#[test]
fn a_session_that_is_gone_is_not_asked() {
    for class in ["SESSION_NOT_FOUND", "SESSION_CLOSED", "SESSION_CHANGED"] {
        let class = format!("INVALID_HANDLE.{class}");
        assert_eq!(run(vec![broken(), verdict(&class)]).pop().unwrap(), format!("forgotten {class}"));
        let in_between = vec![response("a"), verdict("INVALID_CURSOR.POSITION_NOT_FOUND"), verdict(&class)];
        assert_eq!(run(in_between).pop().unwrap(), format!("forgotten {class}"));
    }
}

#[test]
fn a_run_whose_messages_are_gone_is_asked_for_until_it_is_over() {
    let running = || Input::Status(OperationState::Running);
    let lost = verdict("INVALID_CURSOR.POSITION_NOT_FOUND");
    let told = run(vec![response("a"), lost, running(), broken(), running(), Input::Status(OperationState::Failed)]);
    assert_eq!(
        told[2..],
        [
            "ask in 0",
            "ask in 200",
            "ask in 50 try 1",
            "ask in 400",
            "failed instead of INVALID_CURSOR.POSITION_NOT_FOUND"
        ]
    );
    let (mut execution, first) = Execution::begin(a_run(), Begin::Poll);
    assert_eq!(tell(&first), "ask in 0");
    for n in 1..100 {
        assert_eq!(tell(&execution.step(running(), 0.0)), format!("ask in {}", (200 * n).min(5000)));
        assert!(execution.is_polling());
    }
    let ending = Input::Status(OperationState::Terminating);
    assert_eq!(
        tell_all(a_run(), Begin::Poll, std::iter::repeat_n(ending, 61).collect()).pop().unwrap(),
        "lost the server has been ending it for minutes"
    );
    assert_eq!(
        tell_all(a_run(), Begin::Poll, vec![Input::Status(OperationState::Unknown)])[1],
        "lost the server does not know the operation (any more)"
    );
}

/// The last response may have been lost with the connection, and the client come back too late.
#[test]
fn an_abandoned_run_may_have_succeeded() {
    let abandoned = "INVALID_HANDLE.OPERATION_ABANDONED";
    let then = |state| run(vec![response("a"), verdict(abandoned), Input::Status(state)]).pop().unwrap();
    assert_eq!(then(OperationState::Succeeded), format!("succeeded instead of {abandoned}"));
    assert_eq!(then(OperationState::Failed), format!("failed instead of {abandoned}"));
    assert_eq!(then(OperationState::Cancelled), format!("verdict {abandoned}"));
    assert_eq!(then(OperationState::Unknown), format!("verdict {abandoned}"));
    assert_eq!(last(old(), vec![response("a"), verdict(abandoned)]), format!("verdict {abandoned}"));
}

#[test]
fn rows_that_are_gone_are_not_said_to_be_there() {
    let position = "INVALID_CURSOR.POSITION_NOT_AVAILABLE";
    assert_eq!(last(rows(), vec![response("a"), verdict(position)]), format!("forgotten {position}"));
    let not_found = "INVALID_HANDLE.OPERATION_NOT_FOUND";
    let succeeded = Input::Status(OperationState::Succeeded);
    assert_eq!(last(rows(), vec![response("a"), verdict(not_found), succeeded]), format!("forgotten {not_found}"));
}

#[test]
fn a_broken_stream_is_attached_again_with_growing_waits() {
    let told = run(vec![response("a"), broken(), broken(), broken(), response("b"), broken()]);
    assert_eq!(
        told[2..],
        [
            "reattach a in 50 try 1",
            "reattach a in 200 try 2",
            "reattach a in 800 try 3",
            "read",
            "reattach b in 50 try 1"
        ]
    );
    let many = tell_all(old(), Begin::Execute, std::iter::repeat_n(broken(), 16).collect());
    assert_eq!(many.last().unwrap(), "lost broken");
    assert_eq!(many[many.len() - 2], "reattach - in 60000 try 15");
}

/// A way on which no stream lasts does not say that the run is lost.
#[test]
fn the_server_has_the_last_word_of_a_run_that_cannot_be_attached_to() {
    let broken_for_good = || std::iter::repeat_n(broken(), 16);
    let then = |inputs: Vec<Input>| run(broken_for_good().chain(inputs).collect()).pop().unwrap();
    assert_eq!(then(vec![]), "ask in 0");
    assert_eq!(then(vec![Input::Status(OperationState::Running)]), "reattach - in 0");
    assert_eq!(then(std::iter::repeat_n(broken(), 1).collect()), "lost broken");
    let failed = || Input::Status(OperationState::Failed);
    assert_eq!(then(vec![failed()]), "reattach - in 0");
    assert_eq!(
        then([failed()].into_iter().chain(broken_for_good()).chain([failed()]).collect()),
        "failed instead of -"
    );
    // One that is over and stays silent is over.
    assert_eq!(run(vec![Input::Silence, failed(), Input::Silence, failed()]).pop().unwrap(), "failed instead of -");
}

/// A server of a version that has the question, and does not answer it.
#[test]
fn a_question_that_is_not_there_is_not_asked_again() {
    let unsupported = Input::Failed(Failure::Unsupported("no such call".to_owned()));
    let told = run(vec![Input::Silence, unsupported, Input::Silence]);
    assert_eq!(told[1..], ["ask in 0", "reattach - in 0", "reattach - in 0"]);
}

#[test]
fn a_run_is_sent_again_only_if_the_server_does_not_know_it() {
    let not_found = || verdict("INVALID_HANDLE.OPERATION_NOT_FOUND");
    let unknown = || Input::Status(OperationState::Unknown);
    assert_eq!(
        run(vec![broken(), not_found(), unknown(), not_found(), unknown(), not_found(), unknown()])[1..],
        [
            "reattach - in 50 try 1",
            "ask in 0",
            "execute in 0 try 1",
            "ask in 0",
            "execute in 0 try 1",
            "ask in 0",
            "forgotten INVALID_HANDLE.OPERATION_NOT_FOUND"
        ]
    );
    let running = vec![broken(), not_found(), Input::Status(OperationState::Running)];
    assert_eq!(run(running).pop().unwrap(), "ask in 200");
    let received = vec![response("a"), broken(), not_found(), unknown()];
    assert_eq!(run(received).pop().unwrap(), "forgotten INVALID_HANDLE.OPERATION_NOT_FOUND");
    // Another process has begun it, so that it came through.
    assert_eq!(
        tell_all(a_run(), Begin::Attach(None), vec![not_found(), unknown()]).pop().unwrap(),
        "forgotten INVALID_HANDLE.OPERATION_NOT_FOUND"
    );
}

#[test]
fn a_plain_statement_that_never_arrived_is_sent_again() {
    for class in ["OPERATION_NOT_FOUND", "SESSION_NOT_FOUND"] {
        let class = format!("INVALID_HANDLE.{class}");
        let not_found = || verdict(&class);
        assert_eq!(last(old(), vec![broken(), not_found()]), "execute in 0 try 1");
        assert_eq!(last(old(), vec![response("a"), broken(), not_found()]), format!("forgotten {class}"));
    }
}

#[test]
fn two_clients_do_not_fight_over_one_run() {
    let disconnected = || verdict("INVALID_CURSOR.DISCONNECTED");
    // Once may have been an older attachment of our own.
    assert_eq!(run(vec![response("a"), disconnected()]).pop().unwrap(), "reattach a in 50 try 1");
    assert_eq!(run(vec![response("a"), disconnected(), response("b"), disconnected()]).pop().unwrap(), "preempted");
    // After an attachment of our own that broke it may have been that one again.
    let own = vec![disconnected(), response("b"), broken(), disconnected()];
    assert_eq!(run(own).pop().unwrap(), "reattach b in 200 try 2");
}

#[test]
fn a_refused_token_is_asked_for_anew_once() {
    let refused = || Input::Failed(Failure::Auth("expired".to_owned()));
    assert_eq!(run(vec![response("a"), refused()]).pop().unwrap(), "lost expired");
    let with_provider = || Course { has_token_provider: true, ..a_run() };
    assert_eq!(last(with_provider(), vec![response("a"), refused()]), "reattach a in 0 try 1");
    assert_eq!(last(with_provider(), vec![response("a"), refused(), refused()]), "lost expired");
    assert_eq!(
        last(with_provider(), vec![response("a"), refused(), response("b"), refused()]),
        "reattach b in 0 try 1"
    );
}

#[test]
fn any_other_verdict_ends_it() {
    assert_eq!(run(vec![verdict("OPERATION_CANCELED")]).pop().unwrap(), "verdict OPERATION_CANCELED");
    assert_eq!(run(vec![response("a"), verdict("DIVIDE_BY_ZERO")]).pop().unwrap(), "verdict DIVIDE_BY_ZERO");
}
