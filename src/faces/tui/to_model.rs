//! Converts what ops return into the plain values of `model`.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;

use crate::domain::awareness::PredictionEnd;
use crate::domain::awareness::signals::Signal;
use crate::domain::awareness::trajectory::Trend;
use crate::domain::knowledge::{AnchorVerdict, full_text, record_marks};
use crate::domain::runs::{Run, RunQuestion, RunState};
use crate::domain::screens::{Dialog, DialogChoice};
use crate::domain::settings::AwarenessMode;
use crate::domain::{AgentName, AnyEventKind as Happened, Event, EventKind};
use crate::ops::awareness::agent_topics::AgentTopics;
use crate::ops::awareness::overlaps::{AgentOverlap, OpenConflict, OverlapReport};
use crate::ops::knowledge::{KnowledgeAnswer, ShownRecord};
use crate::ops::messages::mail_tracker::DeliveryStatus;
use crate::ops::overview::{HeldReservation, MeshOverview};
use crate::ops::runs::tell::{AnswerChoice, answer_command};
use crate::ops::screens::glance::Glance;
use crate::ops::screens::tell::answer_line;
use crate::ops::screens::terminal_place::TerminalPlace;
use crate::ops::tasks::{ActiveSpec, TaskState, TaskView};
use crate::ops::wake::WakeRoute;
use crate::ops::{AgentProfile, CommandError, Context, SendReport};
use crate::store::{MessageLocation, Prediction, StoredMessage};
use crate::sys::time_zone;

use super::model::{
    ChatMessage, ConflictItem, FeedLine, HeadingsView, HeadsUpItem, KnowledgeItem, KnowledgeList,
    KnowledgePage, MeshSnapshot, MessageStatus, OverlapItem, OverlapsView, PeerItem, PlaceView, ReceiptView,
    ReservationItem, RunDetail, RunItem, SentCopy, SightView, SpecView, TaskItem, TaskStateView, Tone,
};

/// The most words of a record.
const MOST_WORDS: usize = 1_000;

pub(super) fn mesh_snapshot(ctx: &Context, seen: &MeshOverview) -> MeshSnapshot {
    MeshSnapshot {
        mesh: ctx.home.shorten(&ctx.location.to_string()),
        me: seen.me.agent.name.to_string(),
        peers: seen.peers.iter().map(|profile| peer(ctx, profile)).collect(),
        boards: seen.boards.iter().map(|board| self::board(ctx, board)).collect(),
        holds: seen.held.iter().map(hold).collect(),
        groups: ctx.settings.groups().iter().map(|group| group.name.clone()).collect(),
    }
}

fn peer(ctx: &Context, profile: &AgentProfile) -> PeerItem {
    let agent = &profile.agent;
    let claim = profile.claims.first();
    PeerItem {
        name: agent.name.to_string(),
        presence: profile.presence,
        last_sign: profile.last_sign,
        machine: agent.machine.as_ref().map(|machine| machine.name.to_string()),
        harness: agent.harness_name().to_string(),
        model: model(&agent.model),
        branch: agent.git_branch.clone(),
        spec: agent.spec.as_deref().map(|spec| path(ctx, spec)),
        spec_path: agent.spec.clone(),
        task: claim.map(|claim| (claim.task.clone(), claim.reason.clone())),
        status: status(profile),
    }
}

/// The model's name; empty for a person or if unknown.
fn model(name: &str) -> String {
    if matches!(name, "unknown" | "human") { String::new() } else { name.to_string() }
}

/// What the agent is doing and its own status text, or else its automatic status.
fn status(profile: &AgentProfile) -> Option<String> {
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

fn board(ctx: &Context, worked_on: &ActiveSpec) -> SpecView {
    let (spec, path) = (path(ctx, &worked_on.spec), worked_on.spec.clone());
    match &worked_on.tasks {
        Ok(tasks) => SpecView { spec, path, tasks: tasks.tasks.iter().map(task).collect(), trouble: None },
        Err(error) => SpecView { spec, path, tasks: Vec::new(), trouble: Some(error.message.clone()) },
    }
}

fn task(view: &TaskView) -> TaskItem {
    let state = match (&view.state, &view.claim) {
        (TaskState::Open, _) => TaskStateView::Open,
        (TaskState::Blocked(by), _) => TaskStateView::Blocked(by.clone()),
        (TaskState::Claimed, Some(claim)) => {
            TaskStateView::Claimed { by: claim.agent.to_string(), since: claim.claimed_at }
        }
        (TaskState::Claimed, None) => TaskStateView::Open,
        (TaskState::Done, _) => {
            TaskStateView::Done { by: view.completion.as_ref().map(|done| done.by.to_string()) }
        }
    };
    TaskItem { id: view.id.clone(), title: view.title.clone(), state }
}

fn hold(held: &HeldReservation) -> ReservationItem {
    let reservation = &held.holding.reservation;
    let target = match reservation.root_here() {
        // A thing is named by itself.
        Some(_) if reservation.is_thing() => reservation.pattern.clone(),
        Some(root) => Path::new(root).join(&reservation.pattern).to_string_lossy().into_owned(),
        None => reservation.pattern.clone(),
    };
    let is_plain = reservation.is_literal || !reservation.pattern.contains(['*', '?', '[', '{']);
    ReservationItem {
        pattern: reservation.pattern.clone(),
        root: reservation.root_here().map(str::to_string),
        reach_note: reservation.reach_note(),
        holder: held.holding.holder.name.to_string(),
        since: reservation.since,
        reason: reservation.reason.clone(),
        task: reservation.task.as_ref().map(|task| task.id.clone()),
        refused: held.refused.iter().map(ToString::to_string).collect(),
        contested: held.contested.iter().map(ToString::to_string).collect(),
        is_one_path: is_plain && target.starts_with('/') && !reservation.pattern.starts_with('@'),
        target,
    }
}

pub(super) fn message(filed: &StoredMessage) -> ChatMessage {
    let message = &filed.message;
    let key = filed.stem.to_string();
    let standing = match &filed.place {
        MessageLocation::Inbox => MessageStatus::Unread,
        MessageLocation::InHand | MessageLocation::Seen(_) => MessageStatus::Read,
        MessageLocation::Sent(sent) => {
            let (key, to) = (key.clone(), sent.to.to_string());
            MessageStatus::Mine(vec![SentCopy { key, to, receipt: ReceiptView::Stored }])
        }
    };
    // The recipient of a message of mine is the one in its sent record.
    let to = match &filed.place {
        MessageLocation::Sent(sent) => sent.to.to_string(),
        _ => message.to.clone(),
    };
    ChatMessage {
        key,
        from: message.from.clone(),
        to,
        text: message.text.clone(),
        at: message.timestamp,
        importance: message.importance,
        wants_ack: message.needs_ack
            && !matches!(&filed.place, MessageLocation::Seen(seen) if seen.acked.is_some()),
        is_broadcast: message.is_broadcast,
        kind: message.kind,
        wants_answer: match &filed.place {
            MessageLocation::Inbox | MessageLocation::InHand => filed.stem.wants_answer(),
            MessageLocation::Seen(seen) => seen.owes_answer(),
            MessageLocation::Sent(_) => false,
        },
        standing,
    }
}

pub(super) fn receipt(fate: DeliveryStatus) -> ReceiptView {
    match fate {
        DeliveryStatus::Queued => ReceiptView::Queued,
        DeliveryStatus::Stored => ReceiptView::Stored,
        DeliveryStatus::Delivered => ReceiptView::Delivered,
        DeliveryStatus::Surfaced => ReceiptView::Surfaced,
        DeliveryStatus::Acked => ReceiptView::Acked,
        DeliveryStatus::Taken => ReceiptView::Taken,
        DeliveryStatus::Gone => ReceiptView::Gone,
        DeliveryStatus::Expired => ReceiptView::Expired,
    }
}

pub(super) fn feed_line(event: &Event) -> FeedLine {
    let tone = match event.what {
        Happened::Ours(
            EventKind::Complete | EventKind::Commit | EventKind::HeadsUpEnded(PredictionEnd::Prevented),
        ) => Tone::Good,
        Happened::Ours(
            EventKind::Refused
            | EventKind::Stale
            | EventKind::Stuck
            | EventKind::Gap
            | EventKind::Evict
            | EventKind::HeadsUpEnded(PredictionEnd::Occurred),
        ) => Tone::Bad,
        _ => Tone::Plain,
    };
    FeedLine { at: event.at, who: event.subject(), what: event.phrase(), tone, times: 1 }
}

/// The most topics of one trend that are shown.
const MOST_TOPICS: usize = 8;

pub(super) fn overlaps(ctx: &Context, seen: &OverlapReport) -> OverlapsView {
    let pair = |one: &AgentOverlap| {
        let [who, with] = one.agents.each_ref().map(ToString::to_string);
        let signals = one.signals.iter().map(Signal::describe).collect();
        let (arrow, percent) = (one.arrow(), percent(one.probability));
        OverlapItem { who, with, arrow, percent, file: one.file.clone(), why: one.why.clone(), signals }
    };
    let conflict = |one: &OpenConflict| {
        let sides = one.sides.iter().map(|(name, change)| (name.to_string(), change.describe()));
        ConflictItem { file: one.file.clone(), sides: sides.collect() }
    };
    OverlapsView {
        place: ctx.home.shorten(&seen.root.to_string_lossy()),
        is_off: ctx.settings.awareness == AwarenessMode::Off,
        agents: seen.agents,
        conflicts: seen.conflicts.iter().map(conflict).collect(),
        pairs: seen.overlaps.iter().map(pair).collect(),
        told: seen.predictions.iter().map(heads_up).collect(),
    }
}

fn heads_up(one: &Prediction) -> HeadsUpItem {
    HeadsUpItem {
        id: one.id.clone(),
        at: Timestamp::from_millisecond(one.at).unwrap_or(Timestamp::UNIX_EPOCH),
        who: one.name.to_string(),
        with: one.with_name.to_string(),
        percent: percent(one.probability),
        file: one.file.clone(),
        end: one.end.map(|(end, _)| end),
    }
}

fn percent(probability: f64) -> u8 {
    (probability * 100.0).round().clamp(0.0, 100.0) as u8
}

pub(super) fn headings(seen: &AgentTopics) -> HeadingsView {
    let trends =
        [Some(Trend::Deepening), Some(Trend::Stable), Some(Trend::Emerging), None, Some(Trend::Fading)];
    let topics = trends.map(|trend| {
        let found = seen.topics.iter().filter(|found| found.trend == trend).take(MOST_TOPICS);
        (trend.map_or("about", Trend::name), found.map(|found| found.topic.as_str().to_string()).collect())
    });
    let text: Vec<String> = seen.text.iter().map(|text| one_line(text)).collect();
    let files = [("changed", seen.changed.clone()), ("read", seen.read.clone())];
    let rows = std::iter::once(("asked for", text)).chain(topics).chain(files);
    let rows = rows.filter(|(_, words): &(_, Vec<String>)| !words.is_empty()).collect();
    HeadingsView { name: seen.name.to_string(), asked: seen.last_prompt, rows }
}

/// The records that match `words`.
pub(super) fn records(answer: &KnowledgeAnswer, words: String) -> KnowledgeList {
    let item = |shown: &ShownRecord| KnowledgeItem {
        id: shown.record.id.to_string(),
        kind: shown.record.id.kind.to_string(),
        name: shown.record.id.name.to_string(),
        marks: record_marks(&shown.record, &shown.state()),
        is_outdated: matches!(shown.verdict, AnchorVerdict::Stale | AnchorVerdict::Gone),
        sentence: shown.record.statement.headline().to_string(),
        place: shown.record.anchors.first().map(|anchor| anchor.target.to_string()),
    };
    KnowledgeList { words, items: answer.records.iter().map(item).collect(), total: answer.total }
}

/// A record in full, with what changed in the code since.
pub(super) fn record_page(shown: &ShownRecord) -> KnowledgePage {
    let text = full_text(&shown.record, &shown.state(), MOST_WORDS, time_zone::user_zone());
    let mut lines = text.lines().map(str::to_string);
    let heading = lines.next().unwrap_or_default();
    KnowledgePage { heading, lines: lines.chain(shown.changes()).collect() }
}

/// How much of a task the list has, in characters.
const RUN_TITLE: usize = 200;

pub(super) fn run_item(run: &Run, now: Timestamp) -> RunItem {
    let tone = match run.state {
        RunState::Done => Tone::Good,
        state if state.needs_attention() => Tone::Bad,
        _ => Tone::Plain,
    };
    let is_live = !run.state.is_final();
    RunItem {
        id: run.id.to_string(),
        state: run.outcome(),
        tone,
        is_live,
        profile: run.profile.clone(),
        title: run.title(RUN_TITLE),
        doing: run.remark().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")),
        took: run.took(now),
        used: run.used().join(", "),
    }
}

/// A run in full: how it stands, its task and its result.
pub(super) fn run_detail(run: &Run, sight: Option<SightView>, now: Timestamp) -> RunDetail {
    let used = run.used();
    let mut facts = vec![run.profile.clone()];
    facts.extend(run.harness.clone());
    facts.extend(run.model.clone());
    facts.push(run.took(now));
    facts.extend(used);
    let named = |name: &str, text: Option<String>| text.map(|text| format!("{name}: {text}"));
    let parent = run.parent.agent.as_ref().map_or_else(|| "a person".to_string(), ToString::to_string);
    let mut lines = vec![facts.join(" · ")];
    lines.extend(named("asks", run.question.as_ref().map(RunQuestion::line)));
    let answer = |question| answer_command(run, question, AnswerChoice::Allow);
    lines.extend(named("answer", run.question.as_ref().map(answer)));
    lines.extend(named("why", run.reason.clone()));
    lines.extend(named("doing", run.doing.clone()));
    if let Some(review) = &run.review {
        lines.push(format!("review: {}", review.summary()));
        lines.extend(review.findings().iter().map(|finding| format!("  {}", finding.sentence())));
    }
    lines.extend(named("worker", run.agent.as_ref().map(ToString::to_string)));
    lines.push(format!("for {parent}, in {}", run.root));
    let mut texts = vec![String::new(), "Task:".to_string()];
    texts.extend(run.task.trim_end().lines().map(str::to_string));
    if let Some(result) = run.result.as_deref().filter(|result| !result.trim().is_empty()) {
        texts.extend([String::new(), "Result:".to_string()]);
        texts.extend(result.trim_end().lines().map(str::to_string));
    }
    let is_live = !run.state.is_final();
    RunDetail {
        heading: format!("{} {}", run.id, run.outcome()),
        lines,
        sight,
        texts,
        is_live,
        has_pane: is_live && run.pane.is_some(),
    }
}

/// What a glance at an agent showed. `name` is what the chat calls it.
pub(super) fn sight(name: &str, glance: &Glance) -> SightView {
    let choice = |choice: &DialogChoice| {
        let mark = if choice.is_selected { "›" } else { " " };
        let key = if choice.key.is_empty() { String::new() } else { format!("{}. ", choice.key) };
        format!("{mark} {key}{}", choice.label)
    };
    let question = |dialog: &Dialog| {
        let choices = dialog.choices.iter().map(choice).collect();
        (dialog.question.clone(), choices)
    };
    let answered = glance.dialog.as_ref().filter(|dialog| !dialog.choices.is_empty());
    let (screen, no_screen) = match &glance.screen {
        Ok(lines) => (lines.clone(), None),
        Err(why) => (Vec::new(), Some(why.to_string())),
    };
    SightView {
        name: name.to_string(),
        state: format!("{} ({})", glance.verdict.state.name(), glance.verdict.basis.describe()),
        place: glance.place.as_ref().map(TerminalPlace::text),
        question: glance.dialog.as_ref().map(question),
        answer: answered.map(|dialog| answer_line(&glance.name, "CHOICE", dialog)),
        screen,
        no_screen,
    }
}

/// The places of agents, by name.
pub(super) fn places(places: &BTreeMap<AgentName, TerminalPlace>) -> BTreeMap<String, PlaceView> {
    places.iter().map(|(name, place)| (name.to_string(), self::place(place))).collect()
}

pub(super) fn place(place: &TerminalPlace) -> PlaceView {
    PlaceView { text: place.text(), is_pane: place.address.is_some() }
}

/// A prompt that its user shares.
fn one_line(text: &str) -> String {
    format!("“{}”", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The text shown after sending.
pub(super) fn sent(report: &SendReport) -> String {
    match report.sent.as_slice() {
        [one] => match one.route {
            WakeRoute::None | WakeRoute::Prompt => format!("stored for {}", one.to),
            route => format!("stored for {}, which is notified ({})", one.to, route.name()),
        },
        many => format!("stored for {}", many.len()),
    }
}

/// An error in one line, with its first hint.
pub(super) fn error_line(error: &CommandError) -> String {
    match error.hints.first() {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    }
}
