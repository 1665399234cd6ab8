//! `cargo +nightly fuzz run sources`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| knut_fuzz::sources(data));
