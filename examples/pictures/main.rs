//! Draws the pictures of the documentation from real runs: `cargo run --example pictures [chat|moving]`.
//!
//! With other arguments, this program is `msg` itself, so nothing else has to be built.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "it fails loudly, and makes the files that it needs"
)]

mod chat;
mod moving_picture;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let wanted = match wanted.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => ["chat", "moving"].as_slice(),
        ["chat"] => &["chat"],
        ["moving"] => &["moving"],
        _ => return ravenry::faces::run(std::env::args_os()),
    };
    if !cfg!(debug_assertions) {
        eprintln!("the times of the scene can be set in a debug build alone");
        return ExitCode::FAILURE;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if wanted.contains(&"chat") {
        chat::draw_all(&root.join("docs"));
    }
    if wanted.contains(&"moving") {
        let picture = moving_picture::draw(&std::env::current_exe().unwrap());
        std::fs::write(root.join(moving_picture::PATH), picture).unwrap();
    }
    ExitCode::SUCCESS
}
