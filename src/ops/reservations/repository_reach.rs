//! `--repo`: reserves paths in every work tree and clone of the repository on this machine.
//!
//! The repository is recognised by its first commit, and a path in it by its place below the root of a work tree. So
//! neither depends on where the work tree is.

use std::path::Path;

use crate::domain::pattern::NormalPath;
use crate::domain::{Reservation, ReservationReach, RootCommit, quote_code};
use crate::store::Mesh;
use crate::sys::git::{RepositoryStart, WorkTree, is_in_bare_repository};

use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::is_linked;

/// How long git may take to say where the repository began.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(20);

/// Where a reservation is wanted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum RequestedReach {
    /// In this work tree, unless the mesh is linked and its configuration says that it is the whole repository.
    #[default]
    Usual,
    /// Where the command runs.
    WorkTree,
    /// In every work tree and clone of the repository.
    Repository,
}

/// The reservations with the reach that is wanted. All of them were drafted here.
pub(in crate::ops) fn with_reach(
    op: &Op,
    mesh: &Mesh,
    drafts: Vec<Reservation>,
    reach: RequestedReach,
) -> Result<Vec<Reservation>, CommandError> {
    match reach {
        RequestedReach::WorkTree => Ok(drafts),
        RequestedReach::Repository => in_repository(op, mesh, drafts, &op.cwd, REPO_WORDS),
        RequestedReach::Usual => usual(op, mesh, drafts),
    }
}

/// Widens what can be, if that is the rule in a linked mesh: not things, not what leaves the work tree, and nothing in a
/// folder without a repository that others recognise.
fn usual(op: &Op, mesh: &Mesh, drafts: Vec<Reservation>) -> Result<Vec<Reservation>, CommandError> {
    if drafts.iter().all(Reservation::is_thing) || !is_linked(mesh) {
        return Ok(drafts);
    }
    let is_rule = mesh.link().config()?.is_some_and(|config| config.reserves_repository);
    if !is_rule || WorkTree::containing(&op.cwd).is_none() {
        return Ok(drafts);
    }
    let reach = match repository_of(op, mesh, &op.cwd, REPO_WORDS) {
        Ok(repository) => ReservationReach::Repository(repository),
        Err(error) if error.kind == CommandErrorKind::NoRepository => {
            op.warn(format!("{}: it is reserved on this machine alone", error.message));
            return Ok(drafts);
        }
        Err(error) => return Err(error),
    };
    let widened = |draft: Reservation| match draft.is_thing() || check_inside(op, &draft, REPO_WORDS).is_err()
    {
        true => draft,
        false => Reservation { reach: reach.clone(), ..draft },
    };
    Ok(drafts.into_iter().map(widened).collect())
}

/// The reservations in every work tree and clone of the repository that `dir` is in.
pub(super) fn in_repository(
    op: &Op,
    mesh: &Mesh,
    drafts: Vec<Reservation>,
    dir: &Path,
    words: ReachWords,
) -> Result<Vec<Reservation>, CommandError> {
    let reach = ReservationReach::Repository(repository_of(op, mesh, dir, words)?);
    let widened = |draft: Reservation| {
        // A thing has a reach of its own.
        if draft.is_thing() {
            return Ok(draft);
        }
        check_inside(op, &draft, words)?;
        Ok(Reservation { reach: reach.clone(), ..draft })
    };
    drafts.into_iter().map(widened).collect()
}

/// How refusals speak of the flag that asks for a whole repository, and what to do without it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReachWords {
    pub(super) flag: &'static str,
    pub(super) without_repository: &'static str,
    pub(super) outside: &'static str,
}

const REPO_WORDS: ReachWords = ReachWords {
    flag: "--repo",
    without_repository: "without `--repo` it is reserved in this directory alone",
    outside: "without `--repo`, add `--force-broad`",
};

/// The first commit of the repository that the directory is in.
fn repository_of(op: &Op, mesh: &Mesh, dir: &Path, words: ReachWords) -> Result<RootCommit, CommandError> {
    let here = op.home.shorten(&dir.to_string_lossy());
    let refused =
        |text: String| CommandError::new(CommandErrorKind::NoRepository, text).hint(words.without_repository);
    let Some(tree) = WorkTree::containing(dir) else {
        let flag = words.flag;
        return Err(refused(match is_in_bare_repository(dir) {
            true => format!("`{here}` is in a bare repository, which has no files: run it in a work tree"),
            false => format!("`{here}` is not in a git repository, so `{flag}` can't be used here"),
        }));
    };
    let root = op.home.shorten(&tree.root.to_string_lossy());
    match mesh.repositories().start(&tree, LIMIT) {
        Ok((RepositoryStart::At(commit), record)) => {
            record.iter().for_each(|record| mesh.repositories().save(record));
            let text = format!("git says that `{root}` began with `{commit}`");
            RootCommit::new(&commit).ok_or_else(|| CommandError::new(CommandErrorKind::Bug, text))
        }
        Ok((RepositoryStart::NoCommit, _)) => {
            Err(refused(format!("`{root}` has no commit yet, so its clones could not be recognised")))
        }
        Ok((RepositoryStart::Shallow, _)) => Err(refused(format!(
            "`{root}` is a shallow clone without its first commit, so its other clones can't be recognised"
        ))
        .hint("`git fetch --unshallow` gets the whole history")),
        Err(error) => {
            let text = format!("git does not say where the history of `{root}` begins: {error}");
            Err(CommandError::new(CommandErrorKind::Io, text)
                .hint("try again; see what `git status` says there"))
        }
    }
}

/// Refuses patterns that leave the work tree: elsewhere they would be at no certain place.
fn check_inside(op: &Op, draft: &Reservation, words: ReachWords) -> Result<(), CommandError> {
    let root = NormalPath::absolute(draft.root.as_deref().unwrap_or("/"));
    let is_outside = |head: &NormalPath| !head.is_within(&root);
    let own = Reservation { reach: ReservationReach::WorkTree, ..draft.clone() };
    let Some(outside) = own.patterns("/").into_iter().find(|pattern| is_outside(pattern.head())) else {
        return Ok(());
    };
    let (pattern, root) = (quote_code(&draft.pattern), op.home.shorten(root.as_str()));
    let leads = match outside.head().as_str() == own.pattern || own.head.is_none() {
        true => String::new(),
        false => format!(", which leads to `{}`,", op.home.shorten(outside.head().as_str())),
    };
    let text = format!(
        "{pattern}{leads} is outside of `{root}`: `{}` reserves only what is in the repository",
        words.flag
    );
    Err(CommandError::new(CommandErrorKind::TooBroad, text).hint(words.outside))
}
