//! How a server is started, as far as the caller decides it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::java::JavaSearch;

/// How to start a project's server. What is left at its default also fits a server that already runs.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The port to listen on; `None`: any free one, or that of a server that already runs.
    pub port: Option<u16>,
    /// Spark settings (`spark.…`) besides knut's own. They stand in the process's arguments, which others on this
    /// machine can read: no secrets. Those that keep the server to this machine and this project cannot be changed.
    pub confs: BTreeMap<String, String>,
    /// The largest Java heap in MiB; `None`: a quarter of the machine's memory, at least 1 and at most 4 GiB.
    pub memory_mib: Option<u32>,
    /// Where to look for Java.
    pub java: JavaSearch,
    /// How long the server may take until it answers, after which it is ended. Default: 3 minutes,
    /// because a busy machine may take one.
    pub start_timeout: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            port: None,
            confs: BTreeMap::new(),
            memory_mib: None,
            java: JavaSearch::default(),
            start_timeout: Duration::from_mins(3),
        }
    }
}

impl ServerOptions {
    pub(crate) fn check(&self) -> Result<()> {
        if self.port == Some(0) {
            return Err(invalid("port 0 names no port").with_hint("leave the port out to get any free one"));
        }
        if self.memory_mib.is_some_and(|mib| mib < 512) {
            return Err(invalid("the server needs at least 512 MiB of memory"));
        }
        for (key, value) in &self.confs {
            let plain = key.starts_with("spark.") && key.chars().all(|c| c.is_ascii_graphic() && c != '=');
            if !plain {
                return Err(invalid(format!("{key:?} is not the name of a Spark setting"))
                    .with_hint("such names begin with `spark.`"));
            }
            if key == "spark.master" && !(value == "local" || value.starts_with("local[")) {
                return Err(invalid(format!("spark.master {value:?} is not a local one"))
                    .with_hint("use --remote to run on a cluster"));
            }
            if value.contains('\0') {
                return Err(invalid(format!("the value of {key} holds a zero byte")));
            }
        }
        Ok(())
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOption, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_cannot_work_are_refused_by_name() {
        let with_conf = |key: &str, value: &str| ServerOptions {
            confs: BTreeMap::from([(key.to_owned(), value.to_owned())]),
            ..ServerOptions::default()
        };
        let bad = [
            with_conf("hive.x", "1"),
            with_conf("spark.a=b", "1"),
            with_conf("spark.a b", "1"),
            with_conf("spark.a", "\0"),
            with_conf("spark.master", "spark://x:7077"),
            ServerOptions { port: Some(0), ..ServerOptions::default() },
            ServerOptions { memory_mib: Some(100), ..ServerOptions::default() },
        ];
        for options in bad {
            let error = options.check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidOption, "{options:?}");
        }
        with_conf("spark.master", "local[2]").check().unwrap();
        with_conf("spark.sql.shuffle.partitions", "x = y").check().unwrap();
    }
}
