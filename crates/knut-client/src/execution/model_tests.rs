//! The machine against a small model of a server, under any faults.
//!
//! The model holds what the real server holds of one operation: what it would send, what was
//! released, how long a stream may be, and whether it still runs. A script of faults decides what
//! becomes of each call. Broken clients are tried too: each must be found out.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use super::*;

/// What becomes of one call, or of the stream that it opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Nothing: the stream goes on as long as the server lets it.
    None,
    /// The call never arrives.
    NotSent,
    /// It arrives, and its answer is lost.
    NoAnswer,
    /// The stream breaks after so many responses, with an error that tonic calls by this name.
    BreakAfter(usize, Break),
    /// Nothing comes any more after so many responses.
    SilentAfter(usize),
    /// Another client attaches after so many responses.
    TakenOverAfter(usize),
    /// A proxy answers.
    Proxy,
    /// The server forgets the session.
    Restart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    /// The connection: tonic says UNKNOWN.
    Connection,
    /// UNAVAILABLE.
    Unavailable,
}

/// One operation on a server.
#[derive(Debug)]
struct Server {
    /// How many responses it will have sent; the last is `result_complete`, unless it fails.
    n_responses: usize,
    fails: bool,
    /// How many responses a stream may carry.
    per_stream: usize,
    has_status: bool,
    session_is_gone: bool,
    /// How often the operation was begun.
    n_begun: usize,
    /// What a release met that was still running.
    n_killed: usize,
    /// Responses that are sent or lie ready; the run makes progress with every call.
    n_ready: usize,
}

impl Server {
    fn is_over(&self) -> bool {
        self.n_begun > 0 && self.n_ready >= self.n_responses
    }

    fn progress(&mut self) {
        if self.n_begun > 0 {
            self.n_ready = (self.n_ready + self.n_responses.div_ceil(3)).min(self.n_responses);
        }
    }

    fn error(class: &str) -> Failure {
        Failure::Verdict(ServerError {
            message: class.to_owned(),
            error_class: Some(class.to_owned()),
            sql_state: None,
            message_parameters: BTreeMap::new(),
            classes: Vec::new(),
            error_id: None,
        })
    }

    fn state(&self) -> OperationState {
        match () {
            () if self.n_begun == 0 => OperationState::Unknown,
            () if !self.is_over() => OperationState::Running,
            () if self.fails => OperationState::Failed,
            () => OperationState::Succeeded,
        }
    }
}

/// What a client makes of an input; the machine itself, or a broken one.
trait Client {
    fn step(&mut self, input: Input) -> Action;
    /// Whether it lets the server forget the operation at this end.
    fn releases(&self, ending: &Ending) -> bool {
        matches!(ending, Ending::Complete | Ending::Verdict(_))
    }
}

struct Real(Execution);

impl Client for Real {
    fn step(&mut self, input: Input) -> Action {
        self.0.step(input, 0.5)
    }
}

/// Takes the end of a stream for the end.
struct EndIsSuccess(Execution);

impl Client for EndIsSuccess {
    fn step(&mut self, input: Input) -> Action {
        match input {
            Input::EndOfStream { .. } => Action::End(Ending::Complete),
            input => self.0.step(input, 0.5),
        }
    }
}

/// Tries again after UNAVAILABLE only, and takes everything else for the server's word.
struct OnlyUnavailable(Execution);

impl Client for OnlyUnavailable {
    fn step(&mut self, input: Input) -> Action {
        match input {
            Input::Failed(Failure::Transport(failure)) if failure.reason != "unavailable" => {
                let Failure::Verdict(error) = Server::error("UNKNOWN") else { unreachable!() };
                Action::End(Ending::Verdict(error))
            }
            input => self.0.step(input, 0.5),
        }
    }
}

/// Lets the server forget the operation whatever happened.
struct ReleasesAlways(Execution);

impl Client for ReleasesAlways {
    fn step(&mut self, input: Input) -> Action {
        self.0.step(input, 0.5)
    }

    fn releases(&self, _: &Ending) -> bool {
        true
    }
}

/// Goes on from the beginning after every break.
struct ForgetsWhereItWas(Execution);

impl Client for ForgetsWhereItWas {
    fn step(&mut self, input: Input) -> Action {
        match self.0.step(input, 0.5) {
            Action::After { wait, retry, then: Then::Reattach(_) } => {
                Action::After { wait, retry, then: Then::Reattach(None) }
            }
            action => action,
        }
    }
}

/// What a client did.
#[derive(Debug)]
struct Done {
    emitted: Vec<usize>,
    ending: Option<Ending>,
    waited: Duration,
    n_calls: usize,
}

#[derive(Clone, Debug)]
struct Script {
    n_responses: usize,
    fails: bool,
    per_stream: usize,
    has_status: bool,
    kind: Kind,
    faults: Vec<Fault>,
}

fn faults() -> impl Strategy<Value = Fault> {
    let breaks = prop_oneof![Just(Break::Connection), Just(Break::Unavailable)];
    prop_oneof![
        3 => Just(Fault::None),
        2 => Just(Fault::NotSent),
        2 => Just(Fault::NoAnswer),
        4 => (0_usize..5, breaks).prop_map(|(n, kind)| Fault::BreakAfter(n, kind)),
        2 => (0_usize..5).prop_map(Fault::SilentAfter),
        1 => (0_usize..5).prop_map(Fault::TakenOverAfter),
        1 => Just(Fault::Proxy),
        1 => Just(Fault::Restart),
    ]
}

prop_compose! {
    fn scripts()(
        n_responses in 1_usize..12,
        fails in any::<bool>(),
        per_stream in 1_usize..5,
        has_status in any::<bool>(),
        kind in prop_oneof![Just(Kind::Statement), Just(Kind::Run), Just(Kind::Rows)],
        faults in prop::collection::vec(faults(), 0..25),
    ) -> Script {
        Script { n_responses, fails, per_stream, has_status, kind, faults }
    }
}

/// The most calls that any script may lead to: every fault can cost a round of questions.
const MAX_CALLS: usize = 400;

fn play<C: Client>(script: &Script, client: impl FnOnce(Execution) -> C) -> (Done, Server) {
    let course = Course { kind: script.kind, has_status: script.has_status, ..Course::default() };
    let mut server = Server {
        n_responses: script.n_responses,
        fails: script.fails,
        per_stream: script.per_stream,
        has_status: script.has_status,
        session_is_gone: false,
        n_begun: 0,
        n_killed: 0,
        n_ready: 0,
    };
    let (execution, mut action) = Execution::begin(course, Begin::Execute);
    let mut client = client(execution);
    let mut faults = script.faults.iter().copied();
    let mut done = Done { emitted: Vec::new(), ending: None, waited: Duration::ZERO, n_calls: 0 };
    while done.ending.is_none() && done.n_calls < MAX_CALLS {
        match action {
            Action::Read => unreachable!("a stream is read to its end below"),
            Action::End(ending) => {
                if client.releases(&ending) {
                    server.n_killed += usize::from(server.n_begun > 0 && !server.is_over());
                }
                done.ending = Some(ending);
                break;
            }
            Action::After { wait, then, .. } => {
                done.waited += wait;
                done.n_calls += 1;
                let fault = faults.next().unwrap_or(Fault::None);
                action = call(&mut server, &mut client, &mut done, &then, fault);
            }
        }
    }
    (done, server)
}

/// One call, and the stream that it opened to its end.
fn call(server: &mut Server, client: &mut impl Client, done: &mut Done, then: &Then, fault: Fault) -> Action {
    let transport = |reason: &str| Input::Failed(Failure::Transport(TransportFailure::new(reason)));
    match fault {
        Fault::NotSent => return client.step(transport("refused")),
        Fault::Proxy => return client.step(transport("the proxy answered 503")),
        Fault::Restart => server.session_is_gone = true,
        _ => {}
    }
    if server.session_is_gone {
        return client.step(Input::Failed(Server::error("INVALID_HANDLE.SESSION_CHANGED")));
    }
    server.progress();
    let after = match then {
        Then::AskStatus => {
            assert!(server.has_status, "a server that cannot be asked was asked");
            return match fault {
                Fault::NoAnswer | Fault::SilentAfter(_) => client.step(Input::Silence),
                Fault::BreakAfter(..) => client.step(transport("broken")),
                _ => client.step(Input::Status(server.state())),
            };
        }
        // The same plan under the same id is begun once.
        Then::Execute => {
            // After a response it is known to have arrived.
            server.n_begun += usize::from(!done.emitted.is_empty());
            server.n_begun = server.n_begun.max(1);
            None
        }
        Then::Reattach(_) if server.n_begun == 0 => {
            return client.step(Input::Failed(Server::error("INVALID_HANDLE.OPERATION_NOT_FOUND")));
        }
        Then::Reattach(after) => after.as_ref().map(|id| id.parse::<usize>().unwrap()),
    };
    if fault == Fault::NoAnswer {
        return client.step(transport("broken"));
    }
    let mut at = after.map_or(0, |last| last + 1);
    for n in 0_usize.. {
        let next = match fault {
            Fault::BreakAfter(limit, Break::Connection) if n >= limit => Some(transport("broken")),
            Fault::BreakAfter(limit, Break::Unavailable) if n >= limit => Some(transport("unavailable")),
            Fault::SilentAfter(limit) if n >= limit => Some(Input::Silence),
            Fault::TakenOverAfter(limit) if n >= limit => {
                Some(Input::Failed(Server::error("INVALID_CURSOR.DISCONNECTED")))
            }
            _ if n >= server.per_stream => Some(Input::EndOfStream { open_for: Duration::ZERO }),
            _ => None,
        };
        if let Some(next) = next {
            return client.step(next);
        }
        server.progress();
        if at >= server.n_responses {
            let end = if server.fails {
                Input::Failed(Server::error("DIVIDE_BY_ZERO"))
            } else {
                Input::EndOfStream { open_for: Duration::ZERO }
            };
            return client.step(end);
        }
        done.emitted.push(at);
        let is_complete = !server.fails && at + 1 == server.n_responses;
        match client.step(Input::Response { id: at.to_string(), is_complete }) {
            Action::Read => at += 1,
            action => return action,
        }
    }
    unreachable!()
}

/// What must hold; the first thing that does not.
fn flaw(script: &Script, done: &Done, server: &Server) -> Result<(), String> {
    let Some(ending) = &done.ending else { return Err("it does not end".to_owned()) };
    if done.emitted.iter().enumerate().any(|(index, response)| index != *response) {
        return Err(format!("not the prefix of what the server sent: {:?}", done.emitted));
    }
    if server.n_begun > 1 {
        return Err("it ran twice".to_owned());
    }
    if server.n_killed > 0 {
        return Err("a run was killed".to_owned());
    }
    let is_true = match ending {
        Ending::Complete => !script.fails && done.emitted.len() == script.n_responses,
        Ending::Verdict(error) => {
            error.message == "DIVIDE_BY_ZERO" && script.fails && done.emitted.len() == script.n_responses
        }
        Ending::Status(state, _) => server.is_over() && *state == server.state(),
        Ending::SessionLost(_) | Ending::Lost(_) | Ending::Forgotten(_) => {
            script.faults.iter().any(|fault| *fault != Fault::None)
        }
        Ending::Preempted => script.faults.iter().filter(|fault| matches!(fault, Fault::TakenOverAfter(_))).count() > 1,
    };
    if !is_true {
        return Err(format!("{ending:?} is not what happened"));
    }
    if done.waited > Duration::from_mins(15 * 25) {
        return Err(format!("it waited for {:?}", done.waited));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    /// What is emitted is the exact beginning of what the server sent, each response once; success
    /// is said only after `result_complete`; nothing runs twice, no live run is killed, and it ends.
    #[test]
    fn whatever_breaks_the_outcome_is_true(script in scripts()) {
        let (done, server) = play(&script, Real);
        prop_assert_eq!(flaw(&script, &done, &server), Ok(()), "{:?}\n{:?}", done, server);
    }

    /// Faults that stop are survived: the whole run is seen.
    #[test]
    fn a_few_breaks_lose_nothing(
        n_responses in 1_usize..12,
        breaks in prop::collection::vec((0_usize..5, any::<bool>()), 0..12),
    ) {
        let faults = breaks.into_iter().map(|(n, is_connection)| {
            Fault::BreakAfter(n, if is_connection { Break::Connection } else { Break::Unavailable })
        });
        let script = Script {
            n_responses, fails: false, per_stream: 3, has_status: false, kind: Kind::Run, faults: faults.collect(),
        };
        let (done, _) = play(&script, Real);
        prop_assert_eq!(done.ending, Some(Ending::Complete));
        prop_assert_eq!(done.emitted.len(), n_responses);
    }
}

/// Whether some script shows that this client is broken.
fn is_found_out<C: Client>(client: fn(Execution) -> C) -> bool {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    (0..5_000).any(|_| {
        let script = scripts().new_tree(&mut runner).unwrap().current();
        let (done, server) = play(&script, client);
        flaw(&script, &done, &server).is_err()
    })
}

/// A model that finds nothing in a broken client proves nothing about the real one.
#[test]
fn broken_clients_are_found_out() {
    assert!(is_found_out(EndIsSuccess), "the end of a stream taken for success");
    assert!(is_found_out(OnlyUnavailable), "only UNAVAILABLE tried again");
    assert!(is_found_out(ReleasesAlways), "a release whatever happened");
    assert!(is_found_out(ForgetsWhereItWas), "everything read again after a break");
    assert!(!is_found_out(Real));
}
