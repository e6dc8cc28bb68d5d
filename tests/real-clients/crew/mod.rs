//! A crew of real clients: three workers do six tasks, each of which goes wrong in a way of its own.
//!
//! ```text
//! cargo test --locked --test real-clients -- crew [CLIENT…]
//! ```
//!
//! The smoke set is one crew, of Claude Code and Codex, in which the first one reviews. With `RAVENRY_ALL_WORKERS=1` all
//! clients that can be workers build, two in each crew. So do those that are named.

mod checks;
mod script;
mod stage;
mod tasks;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::Installed;
use crate::clients::{self, Client};
use crate::model::Server;
use crate::report::{self, Report};
use crate::scene::Scene;
use crate::workers;
use checks::Seen;
use stage::Stage;

pub const NAME: &str = "crew";

/// A client that builds.
pub struct Builder {
    pub client: &'static dyn Client,
    pub program: PathBuf,
}

/// In pairs; the first of each reviews, too. The first pair is the smoke set.
const ORDER: [&str; 4] = ["claude", "codex", "pi", "copilot"];
/// Clients that get through no crew yet, and why.
const UNABLE: [(&str, &str); 2] = [
    ("gemini", "a session that it resumes has lost the prompts before which a hook said something"),
    ("opencode", "it fails if a word of what it is told is a number, such as `1` in a diff"),
];

/// The clients of each crew. Without names, those of the smoke set, or all.
pub fn crews(names: &[String]) -> Vec<Vec<&'static dyn Client>> {
    let client = |name: &str| clients::ALL.into_iter().find(|client| client.name() == name);
    let can_build = || ORDER.iter().filter_map(|name| client(name)).filter(|one| workers::can_be_tried(*one));
    let is_named = |client: &&dyn Client| names.iter().any(|name| name == client.name());
    let mut wanted: Vec<&'static dyn Client> = match (names, workers::is_all_wanted()) {
        ([], true) => can_build().collect(),
        ([], false) => can_build().take(2).collect(),
        _ => can_build().filter(is_named).collect(),
    };
    if wanted.len() % 2 == 1 {
        // One alone is not a crew of different harnesses.
        let is_other = |client: &&dyn Client| wanted.iter().all(|one| one.name() != client.name());
        let other = can_build().find(is_other);
        wanted.extend(other);
    }
    wanted.chunks(2).map(<[_]>::to_vec).collect()
}

/// The clients that were asked for and are in no crew, and why.
pub fn left_out(names: &[String]) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_asked = move |name: &str| match names {
        [] => workers::is_all_wanted(),
        names => names.iter().any(|one| one == name),
    };
    UNABLE.into_iter().filter(move |(name, _)| is_asked(name))
}

/// Lets each crew work. `keep`: its folder is kept.
pub fn go(
    crews: &[Vec<&'static dyn Client>],
    installed: &[Installed],
    node: Option<&PathBuf>,
    server: &Server,
    keep: bool,
    report: &mut Report,
) {
    for crew in crews {
        let names: Vec<&str> = crew.iter().map(|client| client.name()).collect();
        let name = format!("{NAME} of {}", names.join(" and "));
        let known: Vec<&Installed> =
            names.iter().filter_map(|name| installed.iter().find(|one| one.name == *name)).collect();
        let versions: Vec<&str> = known.iter().map(|one| one.version.as_str()).collect();
        let version = versions.join(" and ");
        let builders: Vec<Builder> = crew
            .iter()
            .zip(&known)
            .map(|(client, one)| Builder { client: *client, program: client.program(&one.folder) })
            .collect();
        let is_there =
            |builder: &Builder| builder.program.exists() && (node.is_some() || !builder.client.wants_node());
        if let Some(missing) = builders.iter().find(|builder| !is_there(builder)) {
            report.not_run(&name, &version, &format!("{} could not be installed", missing.client.name()));
            continue;
        }
        report.client(&name, &version);
        let cache = known[0].folder.parent().expect("the cache");
        let dir = tempfile::Builder::new().prefix("scene-").disable_cleanup(keep).tempdir_in(cache);
        let dir = dir.expect("a folder of its own");
        if keep {
            println!("  in {}", dir.path().display());
        }
        let scene = Arc::new(Scene::new(dir.path().to_path_buf(), node.cloned()));
        // A panic must not stop the tests of the others.
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            work(&name, Stage::new(&builders, Arc::clone(&scene), server), report);
        }));
        if let Err(panic) = tried {
            let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            report.check(&name, report::TRIAL, Err(text), &String::new);
        }
        stage::end(&scene);
    }
}

fn work(name: &str, stage: Stage, report: &mut Report) {
    let before = stage.person();
    let ended = stage.work();
    let told = stage.ask(&["crew", "report"]);
    let runs: Vec<Value> = stage.ask(&["runs", "--all"])["runs"].as_array().cloned().unwrap_or_default();
    checks::all(name, &Seen { stage: &stage, ended: &ended, report: told, runs, before: &before }, report);
}
