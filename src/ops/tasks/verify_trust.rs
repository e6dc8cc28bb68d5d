//! Whether a person trusted the `verify:` lines of a spec. A spec comes with a clone, and agents may write it: what it says
//! is run only after a person has read it, and only until it changes.

use std::path::{Path, PathBuf};

use crate::domain::shell_word;
use crate::domain::spec::verify_commands;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::store::{TrustKind, TrustRecords, TrustVerdict};
use crate::sys::clock;
use crate::sys::git::WorkTree;

use super::spec_ref::SpecRef;
use super::task_board::ParsedSpec;

/// What a spec's `verify:` lines are to a person.
#[derive(Clone, Debug)]
pub enum VerifyTrust {
    /// There are none.
    NotNeeded,
    Trusted,
    /// These have to be shown to the person.
    Untrusted(UntrustedVerify),
}

/// The `verify:` lines of a spec that nobody has trusted as they are.
#[derive(Clone, Debug)]
pub struct UntrustedVerify {
    pub file: PathBuf,
    /// A line `TASK: COMMAND` for each.
    pub lines: String,
    /// What changed since they were trusted; all of them if they never were.
    pub diff: String,
    pub was_trusted_before: bool,
}

/// Where the trust in a spec is recorded.
struct TrustPlace {
    records: TrustRecords,
    root: PathBuf,
    /// The spec, relative to the root.
    path: String,
}

impl TrustPlace {
    fn of(op: &Op, parsed_spec: &ParsedSpec) -> Self {
        // The same for all work trees of a repository: what was trusted is a text.
        let spec = Path::new(&parsed_spec.place.key);
        let dir = spec.parent().unwrap_or(spec);
        let root = WorkTree::containing(dir).map_or_else(|| dir.to_path_buf(), |tree| tree.root);
        let path = spec.strip_prefix(&root).unwrap_or(spec).to_string_lossy().into_owned();
        Self { records: TrustRecords::of(&op.home, &root), root, path }
    }
}

/// Refuses to run what nobody trusted.
pub(super) fn check(op: &Op, parsed_spec: &ParsedSpec) -> Result<(), CommandError> {
    let VerifyTrust::Untrusted(lines) = judge(op, parsed_spec) else { return Ok(()) };
    let what = match lines.was_trusted_before {
        true => "have changed since a person trusted them",
        false => "were not trusted by a person",
    };
    let file = lines.file.display().to_string();
    let text = format!("the `verify:` lines of `{file}` {what}: nothing was run");
    let line = trust_line(&TrustPlace::of(op, parsed_spec), "");
    Err(CommandError::new(CommandErrorKind::Untrusted, text)
        .hint(format!("a person who has read them can run `{line}`"))
        .hint("to complete it without, leave `--verify` out; `--evidence TEXT` says what proves it")
        .fact("file", file)
        .fact("diff", lines.diff))
}

/// Refuses to let a crew run what nobody trusted.
pub(in crate::ops) fn check_crew_trust(op: &Op, spec: &str) -> Result<(), CommandError> {
    check_for_crew(op, &*ParsedSpec::read(SpecRef::named(op, spec)?)?)
}

/// The commands that prove a task, if a person trusted those of its spec. Both are decided by the same text.
pub(in crate::ops) fn trusted_commands(op: &Op, spec: &str, id: &str) -> Result<Vec<String>, CommandError> {
    let parsed_spec = ParsedSpec::read(SpecRef::named(op, spec)?)?;
    check_for_crew(op, &parsed_spec)?;
    let task = parsed_spec.task(id);
    Ok(task.map(|task| verify_commands(&parsed_spec.text, &parsed_spec.spec, task)).unwrap_or_default())
}

fn check_for_crew(op: &Op, parsed_spec: &ParsedSpec) -> Result<(), CommandError> {
    check(op, parsed_spec).map_err(|mut refused| {
        refused.hints.truncate(1);
        refused
    })
}

/// The `verify:` lines of the spec, and whether a person trusted them. Refused inside a harness.
pub fn verify_trust(op: &Op, spec: &str) -> Result<VerifyTrust, CommandError> {
    let parsed_spec = ParsedSpec::read(SpecRef::named(op, spec)?)?;
    needs_person(op, &parsed_spec, "")?;
    Ok(judge(op, &parsed_spec))
}

/// Trusts exactly the lines that were shown, even if the spec has changed meanwhile.
pub fn trust_verify(op: &Op, spec: &str, shown: &UntrustedVerify) -> Result<(), CommandError> {
    let parsed_spec = ParsedSpec::read(SpecRef::named(op, spec)?)?;
    needs_person(op, &parsed_spec, "")?;
    let place = TrustPlace::of(op, &parsed_spec);
    Ok(place.records.trust(TrustKind::Verify, &place.path, &shown.lines, clock::now())?)
}

/// Takes back the trust in the `verify:` lines of the spec. `None`: they were not trusted; otherwise the lines that were.
pub fn revoke_verify_trust(op: &Op, spec: &str) -> Result<Option<String>, CommandError> {
    let parsed_spec = ParsedSpec::read(SpecRef::named(op, spec)?)?;
    needs_person(op, &parsed_spec, " --revoke")?;
    let place = TrustPlace::of(op, &parsed_spec);
    Ok(place.records.revoke(TrustKind::Verify, &place.path)?)
}

fn judge(op: &Op, parsed_spec: &ParsedSpec) -> VerifyTrust {
    let lines = lines(parsed_spec);
    if lines.is_empty() {
        return VerifyTrust::NotNeeded;
    }
    let place = TrustPlace::of(op, parsed_spec);
    let (verdict, trouble) = place.records.judge(TrustKind::Verify, &place.path, &lines);
    if let Some(trouble) = trouble {
        op.warn(format!("{trouble}; so nothing counts as trusted"));
    }
    match verdict {
        TrustVerdict::Trusted => VerifyTrust::Trusted,
        TrustVerdict::Untrusted { trusted, diff } => VerifyTrust::Untrusted(UntrustedVerify {
            file: parsed_spec.place.file.clone().unwrap_or_else(|| PathBuf::from(&parsed_spec.place.key)),
            lines,
            diff,
            was_trusted_before: trusted.is_some(),
        }),
    }
}

/// A line `TASK: COMMAND` for each command. Ticking a box or writing a new text changes none of them.
fn lines(parsed_spec: &ParsedSpec) -> String {
    let of_task = |task| {
        let commands = verify_commands(&parsed_spec.text, &parsed_spec.spec, task);
        commands.into_iter().map(|command| format!("{}: {command}\n", task.id)).collect::<String>()
    };
    parsed_spec.spec.tasks.iter().map(of_task).collect()
}

fn needs_person(op: &Op, parsed_spec: &ParsedSpec, flags: &str) -> Result<(), CommandError> {
    person_required::required(|| trust_line(&TrustPlace::of(op, parsed_spec), flags))
}

/// What a person has to type.
fn trust_line(place: &TrustPlace, flags: &str) -> String {
    let root = place.root.to_string_lossy();
    format!("cd {} && msg workers trust --spec {}{flags}", shell_word(&root), shell_word(&place.path))
}
