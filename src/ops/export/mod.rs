//! `msg export`: everything that happened, for one page: who was there, who held what, tasks, messages, runs and events.
//!
//! It is made for a person, because it has everybody's messages. What is on the page is masked and limited here; the faces
//! only write it down.

mod mail;
mod masker;
mod page;
mod presence;
mod since;
mod work;

use std::collections::HashMap;

use jiff::Timestamp;

use crate::domain::{AgentName, AnyEventKind, Event, EventKind};
use crate::ops::agents::list::{AgentFilter, agents_without_sign_of_life};
use crate::ops::agents::profile::AgentProfile;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::{feed, person_required};
use crate::store::Grave;
use crate::sys::clock;

use mail::{Mail, mail};
use masker::Masker;
use presence::{HeldNow, History, RecordedLife, history};

pub use page::{
    ExportAgent, ExportMessage, ExportPage, ExportRun, ExportSpec, ExportTask, HeldPath, HeldUntil, Newest,
    Period, Span,
};
pub use since::parse_since;

/// What is to be on the page.
#[derive(Clone, Copy, Debug)]
pub struct ExportRequest {
    /// Nothing that is older; `None`: everything that is kept.
    pub since: Option<Timestamp>,
    /// At most so many messages, reservations, runs and events, each.
    pub limit: usize,
}

/// Gathers the page. `line` is what a person would have to type: in a harness it is refused.
pub fn export(op: &Op, request: ExportRequest, line: &str) -> Result<ExportPage, CommandError> {
    let ExportRequest { since, limit } = request;
    person_required::required_at_terminal(op, || person_required::with_mesh(op, line))?;
    let masker = Masker::default();
    let made_at = clock::now();
    let (recent, total) = feed::latest(op, limit, since)?;
    let found = recent.events.into_iter().map(|event| masker.event(event)).collect();
    let events: Newest<Event> = Newest { shown: found, total };
    let mut page = ExportPage {
        made_at,
        since,
        shown: Period { from: made_at, to: made_at },
        mesh: op.home.shorten(&op.location.to_string()),
        agents: Vec::new(),
        holds: Newest::default(),
        specs: Newest::default(),
        messages: Newest::default(),
        runs: Newest::default(),
        events,
        masked: 0,
        unreadable: recent.unreadable,
    };
    let Some(mesh) = op.mesh()? else {
        op.note_absent_mesh();
        page.shown = period(&page, &[], since);
        return Ok(ExportPage { masked: masker.count(), ..page });
    };
    let Mail { messages, unreadable } = mail(&mesh, since, limit, &masker)?;
    page.unreadable += unreadable;
    page.messages = messages;
    page.specs = work::specs(op, &mesh, &mesh.registry().census()?, since, &masker)?;
    page.runs = work::newest_runs(op, since, limit, &masker)?;
    let live = agents_without_sign_of_life(op, AgentFilter::default())?.agents;
    let graves = mesh.graves().all()?.graves;
    let lives = lives(&live, &graves, &masker);
    page.shown = period(&page, &lives, since);
    let History { there, holds } = history(&page.events.shown, &lives, page.shown);
    page.holds = Newest::last(holds, limit);
    page.agents = everybody(op, &page, there, &live, &graves, &masker);
    Ok(ExportPage { masked: masker.count(), ..page })
}

/// What is on record of those that are there and those that are gone.
fn lives(live: &[AgentProfile], graves: &[Grave], masker: &Masker) -> Vec<RecordedLife> {
    let is_there = live.iter().map(|profile| RecordedLife {
        name: profile.agent.name.to_string(),
        span: Span { from: profile.agent.joined_at, to: None },
        held: profile
            .agent
            .reservations
            .iter()
            .map(|held| HeldNow {
                pattern: masker.text(&held.pattern),
                reason: masker.optional(held.reason.as_deref()),
                since: held.since,
            })
            .collect(),
    });
    let was_there = graves.iter().filter_map(|grave| {
        let agent = &grave.record.as_ref()?.agent;
        let span = Span { from: agent.joined_at.min(grave.at), to: Some(grave.at) };
        Some(RecordedLife { name: agent.name.to_string(), span, held: Vec::new() })
    });
    is_there.chain(was_there).collect()
}

/// From the first to the last thing that is known, not before `since`. If events were left out, it begins with the first
/// one that is shown.
fn period(page: &ExportPage, lives: &[RecordedLife], since: Option<Timestamp>) -> Period {
    let events = || page.events.shown.iter().map(|event| event.at);
    let messages = page.messages.shown.iter().map(|message| message.at);
    let runs = page.runs.shown.iter().map(|run| run.at);
    let is_there = lives.iter().any(|life| life.span.to.is_none());
    let ends = lives.iter().filter_map(|life| life.span.to);
    let last = events().chain(messages.clone()).chain(runs.clone()).chain(ends).max();
    let to = if is_there { page.made_at } else { last.unwrap_or(page.made_at).min(page.made_at) };
    let begins = lives.iter().map(|life| life.span.from);
    let first = match page.events.is_complete() {
        true => events().chain(messages).chain(runs).chain(begins).min(),
        false => events().next(),
    };
    let from = since.unwrap_or(Timestamp::MIN).max(first.unwrap_or(to)).min(to);
    Period { from, to }
}

/// Everybody who did something or is there: first who is there, in the order in which they came.
fn everybody(
    op: &Op,
    page: &ExportPage,
    mut there: HashMap<String, Vec<Span>>,
    live: &[AgentProfile],
    graves: &[Grave],
    masker: &Masker,
) -> Vec<ExportAgent> {
    let mut found: HashMap<String, ExportAgent> = HashMap::new();
    for (name, spans) in there.drain().filter(|(_, spans)| !spans.is_empty()) {
        found.insert(name.clone(), ExportAgent { is_agent: true, there: spans, ..named(&name) });
    }
    let entry = |found: &mut HashMap<String, ExportAgent>, name: &str, add: &dyn Fn(&mut ExportAgent)| {
        add(found.entry(name.to_string()).or_insert_with(|| named(name)));
    };
    for message in &page.messages.shown {
        entry(&mut found, &message.from, &|agent| agent.sent += 1);
        message.to.iter().for_each(|to| entry(&mut found, to, &|agent| agent.received += 1));
    }
    for event in &page.events.shown {
        let kind = match event.what {
            AnyEventKind::Ours(kind) => Some(kind),
            AnyEventKind::Other(_) => None,
        };
        entry(&mut found, &event.agent, &|agent| {
            agent.refused += usize::from(kind == Some(EventKind::Refused));
            agent.completed += usize::from(kind == Some(EventKind::Complete));
        });
    }
    for grave in graves {
        let Some(record) = &grave.record else { continue };
        let Some(agent) = found.get_mut(record.agent.name.as_str()) else { continue };
        // The latest of those that had the name.
        if agent.gone.is_none_or(|(_, at)| at < grave.at) {
            describe(op, agent, &record.agent, masker);
            agent.gone = Some((grave.why, grave.at));
        }
    }
    for profile in live {
        if let Some(agent) = found.get_mut(profile.agent.name.as_str()) {
            describe(op, agent, &profile.agent, masker);
            agent.presence = Some(profile.presence.name());
            agent.status =
                masker.optional(profile.agent.status.as_deref().or(profile.auto_status.as_deref()));
            agent.gone = None;
        }
    }
    // The program itself is nobody.
    let mut agents: Vec<ExportAgent> =
        found.into_values().filter(|agent| !AgentName::is_program(&agent.name)).collect();
    agents.sort_by(|a, b| order(a).cmp(&order(b)));
    agents
}

/// Who is there comes first, then who was, then who only wrote.
fn order(agent: &ExportAgent) -> (bool, bool, Option<Timestamp>, &str) {
    let first = agent.there.first().map(|span| span.from);
    (agent.presence.is_none(), first.is_none(), first, &agent.name)
}

fn named(name: &str) -> ExportAgent {
    ExportAgent {
        name: name.to_string(),
        is_agent: false,
        is_human: false,
        harness: None,
        model: None,
        branch: None,
        cwd: None,
        spec: None,
        status: None,
        presence: None,
        gone: None,
        there: Vec::new(),
        sent: 0,
        received: 0,
        refused: 0,
        completed: 0,
    }
}

/// Adds what its registration says.
fn describe(op: &Op, agent: &mut ExportAgent, recorded: &crate::domain::Agent, masker: &Masker) {
    agent.is_agent = true;
    agent.is_human = recorded.is_human;
    agent.harness = Some(recorded.harness_name().to_string());
    agent.model = Some(recorded.model.clone()).filter(|model| !matches!(model.as_str(), "" | "unknown"));
    agent.branch.clone_from(&recorded.git_branch);
    agent.cwd = Some(op.home.shorten(&recorded.cwd));
    agent.spec = recorded.spec.as_deref().map(|spec| op.home.shorten(spec));
    agent.status = masker.optional(recorded.status.as_deref());
}
