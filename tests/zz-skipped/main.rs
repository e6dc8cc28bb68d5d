//! The last test target of `cargo test`: prints how many tests this machine did not allow, and which.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail loudly")]

#[path = "../it/support/skip.rs"]
mod skip;

use std::collections::BTreeSet;
use std::io::Write;

fn main() {
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    let list = skip::list();
    let text = std::fs::read_to_string(&list).unwrap_or_default();
    let skipped: BTreeSet<&str> = text.lines().collect();
    let mut stdout = std::io::stdout();
    writeln!(stdout, "\nskipped: {}", skipped.len()).unwrap();
    for line in skipped {
        writeln!(stdout, "  {line}").unwrap();
    }
    writeln!(stdout).unwrap();
    std::fs::remove_file(list).ok();
}
