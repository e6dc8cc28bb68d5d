//! Conflicts between work trees: two agents changed the same file in different work trees, and the two files, as they
//! are now, can't be merged. Both are told, once.
//!
//! A background job finds that out, because git has to be asked. The hook after an edit starts it if another agent
//! changed the same file in another work tree. One process per repository does it; what is changed while it runs it
//! looks at again. A conflict that was told is remembered until it is resolved, also while one of the two is away, so it
//! is told again only if it arises anew. It is remembered after it was told: if the process is killed in between, it is told twice.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::domain::awareness::counters::AgentId;
use crate::domain::awareness::track::{Deed, TrackLine, TreeId};
use crate::domain::awareness::worktree_conflict::{ConflictSide, SideChange, WorktreeConflict};
use crate::domain::line_merge::LineRange;
use crate::domain::settings::AwarenessMode;
use crate::domain::{Agent, AgentName, Notice, PeerText, notice_words};
use crate::ops::background::job::{BackgroundJob, JobKind};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::runner::carry_out;
use crate::store::{ConflictLock, Mesh};
use crate::sys::clock;
use crate::sys::git::{FileConflict, FileMerge, WorkTree, WorkTreePair};

use super::WorkPlace;
use super::place::tree_id;

/// For how long one process looks.
const LIMIT: Duration = Duration::from_secs(300);
/// The most files that it compares each time; those that were changed last are the first.
const MOST_FILES: usize = 200;
/// The most parts of a file that are told.
const MOST_PARTS: usize = 3;

/// Starts the job if another agent changed one of these files in another work tree.
pub(super) fn look_if_shared(
    op: &Op,
    mesh: &Mesh,
    me: AgentId,
    place: &WorkPlace,
    changed: &[(TreeId, Vec<Vec<u8>>)],
) -> Result<(), CommandError> {
    if !place.has_linked_trees() || changed.is_empty() {
        return Ok(());
    }
    let is_shared = |line: &TrackLine| match &line.deed {
        Deed::Changed { tree, files } if line.stamp.agent != me => {
            changed.iter().any(|(own, paths)| own != tree && paths.iter().any(|path| files.contains(path)))
        }
        _ => false,
    };
    let paths: Vec<&[u8]> = changed.iter().flat_map(|(_, paths)| paths).map(Vec::as_slice).collect();
    if mesh.awareness().lines_naming(&place.repository, &paths)?.iter().any(is_shared) {
        op.start_job(BackgroundJob { kind: JobKind::WorktreeConflicts, dir: place.root.clone() });
    }
    Ok(())
}

/// The job: looks for conflicts in the repository of the context's directory.
pub(in crate::ops) fn find(op: &Op) -> Result<(), CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(()) };
    let place = WorkPlace::of(&op.cwd);
    let give_up = Instant::now() + LIMIT;
    let mut seen = None;
    // Whoever finds the lock held goes away, so its holder looks once more after it has released the lock.
    while Instant::now() < give_up && op.settings.awareness != AwarenessMode::Off {
        let latest = latest_change(&mesh, &place)?;
        if latest.is_none() || latest == seen {
            break;
        }
        let Some(lock) = mesh.awareness().lock_conflicts(&place.repository)? else { break };
        // Read again, now that nobody else looks.
        seen = latest_change(&mesh, &place)?;
        look(op, &mesh, &place, &lock, give_up)?;
    }
    Ok(())
}

fn latest_change(mesh: &Mesh, place: &WorkPlace) -> Result<Option<TrackLine>, CommandError> {
    let track = mesh.awareness().track(&place.repository)?;
    let is_change = |line: &TrackLine| matches!(line.deed, Deed::Changed { .. });
    Ok(track.lines.into_iter().rev().find(is_change))
}

/// Compares every file that two live agents have changed in different work trees, and tells them of new conflicts.
fn look(
    op: &Op,
    mesh: &Mesh,
    place: &WorkPlace,
    lock: &ConflictLock<'_>,
    give_up: Instant,
) -> Result<(), CommandError> {
    let known = mesh.awareness().conflicts(&place.repository)?;
    let census = mesh.registry().local_census()?;
    let live = census.records.iter().filter(|record| record.is_live());
    let agents: HashMap<AgentId, &Agent> =
        live.map(|record| (AgentId::of(&record.agent.session), &record.agent)).collect();
    let since = (clock::now() - op.settings.awareness_window()).as_millisecond();
    let lines = mesh.awareness().track(&place.repository)?.lines;
    // One that is away may come back, and is not told again then.
    let mut found: Vec<WorktreeConflict> =
        known.iter().filter(|one| is_away(one, &agents, &lines)).cloned().collect();
    let mut told = Vec::new();
    let mut trees = TreePairs::new(place);
    for shared in shared_files(&lines, since, &agents, &known) {
        let remembered = known.iter().find(|conflict| shared.is_of(conflict));
        let merged = if Instant::now() < give_up { trees.merge(&shared) } else { FileMerge::Unknown };
        match merged {
            FileMerge::Clean => {}
            // Nothing is known that was not known before.
            FileMerge::Unknown => found.extend(remembered.cloned()),
            FileMerge::Conflict(conflict) => {
                let mut conflict = shared.conflict(&conflict);
                if let Some(known) = remembered {
                    let sides = conflict.sides.iter_mut().zip(&known.sides);
                    sides.for_each(|(side, known)| side.is_told = known.is_told);
                }
                if op.settings.awareness == AwarenessMode::Warn {
                    tell(op, &conflict, &agents, &trees);
                    told.push(found.len());
                }
                found.push(conflict);
            }
        }
    }
    let missed = carry_out(op);
    let has_notice = |agent: AgentId| agents.get(&agent).is_some_and(|agent| !missed.contains(&agent.name));
    for number in told {
        let sides = &mut found[number].sides;
        sides.iter_mut().for_each(|side| side.is_told |= has_notice(side.agent));
    }
    if found != known {
        lock.replace(&found)?;
    }
    Ok(())
}

/// Whether one of the agents is not here, and may come back: what it did is still known.
fn is_away(conflict: &WorktreeConflict, agents: &HashMap<AgentId, &Agent>, lines: &[TrackLine]) -> bool {
    let absent = || conflict.sides.iter().filter(|side| !agents.contains_key(&side.agent));
    let is_known = |side: &ConflictSide| lines.iter().any(|line| line.stamp.agent == side.agent);
    absent().next().is_some() && absent().all(is_known)
}

/// A file that two agents have changed in different work trees.
struct SharedFile {
    /// Each agent with its work tree, ordered by agent.
    sides: [(AgentId, TreeId); 2],
    path: Vec<u8>,
    /// When it was changed last, in milliseconds since 1970.
    at: i64,
}

impl SharedFile {
    fn is_of(&self, conflict: &WorktreeConflict) -> bool {
        let agents = conflict.sides.each_ref().map(|side| side.agent);
        self.sides.map(|(agent, _)| agent) == agents && self.path == conflict.path
    }

    fn conflict(&self, conflict: &FileConflict) -> WorktreeConflict {
        let lines = |lines: Vec<LineRange>| SideChange::Lines(lines);
        let (ours, theirs) = match conflict {
            FileConflict::Lines(parts) => (
                lines(parts.iter().map(|part| part.ours).collect()),
                lines(parts.iter().map(|part| part.theirs).collect()),
            ),
            FileConflict::Whole => (SideChange::Whole, SideChange::Whole),
            FileConflict::RemovedHere => (SideChange::Removed, SideChange::Whole),
            FileConflict::RemovedThere => (SideChange::Whole, SideChange::Removed),
        };
        let [(a, our_tree), (b, their_tree)] = self.sides;
        let side = |agent, tree, change| ConflictSide { agent, tree, change, is_told: false };
        WorktreeConflict::new([side(a, our_tree, ours), side(b, their_tree, theirs)], self.path.clone())
    }
}

/// The files that two live agents have changed in different work trees, and those of known conflicts; the latest first.
fn shared_files(
    lines: &[TrackLine],
    since: i64,
    agents: &HashMap<AgentId, &Agent>,
    known: &[WorktreeConflict],
) -> Vec<SharedFile> {
    // By path and agent: where the agent changed it last, and when.
    let mut changes: BTreeMap<&[u8], BTreeMap<AgentId, (TreeId, i64)>> = BTreeMap::new();
    for conflict in known {
        for side in conflict.sides.iter().filter(|side| agents.contains_key(&side.agent)) {
            // However long ago that was.
            changes.entry(&conflict.path).or_default().insert(side.agent, (side.tree, i64::MAX));
        }
    }
    for line in lines.iter().filter(|line| agents.contains_key(&line.stamp.agent)) {
        let Deed::Changed { tree, files } = &line.deed else { continue };
        for path in files {
            let at = line.stamp.at;
            let by_agent = changes.entry(path).or_default();
            let is_known = by_agent.contains_key(&line.stamp.agent);
            if is_known || at >= since {
                by_agent.insert(line.stamp.agent, (*tree, at));
            }
        }
    }
    let mut shared = Vec::new();
    for (path, by_agent) in changes {
        let by_agent: Vec<(AgentId, (TreeId, i64))> = by_agent.into_iter().collect();
        for (number, (a, (our_tree, our_time))) in by_agent.iter().enumerate() {
            for (b, (their_tree, their_time)) in &by_agent[number + 1..] {
                if our_tree != their_tree {
                    let at = *our_time.max(their_time);
                    shared.push(SharedFile {
                        sides: [(*a, *our_tree), (*b, *their_tree)],
                        path: path.to_vec(),
                        at,
                    });
                }
            }
        }
    }
    // A known conflict must not be forgotten because there are many others.
    let is_known = |file: &SharedFile| known.iter().any(|conflict| file.is_of(conflict));
    shared.sort_by_cached_key(|file| (!is_known(file), std::cmp::Reverse(file.at)));
    shared.truncate(MOST_FILES.max(known.len()));
    shared
}

/// The work trees of a repository, in pairs; each pair is looked up once.
struct TreePairs {
    roots: HashMap<TreeId, PathBuf>,
    pairs: HashMap<(TreeId, TreeId), Option<WorkTreePair>>,
}

impl TreePairs {
    fn new(place: &WorkPlace) -> Self {
        let others = WorkTree::containing(&place.root).map(|tree| tree.others()).unwrap_or_default();
        let roots = others.into_iter().chain([place.root.clone()]);
        Self { roots: roots.map(|root| (tree_id(&root), root)).collect(), pairs: HashMap::new() }
    }

    fn merge(&mut self, file: &SharedFile) -> FileMerge {
        let [(_, ours), (_, theirs)] = file.sides;
        let (Some(our_root), Some(their_root)) = (self.roots.get(&ours), self.roots.get(&theirs)) else {
            // A work tree was removed, and so was what was changed in it.
            return FileMerge::Clean;
        };
        let pair =
            self.pairs.entry((ours, theirs)).or_insert_with(|| WorkTreePair::new(our_root, their_root));
        let path = Path::new(OsStr::from_bytes(&file.path));
        pair.as_ref().map_or(FileMerge::Unknown, |pair| pair.merge(path))
    }
}

/// Tells those of the two that were not told yet.
fn tell(op: &Op, conflict: &WorktreeConflict, agents: &HashMap<AgentId, &Agent>, trees: &TreePairs) {
    let [a, b] = &conflict.sides;
    let (Some(first), Some(second)) = (agents.get(&a.agent), agents.get(&b.agent)) else { return };
    let ways = [(first, a, second, b), (second, b, first, a)];
    for (me, own, other, theirs) in ways.into_iter().filter(|(_, own, ..)| !own.is_told) {
        let root = trees.roots.get(&theirs.tree).map(|root| op.home.shorten(&root.to_string_lossy()));
        let root = PeerText::new(root.unwrap_or_default());
        let path = PeerText::new(String::from_utf8_lossy(&conflict.path));
        let notice = words(&path, &own.change, &other.name, &theirs.change, &root);
        let failure = format!("could not tell {} of a conflict with {}", me.name, other.name);
        op.notify(Agent::clone(me), notice, failure);
    }
}

fn words(
    path: &PeerText,
    own: &SideChange,
    name: &AgentName,
    theirs: &SideChange,
    root: &PeerText,
) -> Notice {
    let notice = Notice::new().say(notice_words::FILES_CONFLICT);
    let notice = match (own, theirs) {
        (SideChange::Removed, _) => {
            notice.say("you removed ").code(path).say(", and ").name(name).say(" changed it")
        }
        (_, SideChange::Removed) => {
            notice.say("you changed ").code(path).say(", and ").name(name).say(" removed it")
        }
        (SideChange::Lines(own), SideChange::Lines(theirs)) => {
            let notice = with_lines(notice.say("your ").code(path), own);
            with_lines(notice.say(" and ").name(name).say("'s"), theirs)
        }
        _ => notice.say("you changed ").code(path).say(", which is not a text, and ").name(name).say(" did"),
    };
    let notice = notice.say(" in the worktree ").code(root);
    let notice = match (own, theirs) {
        (SideChange::Lines(_), SideChange::Lines(_)) => notice.say(" change the same lines"),
        _ => notice,
    };
    let notice = notice.say(". It can't be merged as it is now. Agree who keeps what: msg send ");
    notice.name(name).say(" \"…\"")
}

/// ` (lines 10–14, 20)`.
fn with_lines(notice: Notice, lines: &[LineRange]) -> Notice {
    let is_one = matches!(lines, [LineRange { count: 0 | 1, .. }]);
    let mut notice = notice.say(if is_one { " (line " } else { " (lines " });
    for (number, part) in lines.iter().take(MOST_PARTS).enumerate() {
        if number > 0 {
            notice = notice.say(", ");
        }
        notice = notice.number(part.first);
        if part.count > 1 {
            notice = notice.say("–").number(part.first + part.count - 1);
        }
    }
    let notice = match lines.len().saturating_sub(MOST_PARTS) {
        0 => notice,
        more => notice.say(" and ").number(more).say(" more"),
    };
    notice.say(")")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agents_are_told() {
        let lines = |parts: &[(usize, usize)]| {
            let parts = parts.iter().map(|(first, count)| LineRange { first: *first, count: *count });
            SideChange::Lines(parts.collect())
        };
        let said = |own: &SideChange, theirs: &SideChange| {
            let [path, root] = ["a`b.rs", "~/topic"].map(PeerText::new);
            let notice = words(&path, own, &AgentName::new("Robin").unwrap(), theirs, &root);
            let text = notice.text().to_string();
            text.strip_suffix(". It can't be merged as it is now. Agree who keeps what: msg send Robin \"…\"")
                .unwrap_or(&text)
                .to_string()
        };
        let many = lines(&[(1, 2), (5, 1), (9, 0), (12, 1), (20, 3)]);
        for (own, theirs, expected) in [
            (
                &lines(&[(10, 0)]),
                &many,
                "your `a'b.rs` (line 10) and Robin's (lines 1–2, 5, 9 and 2 more) in the worktree `~/topic` \
                 change the same lines",
            ),
            (
                &SideChange::Whole,
                &SideChange::Whole,
                "you changed `a'b.rs`, which is not a text, and Robin did in the worktree `~/topic`",
            ),
            (
                &SideChange::Removed,
                &SideChange::Whole,
                "you removed `a'b.rs`, and Robin changed it in the worktree `~/topic`",
            ),
            (
                &SideChange::Whole,
                &SideChange::Removed,
                "you changed `a'b.rs`, and Robin removed it in the worktree `~/topic`",
            ),
        ] {
            assert_eq!(said(own, theirs), format!("Conflict: {expected}"));
        }
    }
}
