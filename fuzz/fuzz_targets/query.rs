//! `cargo +nightly fuzz run query`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| knut_fuzz::query(data));
