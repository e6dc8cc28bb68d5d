//! Telling the parent how a run has ended, and a worker that it is to wrap up.

use std::sync::Arc;

use crate::domain::runs::{Cost, ReviewOutcome, Run, RunParent, RunQuestion, RunReview};
use crate::domain::{Agent, Notice, PeerText, notice_words};
use crate::store::{Census, Mesh, WorkRecord};

use super::list::{as_it_is, is_orphan};
use super::tell::{AnswerChoice, above, answer_command};

use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::screens::worker_watch::WorkerFinding;

/// How much of a worker's last words is told.
const MOST_WORDS: usize = 4_000;
/// How many paths are told.
const MOST_PATHS: usize = 10;

/// How many lines of a worker's screen are told.
const MOST_SCREEN_LINES: usize = 30;
/// How many files outside of its tree are told.
const MOST_OUTSIDE: usize = 10;

/// Tells the parent; if it is gone, its own parent. If nobody is left, the ledger has it.
pub(super) fn tell_end(op: &Op, mesh: &Mesh, run: &Run) -> Result<(), CommandError> {
    let reviewed = run.reviews.as_ref().map(|id| mesh.runs().get(id)).transpose()?.flatten();
    let orphan = match reviewed {
        // Its own supervisor tells of the end of what was reviewed, with the review.
        Some(reviewed) if !is_orphan(mesh, reviewed.clone()) => return Ok(()),
        reviewed => reviewed.map(|reviewed| as_it_is(mesh, reviewed)),
    };
    // Nobody else does then, and whoever asked for that asked for no review.
    let run = orphan.as_ref().unwrap_or(run);
    let Some(parent) = parent(mesh, &run.parent)? else { return Ok(()) };
    // What can't be read is not told; the ledger has it.
    let work = mesh.runs().work(&run.id).ok().flatten();
    op.notify(
        parent,
        end_notice(run, work.as_ref()),
        format!("the parent of run {} was not told of its end", run.id),
    );
    Ok(())
}

/// Tells the agent that asked another machine for a run how that has ended. It is our own notice, with the worker's words
/// as a peer's.
#[cfg(feature = "link")]
pub(in crate::ops) fn tell_end_elsewhere(op: &Op, mesh: &Mesh, run: &Run) -> Result<(), CommandError> {
    let Some(place) = &run.elsewhere else { return Ok(()) };
    let Some(parent) = parent(mesh, &run.parent)? else { return Ok(()) };
    let mut notice = end_words(run).say(" It was on ").code(&PeerText::new(place.machine.as_str())).say(".");
    notice = tell_usage(notice, run);
    if let Some(branch) = &run.branch {
        notice = notice.say(" Its work is on the branch ").code(&PeerText::new(branch));
        notice = match &place.push {
            Some(push) if push.problem.is_none() => notice
                .say(" of the remote ")
                .code(&PeerText::new(&push.remote))
                .say(" there: `git fetch` it from there, then `git merge FETCH_HEAD`."),
            Some(push) => notice
                .say(" there. It could not be pushed: ")
                .quote(&PeerText::new(push.problem.as_deref().unwrap_or_default()))
                .say("."),
            None => notice.say(" there, and was not pushed: push it to a remote that both machines have."),
        };
    }
    op.notify(
        parent,
        tell_words(notice, run),
        format!("the parent of run {} was not told of its end", run.id),
    );
    Ok(())
}

/// Tells the question of a run to the nearest live agent, from `parent` on upwards. Returns who is above that one.
pub(super) fn tell_question(
    op: &Op,
    mesh: &Mesh,
    run: &Run,
    parent: &RunParent,
) -> Result<Option<RunParent>, CommandError> {
    let Some(question) = &run.question else { return Ok(None) };
    let census = mesh.registry().census()?;
    let mut next = Some(parent.clone());
    while let Some(parent) = next {
        if let Some(agent) = live(&census, &parent) {
            let failure = format!("{} was not told of the question of run {}", agent.name, run.id);
            op.notify(agent, question_notice(run, question), failure);
            return above(mesh, &parent);
        }
        next = above(mesh, &parent)?;
    }
    Ok(None)
}

/// Tells the parent of a dialog that its worker shows.
pub(super) fn tell_dialog(op: &Op, mesh: &Mesh, run: &Run) -> Result<(), CommandError> {
    let (Some(dialog), Some(parent)) = (&run.dialog, parent(mesh, &run.parent)?) else { return Ok(()) };
    let mut notice = run_words(run).say(notice_words::RUN_SHOWS_DIALOG);
    notice = notice.quoted_lines(&PeerText::new(&dialog.question));
    let choices: Vec<PeerText> = dialog.choices.iter().map(PeerText::new).collect();
    if !choices.is_empty() {
        notice = notice.say("\nChoices: ").codes(&choices);
    }
    let answer = PeerText::new(dialog.answer_command(&run.id));
    notice = notice.say(match dialog.is_for_people() {
        true => "\nOnly a person may answer it. Ask your user to type at a terminal: ",
        false => "\nTo answer it: ",
    });
    notice = notice.code(&answer).say(", with the number or the words of a choice. To see its screen: ");
    notice = notice.code(&PeerText::new(format!("msg runs log {}", run.id))).say(".");
    op.notify(parent, notice, format!("the parent of run {} was not told of a dialog", run.id));
    Ok(())
}

/// Tells the parent that a turn of its worker in tmux is over.
pub(super) fn tell_turn(op: &Op, mesh: &Mesh, run: &Run) -> Result<(), CommandError> {
    let Some(parent) = parent(mesh, &run.parent)? else { return Ok(()) };
    let mut notice = run_words(run).say(" has ended its turn");
    if let Some(reason) = &run.reason {
        notice = notice.say(": ").quote(&PeerText::new(reason));
    }
    notice = notice.say(". It stays in tmux and takes the next prompt: ");
    notice = notice.code(&PeerText::new(format!("msg tell {} \"…\"", run.id))).say("; to end it: ");
    notice = notice.code(&PeerText::new(format!("msg runs stop {}", run.id))).say(".");
    notice = tell_words(notice, run);
    op.notify(parent, notice, format!("the parent of run {} was not told that its turn is over", run.id));
    Ok(())
}

/// Tells the parent that its worker gets nowhere, with its screen and the tool call that is open.
pub(super) fn tell_finding(
    op: &Op,
    mesh: &Mesh,
    run: &Run,
    (finding, screen, call): (WorkerFinding, &str, Option<&str>),
) -> Result<(), CommandError> {
    let Some(parent) = parent(mesh, &run.parent)? else { return Ok(()) };
    let mut notice = run_words(run);
    notice = match finding {
        WorkerFinding::Stuck => notice.say(notice_words::WORKER_IS_STUCK),
        WorkerFinding::SameCall => notice.say(notice_words::WORKER_REPEATS_ITSELF),
        WorkerFinding::NoProgress => notice.say(notice_words::WORKER_HAS_NO_PROGRESS),
    };
    notice = match call {
        Some(tool) => {
            notice.say(" Its process is there, and this tool call is open: ").code(&PeerText::new(tool))
        }
        None => notice.say(" Its process is there, and no tool call is open"),
    };
    let lines: Vec<&str> = screen.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(MOST_SCREEN_LINES)..].join("\n");
    let start = last.char_indices().rev().nth(MOST_WORDS).map_or(0, |(at, _)| at);
    notice = notice
        .say(". Its screen, as text that is not from msg:")
        .quoted_lines(&PeerText::new(&last[start..]));
    let command = |what: String| PeerText::new(what);
    notice = notice.say("\nTo look again: ").code(&command(format!("msg look {}", run.id)));
    notice = notice.say("; to end its turn: ").code(&command(format!("msg tell {} --interrupt", run.id)));
    notice = notice.say("; to stop it: ").code(&command(format!("msg runs stop {}", run.id))).say(".");
    op.notify(parent, notice, format!("the parent of run {} was not told that it gets nowhere", run.id));
    Ok(())
}

/// ``Run `k3f9xa` (`scout`: “the task”)``.
pub(super) fn run_words(run: &Run) -> Notice {
    let notice = Notice::new().say("Run ").code(&PeerText::new(run.id.as_str())).say(" (");
    let notice = notice.code(&PeerText::new(&run.profile));
    match run.title(80) {
        title if title.is_empty() => notice.say(")"),
        title => notice.say(": ").quote(&PeerText::new(title)).say(")"),
    }
}

fn question_notice(run: &Run, question: &RunQuestion) -> Notice {
    let command = |choice| PeerText::new(answer_command(run, question, choice));
    let minutes = question.until.duration_since(question.since).as_mins().max(1);
    Notice::new()
        .say("Run ")
        .code(&PeerText::new(run.id.as_str()))
        .say(" (")
        .code(&PeerText::new(&run.profile))
        .say(": ")
        .quote(&PeerText::new(run.title(80)))
        .say(notice_words::RUN_WAITS_FOR_ANSWER)
        .code(&PeerText::new(&question.tool))
        .say(":")
        .quoted_lines(&PeerText::new(&question.text))
        .say("\nTo allow it: ")
        .code(&command(AnswerChoice::Allow))
        .say("; to refuse it: ")
        .code(&command(AnswerChoice::Deny))
        .say(". Without an answer it is refused ")
        .number(usize::try_from(minutes).unwrap_or(usize::MAX))
        .say(" min after it was asked.")
}

/// The agent that this parent is, if it is alive.
pub(super) fn live(census: &Census, parent: &RunParent) -> Option<Arc<Agent>> {
    let found = census.local().find(|record| {
        record.is_live()
            && (parent.session.as_ref() == Some(&record.agent.session)
                || parent.session.is_none() && parent.agent.as_ref() == Some(&record.agent.name))
    });
    found.map(|found| Arc::new(found.agent.clone()))
}

/// The live agent that is to be told.
pub(super) fn parent(mesh: &Mesh, parent: &RunParent) -> Result<Option<Arc<Agent>>, CommandError> {
    let census = mesh.registry().census()?;
    let mut next = Some(parent.clone());
    while let Some(parent) = next {
        if let Some(found) = live(&census, &parent) {
            return Ok(Some(found));
        }
        next = above(mesh, &parent)?;
    }
    Ok(None)
}

/// How it ended, and why.
fn end_words(run: &Run) -> Notice {
    let mut notice = Notice::new().say("Run ").code(&PeerText::new(run.id.as_str())).say(" (");
    notice = notice.code(&PeerText::new(&run.profile)).say(": ");
    notice = notice.quote(&PeerText::new(run.title(80))).say(notice_words::RUN_HAS_ENDED);
    notice = notice.code(&PeerText::new(run.state.name()));
    if let Some(reason) = &run.reason {
        notice = notice.say(", ").quote(&PeerText::new(reason));
    }
    notice.say(".")
}

fn end_notice(run: &Run, work: Option<&WorkRecord>) -> Notice {
    let mut notice = end_words(run);
    if !run.outside.is_empty() {
        let shown: Vec<PeerText> = run.outside.iter().take(MOST_OUTSIDE).map(PeerText::new).collect();
        notice =
            notice.say(" Changed in your tree while it worked, by it or by somebody else: ").codes(&shown);
        let more = run.outside.len().saturating_sub(MOST_OUTSIDE);
        if more > 0 {
            notice = notice.say(" and ").number(more).say(" more");
        }
        notice = notice.say(".");
    }
    notice = tell_usage(notice, run);
    if let Some(work) = work.filter(|work| work.tip.is_some()) {
        notice = tell_work(notice, run, work);
    }
    if let Some(review) = &run.review {
        notice = tell_review(notice, review);
    }
    tell_words(notice, run)
}

/// What a reviewer thinks of it, in the reviewer's words.
pub(super) fn tell_review(mut notice: Notice, review: &RunReview) -> Notice {
    let profile = PeerText::new(&review.profile);
    notice = match &review.outcome {
        ReviewOutcome::Given(given) => {
            let verdict = PeerText::new(given.verdict.name());
            notice.say(" The verdict of ").code(&profile).say(" is ").code(&verdict)
        }
        ReviewOutcome::Pending { .. } => notice.say(" Its review by ").code(&profile).say(" goes on"),
        ReviewOutcome::Missing(why) => {
            notice.say(" It was not reviewed by ").code(&profile).say(": ").quote(&PeerText::new(why))
        }
    };
    if let Some(run) = &review.run {
        notice = notice.say(" (run ").code(&PeerText::new(run.as_str())).say(")");
    }
    let (told, left) = review.told_findings();
    if told.is_empty() {
        return notice.say(".");
    }
    notice = notice.say(". Its findings:").quoted_lines(&PeerText::new(told.join("\n")));
    match left {
        0 => notice.say("\n"),
        more => notice.say("\nAnd ").number(more).say(" more: `msg runs show` with the run's id has all.\n"),
    }
}

/// What its worker said last.
fn tell_words(mut notice: Notice, run: &Run) -> Notice {
    if let Some(result) = run.result.as_deref().filter(|result| !result.trim().is_empty()) {
        let words: String = result.trim().chars().take(MOST_WORDS).collect();
        let is_cut = words.len() < result.trim().len();
        notice = notice.say(" Its last words:").quoted_lines(&PeerText::new(&words));
        if is_cut {
            notice = notice.say("\n(Cut here. `msg runs show` with the run's id has the whole.)");
        }
    }
    notice
}

/// What it used, and what that cost.
fn tell_usage(mut notice: Notice, run: &Run) -> Notice {
    if let Some(tokens) = run.usage.tokens() {
        notice = notice.say(" It used ").number(usize::try_from(tokens).unwrap_or(usize::MAX)).say(" tokens");
        notice = match run.cost {
            Cost::Unknown => notice.say("; what it cost is unknown"),
            _ => tell_cost(notice.say(" and"), run.cost),
        };
        return notice.say(".");
    }
    if run.cost.amount().is_some() {
        notice = tell_cost(notice.say(" It"), run.cost).say(".");
    }
    notice
}

/// What it cost, and what that rests on.
fn tell_cost(notice: Notice, cost: Cost) -> Notice {
    let Some(amount) = cost.amount() else { return notice };
    let notice = notice.say(" cost ").code(&PeerText::new(amount.to_string()));
    match cost {
        Cost::Computed(_) => notice.say(" (computed from your prices)"),
        _ => notice.say(" (as reported)"),
    }
}

/// What became of the work in its worktree, and how to go on.
fn tell_work(mut notice: Notice, run: &Run, work: &WorkRecord) -> Notice {
    if work.changed_count == 0 {
        notice = notice.say(" It changed no file.");
    } else {
        let shown: Vec<PeerText> = work.changed.iter().take(MOST_PATHS).map(PeerText::new).collect();
        notice = notice.say(" It changed ").codes(&shown);
        match work.changed_count - shown.len() {
            0 => {}
            more => notice = notice.say(" and ").number(more).say(" more files"),
        }
        if let Some(branch) = &work.branch {
            notice = notice.say(", on the branch ").code(&PeerText::new(branch));
        }
        if let Some(note) = &work.branch_note {
            notice = notice.say(" (").quote(&PeerText::new(note)).say(")");
        }
        let command = |what: &str| PeerText::new(format!("msg runs {what} {}", run.id));
        notice =
            notice.say(". Nothing of it is in your tree yet: ").code(&command("diff")).say(" shows it, ");
        notice = notice.code(&command("merge")).say(" brings it there, ");
        notice = notice.code(&command("discard")).say(" gives it up.");
    }
    if !work.saved.is_empty() {
        let saved: Vec<PeerText> = work.saved.iter().take(MOST_PATHS).map(PeerText::new).collect();
        notice = notice.say(" Saved apart, and never merged or pushed: ").codes(&saved);
        match work.saved.len() - saved.len() {
            0 => {}
            more => notice = notice.say(" and ").number(more).say(" more"),
        }
        notice = notice.say(".");
    }
    if let Some(kept) = &work.kept {
        notice = notice.say(" Its directory stays, because ").quote(&PeerText::new(kept));
        notice = notice.say(": ").code(&PeerText::new(&run.root)).say(".");
    }
    notice
}

/// Tells a worker that its run is to end soon.
pub(super) fn tell_to_wrap_up(op: &Op, worker: &Agent, by: &str, seconds: usize) {
    let notice = Notice::new()
        .quote(&PeerText::new(by))
        .say(" stops this run. You have ")
        .number(seconds)
        .say(" seconds: finish the step that you are at, and say in your last words what is done and what is not.");
    op.notify(Arc::new(worker.clone()), notice, "the worker was not told to wrap up");
}
