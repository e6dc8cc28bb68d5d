//! Things that are not files: where each of them belongs, seen from a directory.

use std::path::Path;

use crate::domain::pattern::{LetterCase, has_wildcard};
use crate::domain::{ChangeTarget, Reservation, ReservationReach, Thing, ThingError, ThingScope, thing_path};
use crate::sys::git::WorkTree;
use crate::sys::{clock, files};

use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// The root of a thing, seen from a directory in this work tree. `None`: without a repository, git has no part of it.
fn root_of(thing: &Thing, tree: Option<&WorkTree>) -> Option<String> {
    let dir = match thing.scope() {
        ThingScope::Machine => return Some("/".to_string()),
        ThingScope::WorkTree => tree?.own_dir()?,
        ThingScope::Repository => tree?.repository()?,
    };
    Some(dir.to_string_lossy().into_owned())
}

/// The thing that was typed, and its root.
fn placed(
    text: &str,
    parsed: Result<Thing, ThingError>,
    tree: Option<&WorkTree>,
) -> Result<(Thing, String), CommandError> {
    let thing = parsed.map_err(|error| {
        let text = format!("`{}` can't be reserved: {error}", text.escape_debug());
        let path = "a path that begins with `@` is written `./@…`";
        CommandError::new(CommandErrorKind::InvalidPattern, text).hint(error.hint()).hint(path)
    })?;
    match root_of(&thing, tree) {
        Some(root) => Ok((thing, root)),
        None => {
            let text = format!("this directory is not in a git work tree, so there is no `{thing}` here");
            Err(CommandError::new(CommandErrorKind::NoRepository, text)
                .hint("run it in the work tree whose git is meant"))
        }
    }
}

/// The reservation that a typed thing stands for in this work tree.
pub(super) fn draft_thing(
    text: &str,
    parsed: Result<Thing, ThingError>,
    tree: Option<&WorkTree>,
) -> Result<Reservation, CommandError> {
    let (thing, root) = placed(text, parsed, tree)?;
    let pattern = thing.to_string();
    Ok(Reservation {
        // For an older `msg`, which reads it as a path.
        is_literal: has_wildcard(&pattern),
        pattern,
        root: Some(root),
        head: None,
        case: LetterCase::Matters,
        reason: None,
        since: clock::now(),
        expires_at: None,
        task: None,
        contest: None,
        reach: ReservationReach::Thing,
        passed_by: Vec::new(),
    })
}

/// What the typed text stands for in this directory, if it is a thing.
pub(in crate::ops) fn typed_target(cwd: &Path, text: &str) -> Result<Option<ChangeTarget>, CommandError> {
    let Some(parsed) = Thing::parse(text) else { return Ok(None) };
    let (thing, root) = placed(text, parsed, WorkTree::containing(cwd).as_ref())?;
    Ok(Some(target_of(&thing.to_string(), &root)))
}

/// The thing in this work tree, as it is written, with its root and what it is compared by.
pub(in crate::ops) fn target_in(thing: &Thing, tree: &WorkTree) -> Option<(String, String, ChangeTarget)> {
    let (written, root) = (thing.to_string(), root_of(thing, Some(tree))?);
    let target = target_of(&written, &root);
    Some((written, root, target))
}

fn target_of(written: &str, root: &str) -> ChangeTarget {
    ChangeTarget::File(vec![thing_path(written, root)])
}

/// Whether the reservation is of a thing that the same text names in this work tree.
pub(in crate::ops) fn is_here(held: &Reservation, tree: Option<&WorkTree>) -> bool {
    let thing = held.is_thing().then(|| Thing::parse(&held.pattern)).flatten();
    let root = thing.and_then(Result::ok).and_then(|thing| root_of(&thing, tree));
    root.is_some() && root == held.root
}

/// Warns if a thing is called like a file: its name was perhaps meant as a path.
pub(super) fn warn_of_files(op: &Op, wanted: &[Reservation]) {
    for thing in wanted.iter().filter(|wanted| wanted.is_thing()) {
        if files::exists(&op.cwd.join(&thing.pattern)).unwrap_or(false) {
            let name = &thing.pattern;
            op.warn(format!("`{name}` is a thing and not the file of that name, which is `./{name}`"));
        }
    }
}

/// What the thing is a part of, for a sentence; empty for paths.
pub fn scope_text(held: &Reservation) -> &'static str {
    match held.thing_scope() {
        None => "",
        Some(ThingScope::WorkTree) => " in this work tree",
        Some(ThingScope::Repository) => " in every work tree of this repository",
        Some(ThingScope::Machine) => " on this machine",
    }
}
