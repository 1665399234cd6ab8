//! A Spark Connect client as small as can be: one gRPC call over a plain socket, for tests of a crate that must not
//! depend on a gRPC library. It knows just enough of HTTP/2 to send a request and gather the response's data.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use knut_local::{Address, ProbeError};

const SERVICE: &str = "/spark.connect.SparkConnectService";
const SESSION: &str = "00112233-4455-6677-8899-aabbccddeeff";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// Asks the server for one setting: a real RPC that needs the token.
pub(crate) fn probe(address: &Address) -> Result<(), ProbeError> {
    let answer = config_get(address.socket(), address.token().reveal(), "spark.master");
    match answer {
        Ok(data) if contains(&data, "spark.master") => Ok(()),
        Ok(_) => Err(ProbeError::Refused("no data".into())),
        Err(error) => Err(ProbeError::NotReady(error.into())),
    }
}

/// The raw response of `Config.Get` for `key`; empty if the call was refused.
pub(crate) fn config_get(socket: SocketAddr, token: &str, key: &str) -> io::Result<Vec<u8>> {
    let operation = field(3, &field(2, &field(1, key.as_bytes())));
    call(socket, token, "Config", &[session(), operation].concat())
}

/// Runs `sql` as a command and gives the raw responses; empty if it failed. Text in rows stands in them as it is.
pub(crate) fn execute(address: &Address, sql: &str) -> Vec<u8> {
    let query = field(10, &field(1, sql.as_bytes()));
    let plan = field(3, &field(1, &query));
    let socket = address.socket();
    call(socket, address.token().reveal(), "ExecutePlan", &[session(), plan].concat()).unwrap()
}

/// Whether `text` stands in the response `data`.
pub(crate) fn contains(data: &[u8], text: &str) -> bool {
    data.windows(text.len()).any(|window| window == text.as_bytes())
}

fn session() -> Vec<u8> {
    [field(1, SESSION.as_bytes()), field(2, &field(1, b"tests"))].concat()
}

/// A length-delimited protobuf field.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = value.len();
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend_from_slice(value);
    bytes
}

fn call(socket: SocketAddr, token: &str, method: &str, message: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")?;
    write_frame(&mut stream, SETTINGS, 0, 0, &[])?;
    let path = format!("{SERVICE}/{method}");
    let authorization = format!("Bearer {token}");
    let headers = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", &path),
        (":authority", "localhost"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("authorization", &authorization),
    ];
    let block: Vec<u8> = headers.iter().flat_map(|(name, value)| header(name, value)).collect();
    write_frame(&mut stream, HEADERS, END_HEADERS, 1, &block)?;
    let mut body = vec![0];
    body.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    body.extend(message);
    write_frame(&mut stream, DATA, END_STREAM, 1, &body)?;

    let mut data = Vec::new();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length.try_into().unwrap()];
        stream.read_exact(&mut payload)?;
        let (kind, flags) = (head[3], head[4]);
        match kind {
            DATA => data.extend(payload),
            SETTINGS if flags & ACK == 0 => write_frame(&mut stream, SETTINGS, ACK, 0, &[])?,
            RESET | GO_AWAY => return Err(io::ErrorKind::ConnectionReset.into()),
            _ => {}
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            return Ok(data);
        }
    }
}

/// A header that is neither indexed nor compressed.
fn header(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        // Lengths of 127 and more would need more than one byte; no header here has one.
        assert!(text.len() < 127);
        bytes.push(u8::try_from(text.len()).unwrap());
        bytes.extend(text.as_bytes());
    }
    bytes
}

fn write_frame(stream: &mut TcpStream, kind: u8, flags: u8, id: u32, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(id.to_be_bytes());
    frame.extend(payload);
    stream.write_all(&frame)
}
