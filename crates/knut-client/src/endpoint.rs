//! `sc://` connection strings: where a Spark Connect server is and how to speak to it.
//!
//! Stricter than the reference where that is silently wrong (`use_ssl=yes` is no clear-text
//! connection, `?token=…` is not dropped). An error names the parameter, never its value.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use uuid::Uuid;

use crate::Error;

/// Spark Connect's port where none is given.
pub const DEFAULT_PORT: u16 = 15002;

/// Where a server is, and what is sent along with every call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoint {
    /// Host name or address; an IPv6 address without its brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Whether to use TLS; `None` uses it exactly when a token goes to another machine.
    pub use_ssl: Option<bool>,
    /// The bearer token; `None` sends none.
    pub token: Option<Secret>,
    /// The user the session belongs to; `None` is `knut`.
    pub user_id: Option<String>,
    /// A text put before knut's own in the client type that the server logs; `None` adds nothing.
    pub user_agent: Option<String>,
    /// The session to use; `None` makes a new one.
    pub session_id: Option<Uuid>,
    /// Further headers, with lower-case names. Values may be secret and are not shown.
    pub headers: BTreeMap<String, Secret>,
}

/// A text that no error, log or debug output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

impl Endpoint {
    /// A server at `host:port`, without TLS unless a token is set later.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            use_ssl: None,
            token: None,
            user_id: None,
            user_agent: None,
            session_id: None,
            headers: BTreeMap::new(),
        }
    }

    /// Sets the bearer token.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(Secret::new(token));
        self
    }

    /// Reads `sc://host[:port][/;key=value;…]`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) with the part that is wrong; values are not quoted.
    pub fn parse(url: &str) -> Result<Self, Error> {
        parse(url).map_err(|reason| Error::usage("cannot read the connection string").because(reason))
    }

    /// Whether the server is on this machine, by name or address.
    pub fn is_loopback(&self) -> bool {
        let host = self.host.trim_end_matches('.');
        host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Whether the connection is encrypted.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) if a token would go to another machine in clear text.
    pub fn uses_tls(&self) -> Result<bool, Error> {
        let secret = self.token.is_some() && !self.is_loopback();
        if secret && self.use_ssl == Some(false) {
            let reason = "a token is never sent to another machine in clear text: remove `use_ssl=false`";
            return Err(Error::usage(format!("cannot connect to {self}")).because(reason));
        }
        Ok(self.use_ssl.unwrap_or(secret))
    }
}

/// Only `host:port`: fit for logs and messages.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

const KNOWN: [&str; 6] = ["use_ssl", "token", "user_id", "user_agent", "session_id", "grpc_max_message_size"];

fn parse(url: &str) -> Result<Endpoint, String> {
    let Some(rest) = url.strip_prefix("sc://") else {
        return Err("it must begin with `sc://`, as in `sc://localhost:15002`".to_owned());
    };
    let (authority, path) = match rest.find(['/', ';', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (host, port) = parse_authority(authority)?;
    let mut endpoint = Endpoint::new(host, port);
    let parameters = match path.strip_prefix('/') {
        None if path.is_empty() => return Ok(endpoint),
        None if path.starts_with(';') => return Err("parameters begin with `/;`, not `;`".to_owned()),
        None => return Err("`?` and `#` have no meaning in it: parameters are written `/;key=value`".to_owned()),
        Some(parameters) => parameters,
    };
    if !parameters.is_empty() && !parameters.starts_with(';') {
        return Err("it takes no path: parameters are written `/;key=value`".to_owned());
    }
    let mut seen: Vec<&str> = Vec::new();
    for parameter in parameters.split(';').filter(|parameter| !parameter.is_empty()) {
        let Some((key, value)) = parameter.split_once('=') else {
            // Not quoted: a lone text may be a token whose key was forgotten.
            return Err("a parameter has no `=`: parameters are written `key=value`".to_owned());
        };
        if seen.contains(&key) {
            return Err(format!("parameter `{key}` is given twice"));
        }
        seen.push(key);
        let Ok(value) = percent_decode_str(value).decode_utf8() else {
            return Err(format!("the value of parameter `{key}` is not UTF-8"));
        };
        set(&mut endpoint, key, &value)?;
    }
    Ok(endpoint)
}

fn parse_authority(authority: &str) -> Result<(&str, u16), String> {
    if authority.contains('@') {
        return Err(
            "it takes no user and password before the host: use the parameters `user_id` and `token`".to_owned()
        );
    }
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or("the `[` of an IPv6 address is not closed")?;
        host.parse::<std::net::Ipv6Addr>().map_err(|_| "the brackets hold no IPv6 address".to_owned())?;
        match after.strip_prefix(':') {
            None if after.is_empty() => (host, None),
            None => return Err("only a port may follow the brackets of an IPv6 address".to_owned()),
            Some(port) => (host, Some(port)),
        }
    } else {
        match authority.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("an IPv6 address stands in brackets: `sc://[::1]:15002`".to_owned());
            }
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    if host.is_empty() {
        return Err("the host is missing".to_owned());
    }
    if host.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("the host has a space or a control character in it".to_owned());
    }
    let port = match port {
        None => DEFAULT_PORT,
        Some(port) => match port.parse::<u16>() {
            Ok(port) if port > 0 => port,
            _ => return Err("the port is no number from 1 to 65535".to_owned()),
        },
    };
    Ok((host, port))
}

fn set(endpoint: &mut Endpoint, key: &str, value: &str) -> Result<(), String> {
    let text = || {
        let fits = !value.is_empty() && !value.chars().any(char::is_control);
        fits.then(|| value.to_owned()).ok_or_else(|| format!("parameter `{key}` is empty or has control characters"))
    };
    match key {
        "use_ssl" => {
            endpoint.use_ssl = Some(match value.to_ascii_lowercase().as_str() {
                "true" => true,
                "false" => false,
                _ => return Err("parameter `use_ssl` is neither `true` nor `false`".to_owned()),
            });
        }
        "token" => {
            let token = text()?;
            if !token.is_ascii() {
                return Err("parameter `token` has characters that no header may hold".to_owned());
            }
            endpoint.token = Some(Secret::new(token));
        }
        "user_id" => endpoint.user_id = Some(text()?),
        "user_agent" => endpoint.user_agent = Some(text()?),
        "session_id" => {
            let id = value.parse().map_err(|_| "parameter `session_id` is no UUID".to_owned())?;
            endpoint.session_id = Some(id);
        }
        "grpc_max_message_size" => {
            // knut reads messages of any size that the server may send; the figure is only checked.
            value.parse::<u64>().map_err(|_| format!("parameter `{key}` is no number of bytes"))?;
        }
        _ => {
            let name = key.to_ascii_lowercase();
            if KNOWN.contains(&name.as_str()) {
                return Err(format!("parameter `{key}` is written `{name}`"));
            }
            if http::HeaderName::from_bytes(name.as_bytes()).is_err()
                || ["authorization", "te", "content-type"].contains(&name.as_str())
            {
                return Err(format!("parameter `{key}` is neither known nor a header that may be sent"));
            }
            if http::HeaderValue::from_str(value).is_err() {
                return Err(format!("parameter `{key}` has characters that no header may hold"));
            }
            endpoint.headers.insert(name, Secret::new(value));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> String {
        parse(url).unwrap().to_string()
    }

    /// C055: what is accepted.
    #[test]
    fn good_connection_strings_are_read() {
        for (url, expected) in [
            ("sc://localhost", "localhost:15002"),
            ("sc://localhost/", "localhost:15002"),
            ("sc://h:1234", "h:1234"),
            ("sc://[::1]:15002", "[::1]:15002"),
            ("sc://[::1]", "[::1]:15002"),
            ("sc://h/;", "h:15002"),
            ("sc://h:15002/;;user_id=a;", "h:15002"),
        ] {
            assert_eq!(address(url), expected, "{url}");
        }
        let endpoint =
            parse("sc://h/;token=a=b/c%2Fd==;use_ssl=TRUE;user_id=mar%20tin;X-Custom=1;user_agent=my/app").unwrap();
        assert_eq!(endpoint.token.as_ref().unwrap().expose(), "a=b/c/d==");
        assert_eq!(endpoint.use_ssl, Some(true));
        assert_eq!(endpoint.user_id.as_deref(), Some("mar tin"));
        assert_eq!(endpoint.headers["x-custom"].expose(), "1");
        assert_eq!(endpoint.user_agent.as_deref(), Some("my/app"));
        assert_eq!(parse("sc://h/;user_id=jürgen").unwrap().user_id.as_deref(), Some("jürgen"));
    }

    /// C055: what is refused, and that no error tells a value.
    #[test]
    fn bad_connection_strings_say_what_is_wrong() {
        for (url, part) in [
            ("sc://localhost:", "port"),
            ("sc://h:abc", "port"),
            ("sc://h:70000", "port"),
            ("sc://h:0", "port"),
            ("sc://::1:15002", "brackets"),
            ("sc://0:0:0:0:0:0:0:0:15002", "brackets"),
            ("sc://[::1", "not closed"),
            ("sc://[nonsense]", "IPv6"),
            ("sc://h:15002/path", "path"),
            ("sc://h/;token=", "`token`"),
            ("sc://h/;token=SENTINEL\u{e9}", "`token`"),
            ("sc://h/;use_ssl=yes", "`use_ssl`"),
            ("sc://h/;SENTINEL", "no `=`"),
            ("sc://h/;session_id=SENTINEL", "`session_id`"),
            ("SC://h", "sc://"),
            ("http://h", "sc://"),
            ("h:15002", "sc://"),
            ("local[*]", "sc://"),
            ("sc://user:SENTINEL@h", "user and password"),
            ("sc://", "host"),
            ("sc://h:15002;token=SENTINEL", "`/;`"),
            ("sc://h/?token=SENTINEL", "path"),
            ("sc://h?token=SENTINEL", "`?`"),
            ("sc://h#SENTINEL", "`#`"),
            ("sc://ho st", "space"),
            ("sc://h/;USER_ID=x", "written `user_id`"),
            ("sc://h/;token=a;token=SENTINEL", "twice"),
            ("sc://h/;grpc_max_message_size=1k", "bytes"),
            ("sc://h/;authorization=SENTINEL", "`authorization`"),
            ("sc://h/;user_agent=a%0Ab", "control"),
            ("sc://h/;user_id=%FF", "UTF-8"),
        ] {
            let reason = parse(url).unwrap_err();
            assert!(reason.contains(part), "{url}: {reason}");
            assert!(!reason.contains("SENTINEL"), "{url}: {reason}");
        }
    }

    #[test]
    fn a_token_leaves_the_machine_only_encrypted() {
        let tls = |url: &str| parse(url).unwrap().uses_tls().ok();
        assert_eq!(tls("sc://h/;token=t"), Some(true));
        assert_eq!(tls("sc://h/;token=t;use_ssl=false"), None);
        assert_eq!(tls("sc://127.0.0.1/;token=t"), Some(false));
        assert_eq!(tls("sc://[::1]/;token=t;use_ssl=true"), Some(true));
        assert_eq!(tls("sc://h"), Some(false));
        assert_eq!(tls("sc://LocalHost./;token=t"), Some(false));
    }

    #[test]
    fn secrets_are_not_shown() {
        let endpoint = parse("sc://h/;token=SENTINEL;x-key=SENTINEL").unwrap();
        assert!(!format!("{endpoint:?} {endpoint}").contains("SENTINEL"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", tail in "[a-z:/;=?#@\\[\\]%0-9]*") {
            let _ = parse(&text);
            let _ = parse(&format!("sc://{tail}"));
        }
    }
}
