//! Decides whether the staged changes may be committed: runs the check of `msg check` on every path of the commit, and on
//! the index, `HEAD` and the branch, which a commit changes too.
//!
//! A merge commit changes only the paths that differ from all of its parents.

use std::path::Path;

use crate::domain::pattern::NormalPath;
use crate::domain::{ChangeTarget, Thing};
use crate::ops::agents::names;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::reservations::check::{self as paths_check, HardLinkPolicy, PathVerdict};
use crate::ops::reservations::things;
use crate::sys::git::{Repository, Staged, WorkTree};
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
    let mut targets = targets(&repository.root, &staged);
    let needed = needed(&repository.root);
    if staged.is_empty() && (needed.is_empty() || ctx.mesh()?.is_none()) {
        return Ok(CommitCheck::default());
    }
    targets.extend(needed);
    let (mut verdicts, judged) = paths_check::for_caller(ctx, targets, HardLinkPolicy::Ignore)?;
    // The things come after the paths, and count only if somebody holds them.
    let mut number = 0;
    verdicts.retain(|verdict| {
        number += 1;
        number <= staged.len() || verdict.holding.is_some()
    });
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

/// What a commit in the work tree changes besides files.
fn needed(root: &Path) -> Vec<(String, ChangeTarget)> {
    let Some(tree) = WorkTree::containing(root) else { return Vec::new() };
    let branch = tree.current_branch().map(Thing::GitBranch);
    let needed = [Thing::GitIndex, Thing::GitHead].into_iter().chain(branch);
    let target = |thing: Thing| things::target_in(&thing, &tree);
    needed.filter_map(target).map(|(written, _, target)| (written, target)).collect()
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
    let is_path = |verdict: &&PathVerdict| {
        verdict.holding.as_ref().is_some_and(|holding| !holding.reservation.is_thing())
    };
    if verdicts.iter().any(|verdict| is_path(&verdict)) {
        error = error.hint("`git reset PATH` leaves a path out of the commit");
    }
    error.hint("to commit anyway (people only): `git commit --no-verify`")
}

fn not_known(error: &CommandError) -> CommandError {
    let text = format!("cannot check whether others have reserved what is staged: {}", error.message);
    let refusal =
        CommandError { hints: error.hints.clone(), ..CommandError::new(CommandErrorKind::NotChecked, text) };
    refusal
        .hint("you are refused because `strict` is set: `msg config get strict`")
        .hint("to commit anyway (people only): `git commit --no-verify`")
}
