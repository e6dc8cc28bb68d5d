//! Writes the man pages from the help texts, one for `msg` and one for each command: `cargo run --example man -- DIR`.
//!
//! It is not a command of `msg`, because only packagers need the pages, and the binary should not contain the
//! generator.

use std::path::PathBuf;
use std::process::ExitCode;

#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a tool that writes pages, not a part of msg"
)]
fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: cargo run --example man -- DIR");
        return ExitCode::from(2);
    };
    let written = std::fs::create_dir_all(&dir)
        .and_then(|()| clap_mangen::generate_to(ravenry::faces::cli::grammar(), &dir));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write the pages to `{}`: {error}", dir.display());
            ExitCode::FAILURE
        }
    }
}
