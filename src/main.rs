//! `msg`: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ravenry::faces::run(std::env::args_os())
}
