//! `msg handoff`: gives a task to another agent, with its paths.

use jiff::Timestamp;

use crate::domain::awareness::BriefDetail;
use crate::domain::pattern::{Pattern, SearchBudget};
use crate::domain::{
    Agent, AgentName, Conflict, EventKind, Notice, PeerText, Reservation, TaskRef, quote_code, shell_word,
};
use crate::ops::agents::identity;
use crate::ops::agents::names::with_nearest;
use crate::ops::awareness::brief::{self, BriefSubject};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::poke;
use crate::ops::messages::post_to_agent::{OutgoingText, post_texts};
use crate::ops::reservations::conflicts::STEPS_UNDER_LOCK;
use crate::ops::reservations::covering::contains;
use crate::ops::reservations::rules::drop_waits_for;
use crate::ops::reservations::waiting;
use crate::ops::runs::own_run::run_of_agent;
use crate::store::{Claim, LockedMesh, Mesh};

use super::fencing::FencingToken;
use super::locked_tasks::{LockedTasks, PreloadedSpec};
use super::task_args::{check_id, check_notes, release_task_paths, task_of};

/// A task that was handed to another agent.
#[derive(Clone, Debug)]
pub struct HandoffOutcome {
    pub claim: Claim,
    /// The paths that went with it.
    pub reservations: Vec<Reservation>,
}

/// What goes along with a task for its new owner.
#[derive(Clone, Copy, Debug, Default)]
pub struct HandoffNotes<'a> {
    pub notes: Option<&'a str>,
    /// Whether the caller's brief goes along.
    pub has_brief: bool,
}

/// Passes a task and the paths taken with it to another live agent, in one step.
pub fn handoff(
    op: &Op,
    task: &str,
    to: &AgentName,
    spec: Option<&str>,
    HandoffNotes { notes, has_brief }: HandoffNotes<'_>,
) -> Result<HandoffOutcome, CommandError> {
    check_id(task)?;
    check_notes(notes)?;
    let (mesh, caller) = identity::own_caller(op)?;
    let token = FencingToken::of_caller(&mesh)?;
    // Before any lock is taken, because git may take long; and while the task is still the caller's.
    let brief = has_brief.then(|| brief_of_caller(op, &mesh, &caller, to)).transpose()?;
    let (early, spellings) = PreloadedSpec::read(op, &mesh, &caller, spec, task);
    let mut locked = mesh.lock_with_claims()?;
    let mut tasks = LockedTasks::open(op, &mesh, &mut locked, &caller, spellings)?;
    let parsed_spec = tasks.spec_of(early, spec, task)?;
    let board = tasks.board(&parsed_spec);
    let claim = tasks.own_claim(&board, &board.meant(task))?;
    token.check(&claim, &tasks.spellings)?;
    let task = claim.task.as_str();
    let task_ref = task_of(&claim);
    let is_of_task = |held: &&Reservation| held.task.as_ref() == Some(&task_ref);
    let paths: Vec<Reservation> = tasks.me.reservations.iter().filter(is_of_task).cloned().collect();
    let covered = held_besides(&tasks.me, &task_ref, &paths, tasks.now)?;
    let heir = bequeath(&mut tasks, to, &task_ref, &paths)?;
    // Whoever had it before can't complete it any more. A worker has it for its run, which may have had it before.
    let run = run_of_agent(&mesh, &heir)?.map(|run| run.id.to_string());
    let number = tasks.next_number(&task_ref, run.clone())?;
    let passed = Claim {
        number: Some(number),
        run,
        agent: heir.name.to_string(),
        session: heir.session.to_string(),
        process: heir.process.clone(),
        claimed_at: tasks.now,
        ..claim.clone()
    };
    if !covered.is_empty() {
        // They are also held with the task until the claim passes, so at no moment are they free.
        tasks.me =
            tasks.change.edit(&tasks.me, |me| me.reservations.retain(|held| !covered.contains(held)))?;
    }
    tasks.claims.remove(&claim);
    tasks.claims.insert(&passed);
    tasks.stage_claims()?;
    tasks.change.decided();
    tasks.stage_release(&task_ref)?;
    let me = tasks.me.clone();
    let committed = tasks.commit()?;
    forget_waits(op, &mut locked, &heir, &task_ref, &paths);
    // It is the new owner's, and the new owner is told, whatever fails from here on.
    op.feed(EventKind::Handoff, &me.name, Some(task), Some(heir.name.as_str()));
    drop(locked);
    // So that others learn whose it is now.
    poke(op, &mesh);
    let notes = notes.filter(|notes| !notes.trim().is_empty()).map(PeerText::new);
    // Send the notes first: the notice says whether the whole text was sent.
    let whole = notes.as_ref().filter(|notes| notes.is_cut());
    let sent = whole.map(|notes| send_notes(op, &mesh, &me.name, &heir, task, notes));
    let has_whole = matches!(sent, Some(Ok(())));
    if let Some(Err(error)) = sent {
        op.warn(format!("the notes could not be sent to {}: {error}", heir.name));
    }
    let mut notice = notice(&me.name, &PeerText::new(task), notes.as_ref(), has_whole);
    if let Some(brief) = &brief {
        notice = notice.say("\nBrief by ").name(&me.name).say(":").quoted_lines(brief);
    }
    op.notify(heir.clone(), notice, format!("could not tell {}", heir.name));
    committed.tidied_up()?;
    Ok(HandoffOutcome { claim: passed, reservations: paths })
}

/// The caller's brief as it goes to another agent: at most 300 words.
fn brief_of_caller(op: &Op, mesh: &Mesh, caller: &Agent, to: &AgentName) -> Result<PeerText, CommandError> {
    let brief = brief::of_subject(op, mesh, &BriefSubject::caller(caller.clone()).read_by(to))?;
    Ok(PeerText::new(brief::brief_text(op, &brief, BriefDetail::Short).join("\n")))
}

/// The notice for the new owner. Long notes are also sent as a message from the giver, unless that failed.
fn notice(giver: &AgentName, task: &PeerText, notes: Option<&PeerText>, has_whole: bool) -> Notice {
    let notice = Notice::new().name(giver).say(" hands ").code(task);
    let notice = notice.say(" to you; it is yours now. To give it back: msg unclaim");
    match notes {
        None => notice,
        Some(notes) => {
            let notice = notice.say("\nNotes by ").name(giver).say(": ").quote(notes);
            if has_whole { notice.say(" (the whole text comes as a message)") } else { notice }
        }
    }
}

/// Sends the notes in full, in the name of the giver.
fn send_notes(
    op: &Op,
    mesh: &Mesh,
    from: &AgentName,
    to: &Agent,
    task: &str,
    notes: &PeerText,
) -> Result<(), CommandError> {
    let text = format!("Notes on {}:\n{}", quote_code(task), notes.raw());
    let lock = || mesh.outboxes().lock(from);
    let texts = [(to, OutgoingText::new(&text))];
    post_texts(op, mesh, from, &lock, &texts).into_iter().try_for_each(|told| told.map(drop))
}

/// Stops waiting for what the new owner now has. Only after the claim has passed: until then the paths bind for the
/// giver. If it fails, one superfluous message does no harm.
fn forget_waits(op: &Op, locked: &mut LockedMesh<'_>, heir: &Agent, task: &TaskRef, paths: &[Reservation]) {
    let mut change = locked.change();
    waiting::forget_task(op, &mut change, heir, task);
    let forgotten = match heir.waits_for.is_empty() || paths.is_empty() {
        true => Ok(()),
        false => change.edit(heir, |heir| drop_waits_for(heir, paths)).map(drop),
    };
    if let Err(error) = forgotten.and_then(|()| change.commit()) {
        op.warn(format!("{} is still recorded as waiting for what it has: {error}", heir.name));
    }
}

/// The giver's own reservations of the paths that are passed. No path has two holders, so those go too. One that
/// reaches beyond the passed paths can't be given in part, and is an error.
fn held_besides(
    me: &Agent,
    task: &TaskRef,
    paths: &[Reservation],
    now: Timestamp,
) -> Result<Vec<Reservation>, CommandError> {
    let patterns = |held: &Reservation| held.patterns(&me.cwd);
    let read: Vec<(&Reservation, Vec<Pattern>)> = paths.iter().map(|path| (path, patterns(path))).collect();
    let given: Vec<Pattern> = read.iter().flat_map(|(_, patterns)| patterns.clone()).collect();
    let budget = SearchBudget::new(STEPS_UNDER_LOCK);
    let mut covered = Vec::new();
    for held in me.reservations.iter().filter(|held| held.task.is_none() && held.binds(now)) {
        let own = patterns(held);
        let meets = |path: &[Pattern]| Conflict::of(path, &own, &budget) != Conflict::None;
        let Some((met, _)) = read.iter().find(|(_, path)| meets(path)) else { continue };
        if !own.iter().all(|own| given.iter().any(|given| contains(given, own))) {
            let (own, met) = (quote_code(&held.pattern), quote_code(&met.pattern));
            let text =
                format!("{met} goes with {}, but you hold {own} independently of it", quote_code(&task.id));
            return Err(CommandError::new(CommandErrorKind::Reserved, text)
                .hint(format!(
                    "run `msg release {}` first: a path can have only one holder",
                    shell_word(&held.typed())
                ))
                .fact("pattern", held.pattern.as_str()));
        }
        covered.push(held.clone());
    }
    Ok(covered)
}

/// Adds the task's paths to the new owner's registration. They bind for the owner of the claim, so both may have
/// them for a moment.
fn bequeath(
    tasks: &mut LockedTasks<'_>,
    to: &AgentName,
    task: &TaskRef,
    paths: &[Reservation],
) -> Result<Agent, CommandError> {
    let Some(record) = tasks.census.find(to, tasks.now).filter(|record| record.is_live()) else {
        let error = CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {to}"));
        return Err(with_nearest(error, to, &tasks.census));
    };
    let heir = &record.agent;
    if let Some(machine) = &heir.machine {
        let text = format!("{} is on {}: a task can't be handed to another machine", heir.name, machine.name);
        return Err(CommandError::new(CommandErrorKind::RemoteAgent, text)
            .hint(format!("give it back with `msg unclaim {}`", shell_word(&task.id)))
            .hint(format!("then ask: `msg send {} \"…\"`", heir.name))
            .fact("agent", heir.name.as_str())
            .fact("machine", machine.name.as_str()));
    }
    if heir.session == tasks.me.session {
        return Err(CommandError::new(CommandErrorKind::InvalidValue, "you can't hand a task to yourself"));
    }
    if let Some(other) = tasks.claims.of(heir).first() {
        let text = format!("{} works on {} already", heir.name, quote_code(&other.task));
        return Err(
            CommandError::new(CommandErrorKind::AlreadyHaveClaim, text).fact("task", other.task.as_str())
        );
    }
    // Reservations left over from this task when a command of the new owner died would bind again.
    let heir = tasks.change.locked().own_record(heir)?.agent;
    let heir = release_task_paths(&mut tasks.change, &heir, task)?;
    match paths {
        [] => Ok(heir),
        _ => {
            // Whoever contests them asked the giver, not the new owner.
            let paths = paths.iter().map(|path| Reservation { contest: None, ..path.clone() });
            Ok(tasks.change.edit(&heir, |agent| agent.reservations.extend(paths))?)
        }
    }
}
