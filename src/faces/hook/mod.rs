//! The hooks of the harnesses: `msg hook HARNESS EVENT`.

pub mod codec;
