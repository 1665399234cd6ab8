//! One Spark Connect session on one channel: identities, headers, deadlines and checked answers.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use knut_proto::spark::connect as proto;
use proto::spark_connect_service_client::SparkConnectServiceClient;
use tonic::metadata::{MetadataKey, MetadataMap, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig};
use uuid::Uuid;

use crate::status::{Failure, chain, classify};
use crate::{Endpoint, Error, ErrorKind, ServerError};

/// How long the connection itself may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long one call without a stream may take. The first command of a new server loads the
/// catalog, which alone takes seconds.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_mins(2);
/// How large one response may be. Source: Spark 4.3, `spark.connect.grpc.maxInboundMessageSize`;
/// tonic's own default of 4 MiB is about the size of one of Spark's batches.
const MAX_RESPONSE_BYTES: usize = 128 << 20;

/// A session; clones share it.
#[derive(Clone)]
pub(crate) struct Session(Arc<Inner>);

struct Inner {
    stub: SparkConnectServiceClient<Channel>,
    endpoint: Endpoint,
    session_id: Uuid,
    /// Known from the first answer on; another one later means that the server was restarted.
    server_side_session_id: OnceLock<String>,
    client_type: String,
    headers: MetadataMap,
}

/// What is said of a server that is another one than before.
const RESTARTED: &str = "the server was restarted, and the session with its graphs is gone";

/// The headers that every call carries.
fn headers(endpoint: &Endpoint) -> Result<MetadataMap, Error> {
    let mut headers = MetadataMap::new();
    let token = endpoint.token.as_ref().map(|token| ("authorization", format!("Bearer {}", token.expose())));
    let others = endpoint.headers.iter().map(|(name, value)| (name.as_str(), value.expose().to_owned()));
    for (name, value) in others.chain(token) {
        let key = MetadataKey::from_bytes(name.as_bytes());
        let (Ok(key), Ok(mut value)) = (key, MetadataValue::try_from(value)) else {
            let what = if name == "authorization" { "token" } else { name };
            let reason = format!("the {what} cannot be sent as a header: it has characters that none may have");
            return Err(Error::usage(format!("cannot connect to {endpoint}")).because(reason));
        };
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// An answer that names the session it belongs to.
pub(crate) trait Answer {
    /// The session's id as the client chose it, and the server's own; empty is no information.
    fn session_ids(&self) -> (&str, &str);
}

macro_rules! answers {
    ($($answer:ty),*) => {$(
        impl Answer for $answer {
            fn session_ids(&self) -> (&str, &str) {
                (&self.session_id, &self.server_side_session_id)
            }
        }
    )*};
}

answers!(
    proto::AnalyzePlanResponse,
    proto::ConfigResponse,
    proto::InterruptResponse,
    proto::ReleaseSessionResponse,
    proto::ExecutePlanResponse,
    proto::GetStatusResponse
);

impl Session {
    /// Connects, without a call yet.
    pub(crate) async fn connect(endpoint: Endpoint) -> Result<Self, Error> {
        let what = format!("cannot connect to {endpoint}");
        let uses_tls = endpoint.uses_tls()?;
        let headers = headers(&endpoint)?;
        let scheme = if uses_tls { "https" } else { "http" };
        let broken = |reason: String| Error::new(ErrorKind::Transport, what.clone()).because(reason);
        let mut channel = Channel::from_shared(format!("{scheme}://{endpoint}"))
            .map_err(|_| Error::usage(what.clone()).because("the host is no valid host name"))?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(Duration::from_mins(1)));
        if uses_tls {
            let tls = ClientTlsConfig::new().with_enabled_roots();
            channel = channel.tls_config(tls).map_err(|error| broken(chain("", Some(&error))))?;
        }
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, channel.connect());
        let channel = match connecting.await {
            Ok(Ok(channel)) => channel,
            Ok(Err(error)) => {
                return Err(broken(chain("", Some(&error)).trim_start_matches("transport error: ").to_owned()));
            }
            Err(_) => {
                let reason = format!("no answer within {} s", CONNECT_TIMEOUT.as_secs());
                return Err(Error::new(ErrorKind::Timeout, what).because(reason));
            }
        };
        let session_id = endpoint.session_id.unwrap_or_else(Uuid::new_v4);
        let own = concat!("knut/", env!("CARGO_PKG_VERSION"));
        let client_type = match &endpoint.user_agent {
            Some(user_agent) => format!("{user_agent} {own}"),
            None => own.to_owned(),
        };
        Ok(Self(Arc::new(Inner {
            stub: SparkConnectServiceClient::new(channel).max_decoding_message_size(MAX_RESPONSE_BYTES),
            endpoint,
            session_id,
            server_side_session_id: OnceLock::new(),
            client_type,
            headers,
        })))
    }

    pub(crate) fn stub(&self) -> SparkConnectServiceClient<Channel> {
        self.0.stub.clone()
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.0.endpoint
    }

    pub(crate) fn id(&self) -> String {
        self.0.session_id.to_string()
    }

    pub(crate) fn uuid(&self) -> Uuid {
        self.0.session_id
    }

    pub(crate) fn observed(&self) -> Option<String> {
        self.0.server_side_session_id.get().cloned()
    }

    /// Takes only this server-side session for ours. Before the first answer of the server.
    pub(crate) fn expect(&self, server_side_session_id: &str) {
        // If it is known already, every answer is checked against that.
        let _ = self.0.server_side_session_id.set(server_side_session_id.to_owned());
    }

    pub(crate) fn client_type(&self) -> String {
        self.0.client_type.clone()
    }

    pub(crate) fn user_context(&self) -> proto::UserContext {
        let user_id = self.0.endpoint.user_id.clone().unwrap_or_else(|| "knut".to_owned());
        proto::UserContext { user_name: user_id.clone(), user_id, extensions: Vec::new() }
    }

    /// A request with the headers that every call carries.
    pub(crate) fn request<T>(&self, message: T) -> tonic::Request<T> {
        tonic::Request::from_parts(self.0.headers.clone(), tonic::Extensions::default(), message)
    }

    /// Makes one call with a deadline and checks whose answer it is.
    pub(crate) async fn call<T: Answer>(
        &self,
        what: &str,
        call: BoxFuture<'_, Result<tonic::Response<T>, tonic::Status>>,
    ) -> Result<T, Error> {
        let answer = match tokio::time::timeout(CALL_TIMEOUT, call).await {
            Ok(Ok(response)) => response.into_inner(),
            Ok(Err(status)) => return Err(self.error(what, classify(&status)).await),
            Err(_) => return Err(timed_out(what)),
        };
        self.checked(what, answer)
    }

    /// Checks that an answer belongs to this session and that the server still is the same; gives
    /// what is wrong.
    pub(crate) fn check(&self, answer: &impl Answer) -> Result<(), &'static str> {
        let (session_id, server_side) = answer.session_ids();
        if !session_id.is_empty() && !self.is_own(session_id) {
            return Err("the answer belongs to another session");
        }
        if !server_side.is_empty()
            && self.0.server_side_session_id.get_or_init(|| server_side.to_owned()) != server_side
        {
            return Err(RESTARTED);
        }
        Ok(())
    }

    fn is_own(&self, session_id: &str) -> bool {
        let mut own = Uuid::encode_buffer();
        session_id == &*self.0.session_id.as_hyphenated().encode_lower(&mut own)
    }

    /// As [`check`](Self::check), for the answer to one call.
    pub(crate) fn checked<T: Answer>(&self, what: &str, answer: T) -> Result<T, Error> {
        match self.check(&answer) {
            Ok(()) => Ok(answer),
            Err(reason) => Err(Error::session_lost(what.to_owned(), reason)),
        }
    }

    /// The error for a failed call, with all that the server kept of it.
    pub(crate) async fn error(&self, what: &str, failure: Failure) -> Error {
        let of_kind = |kind, reason: String| Error::new(kind, what.to_owned()).because(reason);
        match failure {
            Failure::Verdict(error) => Error::from_server(what.to_owned(), self.complete(error).await),
            Failure::Auth(reason) => of_kind(ErrorKind::Auth, reason),
            Failure::Unsupported(reason) => of_kind(ErrorKind::Unsupported, reason),
            Failure::Transport(failure) => {
                of_kind(ErrorKind::Transport, failure.reason).retryable(failure.is_retryable)
            }
        }
    }

    /// Fills in what the status of a failed call had no room for.
    ///
    /// The server answers once per error, so this is called once, and not repeated if it fails.
    pub(crate) async fn complete(&self, mut error: ServerError) -> ServerError {
        let Some(error_id) = error.error_id.take() else { return error };
        let request = proto::FetchErrorDetailsRequest {
            session_id: self.id(),
            client_observed_server_side_session_id: self.observed(),
            user_context: Some(self.user_context()),
            error_id,
            client_type: Some(self.client_type()),
        };
        let mut stub = self.stub();
        let call = Box::pin(stub.fetch_error_details(self.request(request)));
        // What it adds is a comfort; the error itself is already known.
        let Ok(Ok(response)) = tokio::time::timeout(Duration::from_secs(10), call).await else { return error };
        let details = response.into_inner();
        let root = details.root_error_idx.and_then(|index| usize::try_from(index).ok());
        let Some(root) = root.and_then(|index| details.errors.into_iter().nth(index)) else { return error };
        if !root.message.is_empty() {
            error.message = root.message;
        }
        if !root.error_type_hierarchy.is_empty() {
            error.classes = root.error_type_hierarchy;
        }
        if let Some(throwable) = root.spark_throwable {
            error.error_class = throwable.error_class.or(error.error_class);
            error.sql_state = throwable.sql_state.or(error.sql_state);
            if !throwable.message_parameters.is_empty() {
                error.message_parameters = throwable.message_parameters;
            }
        }
        error
    }
}

pub(crate) fn timed_out(what: &str) -> Error {
    let reason = format!("no answer within {} s", CALL_TIMEOUT.as_secs());
    Error::new(ErrorKind::Timeout, what.to_owned()).because(reason)
}
