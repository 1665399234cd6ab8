//! The messages and the service of Spark Connect, generated from the schema in `proto/`.
//!
//! Nothing here is written by hand except the two module declarations: the code under `generated/` comes from
//! `cargo xtask regen-proto` and is committed, so that building knut needs neither `protoc` nor a build script.
//!
//! The messages are always there. The feature `client` adds `spark_connect_service_client`, and the feature
//! `server` adds `spark_connect_service_server`. Neither brings a transport: that is the business of whoever
//! opens or accepts the connection.
//!
//! Map fields are `BTreeMap`, so that the same message always encodes to the same bytes.

pub mod spark;
