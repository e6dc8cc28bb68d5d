//! Converts what ops return into the plain values of `model`.

use std::path::Path;

use crate::domain::{Event, EventKind, Harness, What as Happened};
use crate::ops::messages::chat::Fate;
use crate::ops::overview::{Held, Overview};
use crate::ops::tasks::{TaskState, TaskView, WorkedOn};
use crate::ops::wake::Rung;
use crate::ops::{CommandError, Context, Profile, SendReport};
use crate::store::{Filed, Place};

use super::model::{
    Board, Copy, Happening, Hold, Note, Peer, Progress, Receipt, Standing, Task, Tone, World,
};

pub(super) fn world(ctx: &Context, seen: &Overview) -> World {
    World {
        mesh: ctx.home.shorten(&ctx.location.to_string()),
        me: seen.me.agent.name.to_string(),
        peers: seen.peers.iter().map(|profile| peer(ctx, profile)).collect(),
        boards: seen.boards.iter().map(|board| self::board(ctx, board)).collect(),
        holds: seen.held.iter().map(hold).collect(),
    }
}

fn peer(ctx: &Context, profile: &Profile) -> Peer {
    let agent = &profile.agent;
    let claim = profile.claims.first();
    Peer {
        name: agent.name.to_string(),
        presence: profile.presence,
        last_sign: profile.last_sign,
        harness: agent.harness.map_or("pi", Harness::name).to_string(),
        model: model(&agent.model),
        branch: agent.git_branch.clone(),
        spec: agent.spec.as_deref().map(|spec| path(ctx, spec)),
        task: claim.map(|claim| (claim.task.clone(), claim.reason.clone())),
        status: status(profile),
    }
}

/// The model's name; empty for a person or if unknown.
fn model(name: &str) -> String {
    if matches!(name, "unknown" | "human") { String::new() } else { name.to_string() }
}

/// What the agent is doing and its own status text, or else its automatic status.
fn status(profile: &Profile) -> Option<String> {
    let said: Vec<&str> =
        [&profile.activity, &profile.agent.status].into_iter().flatten().map(String::as_str).collect();
    // Left out, because the task has a column of its own.
    let is_task = |status: &&String| {
        profile.claims.first().is_some_and(|claim| **status == format!("on {}", claim.task))
    };
    match said.as_slice() {
        [] => profile.auto_status.as_ref().filter(|status| !is_task(status)).cloned(),
        said => Some(said.join(" · ")),
    }
}

/// A path relative to this folder, or shortened for display.
fn path(ctx: &Context, path: &str) -> String {
    match Path::new(path).strip_prefix(&ctx.cwd) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_string(),
        Ok(rest) => format!("./{}", rest.display()),
        Err(_) => ctx.home.shorten(path),
    }
}

fn board(ctx: &Context, worked_on: &WorkedOn) -> Board {
    let spec = path(ctx, &worked_on.spec);
    match &worked_on.tasks {
        Ok(tasks) => Board { spec, tasks: tasks.tasks.iter().map(task).collect(), trouble: None },
        Err(error) => Board { spec, tasks: Vec::new(), trouble: Some(error.message.clone()) },
    }
}

fn task(view: &TaskView) -> Task {
    let state = match (&view.state, &view.claim) {
        (TaskState::Open, _) => Progress::Open,
        (TaskState::Blocked(by), _) => Progress::Blocked(by.clone()),
        (TaskState::Claimed, Some(claim)) => {
            Progress::Claimed { by: claim.agent.to_string(), since: claim.claimed_at }
        }
        (TaskState::Claimed, None) => Progress::Open,
        (TaskState::Done, _) => {
            Progress::Done { by: view.completion.as_ref().map(|done| done.by.to_string()) }
        }
    };
    Task { id: view.id.clone(), title: view.title.clone(), state }
}

fn hold(held: &Held) -> Hold {
    let reservation = &held.holding.reservation;
    Hold {
        pattern: reservation.pattern.clone(),
        holder: held.holding.holder.name.to_string(),
        since: reservation.since,
        reason: reservation.reason.clone(),
        task: reservation.task.as_ref().map(|task| task.id.clone()),
        refused: held.refused.iter().map(ToString::to_string).collect(),
    }
}

pub(super) fn note(filed: &Filed) -> Note {
    let message = &filed.message;
    let key = filed.stem.to_string();
    let standing = match &filed.place {
        Place::Inbox => Standing::Unread,
        Place::InHand | Place::Seen(_) => Standing::Read,
        Place::Sent(sent) => {
            let (key, to) = (key.clone(), sent.to.to_string());
            Standing::Mine(vec![Copy { key, to, receipt: Receipt::Stored }])
        }
    };
    // The recipient of a message of mine is the one in its sent record.
    let to = match &filed.place {
        Place::Sent(sent) => sent.to.to_string(),
        _ => message.to.clone(),
    };
    Note {
        key,
        from: message.from.clone(),
        to,
        text: message.text.clone(),
        at: message.timestamp,
        importance: message.importance,
        wants_ack: message.ack_required && !matches!(&filed.place, Place::Seen(seen) if seen.acked.is_some()),
        broadcast: message.broadcast,
        standing,
    }
}

pub(super) fn receipt(fate: Fate) -> Receipt {
    match fate {
        Fate::Stored => Receipt::Stored,
        Fate::Surfaced => Receipt::Surfaced,
        Fate::Acked => Receipt::Acked,
        Fate::Taken => Receipt::Taken,
        Fate::Gone => Receipt::Gone,
    }
}

pub(super) fn happening(event: &Event) -> Happening {
    let tone = match event.what {
        Happened::Ours(EventKind::Complete | EventKind::Commit) => Tone::Good,
        Happened::Ours(EventKind::Refused | EventKind::Stale | EventKind::Stuck | EventKind::Evict) => {
            Tone::Bad
        }
        _ => Tone::Plain,
    };
    Happening { at: event.at, who: event.subject(), what: event.phrase(), tone, times: 1 }
}

/// The text shown after sending.
pub(super) fn sent(report: &SendReport) -> String {
    match report.sent.as_slice() {
        [one] => match one.rung {
            Rung::None | Rung::Prompt => format!("stored for {}", one.to),
            rung => format!("stored for {}, which is notified ({})", one.to, rung.name()),
        },
        many => format!("stored for {}", many.len()),
    }
}

/// An error in one line, with its first hint.
pub(super) fn complaint(error: &CommandError) -> String {
    match error.hints.first() {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}
