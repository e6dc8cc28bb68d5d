//! Decides whether paths may be changed: the one question that `check`, hooks and the git guard ask.
//!
//! The registrations answer it: nothing is locked, nothing is written.

use std::borrow::Cow;
use std::path::Path;

use crate::domain::pattern::SearchBudget;
use crate::domain::{Agent, ChangeTarget};
use crate::store::{Census, IndexedRegistry, Mesh, RegistryQuery, RepositoryPlaces, UnreadableFile};
use crate::sys::files::FileId;
use crate::sys::{clock, paths};

use super::hard_links::{self, LinkedFiles};
use super::holdings::Holding;
use super::passed;
use super::refusal::{describe_conflict, others};
use super::things;
use crate::ops::agents::identity;
use crate::ops::agents::roster::Roster;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// Steps for comparing all targets with all reservations: some tenths of a second. A hook waits for it.
const STEPS: usize = 5_000_000;

/// A path, and who holds it, if anybody.
#[derive(Clone, Debug)]
pub struct PathVerdict {
    /// The path as it was given.
    pub path: String,
    pub holding: Option<Holding>,
}

/// Decides whether the caller may change these paths and things. An unknown caller is held to everyone's reservations.
pub fn check(op: &Op, paths: &[String]) -> Result<Vec<PathVerdict>, CommandError> {
    if let Some(empty) = paths.iter().find(|path| path.is_empty()) {
        let text = format!("`{empty}` is not a path");
        return Err(
            CommandError::new(CommandErrorKind::InvalidValue, text).hint("name a file or a directory")
        );
    }
    let target = |path: &String| -> Result<_, CommandError> {
        let thing = things::typed_target(&op.cwd, path)?;
        Ok((path.clone(), thing.unwrap_or_else(|| whole(&op.cwd, path))))
    };
    let targets = paths.iter().map(target).collect::<Result<_, _>>()?;
    let (verdicts, judged) = for_caller(op, targets, HardLinkPolicy::Include)?;
    judged.doubts(|number| verdicts[number].path.clone()).into_iter().for_each(|doubt| op.warn(doubt));
    Ok(verdicts)
}

/// Decides about each named target for the caller, known or not. Also returns what could not be found out.
pub(in crate::ops) fn for_caller(
    op: &Op,
    targets: Vec<(String, ChangeTarget)>,
    names: HardLinkPolicy,
) -> Result<(Vec<PathVerdict>, CheckResult), CommandError> {
    let (paths, mut targets): (Vec<String>, Vec<ChangeTarget>) = targets.into_iter().unzip();
    let mut judged = CheckResult::default();
    if let Some(mesh) = op.mesh()? {
        let roster = Roster::read(&mesh)?;
        let me = identity::caller_if_certain(op, &mesh, roster.census());
        let source = CensusSource::Known(Cow::Borrowed(roster.census()));
        judged = judge(&mesh, me.as_ref(), &mut targets, names, source)?;
    } else {
        op.note_absent_mesh();
    }
    let holdings = std::mem::take(&mut judged.holdings).into_iter().chain(std::iter::repeat(None));
    let pairs = paths.into_iter().zip(holdings);
    Ok((pairs.map(|(path, holding)| PathVerdict { path, holding }).collect(), judged))
}

/// Which names of a file count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::ops) enum HardLinkPolicy {
    /// Only the given one: a commit changes an entry, whatever other names the file has.
    Ignore,
    /// Hard links too.
    Include,
}

/// The registrations that targets are compared with.
pub(in crate::ops) enum CensusSource<'s> {
    /// All of them.
    Known(Cow<'s, Census>),
    /// Those that the index finds near the targets, at a hook. If the index is out of date, its new content is kept.
    Index(&'s IndexedRegistry<'s>),
}

/// The result of [`judge`].
#[derive(Default)]
pub(in crate::ops) struct CheckResult {
    /// The reservation that prevents changing each of them, if any.
    pub(in crate::ops) holdings: Vec<Option<Holding>>,
    /// Registrations whose reservations are not known.
    pub(in crate::ops) unreadable: Vec<UnreadableFile>,
    /// The first target that has other names, if more is reserved than could be compared with it.
    pub(in crate::ops) uncompared: Option<usize>,
    /// Why it is not known which repository a target belongs to, if git failed.
    unplaced: Option<String>,
    /// Why it was compared with nothing, if that failed.
    failure: Option<String>,
}

impl CheckResult {
    /// Describes what could not be found out. `name` returns the name of a target.
    pub(in crate::ops) fn doubts(&self, name: impl Fn(usize) -> String) -> Vec<String> {
        let unknown =
            |file: &UnreadableFile| format!("cannot tell what `{}` reserves: {}", file.path, file.reason);
        let mut doubts: Vec<String> = self.unreadable.iter().map(unknown).collect();
        doubts.extend(self.unplaced.clone());
        if let Some(number) = self.uncompared {
            let name = name(number);
            let why = match &self.failure {
                Some(error) => format!("they could not be compared with what is reserved: {error}"),
                None => "more files are reserved than are compared with it".to_string(),
            };
            doubts.push(format!("`{name}` has other names (hard links), and {why}"));
        }
        doubts
    }
}

/// Decides about each of the targets. If somebody holds something in every work tree of a repository, the targets get
/// the names that they have in theirs.
pub(in crate::ops) fn judge(
    mesh: &Mesh,
    me: Option<&Agent>,
    targets: &mut [ChangeTarget],
    names: HardLinkPolicy,
    source: CensusSource<'_>,
) -> Result<CheckResult, CommandError> {
    let (places, is_mentioned, index) = match &source {
        CensusSource::Known(_) => (RepositoryPlaces::new(mesh), false, None),
        CensusSource::Index(registry) => {
            (RepositoryPlaces::quick(mesh), registry.mentions_repository(), Some(*registry))
        }
    };
    if is_mentioned {
        targets.iter_mut().for_each(|target| places.add_to(target));
    }
    let census = match source {
        CensusSource::Known(census) => census,
        CensusSource::Index(registry) => {
            let heads = targets.iter().flat_map(ChangeTarget::heads).collect();
            registry.matching_and_update(&RegistryQuery { heads, ..RegistryQuery::default() })?
        }
    };
    let roster = Roster::of(mesh, census);
    // The index does not know agents that have just been written.
    if !is_mentioned && roster.has_repository_reservation() {
        targets.iter_mut().for_each(|target| places.add_to(target));
    }
    if let Some(index) = index {
        index.keep_repositories(places.take_learned());
    }
    let others = roster.others(me);
    let budget = SearchBudget::new(STEPS);
    let judge = |target: &ChangeTarget| {
        others.first(|holder| !is_passed(me, holder, target), |pattern| target.hit_by(pattern, &budget))
    };
    let holdings = targets.iter().map(judge).collect();
    let (unreadable, unplaced) = (roster.unknown().to_vec(), places.failure());
    let mut judged = CheckResult { holdings, unreadable, unplaced, ..CheckResult::default() };
    if names == HardLinkPolicy::Include {
        compare_links(mesh, me, targets, &mut judged);
    }
    Ok(judged)
}

/// Compares hard links: a file with several names may be reserved under another one, anywhere. A failure is a doubt,
/// and undoes no refusal.
fn compare_links(mesh: &Mesh, me: Option<&Agent>, targets: &[ChangeTarget], judged: &mut CheckResult) {
    let free = targets.iter().enumerate().filter(|(number, _)| judged.holdings[*number].is_none());
    let linked: Vec<(usize, FileId)> =
        free.filter_map(|(number, target)| Some((number, hard_links::linked(target)?))).collect();
    let Some((first, _)) = linked.first() else { return };
    let roster = match Roster::read(mesh) {
        Ok(roster) => roster,
        Err(error) => {
            judged.uncompared = Some(*first);
            judged.failure = Some(error.to_string());
            return;
        }
    };
    let others = roster.others(me);
    let files = linked.iter().map(|(_, file)| *file).collect();
    let LinkedFiles { reserved, is_cut_short } = hard_links::reserved(&others, &files);
    for (number, file) in linked {
        match reserved.get(&file) {
            Some(holding) if is_passed(me, &holding.holder, &targets[number]) => {}
            Some(holding) => judged.holdings[number] = Some(holding.clone()),
            None if is_cut_short && judged.uncompared.is_none() => judged.uncompared = Some(number),
            None => {}
        }
    }
}

/// Whether the holder passed the target on to whoever wants to change it.
fn is_passed(me: Option<&Agent>, holder: &Agent, target: &ChangeTarget) -> bool {
    me.is_some_and(|me| passed::is_free_for(me, holder, target, clock::now()))
}

/// One file, by its name as seen from `cwd`.
pub(in crate::ops) fn file(cwd: &Path, path: &str) -> ChangeTarget {
    ChangeTarget::File(paths::spellings(cwd, path))
}

/// A file, or a directory with everything beneath it.
fn whole(cwd: &Path, path: &str) -> ChangeTarget {
    match path.ends_with('/') || cwd.join(path).is_dir() {
        true => ChangeTarget::tree(paths::spellings(cwd, path)),
        false => file(cwd, path),
    }
}

/// The error that ends a check in which something was not free.
pub fn conflict_error(verdicts: &[PathVerdict]) -> Option<CommandError> {
    let held: Vec<(&PathVerdict, &Holding)> =
        verdicts.iter().filter_map(|verdict| Some((verdict, verdict.holding.as_ref()?))).collect();
    let (first, holding) = held.first()?;
    let more = others(held.iter().skip(1).map(|(_, holding)| *holding));
    let text = format!("{}{more}", describe_conflict(&first.path, holding, clock::now()));
    let name = &holding.holder.name;
    Some(CommandError::new(CommandErrorKind::Reserved, text).hint(format!("ask: `msg send {name} \"…\"`")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::Durability;
    use crate::store::{MeshLocation, MeshOptions};

    /// The census can't be read, and a file has two names: what was refused before stays refused.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test damages a mesh of its own")]
    fn links_that_can_not_be_compared_are_a_doubt() {
        let dir = tempfile::tempdir().unwrap();
        let options =
            MeshOptions { durability: Durability::Process, lock_timeout: std::time::Duration::ZERO };
        let mesh = Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap();
        let census = mesh.registry().census().unwrap();
        let registry = dir.path().join("mesh/registry");
        std::fs::remove_dir_all(&registry).ok();
        std::fs::write(&registry, "").unwrap();
        std::fs::write(dir.path().join("a"), "").unwrap();
        std::fs::hard_link(dir.path().join("a"), dir.path().join("b")).unwrap();
        let mut targets = [file(dir.path(), "free"), file(dir.path(), "a")];
        let source = CensusSource::Known(Cow::Borrowed(&census));
        let judged = judge(&mesh, None, &mut targets, HardLinkPolicy::Include, source).unwrap();
        assert_eq!(judged.holdings.len(), 2);
        let doubts = judged.doubts(|number| number.to_string());
        assert!(doubts.len() == 1 && doubts[0].contains("`1` has other names"), "{doubts:?}");
    }
}
