//! Benchmarks of linked machines, with a real `nats-server`.
//!
//! `RAVENRY_NATS_SERVER=$(.ci/nats) cargo bench --profile dist --features link --bench link` runs all of them in a few minutes;
//! `-- engine`, `-- hook` or `-- fleet` runs one. As in `benches/ratios`, each figure is measured in turns with a baseline.
//! `RAVENRY_BINARY=PATH` measures another `msg` that can link, such as the one that `.ci/release` builds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark measures, and may fail loudly"
)]

mod engine;
#[path = "../ratios/figure.rs"]
#[allow(dead_code, reason = "shared with the other benchmarks, which use more of it")]
mod figure;
mod fleet;
mod hooks;
mod machine;
#[path = "../../tests/link/support/ports.rs"]
mod ports;
#[path = "../ratios/scratch.rs"]
#[allow(dead_code, reason = "shared with the other benchmarks, which use more of it")]
mod scratch;
mod server;

use std::process::ExitCode;

use figure::Figure;

type Measurement = fn() -> Vec<Figure>;

const MEASUREMENTS: [(&str, Measurement); 3] =
    [("engine", engine::measure), ("hook", hooks::measure), ("fleet", fleet::measure)];

fn main() -> ExitCode {
    scratch::start_without_copying();
    if cfg!(debug_assertions) {
        // `cargo test --all-targets` runs this too.
        println!("nothing to measure in a debug build; use `cargo bench --profile dist`");
        return ExitCode::SUCCESS;
    }
    if server::program().is_none() {
        eprintln!(
            "set RAVENRY_NATS_SERVER to a nats-server of version 2.11 or later: `.ci/nats` fetches one"
        );
        return ExitCode::FAILURE;
    }
    // Cargo adds `--bench`.
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    for (name, measure) in MEASUREMENTS.iter().filter(|(name, _)| name.contains(&filter)) {
        let figures = measure();
        println!("{name}\n{}\n{}", figure::table(&figures), figure::markdown(&figures));
    }
    ExitCode::SUCCESS
}
