//! Benchmarks, as ratios to a baseline.
//!
//! A time alone says little on a machine that does other things too. Every figure here is measured alternately with a
//! baseline that does the minimum the job could take, and the ratio is printed. A missed aim is reported but does not
//! fail: the exit code only says whether the measurement was possible.
//!
//! `cargo bench --profile dist` runs most of them in about 90 seconds, with the program as it is shipped; `-- lock`
//! runs only those with `lock` in their name. Slow ones must be requested by their full name: `read-100000`,
//! `idle-60`, `tui`, `tui-idle-60` and `wait-60`. `-- --report` runs all of them and the growth measurements in about ten
//! minutes, and writes `BENCHMARKS.md` and its pictures; `--short` leaves out the slow ones. `RAVENRY_BINARY=PATH`
//! measures another `msg`, such as the one that `.ci/release` builds.
//!
//! `-- replay PATH [COMMITS]` measures no time: it prints how well the history of that repository would have been
//! forecast. `-- search [RECORDS QUERIES]…` prints how well the search of knowledge finds. `-- staleness [PATH]` prints how many changes of anchored functions in that repository are noticed, and how
//! many false alarms there are beside those of a whole-file hash.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a benchmark measures, and may fail loudly"
)]

mod agents;
mod contenders;
mod crowds;
mod expressions;
mod feed;
mod figure;
mod finding;
mod growth;
mod guard;
mod hooks;
mod judging;
mod know;
mod locks;
mod mcp;
mod messages;
mod offers;
mod plot;
mod post;
mod prompts;
mod readers;
mod replay;
mod report;
mod runs;
mod scratch;
mod screens;
mod search;
mod seeding;
mod staleness;
mod start;
mod statusline;
mod swarm;
mod tui;
mod watching;

use std::process::ExitCode;

use figure::Figure;
use report::Weather;

type Measurement = fn() -> Vec<Figure>;

const MEASUREMENTS: [(&str, Measurement); 26] = [
    ("start", start::measure),
    ("statusline", statusline::measure),
    ("feed", feed::measure),
    ("mesh.lock", locks::mesh),
    ("swarm.lock", locks::swarm),
    ("agents", agents::measure),
    ("crowds", crowds::measure),
    ("hook", hooks::measure),
    ("prompt", prompts::measure),
    ("seeding", seeding::measure),
    ("guard", guard::measure),
    ("judging", judging::measure),
    ("know", know::measure),
    ("expressions", expressions::measure),
    ("offers", offers::measure),
    ("mcp", mcp::measure),
    ("task", swarm::measure),
    ("send", messages::send),
    ("post", messages::posting),
    ("hand-over", watching::hand_over),
    ("idle", watching::idle),
    ("readers", readers::measure),
    ("runs", runs::measure),
    ("look", screens::measure),
    ("finding", finding::measure),
    // Last: after many removals, some file systems create files slowly for a while.
    ("read", messages::drain),
];

/// Slow measurements, which run only if their full name is given.
const ON_DEMAND: [(&str, Measurement); 5] = [
    ("read-100000", messages::drain_many),
    ("idle-60", watching::idle_long),
    ("tui", tui::measure),
    ("tui-idle-60", tui::idle_long),
    ("wait-60", screens::wait_long),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == contenders::FLAG) {
        contenders::run(&args[1..]);
        return ExitCode::SUCCESS;
    }
    if args.first().is_some_and(|arg| arg == watching::FLAG) {
        watching::follow(&args[1..]);
        return ExitCode::SUCCESS;
    }
    // Cargo adds `--bench`.
    let words: Vec<String> = args.iter().filter(|arg| *arg != "--bench").cloned().collect();
    match &words[..] {
        [command, rest @ ..] if command == "replay" => return tell_result(replay::run(rest)),
        [command, rest @ ..] if command == "search" => return tell_result(search::run(rest)),
        [command, rest @ ..] if command == "staleness" => return tell_result(staleness::run(rest)),
        _ => {}
    }
    measure(&args);
    ExitCode::SUCCESS
}

/// Prints a text that was asked for, or why there is none.
fn tell_result(result: Result<String, String>) -> ExitCode {
    match result {
        Ok(text) => print!("{text}"),
        Err(sentence) => {
            eprintln!("{sentence}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn measure(args: &[String]) {
    scratch::start_without_copying();
    if cfg!(debug_assertions) {
        // `cargo test --all-targets` runs this too.
        if args.iter().any(|arg| arg == "runs") {
            runs::try_out();
            return println!("runs can be measured");
        }
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

/// `short` leaves out the slow measurements.
fn report(short: bool) {
    let before = Weather::now();
    let demanded = if short { &[][..] } else { &ON_DEMAND[..] };
    let all = MEASUREMENTS.iter().chain(demanded);
    let figures: Vec<Figure> = all.flat_map(|(name, measure)| tell(name, *measure)).collect();
    let growths = growth::measure();
    report::write(&figures, &growths, short, [before, Weather::now()]);
    println!("BENCHMARKS.md is written");
}

/// Prints the results of each measurement at once, because all of them take minutes.
fn tell(name: &str, measure: Measurement) -> Vec<Figure> {
    println!("{name}");
    let figures = measure();
    print!("{}", figure::table(&figures));
    figures
}
