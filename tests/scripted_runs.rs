//! The `knut` binary against a server that plays a script: what no real server does on demand.
