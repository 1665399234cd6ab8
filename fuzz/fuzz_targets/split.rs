//! `cargo +nightly fuzz run split`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| knut_fuzz::split(data));
