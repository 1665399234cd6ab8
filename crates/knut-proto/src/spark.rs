//! The protobuf package tree below `spark`. It must hold module declarations only.

/// The messages of the package `spark.connect` and, by feature, its one service.
///
/// Field and message names are Spark's. What they mean is said where knut uses them: the package this schema was
/// taken from carries no comments.
#[expect(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    reason = "generated code: it is judged by its schema, not by the house rules"
)]
// The code of the service brings suppressions of its own.
#[cfg_attr(
    any(feature = "client", feature = "server"),
    expect(clippy::allow_attributes_without_reason, reason = "generated code")
)]
#[cfg_attr(
    feature = "server",
    expect(clippy::allow_attributes, reason = "generated code")
)]
#[rustfmt::skip]
#[path = "generated/spark.connect.rs"]
pub mod connect;
