//! How fast we are, as ratios.
//!
//! A time by itself says little on a machine that does other things too. Every figure here is measured in turns with
//! a baseline that does the least the job could take, and what is printed is the one against the other. A missed
//! aim is told, not punished: the exit code says only whether it could be measured.
//!
//! `cargo bench` runs all of it in less than a minute; `cargo bench -- lock` only what has `lock` in its name.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark measures, and may fail loudly"
)]

mod agents;
mod contenders;
mod figure;
mod locks;
mod scratch;
mod start;

use figure::Figure;

type Measurement = fn() -> Vec<Figure>;

const MEASUREMENTS: [(&str, Measurement); 4] = [
    ("start", start::measure),
    ("mesh.lock", locks::mesh),
    ("swarm.lock", locks::swarm),
    ("agents", agents::measure),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == contenders::FLAG) {
        return contenders::run(&args[1..]);
    }
    if cfg!(debug_assertions) {
        // `cargo test --all-targets` comes by here.
        return println!("nothing to measure in a debug build; use `cargo bench`");
    }
    // Cargo adds `--bench`.
    let filter = args.iter().find(|arg| !arg.starts_with('-')).map_or("", String::as_str);
    let chosen = MEASUREMENTS.iter().filter(|(name, _)| name.contains(filter));
    let figures: Vec<Figure> = chosen.flat_map(|(_, measure)| measure()).collect();
    print!("{}", figure::table(&figures));
}
