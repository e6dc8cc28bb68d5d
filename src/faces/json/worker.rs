//! Profiles, harnesses and local models as JSON.

use serde_json::{Map, Value, json};

use crate::domain::workers::{
    Budget, DialogAnswer, Instructions, ProfileKey, RestrictedKey, Triage, WorkerProgram,
};
use crate::harness::worker::LoginState;
use crate::ops::workers::{FoundHarness, RunnableProfile, WorkersReport};
use crate::store::worker_files::{FileTrust, LoadedWorkers};
use crate::sys::clock;

/// The members of `msg workers`.
pub(crate) fn workers(report: &WorkersReport) -> Map<String, Value> {
    let models = report.servers.iter().flat_map(|server| {
        server.models.iter().map(|model| json!({ "name": model, "server": server.name, "url": server.url }))
    });
    Map::from_iter([
        ("profiles".to_string(), report.profiles.iter().map(profile).collect()),
        ("harnesses".to_string(), report.harnesses.iter().map(found_harness).collect()),
        ("models".to_string(), models.collect()),
        ("askedAt".to_string(), json!(report.asked_at.map(clock::iso))),
        ("worktree".to_string(), worktree(&report.loaded)),
        ("trust".to_string(), trust(&report.loaded)),
    ])
}

fn profile(runnable: &RunnableProfile) -> Value {
    let profile = &runnable.profile;
    let command = match &profile.program {
        WorkerProgram::Command(argv) => Some(argv),
        WorkerProgram::Harness(_) | WorkerProgram::FirstInstalled => None,
    };
    let (text, file) = match &profile.instructions {
        Some(Instructions::Text(text)) => (Some(text), None),
        Some(Instructions::File(file)) => (None, Some(file)),
        None => (None, None),
    };
    let from = profile.origins.iter().map(|(key, origin)| (camel(*key), json!(origin.name())));
    json!({
        "name": profile.name,
        "harness": runnable.harness.map(|harness| harness.name()),
        "command": command,
        "model": profile.model,
        "instructions": text,
        "instructionsFile": file,
        "readonly": profile.is_readonly,
        "tools": profile.tools,
        "timeout": profile.timeout.map(|timeout| timeout.as_secs()),
        "budget": budget(&profile.budget),
        "isolation": profile.isolation.name(),
        "retries": profile.retries,
        // Values may be secret.
        "env": profile.env.keys().collect::<Vec<_>>(),
        "args": profile.args,
        "triage": triage(&profile.triage),
        "review": profile.review,
        "from": from.collect::<Map<_, _>>(),
        "untrusted": profile.untrusted.iter().map(|key| camel(*key)).collect::<Vec<_>>(),
    })
}

fn budget(budget: &Budget) -> Value {
    json!({ "usd": budget.usd.map(|usd| usd.dollars()), "tokens": budget.tokens })
}

fn triage(triage: &Triage) -> Value {
    let answer = |answer: &DialogAnswer| json!({ "dialog": answer.dialog, "choice": answer.choice });
    match triage {
        Triage::Report => json!(triage.name()),
        Triage::Answer(answers) => json!({ triage.name(): answers.iter().map(answer).collect::<Vec<_>>() }),
    }
}

/// The key as JSON has it: `instructionsFile`.
fn camel(key: ProfileKey) -> String {
    let mut words = key.name().split('_');
    let first = words.next().unwrap_or_default().to_string();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(1);
        format!("{name}{}{rest}", initial.to_ascii_uppercase())
    })
}

fn found_harness(found: &FoundHarness) -> Value {
    let logged_in = match found.login {
        LoginState::LoggedIn => Some(true),
        LoginState::LoggedOut => Some(false),
        LoginState::Unknown => None,
    };
    json!({
        "name": found.harness.name(),
        "path": found.path.display().to_string(),
        "version": found.version,
        "known": found.is_known,
        "loggedIn": logged_in,
        "worker": found.can_work,
        "trouble": found.trouble,
    })
}

fn worktree(loaded: &LoadedWorkers) -> Value {
    let setup = &loaded.worktree;
    json!({
        "copy": setup.copy,
        "link": setup.link,
        "setup": setup.setup,
        "teardown": setup.teardown,
        "untrusted": loaded.untrusted_worktree.iter().map(|key| key.key).collect::<Vec<_>>(),
    })
}

fn trust(loaded: &LoadedWorkers) -> Value {
    let keys = |keys: &[RestrictedKey]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
    let file = loaded.project_file.display().to_string();
    match &loaded.trust {
        FileTrust::NotNeeded => json!({ "state": "not_needed", "file": file, "keys": [], "diff": null }),
        FileTrust::Trusted { keys: trusted } => {
            json!({ "state": "trusted", "file": file, "keys": keys(trusted), "diff": null })
        }
        FileTrust::Untrusted(untrusted) => {
            let state = if untrusted.was_trusted_before { "changed" } else { "untrusted" };
            json!({ "state": state, "file": file, "keys": keys(&untrusted.keys), "diff": untrusted.diff })
        }
    }
}
