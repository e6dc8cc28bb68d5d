//! May these be changed? The one question that `check`, hooks and the git guard ask.
//!
//! The registrations answer it: nothing is locked, nothing is written.

use std::borrow::Cow;
use std::path::Path;

use crate::domain::{Agent, Target};
use crate::store::{Census, Mesh, Near, StoreError, Unreadable};
use crate::sys::{clock, paths};

use super::context::Context;
use super::error::{CommandError, Kind};
use super::holdings::{Holding, Others, stand_ins};
use super::identity;
use super::reserve::in_the_way;

/// A path, and who is in the way of changing it.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// As it was given.
    pub path: String,
    pub holding: Option<Holding>,
}

/// May the caller change these? A caller that nobody knows is held to everyone's reservations.
pub fn check(ctx: &Context, paths: &[String]) -> Result<Vec<Verdict>, CommandError> {
    if let Some(empty) = paths.iter().find(|path| path.is_empty()) {
        let text = format!("`{empty}` is no path");
        return Err(CommandError::new(Kind::InvalidValue, text).hint("name a file or a directory"));
    }
    let target = |path: &String| (path.clone(), whole(&ctx.cwd, path));
    let (verdicts, unknown) = for_caller(ctx, paths.iter().map(target).collect())?;
    for file in &unknown {
        ctx.notice(format!("what `{}` reserves is not known: {}", file.path, file.reason));
    }
    Ok(verdicts)
}

/// Each of the targets, by what it is called, for the caller, whoever that is.
pub(super) fn for_caller(
    ctx: &Context,
    targets: Vec<(String, Target)>,
) -> Result<(Vec<Verdict>, Vec<Unreadable>), CommandError> {
    let (paths, targets): (Vec<String>, Vec<Target>) = targets.into_iter().unzip();
    let (holdings, unknown) = match ctx.mesh()? {
        Some(mesh) => {
            let census = mesh.census()?;
            let me = identity::glance(ctx, &mesh, &census);
            judge(&mesh, me.as_ref(), &targets, |_| Ok(Cow::Borrowed(&census)))?
        }
        None => (vec![None; targets.len()], Vec::new()),
    };
    let pairs = paths.into_iter().zip(holdings);
    Ok((pairs.map(|(path, holding)| Verdict { path, holding }).collect(), unknown))
}

/// What is in the way of changing each of the targets, by those whom `look` brings up; and registrations of which nobody
/// can tell what they reserve.
pub(super) fn judge<'s>(
    mesh: &Mesh,
    me: Option<&Agent>,
    targets: &[Target],
    look: impl FnOnce(&Near<'_>) -> Result<Cow<'s, Census>, StoreError>,
) -> Result<(Vec<Option<Holding>>, Vec<Unreadable>), CommandError> {
    let heads = targets.iter().flat_map(Target::heads).collect();
    let census = look(&Near { heads, ..Near::default() })?;
    let (stand_ins, unknown) = stand_ins(mesh, &census);
    let others = Others::new(census.records.iter().chain(&stand_ins), me, clock::now());
    let judge = |target: &Target| others.first(|pattern| target.is_hit_by(pattern));
    Ok((targets.iter().map(judge).collect(), unknown))
}

/// One file, as it is called from `cwd`.
pub(super) fn file(cwd: &Path, path: &str) -> Target {
    Target::File(paths::spellings(cwd, path))
}

/// A file, or a directory with all beneath it.
fn whole(cwd: &Path, path: &str) -> Target {
    match path.ends_with('/') || cwd.join(path).is_dir() {
        true => Target::tree(paths::spellings(cwd, path)),
        false => file(cwd, path),
    }
}

/// The error that ends a check in which something was not free.
pub fn verdict(verdicts: &[Verdict]) -> Option<CommandError> {
    let held: Vec<(&Verdict, &Holding)> =
        verdicts.iter().filter_map(|verdict| Some((verdict, verdict.holding.as_ref()?))).collect();
    let (first, holding) = held.first()?;
    let more = if held.len() > 1 { format!(" (and {} more)", held.len() - 1) } else { String::new() };
    let text = format!("{}{more}", in_the_way(&first.path, holding, clock::now()));
    let name = &holding.holder.name;
    Some(CommandError::new(Kind::Reserved, text).hint(format!("`msg send {name} \"…\"` asks for it")))
}
