//! `cargo +nightly fuzz run spec`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| knut_fuzz::spec(data));
