//! The generated Spark Connect messages and service of knut.
