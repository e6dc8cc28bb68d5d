//! Decides whether what is staged may be committed: the question of `msg check`, about every path of the commit.
//!
//! A merge changes only what differs from all of its parents.

use std::path::Path;

use crate::domain::Target;
use crate::domain::pattern::PathForm;
use crate::ops::agents::names;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, Kind};
use crate::ops::reservations::check::{self as paths_check, Names, Verdict};
use crate::sys::git::{Repository, Staged};
use crate::sys::paths;

/// What a commit would change, and what is in the way.
#[derive(Debug, Default)]
pub struct Commit {
    /// Called as git calls them: from the root of the work tree.
    pub verdicts: Vec<Verdict>,
    /// Why it is refused, if it is.
    pub refusal: Option<CommandError>,
}

/// Looks at what is staged. What can't be found out is an error, which stops no commit; with `strict` it is a refusal.
pub fn check(ctx: &Op) -> Result<Commit, CommandError> {
    match look(ctx) {
        Err(error) if ctx.settings.is_on("strict") && error.kind != Kind::NoRepository => {
            Ok(Commit { refusal: Some(not_known(&error)), ..Commit::default() })
        }
        looked => looked,
    }
}

fn look(ctx: &Op) -> Result<Commit, CommandError> {
    let repository = Repository::here(&ctx.cwd)?;
    let staged = repository.staged()?;
    if staged.is_empty() {
        return Ok(Commit::default());
    }
    let targets = targets(&repository.root, &staged);
    let (verdicts, judged) = paths_check::for_caller(ctx, targets, Names::Given)?;
    let refusal = paths_check::verdict(&verdicts).map(|error| with_ways_out(error, &verdicts));
    if let (None, Some(file), true) = (&refusal, judged.unreadable.first(), ctx.settings.is_on("strict")) {
        return Err(names::unknown_reservations(file));
    }
    for file in &judged.unreadable {
        ctx.warn(format!("cannot tell what `{}` reserves: {}", file.path, file.reason));
    }
    Ok(Commit { verdicts, refusal })
}

/// A commit changes the entries themselves, wherever those that are links lead; only the way to the root may be one.
fn targets(root: &Path, staged: &[Staged]) -> Vec<(String, Target)> {
    let roots = paths::spellings(root, "");
    let target = |staged: &Staged| {
        let path = staged.path.to_string_lossy().into_owned();
        let spellings: Vec<PathForm> = roots.iter().map(|root| root.join(&path)).collect();
        let target = match staged.is_repository {
            true => Target::tree(spellings),
            false => Target::File(spellings),
        };
        (path, target)
    };
    staged.iter().map(target).collect()
}

/// Everyone who is in the way can be asked, and a person can go past them.
fn with_ways_out(error: CommandError, verdicts: &[Verdict]) -> CommandError {
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
    let refusal = CommandError { hints: error.hints.clone(), ..CommandError::new(Kind::NotChecked, text) };
    refusal
        .hint("you are refused because `strict` is set: `msg config get strict`")
        .hint("to commit anyway (people only): `git commit --no-verify`")
}
