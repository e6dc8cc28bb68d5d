//! How fast we are, as ratios.
//!
//! A time by itself says little on a machine that does other things too. Every figure here is measured in turns with
//! a baseline that does the least the job could take, and what is printed is the one against the other. A missed
//! aim is told, not punished: the exit code says only whether it could be measured.
//!
//! `cargo bench --profile dist` runs nearly all of it in a minute and a half, with the program as it is shipped; with
//! `-- lock` only what has `lock` in its name. Some take long and are asked for by their whole names: `read-100000`, `idle-60`,
//! `tui` and `tui-idle-60`. `-- --report` runs all of it and how it grows, in about ten minutes, and writes
//! `BENCHMARKS.md` and its pictures; with `--short` it leaves out what takes long. `RAVENRY_BINARY=PATH` measures another
//! `msg`, such as the one that `.ci/release` makes.

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
mod crowds;
mod feed;
mod figure;
mod growth;
mod guard;
mod hooks;
mod locks;
mod mcp;
mod messages;
mod plot;
mod post;
mod readers;
mod report;
mod scratch;
mod start;
mod statusline;
mod swarm;
mod tui;
mod watching;

use figure::Figure;
use report::Weather;

type Measurement = fn() -> Vec<Figure>;

const MEASUREMENTS: [(&str, Measurement); 17] = [
    ("start", start::measure),
    ("statusline", statusline::measure),
    ("feed", feed::measure),
    ("mesh.lock", locks::mesh),
    ("swarm.lock", locks::swarm),
    ("agents", agents::measure),
    ("crowds", crowds::measure),
    ("hook", hooks::measure),
    ("guard", guard::measure),
    ("mcp", mcp::measure),
    ("task", swarm::measure),
    ("send", messages::send),
    ("post", messages::posting),
    ("hand-over", watching::hand_over),
    ("idle", watching::idle),
    ("readers", readers::measure),
    // Last: some file systems are slow to make files for a while after so many were removed.
    ("read", messages::drain),
];

/// What takes long, and is measured only if its whole name is given.
const ON_DEMAND: [(&str, Measurement); 4] = [
    ("read-100000", messages::drain_many),
    ("idle-60", watching::idle_long),
    ("tui", tui::measure),
    ("tui-idle-60", tui::idle_long),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == contenders::FLAG) {
        return contenders::run(&args[1..]);
    }
    if args.first().is_some_and(|arg| arg == watching::FLAG) {
        return watching::follow(&args[1..]);
    }
    scratch::start_without_copying();
    if cfg!(debug_assertions) {
        // `cargo test --all-targets` comes by here.
        return println!("nothing to measure in a debug build; use `cargo bench --profile dist`");
    }
    if args.iter().any(|arg| arg == "--report") {
        return report(args.iter().any(|arg| arg == "--short"));
    }
    // Cargo adds `--bench`.
    let filter = args.iter().find(|arg| !arg.starts_with('-')).map_or("", String::as_str);
    let chosen = MEASUREMENTS.iter().filter(|(name, _)| name.contains(filter));
    let demanded = ON_DEMAND.iter().filter(|(name, _)| *name == filter);
    let figures: Vec<Figure> = chosen.chain(demanded).flat_map(|(_, measure)| measure()).collect();
    print!("{}", figure::table(&figures));
}

/// `--short` leaves out what is measured on demand.
fn report(short: bool) {
    let before = Weather::now();
    let demanded = if short { &[][..] } else { &ON_DEMAND[..] };
    let all = MEASUREMENTS.iter().chain(demanded);
    let figures: Vec<Figure> = all.flat_map(|(name, measure)| tell(name, *measure)).collect();
    let growths = growth::measure();
    report::write(&figures, &growths, short, [before, Weather::now()]);
    println!("BENCHMARKS.md is written");
}

/// It takes a while: what was measured is shown at once.
fn tell(name: &str, measure: Measurement) -> Vec<Figure> {
    println!("{name}");
    let figures = measure();
    print!("{}", figure::table(&figures));
    figures
}
