//! Runs the real clients against a scripted model, with `msg` installed as a user would install it.
//!
//! ```text
//! cargo test --locked --test real-clients -- [--keep] [--list] [--may-be-missing] [--soak SECONDS] [inspector] [crew] [headless] [workers] [screens] [awareness] [knowledge] [waking] [interrupting] [CLIENT…]
//! ```
//!
//! `tests/real-clients/install` installs the clients; it is called first, and fetches only what is missing. A client
//! that cannot be installed is *not run*, and reported as such. There are nine parts: `inspector`, `crew` with three workers of
//! two clients, `headless`, `workers` (all of both with `RAVENRY_ALL_WORKERS=1`), `screens` in tmux (all of it with
//! `RAVENRY_ALL_SCREENS=1`), `awareness` with two clients at a time, `knowledge`, and `waking` and `interrupting` in a
//! terminal; without arguments all of them run, of named clients all but `inspector` and `crew`. `--soak` is a part of
//! its own.
//! `--keep` keeps the folders in which clients were run. With `--may-be-missing`, clients none of which can be installed are
//! not a failure: for whoever calls it for one client after the other.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_debug_implementations,
    reason = "a test may fail loudly, and makes the files that it needs"
)]

mod awareness;
mod clients;
mod crew;
mod http;
mod inspector;
mod knowledge;
#[allow(dead_code, unused_imports, reason = "what is not needed here is tried in `tests/it`")]
mod model;
mod processes;
mod report;
mod scene;
mod screens;
mod trial;
mod wait;
mod waking;
mod workers;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use awareness::Partner;
use clients::Client;
use model::Server;
use report::Report;
use scene::Scene;
use trial::{Peer, Trial};

const USAGE: &str = "usage: cargo test --test real-clients -- [--keep] [--list] [--may-be-missing] [--soak SECONDS] [inspector] [crew] [headless] [workers] [screens] [awareness] [knowledge] [waking] [interrupting] [CLIENT…]";

/// A client that the script installs, and its folder.
struct Installed {
    name: String,
    version: String,
    folder: PathBuf,
}

fn main() -> ExitCode {
    let since = Instant::now();
    let mut keep = false;
    let mut may_be_missing = false;
    let mut wanted = Vec::new();
    let mut parts = Vec::new();
    let mut soak = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--keep" => keep = true,
            "--may-be-missing" => may_be_missing = true,
            "headless"
            | "workers"
            | "screens"
            | "awareness"
            | "knowledge"
            | "waking"
            | "interrupting"
            | inspector::NAME
            | crew::NAME => {
                parts.push(arg);
            }
            "--soak" => {
                let seconds = args.next().and_then(|seconds| seconds.parse().ok());
                let Some(seconds) = seconds else {
                    eprintln!("{USAGE}");
                    return ExitCode::FAILURE;
                };
                soak = Some(Duration::from_secs(seconds));
            }
            "--list" => {
                clients::ALL.iter().for_each(|client| println!("{}", client.name()));
                return ExitCode::SUCCESS;
            }
            name if clients::ALL.iter().any(|client| client.name() == name) => wanted.push(arg),
            _ => {
                eprintln!("{USAGE}\nthere is no client `{arg}`");
                return ExitCode::FAILURE;
            }
        }
    }
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|one| one == part);
    // The parts of no single client.
    let is_own = |part: &str| [inspector::NAME, crew::NAME].contains(&part);
    let is_own_wanted =
        |part: &str| soak.is_none() && is_wanted(part) && (wanted.is_empty() || !parts.is_empty());
    let is_of_clients = parts.is_empty() || parts.iter().any(|part| !is_own(part));
    let is_named =
        |client: &&dyn Client| wanted.is_empty() || wanted.iter().any(|name| name == client.name());
    let chosen: Vec<&dyn Client> =
        clients::ALL.into_iter().filter(|client| is_of_clients && is_named(client)).collect();
    let crews = if is_own_wanted(crew::NAME) { crew::crews(&wanted) } else { Vec::new() };
    let mut names = vec!["node", inspector::NAME];
    names.extend(chosen.iter().chain(crews.iter().flatten()).map(|client| client.name()));
    if soak.is_none() && is_wanted("awareness") {
        // Whoever is chosen, one of these is another.
        names.extend(clients::ALL[..2].iter().map(|client| client.name()));
    }
    // Clients that could not be installed are reported as missing below.
    drop(script().args(&names).status());
    let installed = installed();
    let node =
        installed.iter().find(|one| one.name == "node").map(|node| node.folder.join("node_modules/.bin"));
    let node = node.filter(|node| node.exists());

    let server = Server::start();
    let mut report = Report::default();
    let known = installed.iter().find(|one| one.name == inspector::NAME).expect("the script knows it");
    let inspector = Some(inspector::program(&known.folder)).filter(|program| program.exists());
    if is_own_wanted(inspector::NAME) {
        match &inspector {
            Some(program) => {
                report.client(inspector::NAME, &known.version);
                let cache = known.folder.parent().expect("the cache");
                let dir = tempfile::Builder::new().prefix("scene-").disable_cleanup(keep).tempdir_in(cache);
                let dir = dir.expect("a folder of its own");
                inspector::go(program, &Scene::new(dir.path().to_path_buf(), node.clone()), &mut report);
            }
            None => report.not_run(inspector::NAME, &known.version, "it could not be installed"),
        }
    }
    if is_own_wanted(crew::NAME) {
        crew::left_out(&wanted)
            .for_each(|(name, why)| report.skip(&format!("{} of {name}", crew::NAME), why));
    }
    crew::go(&crews, &installed, node.as_ref(), &server, keep, &mut report);
    for client in chosen {
        let known = installed.iter().find(|one| one.name == client.name()).expect("the script knows it");
        let program = client.program(&known.folder);
        if !program.exists() || client.wants_node() && node.is_none() {
            report.not_run(client.name(), &known.version, "it could not be installed");
            continue;
        }
        let try_out = |report: &mut Report, try_it: &dyn Fn(&Trial<'_>, &mut Report)| {
            // Not in the directory for temporary files, which sandboxes let everyone write to.
            let cache = known.folder.parent().expect("the cache");
            let dir = tempfile::Builder::new().prefix("scene-").disable_cleanup(keep).tempdir_in(cache);
            let dir = dir.expect("a folder of its own");
            if keep {
                println!("  in {}", dir.path().display());
            }
            let scene = Arc::new(Scene::new(dir.path().to_path_buf(), node.clone()));
            let peer = peer_of(client, &installed, inspector.as_ref());
            let trial = Trial { client, program: program.clone(), scene, server: &server, peer };
            // A panic must not stop the tests of the other clients.
            if let Err(panic) = std::panic::catch_unwind(AssertUnwindSafe(|| try_it(&trial, report))) {
                let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                report.check(client.name(), report::TRIAL, Err(text), &String::new);
            }
        };
        if soak.is_none() && is_wanted("headless") {
            report.client(client.name(), &known.version);
            try_out(&mut report, &|trial, report| trial.go(report));
        }
        if soak.is_none() && is_wanted("workers") && workers::can_be_tried(client) {
            report.client(&format!("{}, workers", client.name()), &known.version);
            try_out(&mut report, &|trial, report| workers::go(trial, report));
        }
        if soak.is_none() && is_wanted("screens") && screens::can_be_tried(client) {
            let name = format!("{}, screens", client.name());
            if let Some(obstacle) = waking::obstacle() {
                report.not_run(&name, &known.version, obstacle);
                continue;
            }
            report.client(&name, &known.version);
            try_out(&mut report, &|trial, report| screens::go(trial, report));
        }
        if soak.is_none() && is_wanted("awareness") {
            let name = format!("{}, awareness", client.name());
            match partner_of(client, &installed) {
                None => report.not_run(&name, &known.version, "no other client could be installed"),
                Some(partner) => {
                    report.client(&name, &known.version);
                    try_out(&mut report, &|trial, report| awareness::go(trial, &partner, report));
                }
            }
        }
        if soak.is_none() && is_wanted("knowledge") {
            report.client(&format!("{}, knowledge", client.name()), &known.version);
            try_out(&mut report, &|trial, report| knowledge::go(trial, report));
        }
        if (soak.is_some() || is_wanted("waking")) && waking::can_be_tried(client) {
            let name = format!("{}, waking", client.name());
            if let Some(obstacle) = waking::obstacle() {
                report.not_run(&name, &known.version, obstacle);
                continue;
            }
            report.client(&name, &known.version);
            try_out(&mut report, &|trial, report| waking::go(trial, soak, report));
        }
        if soak.is_none() && is_wanted("interrupting") && waking::can_be_tried(client) {
            let name = format!("{}, interrupting", client.name());
            if let Some(obstacle) = waking::obstacle() {
                report.not_run(&name, &known.version, obstacle);
                continue;
            }
            report.client(&name, &known.version);
            try_out(&mut report, &|trial, report| waking::interrupt(trial, report));
        }
    }
    let is_missing = may_be_missing && report.has_run_nothing();
    if report.end(since) || is_missing { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The client whose tool sends to this one: the cheapest that is installed; for that one itself, the inspector.
fn peer_of(client: &dyn Client, installed: &[Installed], inspector: Option<&PathBuf>) -> Option<Peer> {
    let cheapest = clients::ALL[0];
    let known = installed.iter().find(|one| one.name == cheapest.name() && cheapest.name() != client.name());
    let program = known.map(|known| cheapest.program(&known.folder)).filter(|program| program.exists());
    let client = program.map(|program| Peer::Client { client: cheapest, program });
    client.or_else(|| Some(Peer::Inspector(inspector?.clone())))
}

/// The client that works beside this one: the cheapest other one.
fn partner_of(client: &dyn Client, installed: &[Installed]) -> Option<Partner> {
    let others = clients::ALL.into_iter().filter(|one| one.name() != client.name());
    let found = others.filter_map(|other| {
        let known = installed.iter().find(|one| one.name == other.name())?;
        Some(Partner { client: other, program: other.program(&known.folder) })
    });
    found.into_iter().find(|partner| partner.program.exists())
}

fn script() -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real-clients/install"));
    command.stdin(Stdio::null());
    command
}

/// What the script would install, whether or not it is installed.
fn installed() -> Vec<Installed> {
    let output = script().arg("--list").output().expect("the script runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split('\t').map(str::to_string);
        Some(Installed { name: words.next()?, version: words.next()?, folder: words.next()?.into() })
    });
    lines.collect()
}
