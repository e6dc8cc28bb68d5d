//! Entry point of `msg`: passes the arguments to [`ravenry::faces::run`] and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ravenry::faces::run(std::env::args_os())
}
