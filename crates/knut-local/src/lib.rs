//! A local Spark Connect server: find or install, start, reuse, stop.
//!
//! This crate is what stands behind `--local`: it installs Apache Spark with the machine's own Python and pip
//! ([`install`]), starts one server per project ([`start`]), finds it again ([`Server::find`]) and ends it
//! ([`stop`]). It blocks, prints nothing (see [`Progress`]) and speaks no gRPC: whether the server answers is
//! asked through a probe that the caller gives to [`start`].
//!
//! ```no_run
//! use knut_local::{Home, InstallOptions, ProbeError, ProjectFolder, ServerOptions};
//!
//! # fn main() -> Result<(), knut_local::Error> {
//! let home = Home::from_env()?;
//! let installation = knut_local::install(&home, &InstallOptions::default(), &mut |_| ())?;
//! let project = ProjectFolder::new(".")?;
//! let mut probe = |address: &knut_local::Address| -> Result<(), ProbeError> {
//!     // One real RPC with `address.token()`.
//!     # let _ = address;
//!     Ok(())
//! };
//! let server = knut_local::start(&installation, &project, &ServerOptions::default(), &mut probe, &mut |_| ())?;
//! println!("{}", server.address());
//! knut_local::stop(&project, &mut |_| ())?;
//! # Ok(())
//! # }
//! ```

mod child;
mod error;
mod home;
mod install;
mod installation;
mod java;
mod launch;
mod location;
mod log;
mod options;
mod pip;
mod process;
mod progress;
mod project;
mod server;
mod start;
mod state;
mod stop;

pub use error::{Error, ErrorKind, Result};
pub use home::Home;
pub use install::{InstallOptions, install};
pub use installation::{Installation, SPARK_VERSION};
pub use java::{Java, JavaOrigin, JavaSearch};
pub use options::ServerOptions;
pub use progress::Progress;
pub use project::ProjectFolder;
pub use server::{Address, Server, Status, Token};
pub use start::{ProbeError, start};
pub use stop::{Stopped, stop};
