//! The commits that were made where an agent works, since it joined.
//!
//! Git's log of `HEAD` has every commit that was made in this work tree, and when; merges and rebases bring in others,
//! which are not listed. Its times are whole seconds: for a commit in the very second of the join, the time of its file
//! decides. If git keeps no such log, the dates of the commits have to do.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;

use jiff::Timestamp;

use crate::domain::awareness::{BriefCommit, CommitEvidence, printable_path};
use crate::sys::clock;
use crate::sys::git::{CommitChoice, GitCommitFiles, GitError, HeadLogEntry, ReadOnlyGit};

use super::reports::FeedReports;
use super::subject::BriefSubject;

/// The commits, how they were found, and what is not known of them.
#[derive(Default)]
pub(super) struct CommitFacts {
    pub(super) commits: Vec<BriefCommit>,
    pub(super) evidence: CommitEvidence,
    pub(super) remarks: Vec<String>,
}

pub(super) fn since_joined(
    git: &ReadOnlyGit,
    subject: &BriefSubject,
    reports: &FeedReports,
    sharers: &BTreeSet<String>,
) -> Result<CommitFacts, GitError> {
    if !git.has_commits()? {
        let remarks = vec!["the repository has no commits on this branch yet".to_string()];
        return Ok(CommitFacts { remarks, ..CommitFacts::default() });
    }
    let joined_at = subject.agent.joined_at;
    let log = git.head_log()?;
    let mut facts = CommitFacts::default();
    let mut branches: HashMap<String, String> = HashMap::new();
    let found = if log.items.is_empty() {
        facts.evidence = CommitEvidence::Dates;
        facts.remarks.push("git keeps no log of HEAD here, so commits are listed by date".to_string());
        let dated = git.commits(CommitChoice::Since(joined_at))?;
        note_cut(&mut facts, dated.is_cut);
        dated.items.into_iter().filter(|commit| is_in_time(subject, commit.at)).collect()
    } else {
        facts.evidence = CommitEvidence::HeadLog;
        let reaches_back = log.items.last().is_some_and(|oldest| oldest.at <= joined_at);
        note_cut(&mut facts, log.is_cut && !reaches_back);
        let made = made_since(git, subject, &log.items);
        let all = git.commits(CommitChoice::Ids(&made))?.items;
        let off_head = git.not_on_head(&made)?;
        if !off_head.is_empty() {
            branches = git.on_other_branches()?.into_iter().collect();
        }
        let is_lost = |id: &String| off_head.contains(id) && !branches.contains_key(id);
        let (lost, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(|commit| is_lost(&commit.id));
        note_lost(&mut facts, &lost, &kept);
        kept
    };
    note_rewritten(&mut facts, &found, joined_at);
    let shallow = git.shallow_commits();
    for commit in found {
        let is_cut_off = shallow.contains(&commit.id);
        if is_cut_off {
            let id: String = commit.id.chars().take(8).collect();
            facts
                .remarks
                .push(format!("the clone is shallow at {id}: the files of that commit are not known"));
        }
        let files = commit.files.iter().filter(|_| !is_cut_off).map(|file| printable_path(file.as_bytes()));
        facts.commits.push(BriefCommit {
            files: files.collect(),
            maker: reports.maker(&commit, sharers),
            branch: branches.get(&commit.id).cloned(),
            id: commit.id,
            at: commit.at,
            subject: commit.subject,
        });
    }
    Ok(facts)
}

/// The ids of the commits that were made in this work tree while the agent was here, each once.
fn made_since(git: &ReadOnlyGit, subject: &BriefSubject, log: &[HeadLogEntry]) -> Vec<String> {
    let joined_at = subject.agent.joined_at;
    let is_before = |entry: &HeadLogEntry| {
        entry.at.as_second() == joined_at.as_second()
            && git.written_at(&entry.id).is_some_and(|written| clock::from_system(written) < joined_at)
    };
    let mut known = BTreeSet::new();
    let made = log
        .iter()
        .filter(|entry| entry.has_made_commit && is_in_time(subject, entry.at) && !is_before(entry));
    made.filter(|entry| known.insert(entry.id.as_str())).map(|entry| entry.id.clone()).collect()
}

/// Whether a time in whole seconds may be one at which the agent was here.
fn is_in_time(subject: &BriefSubject, at: Timestamp) -> bool {
    let seconds = at.as_second();
    seconds >= subject.agent.joined_at.as_second()
        && subject.until().is_none_or(|until| seconds <= until.as_second())
}

fn note_cut(facts: &mut CommitFacts, is_cut: bool) {
    if is_cut {
        facts.remarks.push("there are more commits than were read; the oldest are missing".to_string());
    }
}

/// Commits that were amended or rebased are there again under their subject; others were taken off their branch.
fn note_lost(facts: &mut CommitFacts, lost: &[GitCommitFiles], kept: &[GitCommitFiles]) {
    let is_there = |lost: &&GitCommitFiles| kept.iter().any(|kept| kept.subject == lost.subject);
    let lost = lost.iter().filter(|lost| !is_there(lost));
    let ids: Vec<String> = lost.map(|lost| lost.id.chars().take(8).collect()).collect();
    if !ids.is_empty() {
        let ids = ids.join(" ");
        facts
            .remarks
            .push(format!("commits made here that are on no branch now (reset, amended or rebased): {ids}"));
    }
}

fn note_rewritten(facts: &mut CommitFacts, found: &[GitCommitFiles], joined_at: Timestamp) {
    let is_older = |commit: &&GitCommitFiles| commit.authored_at.as_second() < joined_at.as_second();
    let older = found.iter().filter(is_older).count();
    if older > 0 {
        facts.remarks.push(format!(
            "{older} of the commits were first written before it joined, and rewritten since (rebase, amend or cherry-pick)"
        ));
    }
}
