//! A Spark Connect server on bare HTTP/2, for what no gRPC library lets a server do.
//!
//! It has one execution with a fixed list of events, serves it to whoever attaches, and commits one
//! [`Fault`] in the first stream that it opens.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use h2::SendStream;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderValue, Request, Response};
use knut_proto::spark::connect as proto;
use prost::Message;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

pub use h2::Reason;

use crate::scripted::{SERVER_SIDE_SESSION, complete, event};

/// What goes wrong, after the responses before it were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Half a message, and then the trailers of a success.
    HalfAMessageAndOk,
    /// Half a message, and then the end of the stream without trailers.
    HalfAMessage,
    /// The end of the stream without trailers.
    NoTrailers,
    /// The connection is closed.
    Fin,
    /// The connection is reset.
    Reset,
    /// The server goes away for this reason and closes the connection.
    GoAway(Reason),
    /// The stream is reset for this reason.
    ResetStream(Reason),
    /// Nothing more comes.
    Silence,
    /// A message that is larger than any client reads.
    TooLarge,
    /// Instead of an answer, a proxy's page with this status. Only before the first response.
    Page(u16),
    /// Instead of an answer, a proxy's status without a page. Only before the first response.
    Status(u16),
}

/// A running server.
#[derive(Debug)]
pub struct RawServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    n_events: usize,
    /// The fault, and how many responses come before it; `None` once it was committed.
    fault: Option<(Fault, usize)>,
    /// The calls in their order.
    calls: Vec<String>,
}

/// What a connection is told to do.
enum Order {
    Close,
    GoAway(Reason),
}

impl RawServer {
    /// Starts a server whose execution sends `n_events` events, in the current runtime. Its first
    /// stream fails after `n_before` responses.
    pub async fn start(n_events: usize, fault: Fault, n_before: usize) -> Self {
        let state = State { n_events, fault: Some((fault, n_before)), calls: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream, Arc::clone(&shared)));
            }
        });
        Self { address, state }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The names of the calls so far, in their order.
    pub fn calls(&self) -> Vec<String> {
        self.state.lock().unwrap().calls.clone()
    }
}

async fn connection(stream: TcpStream, state: Arc<Mutex<State>>) {
    let resets = matches!(state.lock().unwrap().fault, Some((Fault::Reset, _)));
    if resets {
        // What is closed with unsent data and no patience is reset.
        stream.set_zero_linger().unwrap();
    }
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    let (orders, mut told) = mpsc::channel(1);
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    tokio::spawn(call(request, respond, Arc::clone(&state), orders.clone()));
                }
                _ => return,
            },
            order = told.recv() => match order {
                Some(Order::GoAway(reason)) => {
                    connection.abrupt_shutdown(reason);
                    let _ = std::future::poll_fn(|cx| connection.poll_closed(cx)).await;
                    return;
                }
                Some(Order::Close) | None => return,
            },
        }
    }
}

async fn call(
    request: Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    state: Arc<Mutex<State>>,
    orders: mpsc::Sender<Order>,
) {
    let rpc = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
    state.lock().unwrap().calls.push(rpc.clone());
    let message = body(request.into_body()).await;
    match rpc.as_str() {
        "ExecutePlan" => {
            let session_id = proto::ExecutePlanRequest::decode(message).unwrap().session_id;
            execution(&mut respond, &state, &session_id, 0, &orders).await;
        }
        "ReattachExecute" => {
            let request = proto::ReattachExecuteRequest::decode(message).unwrap();
            let first = request.last_response_id.map_or(0, |id| id.parse::<usize>().unwrap() + 1);
            execution(&mut respond, &state, &request.session_id, first, &orders).await;
        }
        "AnalyzePlan" => {
            let version = proto::analyze_plan_response::SparkVersion { version: "4.3.0".to_owned() };
            unary(
                &mut respond,
                &proto::AnalyzePlanResponse {
                    result: Some(proto::analyze_plan_response::Result::SparkVersion(version)),
                    ..Default::default()
                },
            );
        }
        "ReleaseExecute" => unary(&mut respond, &proto::ReleaseExecuteResponse::default()),
        "GetStatus" => {
            let request = proto::GetStatusRequest::decode(message).unwrap();
            let id = request.operation_status.unwrap().operation_ids.remove(0);
            let status = proto::get_status_response::OperationStatus {
                operation_id: id,
                state: proto::get_status_response::operation_status::OperationState::Running.into(),
                extensions: Vec::new(),
            };
            unary(&mut respond, &proto::GetStatusResponse { operation_statuses: vec![status], ..Default::default() });
        }
        _ => {
            let headers = head(200).header("grpc-status", "12").body(()).unwrap();
            let _ = respond.send_response(headers, true);
        }
    }
}

/// The first message of a request.
async fn body(mut body: h2::RecvStream) -> Bytes {
    let mut bytes = Vec::new();
    while let Some(Ok(data)) = body.data().await {
        let _ = body.flow_control().release_capacity(data.len());
        bytes.extend_from_slice(&data);
    }
    Bytes::from(bytes).slice(5..)
}

fn head(status: u16) -> http::response::Builder {
    Response::builder().status(status).header("content-type", "application/grpc")
}

/// A message as gRPC frames it.
fn framed(message: &impl Message) -> Bytes {
    let bytes = message.encode_to_vec();
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    [&[0], length.as_slice(), &bytes].concat().into()
}

fn ok() -> HeaderMap {
    HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"))])
}

fn unary(respond: &mut SendResponse<Bytes>, message: &impl Message) {
    // The client may have gone.
    let Ok(mut stream) = respond.send_response(head(200).body(()).unwrap(), false) else { return };
    let _ = stream.send_data(framed(message), false);
    let _ = stream.send_trailers(ok());
}

/// Serves the execution's responses from `first` on.
async fn execution(
    respond: &mut SendResponse<Bytes>,
    state: &Mutex<State>,
    session_id: &str,
    first: usize,
    orders: &mpsc::Sender<Order>,
) {
    let (n_events, fault) = {
        let mut state = state.lock().unwrap();
        (state.n_events, state.fault.take())
    };
    if let Some((Fault::Page(status), 0)) = fault {
        let page = Response::builder().status(status).header("content-type", "text/html").body(()).unwrap();
        if let Ok(mut stream) = respond.send_response(page, false) {
            let _ = stream.send_data(Bytes::from_static(b"<html>the proxy is tired</html>"), true);
        }
        return;
    }
    if let Some((Fault::Status(status), 0)) = fault {
        let _ = respond.send_response(Response::builder().status(status).body(()).unwrap(), true);
        return;
    }
    // As with the real server, the headers come with the first response.
    let mut stream: Option<SendStream<Bytes>> = None;
    for (n_sent, index) in (first..=n_events).enumerate() {
        if let Some((fault, n_before)) = fault
            && n_sent == n_before
        {
            return commit(fault, respond, stream, orders).await;
        }
        let mut message = match index {
            last if last == n_events => complete(&index.to_string()),
            _ => event(&index.to_string(), &format!("event {index}")),
        };
        session_id.clone_into(&mut message.session_id);
        SERVER_SIDE_SESSION.clone_into(&mut message.server_side_session_id);
        if stream.is_none() {
            stream = respond.send_response(head(200).body(()).unwrap(), false).ok();
        }
        let Some(stream) = &mut stream else { return };
        if stream.send_data(framed(&message), false).is_err() {
            return;
        }
    }
    if let Some(mut stream) = stream {
        let _ = stream.send_trailers(ok());
    }
}

async fn commit(
    fault: Fault,
    respond: &mut SendResponse<Bytes>,
    stream: Option<SendStream<Bytes>>,
    orders: &mpsc::Sender<Order>,
) {
    // What was sent before is on its way.
    tokio::time::sleep(Duration::from_millis(10)).await;
    if let Fault::ResetStream(reason) = fault {
        return match stream {
            Some(mut stream) => stream.send_reset(reason),
            None => respond.send_reset(reason),
        };
    }
    // Kept to the end: a stream that is dropped is reset.
    let mut stream = match (fault, stream) {
        (Fault::Silence | Fault::Fin | Fault::Reset | Fault::GoAway(_), stream) => stream,
        (_, Some(stream)) => Some(stream),
        (_, None) => respond.send_response(head(200).body(()).unwrap(), false).ok(),
    };
    let mut send = |bytes: Bytes, is_end: bool| {
        if let Some(stream) = &mut stream {
            // The client may have gone.
            let _ = stream.send_data(bytes, is_end);
        }
    };
    let whole = framed(&event("half", "never seen"));
    let half = whole.slice(..whole.len() / 2);
    match fault {
        Fault::HalfAMessageAndOk => {
            send(half, false);
            if let Some(stream) = &mut stream {
                let _ = stream.send_trailers(ok());
            }
            return;
        }
        Fault::HalfAMessage => return send(half, true),
        Fault::NoTrailers => return send(Bytes::new(), true),
        Fault::TooLarge => send([&[0], (1_u32 << 30).to_be_bytes().as_slice()].concat().into(), false),
        Fault::Fin | Fault::Reset => {
            let _ = orders.send(Order::Close).await;
        }
        Fault::GoAway(reason) => {
            let _ = orders.send(Order::GoAway(reason)).await;
        }
        Fault::ResetStream(_) | Fault::Silence | Fault::Page(_) | Fault::Status(_) => {}
    }
    std::future::pending::<()>().await;
}
