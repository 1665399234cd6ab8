//! Black-box suites of knut; what they share.
