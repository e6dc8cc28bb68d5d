//! What is outside of the mesh: profiles, records of knowledge, branches.

use std::path::Path;

use crate::domain::knowledge::{Record, merge};
use crate::harness;
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::ops::knowledge::log_here;
use crate::store::worker_files;
use crate::sys::files;
use crate::sys::git::WorkTree;

use super::{LiveCandidate, MOST_VALUES};

/// A larger log takes too long to read while somebody waits for a completion, in bytes.
const LARGEST_LOG: u64 = 4 * 1024 * 1024;
/// How deep names of branches may be nested.
const DEEPEST: usize = 8;
/// Where branches are, in a git directory.
const HEADS: &str = "refs/heads/";

pub(super) fn profiles(ctx: &Context) -> Vec<LiveCandidate> {
    let mut found: Vec<LiveCandidate> = Vec::new();
    for profile in worker_files::load(&ctx.home, &ctx.cwd).profiles {
        let about = profile.model.as_deref().map_or_else(String::new, |model| format!("model {model}"));
        found.push(LiveCandidate::new(profile.name, &format!("profile {about}")));
    }
    found.extend(harness::supported().map(|harness| LiveCandidate::new(harness.name(), "harness")));
    found
}

/// The records, the latest first.
pub(super) fn records(ctx: &Context) -> Result<Vec<LiveCandidate>, CommandError> {
    let log = log_here(ctx);
    if !log.exists() || size_of(log.directory()) > LARGEST_LOG {
        return Ok(Vec::new());
    }
    let snapshot = merge(log.read()?.cells);
    let mut records: Vec<&Record> = snapshot.records().collect();
    records.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.id.cmp(&b.id)));
    let about = |record: &Record| format!("{}: {}", record.id.kind, record.statement.description);
    Ok(records
        .into_iter()
        .map(|record| LiveCandidate::new(record.id.name.as_str(), &about(record)))
        .collect())
}

fn size_of(dir: &Path) -> u64 {
    let names = files::list(dir).unwrap_or_default();
    let sizes = names.iter().filter_map(|name| files::metadata(&dir.join(name)).ok().flatten());
    sizes.map(|metadata| metadata.len()).sum()
}

/// The branches, read from the files of git: starting git would take longer than everything else.
pub(super) fn branches(ctx: &Context) -> Vec<LiveCandidate> {
    let Some(tree) = WorkTree::containing(&ctx.cwd) else { return Vec::new() };
    let Some(git) = tree.repository() else { return Vec::new() };
    let mut names = Vec::new();
    add_loose(&git.join(HEADS), "", DEEPEST, &mut names);
    let packed = files::read(&git.join("packed-refs")).ok().flatten().unwrap_or_default();
    for line in String::from_utf8_lossy(&packed).lines() {
        let name = line.split_once(' ').and_then(|(_, name)| name.strip_prefix(HEADS));
        names.extend(name.map(str::to_string));
    }
    names.sort();
    names.dedup();
    names.into_iter().map(|name| LiveCandidate::new(name, "branch")).collect()
}

fn add_loose(dir: &Path, prefix: &str, depth: usize, names: &mut Vec<String>) {
    for entry in files::entries(dir).unwrap_or_default() {
        if names.len() >= 4 * MOST_VALUES {
            return;
        }
        let name = format!("{prefix}{}", entry.name);
        if entry.is_file {
            names.push(name);
        } else if depth > 0 {
            add_loose(&dir.join(&entry.name), &format!("{name}/"), depth - 1, names);
        }
    }
}
