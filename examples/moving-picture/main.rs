//! Draws the moving picture of the README: `cargo run --example moving-picture`.
//!
//! With arguments, this program is `msg` itself, so nothing else has to be built.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "it fails loudly, and makes the files that it needs"
)]

mod picture;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().len() > 1 {
        return ravenry::faces::run(std::env::args_os());
    }
    if !cfg!(debug_assertions) {
        eprintln!("the times of the scene can be set in a debug build alone");
        return ExitCode::FAILURE;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(picture::PATH);
    std::fs::write(&path, picture::draw(&std::env::current_exe().unwrap())).unwrap();
    eprintln!("{}", path.display());
    ExitCode::SUCCESS
}
