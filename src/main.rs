//! `msg`: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ravenry::faces::cli::run(std::env::args_os())
}
