//! Test support of knut: a scripted Spark Connect server and a real one.
