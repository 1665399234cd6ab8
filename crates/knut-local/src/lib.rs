//! Installs, starts and stops a local Spark Connect server.
