//! Detects writes to reserved files by commands that can't be analysed: compares the files before and after the
//! command.
//!
//! This does not catch everything, and claims no more than it knows: a file *changed while the command ran*. If the
//! holder was active meanwhile, nobody is blamed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::domain::hook::ToolUse;
use crate::domain::pattern::{NormalPath, Pattern};
use crate::domain::{Agent, AgentName, Notice, PeerText, notice_words};
use crate::ops::error::CommandError;
use crate::ops::reservations::check::{self, CensusSource, HardLinkPolicy};
use crate::store::{RepositoryPlaces, StampsBefore, patterns_seen};
use crate::sys::files::{self, FileStamp};
use crate::sys::{clock, paths, test_switches};

use crate::ops::hook::HookRun;

/// Limits of a look: the number of files, and the time, for a file system that does not answer.
const MOST_FILES: usize = 2_000;
const MOST_TIME: Duration = Duration::from_millis(150);
/// Most files named in a notice.
const MOST_TOLD: usize = 5;
/// What a session left behind is removed after this time, by one call in `SWEEP_ONE_IN`.
const KEPT: Duration = Duration::from_secs(24 * 3600);
const SWEEP_ONE_IN: u32 = 256;

/// Records what reserved files look like before the command runs.
pub(super) fn note(run: &HookRun<'_>, tool: &ToolUse) -> Result<(), CommandError> {
    let Some(session) = &run.call.event.session else { return Ok(()) };
    let watched = watched(run)?;
    if watched.is_empty() {
        return Ok(());
    }
    let at = clock::from_system(clock::machine_time());
    let (files, partial) = look(&watched);
    let before = StampsBefore { at, files, is_partial: partial };
    run.mesh.hooks().save_stamps(session, &call_id(tool), &before)?;
    run.mesh.hooks().remove_old(KEPT, SWEEP_ONE_IN)?;
    Ok(())
}

/// Reports files reserved by others that changed while the command ran: returns a notice for the model, and notifies
/// the holders.
pub(super) fn compare(run: &HookRun<'_>, tool: &ToolUse) -> Result<Option<Notice>, CommandError> {
    let (Some(session), Some(command)) = (&run.call.event.session, &tool.command) else { return Ok(None) };
    let before = run.mesh.hooks().take_stamps(session, &call_id(tool))?;
    let now = clock::from_system(clock::machine_time());
    let ran_for = tool.duration_ms.map(|ms| SignedDuration::from_millis(ms.try_into().unwrap_or(i64::MAX)));
    let start = before.as_ref().map(|before| before.at).or_else(|| now.checked_sub(ran_for?).ok());
    let changed: Vec<(String, Arc<Agent>)> = match (&tool.changed, before) {
        (Some(changed), _) => of_harness(run, changed)?,
        (None, Some(before)) => of_look(run, &before)?,
        (None, None) => return Ok(None),
    };
    let start = start.unwrap_or(now);
    let mut told = Vec::new();
    for (path, holder) in changed {
        if last_sign(run, &holder.name)?.is_none_or(|seen| seen < start) {
            told.push((path, holder));
        }
    }
    if told.is_empty() {
        return Ok(None);
    }
    tell_holders(run, &told, command);
    Ok(Some(words(run, &told)))
}

/// When the holder was last active. A pi-messenger agent leaves no such trace, but may write it into its registration.
fn last_sign(run: &HookRun<'_>, holder: &AgentName) -> Result<Option<Timestamp>, CommandError> {
    let touched = run.mesh.presence().file_time(holder)?;
    let written = run.mesh.registry().get(holder)?.and_then(|record| record.agent.last_activity);
    Ok(touched.max(written))
}

/// Changes reported by the harness itself.
fn of_harness(run: &HookRun<'_>, changed: &[String]) -> Result<Vec<(String, Arc<Agent>)>, CommandError> {
    let mut targets: Vec<_> = changed.iter().map(|path| check::file(run.cwd(), path)).collect();
    let source = CensusSource::Index(&run.registry);
    let judged = check::judge(run.mesh, run.me.as_ref(), &mut targets, HardLinkPolicy::Ignore, source)?;
    let held = changed.iter().zip(judged.holdings);
    Ok(held.filter_map(|(path, holding)| Some((path.clone(), holding?.holder))).collect())
}

/// Changes found by looking again.
fn of_look(run: &HookRun<'_>, before: &StampsBefore) -> Result<Vec<(String, Arc<Agent>)>, CommandError> {
    let watched = watched(run)?;
    let (after, partial) = look(&watched);
    let is_new = |path: &String| !before.is_partial && !before.files.contains_key(path);
    let has_changed = |path: &String, stamp: &FileStamp| match before.files.get(path) {
        Some(old) => old != stamp,
        None => is_new(path),
    };
    let changed = after.iter().filter(|(path, stamp)| has_changed(path, stamp)).map(|(path, _)| path);
    let is_gone = |path: &&String| !partial && !after.contains_key(*path);
    let gone = before.files.keys().filter(is_gone);
    let holder = |path: &String| {
        let spellings = paths::spellings(Path::new("/"), path);
        let holds = |watch: &&Watch| spellings.iter().any(|form| watch.pattern.covers(form));
        watched.iter().find(holds).map(|watch| watch.holder.clone())
    };
    Ok(changed.chain(gone).filter_map(|path| Some((path.clone(), holder(path)?))).collect())
}

/// A pattern in this work tree that another agent holds.
struct Watch {
    pattern: Pattern,
    /// The directory to start from.
    start: NormalPath,
    holder: Arc<Agent>,
}

fn watched(run: &HookRun<'_>) -> Result<Vec<Watch>, CommandError> {
    let now = clock::now();
    let place = run.place();
    let places = RepositoryPlaces::quick(run.mesh);
    let mut watched = Vec::new();
    for record in run.mesh.registry().census()?.records {
        let is_mine = run.me.as_ref().is_some_and(|me| me.is_same_agent(&record.agent));
        if is_mine || record.agent.reservations.is_empty() || !record.is_live() {
            continue;
        }
        let agent = Arc::new(record.agent);
        for reservation in agent.reservations.iter().filter(|reservation| reservation.binds(now)) {
            let seen = places.seen_from(place.root(), reservation);
            let here = patterns_seen(&agent, seen.as_ref(), reservation)
                .into_iter()
                .filter(|pattern| place.is_near(pattern.head()));
            watched.extend(here.map(|pattern| {
                // A pattern whose head is above this work tree is searched only inside it.
                let is_above = place.root().is_within(pattern.head());
                let start = if is_above { place.root().clone() } else { pattern.head().clone() };
                Watch { pattern, start, holder: Arc::clone(&agent) }
            }));
        }
    }
    Ok(watched)
}

/// The stamps of the files that the patterns cover, and whether there were too many.
fn look(watched: &[Watch]) -> (BTreeMap<String, FileStamp>, bool) {
    let mut found = BTreeMap::new();
    let mut walk = files::Walk::new(MOST_FILES, test_switches::or_long(MOST_TIME));
    for watch in watched {
        walk.files(Path::new(watch.start.as_str()), &mut |path, metadata| {
            let spelled = NormalPath::absolute(&path.to_string_lossy());
            if watch.pattern.covers(&spelled) {
                found.insert(spelled.to_string(), FileStamp::of(metadata));
            }
        });
    }
    (found, walk.is_cut_short())
}

/// Identifies the call; a harness without call ids runs one at a time.
fn call_id(tool: &ToolUse) -> String {
    tool.call.clone().unwrap_or_else(|| tool.command.clone().unwrap_or_default())
}

fn words(run: &HookRun<'_>, told: &[(String, Arc<Agent>)]) -> Notice {
    let place = run.place();
    let mut notice = Notice::new().say("Reserved by others, and changed while your command ran: ");
    for (number, (path, holder)) in told.iter().take(MOST_TOLD).enumerate() {
        notice = if number > 0 { notice.say(", ") } else { notice };
        notice = notice
            .code(&PeerText::new(place.shorten(path)))
            .say(" (reserved by ")
            .name(&holder.name)
            .say(")");
    }
    let more = told.len().saturating_sub(MOST_TOLD);
    let notice = if more > 0 { notice.say(" and ").number(more).say(" more") } else { notice };
    let notice = notice.say(". If that was your command, undo it or tell them: msg send ");
    notice.name(&told[0].1.name).say(" \"…\"")
}

/// Notifies the holders. If that fails, the agent is still told.
fn tell_holders(run: &HookRun<'_>, told: &[(String, Arc<Agent>)], command: &str) {
    let place = run.place();
    let command = PeerText::new(command);
    let mut holders: Vec<&Arc<Agent>> = told.iter().map(|(_, holder)| holder).collect();
    holders.sort_unstable_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
    holders.dedup_by(|a, b| a.name == b.name);
    for holder in holders {
        let own = told.iter().filter(|(_, other)| other.name == holder.name).take(MOST_TOLD);
        let paths: Vec<PeerText> = own.map(|(path, _)| PeerText::new(place.shorten(path))).collect();
        let notice = Notice::new().say(notice_words::RESERVED_PATH_CHANGED);
        let notice = match &run.me {
            Some(me) => notice.name(&me.name),
            None => notice.say("an agent that has not joined"),
        };
        let notice = notice.say(" ran: ").codes(&paths).say("\nThe command: ").quote(&command);
        run.op.notify(Arc::clone(holder), notice, format!("could not tell {}", holder.name));
    }
}
