//! What an agent changed in its directory, as far as git and hooks can tell.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use crate::domain::awareness::{BriefCommit, BriefFile, ChangeMaker, CommitEvidence, printable_path};
use crate::domain::{Agent, Liveness, quote_code, quote_name};
use crate::ops::error::CommandError;
use crate::store::Mesh;
use crate::sys::git::{GitError, ReadOnlyGit, WorkTree};
use crate::sys::process;

use super::commits;
use super::reports::FeedReports;
use super::subject::BriefSubject;

/// How long git may take, for all questions together.
const GIT_LIMIT: Duration = Duration::from_secs(10);

/// The state of an agent's directory.
#[derive(Default)]
pub(super) struct WorkFacts {
    pub(super) root: Option<String>,
    pub(super) main_root: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) commits: Vec<BriefCommit>,
    pub(super) evidence: CommitEvidence,
    pub(super) files: Vec<BriefFile>,
    pub(super) also_edited: Vec<String>,
    pub(super) remarks: Vec<String>,
}

pub(super) fn look(
    mesh: &Mesh,
    subject: &BriefSubject,
    reports: &FeedReports,
    edited: &[String],
) -> Result<WorkFacts, CommandError> {
    let mut facts = WorkFacts::default();
    match work_tree(Path::new(&subject.agent.cwd)) {
        Ok(tree) => {
            let sharers = Sharers::of(mesh, subject, &tree)?;
            facts.root = Some(tree.root.to_string_lossy().into_owned());
            facts.main_root = tree.main_root().map(|root| root.to_string_lossy().into_owned());
            facts.branch = tree.branch();
            if let Err(error) = ask_git(&mut facts, &tree, subject, reports, &sharers, edited) {
                facts.remarks.push(unknown(&error));
            }
            note_sharers(&mut facts, &sharers);
        }
        Err(reason) => facts.remarks.push(reason.to_string()),
    }
    let committed = facts.commits.iter().flat_map(|commit| &commit.files);
    let known: BTreeSet<&String> = committed.chain(facts.files.iter().map(|file| &file.path)).collect();
    facts.also_edited = edited.iter().filter(|path| !known.contains(path)).cloned().collect();
    Ok(facts)
}

/// The work tree of a directory, or why there is none.
fn work_tree(dir: &Path) -> Result<WorkTree, &'static str> {
    if !dir.is_dir() {
        return Err("its directory does not exist any more, so what it left there uncommitted is not known");
    }
    let Some(tree) = WorkTree::containing(dir) else {
        return Err("its directory is not in a git work tree: only files that its hooks reported are known");
    };
    // The directory that such a file names is gone. The work tree around it is another one.
    let is_unlinked = |dir: &Path| dir.join(".git").symlink_metadata().is_ok();
    if dir.ancestors().take_while(|dir| *dir != tree.root).any(is_unlinked) {
        return Err("git's data of its worktree are gone: only files that its hooks reported are known");
    }
    Ok(tree)
}

fn ask_git(
    facts: &mut WorkFacts,
    tree: &WorkTree,
    subject: &BriefSubject,
    reports: &FeedReports,
    sharers: &Sharers,
    edited: &[String],
) -> Result<(), GitError> {
    let git = ReadOnlyGit::at(tree, GIT_LIMIT)?;
    let editors = reports.editors(&sharers.names);
    let uncommitted = git.uncommitted()?;
    if uncommitted.is_cut {
        facts.remarks.push("there are more uncommitted files than were read".to_string());
    }
    facts.files = uncommitted
        .items
        .into_iter()
        .map(|file| {
            let path = printable_path(file.path.as_bytes());
            let maker = match editors.get(path.as_str()) {
                _ if edited.contains(&path) => ChangeMaker::Own,
                Some(names) => ChangeMaker::Others(names.clone()),
                None => ChangeMaker::Unknown,
            };
            BriefFile { path, change: file.change, maker }
        })
        .collect();
    let found = commits::since_joined(&git, subject, reports, &sharers.names)?;
    facts.commits = found.commits;
    facts.evidence = found.evidence;
    facts.remarks.extend(found.remarks);
    Ok(())
}

/// Other agents with the same work tree.
struct Sharers {
    /// The names of those that were here at any time, in lower case.
    names: BTreeSet<String>,
    /// Those that are here now.
    live: Vec<String>,
}

impl Sharers {
    fn of(mesh: &Mesh, subject: &BriefSubject, tree: &WorkTree) -> Result<Self, CommandError> {
        let is_here =
            |cwd: &str| WorkTree::containing(Path::new(cwd)).is_some_and(|other| other.root == tree.root);
        let mut sharers = Self { names: BTreeSet::new(), live: Vec::new() };
        let census = mesh.registry().local_census()?;
        let graves = mesh.graves().all()?.graves.into_iter().filter_map(|grave| grave.record);
        let is_other = |agent: &Agent| agent.session != subject.agent.session && is_here(&agent.cwd);
        for agent in census.records.into_iter().map(|record| record.agent).filter(is_other) {
            if process::liveness(&agent.process) != Liveness::Gone {
                sharers.live.push(agent.name.to_string());
            }
            sharers.names.extend(agent.all_names().map(|name| name.as_str().to_ascii_lowercase()));
        }
        for agent in graves.map(|record| record.agent).filter(is_other) {
            sharers.names.extend(agent.all_names().map(|name| name.as_str().to_ascii_lowercase()));
        }
        Ok(sharers)
    }
}

/// Says who else may have changed files that no hook reported.
fn note_sharers(facts: &mut WorkFacts, sharers: &Sharers) {
    let is_unknown = |file: &BriefFile| file.maker == ChangeMaker::Unknown;
    if sharers.live.is_empty() || !facts.files.iter().any(is_unknown) {
        return;
    }
    let names: Vec<String> = sharers.live.iter().take(3).map(|name| quote_name(name)).collect();
    let more = if sharers.live.len() > names.len() { " and others" } else { "" };
    let works = if sharers.live.len() == 1 { "works" } else { "work" };
    facts.remarks.push(format!(
        "{}{more} {works} in this worktree too; files that no hook reported may be theirs",
        names.join(", ")
    ));
}

fn unknown(error: &GitError) -> String {
    match error {
        GitError::Failed { said, .. } => format!("git could not tell everything: {}", quote_code(said)),
        GitError::TooSlow { .. } => "git took too long, so files and commits may be missing".to_string(),
        error => format!("git could not be asked: {}", quote_code(&error.to_string())),
    }
}
