//! `msg reserve`: takes paths, all or none, checked under the lock against what others hold.

use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

use crate::domain::pattern::{NormalPath, Pattern, PatternError, SearchBudget, has_wildcard, literal_head};
use crate::domain::{
    Agent, AgentName, Conflict, EventKind, Reservation, ReservationReach, Thing, is_made_up_path,
};
use crate::store::{Mesh, StagedChange};
use crate::sys::git::WorkTree;
use crate::sys::{clock, files, paths, process};

use super::conflicts::{STEPS_UNDER_LOCK, WantedReservations};
use super::contest_answers;
use super::expired::drop_expired;
use super::linked_paths;
use super::refusal::refuse_conflicts;
use super::repository_reach::{RequestedReach, with_reach};
use super::rules::{drop_waits_for, is_same_place};
use super::things;
use crate::ops::agents::roster::Roster;
use crate::ops::agents::{identity, names};
use crate::ops::context::Context;
use crate::ops::duration::parse_duration;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::LinkGrant;

/// The most reservations of one agent. For more, use a directory or a wildcard.
pub const MAX_RESERVATIONS: usize = 500;
/// The longest reason, in characters: it is shown on one line with the path.
const MAX_REASON: usize = 300;

/// What to do with a pattern that covers more than this work tree.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum BroadPatterns {
    #[default]
    Refuse,
    Accept,
}

/// Options of `reserve`.
#[derive(Clone, Debug, Default)]
pub struct ReserveRequest {
    pub patterns: Vec<String>,
    pub reason: Option<String>,
    /// How long it is wanted; `None`: as long as the agent lives.
    pub ttl: Option<SignedDuration>,
    pub broad: BroadPatterns,
    pub reach: RequestedReach,
}

#[derive(Clone, Debug)]
pub struct ReserveOutcome {
    pub holder: AgentName,
    pub reservations: Vec<Reservation>,
    /// How many of them were held before.
    pub renewed: usize,
}

pub fn reserve(op: &Op, request: &ReserveRequest) -> Result<ReserveOutcome, CommandError> {
    let now = clock::now();
    let wanted = drafts(op, request, now)?;
    things::warn_of_files(op, &wanted);
    let (mesh, caller, roster) = identity::own_caller_and_others(op)?;
    let wanted = with_reach(op, &mesh, wanted, request.reach)?;
    let wanted = WantedReservations::new(&mesh, wanted, &caller.cwd);
    wanted.compare(&roster, &caller, now);
    // It outlives the lock.
    let granted = linked_paths::decide(op, &mesh, &caller, &wanted, request.reach)?;
    let mut locked = mesh.lock()?;
    let me = locked.own_record(&caller)?.agent;
    let mut change = locked.change();
    let taken = take(op, &mesh, &mut change, &me, &wanted, now)?;
    change.commit()?;
    granted.into_iter().for_each(LinkGrant::keep);
    drop(locked);
    taken.tell_of_work_trees(op, &wanted);
    for reservation in &wanted.reservations {
        op.feed(EventKind::Reserve, &me.name, Some(&reservation.pattern), reservation.reason.as_deref());
    }
    // What is also held with a task was not taken here.
    let is_wanted = |held: &&Reservation| {
        held.task.is_none() && wanted.reservations.iter().any(|wanted| is_same_place(wanted, held))
    };
    let reservations = taken.agent.reservations.iter().filter(is_wanted).cloned().collect();
    Ok(ReserveOutcome { holder: taken.agent.name, reservations, renewed: taken.renewed })
}

/// Parses `--ttl`: `90`, `45s`, `30m`, `2h`. From one second to 366 days: anything else is a mistake.
pub fn parse_time_to_live(text: &str) -> Result<SignedDuration, CommandError> {
    let ttl = SignedDuration::try_from(parse_duration(text, "--ttl")?).unwrap_or(SignedDuration::MAX);
    if ttl < SignedDuration::from_secs(1) || ttl > SignedDuration::from_hours(24 * 366) {
        let text = format!("`--ttl {text}` is not between a second and a year");
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("expected for example 45s, 30m, 2h or 1d"));
    }
    Ok(ttl)
}

/// The reservations that the patterns stand for here.
pub(in crate::ops) fn drafts(
    ctx: &Context,
    request: &ReserveRequest,
    now: Timestamp,
) -> Result<Vec<Reservation>, CommandError> {
    let place = PatternBase::here(ctx);
    let reason = reason(request.reason.as_deref())?;
    // What leaves the repository is refused by `with_reach`, whatever else is allowed.
    let broad =
        if request.reach == RequestedReach::Repository { BroadPatterns::Accept } else { request.broad };
    let mut wanted: Vec<Reservation> = Vec::new();
    for text in &request.patterns {
        let reservation = place.draft(ctx, text, broad)?;
        let expires_at = request.ttl.map(|ttl| now + ttl);
        if !wanted.iter().any(|other| other.is_written_alike(&reservation)) {
            wanted.push(Reservation { reason: reason.clone(), expires_at, since: now, ..reservation });
        }
    }
    Ok(wanted)
}

/// What an agent was given.
pub(in crate::ops) struct GrantedReservations {
    /// The agent after that.
    pub(in crate::ops) agent: Agent,
    /// How many of them the agent had before.
    renewed: usize,
    /// All agents at that moment, if it was looked at them.
    roster: Option<Roster<'static>>,
}

impl GrantedReservations {
    /// For an agent that wants nothing.
    pub(in crate::ops) fn nothing(agent: &Agent) -> Self {
        Self { agent: agent.clone(), renewed: 0, roster: None }
    }

    /// Warns about reservations in other work trees. That needs no lock, and reads their directories.
    pub(in crate::ops) fn tell_of_work_trees(&self, op: &Op, wanted: &WantedReservations<'_>) {
        if let Some(failure) = wanted.end_comparison() {
            op.warn(failure);
        }
        if let Some(roster) = &self.roster {
            PatternBase::here(op).tell_of_work_trees(op, roster, &self.agent, wanted);
        }
    }
}

/// Gives the agent everything it wants, or nothing. A refusal is recorded at once, so that the agent is told when the
/// paths are free; the change is for the caller to commit.
pub(in crate::ops) fn take(
    op: &Op,
    mesh: &Mesh,
    change: &mut StagedChange<'_>,
    me: &Agent,
    wanted: &WantedReservations<'_>,
    now: Timestamp,
) -> Result<GrantedReservations, CommandError> {
    let roster = refuse_conflicts(op, mesh, change, me, wanted, now)?;
    if let Some(file) = roster.unknown().first() {
        return Err(names::unknown_reservations(file));
    }
    if !wanted.is_decided() {
        let text = "the server of the linked mesh was not asked about a path of a repository";
        return Err(CommandError::new(CommandErrorKind::Bug, text));
    }
    answer_contests(op, change, &roster, me, wanted)?;
    drop_expired(change, roster.census(), now)?;
    let (agent, renewed) = grant(change, me, &wanted.reservations, now)?;
    Ok(GrantedReservations { agent, renewed, roster: Some(roster) })
}

/// Reserving a contested path again is an answer to those who contest it.
fn answer_contests(
    op: &Op,
    change: &mut StagedChange<'_>,
    roster: &Roster<'_>,
    me: &Agent,
    wanted: &WantedReservations<'_>,
) -> Result<(), CommandError> {
    let Some(now) = process::uptime().filter(|_| me.reservations.iter().any(|held| held.contest.is_some()))
    else {
        return Ok(());
    };
    let budget = SearchBudget::new(STEPS_UNDER_LOCK);
    let is_meant = |held: &Reservation| {
        let held = held.patterns(&me.cwd);
        wanted.patterns().any(|mine| Conflict::of(mine, &held, &budget) != Conflict::None)
    };
    for contester in roster.live().filter(|agent| contest_answers::is_owed_answer(agent, me)) {
        contest_answers::stage_answer(op, change, me, contester, is_meant, &now)?;
    }
    Ok(())
}

/// Adds the reservations to the registration. Those already held are renewed and keep their age; expired ones are
/// dropped.
fn grant(
    change: &mut StagedChange<'_>,
    me: &Agent,
    wanted: &[Reservation],
    now: Timestamp,
) -> Result<(Agent, usize), CommandError> {
    let held: Vec<&Reservation> = me.reservations.iter().filter(|held| held.binds(now)).collect();
    // A reservation held with a task ends with it, so it replaces no other. Neither does one that links lead elsewhere:
    // `link/../a` and `a` are written alike.
    let is_same = |wanted: &Reservation, held: &Reservation| {
        is_same_place(wanted, held) && wanted.task == held.task && wanted.head == held.head
    };
    let is_new = |wanted: &&Reservation| !held.iter().any(|held| is_same(wanted, held));
    let new = wanted.iter().filter(is_new).count();
    let total = held.len() + new;
    if total > MAX_RESERVATIONS {
        let text = format!("that would be {total} reservations; {MAX_RESERVATIONS} is the most");
        return Err(CommandError::new(CommandErrorKind::TooMany, text)
            .hint("reserve a directory, or use a wildcard; `msg release` lets go of what you don't need"));
    }
    let agent = change.edit(me, |agent| {
        agent.reservations.retain(|held| held.binds(now));
        for wanted in wanted {
            match agent.reservations.iter_mut().find(|held| is_same(wanted, held)) {
                Some(held) => {
                    let reason = wanted.reason.clone().or(held.reason.take());
                    let contest = held.contest.take();
                    let mut passed_by = std::mem::take(&mut held.passed_by);
                    passed_by.extend(
                        wanted
                            .passed_by
                            .iter()
                            .filter(|name| !passed_by.contains(name))
                            .cloned()
                            .collect::<Vec<_>>(),
                    );
                    *held = Reservation { since: held.since, reason, contest, passed_by, ..wanted.clone() };
                }
                None => agent.reservations.push(wanted.clone()),
            }
        }
        drop_waits_for(agent, wanted);
    })?;
    Ok((agent, wanted.len() - new))
}

/// Normalises a reason: one line of limited length.
pub(in crate::ops) fn reason(text: Option<&str>) -> Result<Option<String>, CommandError> {
    let Some(text) = text else { return Ok(None) };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = line.chars().count();
    if length > MAX_REASON {
        let text = format!("the reason has {length} characters; {MAX_REASON} is the most");
        return Err(
            CommandError::new(CommandErrorKind::InvalidValue, text).hint("say it shorter, or send a message")
        );
    }
    if line.chars().any(char::is_control) {
        return Err(CommandError::new(
            CommandErrorKind::InvalidValue,
            "the reason has control characters in it",
        ));
    }
    Ok(Some(line).filter(|line| !line.is_empty()))
}

/// The base of relative patterns: the work tree, else the working directory.
pub(in crate::ops) struct PatternBase {
    cwd: PathBuf,
    root: NormalPath,
    tree: Option<WorkTree>,
}

impl PatternBase {
    pub(in crate::ops) fn here(ctx: &Context) -> Self {
        Self::at(&ctx.cwd)
    }

    pub(in crate::ops) fn at(cwd: &Path) -> Self {
        let tree = WorkTree::containing(cwd);
        let root = tree.as_ref().map_or(cwd, |tree| tree.root.as_path());
        Self { cwd: cwd.to_path_buf(), root: paths::resolve(root), tree }
    }

    pub(in crate::ops) fn root(&self) -> &NormalPath {
        &self.root
    }

    /// Whether the path is inside this place, or this place inside the path.
    pub(in crate::ops) fn is_near(&self, path: &NormalPath) -> bool {
        !is_made_up_path(path.as_str()) && path.is_related(self.root.as_str())
    }

    /// The path as it is shown to people here.
    pub(in crate::ops) fn shorten(&self, path: &str) -> String {
        let path = NormalPath::absolute(path);
        path.relative_to(&self.root).filter(|rest| !rest.is_empty()).unwrap_or(path.as_str()).to_string()
    }

    /// The reservation that a pattern typed here stands for. The caller fills in age, reason and expiry.
    pub(in crate::ops) fn draft(
        &self,
        ctx: &Context,
        text: &str,
        broad: BroadPatterns,
    ) -> Result<Reservation, CommandError> {
        if let Some(parsed) = Thing::parse(text) {
            return things::draft_thing(text, parsed, self.tree.as_ref());
        }
        let expanded = ctx.home.expand(text);
        let text_here = expanded.to_string_lossy();
        let cwd = paths::resolve(&self.cwd);
        // A file that is called `[id].tsx` is meant literally, not as a glob.
        let names_a_file =
            has_wildcard(&text_here) && files::exists(&self.cwd.join(text_here.as_ref())).unwrap_or(false);
        let pattern = match names_a_file {
            true => Pattern::literal(cwd.join(&text_here)),
            false => Pattern::new(&text_here, &cwd).map_err(|error| bad_pattern(text, &error))?,
        };
        // Resolve the text as typed: `..` after a link goes up from its target, and the letter case is that of the
        // file.
        let typed = if names_a_file { &text_here } else { literal_head(&text_here) };
        let at = self.cwd.join(typed);
        let led = paths::resolve(&at);
        if broad == BroadPatterns::Refuse {
            self.refuse_broad(ctx, text, &pattern, &led)?;
        }
        let is_dir = pattern.is_literal() && (text.ends_with('/') || at.is_dir());
        let mut written = pattern.written_from(&self.root);
        if is_dir && !written.ends_with('/') && written != "." {
            // pi-messenger recognises a directory only by its slash.
            written.push('/');
        }
        Ok(Reservation {
            is_literal: pattern.is_literal() && has_wildcard(&written),
            pattern: written,
            root: Some(self.root.to_string()),
            head: (led != *pattern.head()).then(|| led.to_string()),
            case: paths::letter_case(Path::new(pattern.head().as_str())),
            reason: None,
            since: clock::now(),
            expires_at: None,
            task: None,
            contest: None,
            reach: ReservationReach::WorkTree,
            passed_by: Vec::new(),
        })
    }

    /// Refuses patterns that cover more than the work tree, which is usually a typing mistake.
    fn refuse_broad(
        &self,
        ctx: &Context,
        text: &str,
        pattern: &Pattern,
        led: &NormalPath,
    ) -> Result<(), CommandError> {
        let home = paths::resolve(&ctx.home.home);
        let covers_home = [pattern.head(), led].iter().any(|head| home.is_within(head));
        let covered = ctx.home.shorten(&pattern.to_string());
        let why = if pattern.head().is_root() || led.is_root() {
            "the whole file system".to_string()
        } else if covers_home {
            format!("your whole home directory (`{covered}`)")
        } else if !pattern.head().is_within(&self.root) || !led.is_within(&self.root) {
            let covered = match pattern.head().is_within(&self.root) {
                true => ctx.home.shorten(led.as_str()),
                false => covered,
            };
            format!("`{covered}`, outside of `{}`", ctx.home.shorten(self.root.as_str()))
        } else {
            return Ok(());
        };
        Err(CommandError::new(CommandErrorKind::TooBroad, format!("`{text}` would reserve {why}"))
            .hint("to do it anyway, add `--force-broad`"))
    }

    /// Warns about the same path in another work tree of the repository: other files, but the changes will have to be
    /// merged.
    fn tell_of_work_trees(&self, op: &Op, roster: &Roster<'_>, me: &Agent, wanted: &WantedReservations<'_>) {
        let now = clock::now();
        let Some(common) = self.tree.as_ref().and_then(WorkTree::repository) else { return };
        let budget = SearchBudget::new(STEPS_UNDER_LOCK);
        for record in roster.records().filter(|record| record.agent.session != me.session) {
            for theirs in
                record.agent.reservations.iter().filter(|theirs| theirs.binds(now) && !theirs.is_thing())
            {
                let Some(root) = theirs.root.as_deref().filter(|root| *root != self.root.as_str()) else {
                    continue;
                };
                let here = Reservation { root: Some(self.root.to_string()), head: None, ..theirs.clone() };
                let here = here.patterns(&record.agent.cwd);
                let meets = |mine: &Pattern| {
                    Conflict::of(std::slice::from_ref(mine), &here, &budget) == Conflict::Certain
                };
                let Some((mine, _)) = wanted.as_read().find(|(_, mine)| meets(mine)) else { continue };
                let there = WorkTree::containing(Path::new(root)).and_then(|tree| tree.repository());
                if there.as_ref() == Some(&common) && record.is_live() {
                    op.warn(format!(
                        "{} holds `{}` in another work tree of this repository, `{}`: `{}` is yours here, and will \
                         have to be merged",
                        record.agent.name,
                        theirs.pattern,
                        op.home.shorten(root),
                        mine.pattern
                    ));
                }
            }
        }
    }
}

pub(in crate::ops) fn bad_pattern(text: &str, error: &PatternError) -> CommandError {
    CommandError::new(
        CommandErrorKind::InvalidPattern,
        format!("`{}` can't be reserved: {error}", text.escape_debug()),
    )
    .hint("for example `src/auth/`, `src/*.rs` or `src/**/*_test.go`")
}
