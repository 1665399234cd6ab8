//! Test support of knut: recorded runs, a scripted Spark Connect server, a proxy whose connections
//! can be cut, and a state as text.
//!
//! It may panic: a broken fixture or script is a failed test.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "test support fails tests")]
#![expect(clippy::missing_panics_doc, reason = "every panic here is a failed test")]

pub mod proxy;
pub mod raw;
pub mod recording;
pub mod scripted;
pub mod state_text;
