//! Decides whether the staged changes may be committed: runs the check of `msg check` on every path of the commit.
//!
//! A merge commit changes only the paths that differ from all of its parents.

use std::path::Path;

use crate::domain::ChangeTarget;
use crate::domain::pattern::NormalPath;
use crate::ops::agents::names;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::reservations::check::{self as paths_check, HardLinkPolicy, PathVerdict};
use crate::sys::git::{Repository, Staged};
use crate::sys::paths;

/// The paths a commit would change, and the reservations that block them.
#[derive(Debug, Default)]
pub struct CommitCheck {
    /// Paths as git names them: relative to the root of the work tree.
    pub verdicts: Vec<PathVerdict>,
    /// Why the commit is refused; `None` if it is not.
    pub refusal: Option<CommandError>,
}

/// Checks the staged changes. If the check fails, the error does not stop the commit; with `strict` it becomes a
/// refusal.
pub fn check(ctx: &Op) -> Result<CommitCheck, CommandError> {
    match look(ctx) {
        Err(error) if ctx.settings.strict && error.kind != CommandErrorKind::NoRepository => {
            Ok(CommitCheck { refusal: Some(not_known(&error)), ..CommitCheck::default() })
        }
        looked => looked,
    }
}

fn look(ctx: &Op) -> Result<CommitCheck, CommandError> {
    let repository = Repository::here(&ctx.cwd)?;
    let staged = repository.staged()?;
    if staged.is_empty() {
        return Ok(CommitCheck::default());
    }
    let targets = targets(&repository.root, &staged);
    let (verdicts, judged) = paths_check::for_caller(ctx, targets, HardLinkPolicy::Ignore)?;
    let refusal = paths_check::conflict_error(&verdicts).map(|error| with_ways_out(error, &verdicts));
    if let (None, Some(file), true) = (&refusal, judged.unreadable.first(), ctx.settings.strict) {
        return Err(names::unknown_reservations(file));
    }
    for file in &judged.unreadable {
        ctx.warn(format!("cannot tell what `{}` reserves: {}", file.path, file.reason));
    }
    Ok(CommitCheck { verdicts, refusal })
}

/// The staged entries as targets. A commit changes the entries themselves, so links among them are not resolved; only
/// the path to the root may be a link.
fn targets(root: &Path, staged: &[Staged]) -> Vec<(String, ChangeTarget)> {
    let roots = paths::spellings(root, "");
    let target = |staged: &Staged| {
        let path = staged.path.to_string_lossy().into_owned();
        let spellings: Vec<NormalPath> = roots.iter().map(|root| root.join(&path)).collect();
        let target = match staged.is_repository {
            true => ChangeTarget::tree(spellings),
            false => ChangeTarget::File(spellings),
        };
        (path, target)
    };
    staged.iter().map(target).collect()
}

/// Adds hints: ask the holders (at most three), unstage the path, or, as a person, bypass the guard.
fn with_ways_out(error: CommandError, verdicts: &[PathVerdict]) -> CommandError {
    const MOST: usize = 3;
    let mut holders: Vec<&str> = Vec::new();
    for holding in verdicts.iter().filter_map(|verdict| verdict.holding.as_ref()) {
        let name = holding.holder.name.as_str();
        if !holders.contains(&name) {
            holders.push(name);
        }
    }
    let mut error = CommandError { hints: Vec::new(), ..error };
    for name in holders.iter().take(MOST) {
        error = error.hint(format!("ask: `msg send {name} \"…\"`"));
    }
    error
        .hint("`git reset PATH` leaves a path out of the commit")
        .hint("to commit anyway (people only): `git commit --no-verify`")
}

fn not_known(error: &CommandError) -> CommandError {
    let text = format!("cannot check whether others have reserved what is staged: {}", error.message);
    let refusal =
        CommandError { hints: error.hints.clone(), ..CommandError::new(CommandErrorKind::NotChecked, text) };
    refusal
        .hint("you are refused because `strict` is set: `msg config get strict`")
        .hint("to commit anyway (people only): `git commit --no-verify`")
}
