#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ravenry_fuzz::outline(data));
