//! Formats an agent for the terminal: presence, activity, tasks, reservations.

use jiff::{SignedDuration, Timestamp};

use crate::domain::{Presence, escape_invisible, format_duration};
use crate::ops::AgentProfile;
use crate::ops::link::time_of_day;
use crate::sys::clock;
use crate::sys::environment::Home;

use super::output::{Page, style};
use super::table::TableCell;

/// A machine says every ten seconds how its agents do. After that it is said how old the news is.
const SILENT: SignedDuration = SignedDuration::from_secs(12);
/// Maximum number of changed files that are listed.
const MOST_CHANGED: usize = 5;

pub(super) use crate::faces::json::{AgentJson, agent as json, claim as claim_json, harness};

pub(super) fn presence_cell(presence: Presence) -> TableCell {
    let style = match presence {
        Presence::Active => style::good,
        Presence::Idle => style::bold,
        Presence::Away | Presence::Gone => style::dim,
        Presence::Stuck | Presence::Unknown | Presence::Unreachable => style::warn,
    };
    TableCell::styled(presence.name(), style)
}

/// What an agent is doing, in a few words.
pub(super) fn notes(profile: &AgentProfile) -> String {
    let agent = &profile.agent;
    let mut notes = Vec::new();
    notes.extend(profile.claims.iter().map(|claim| format!("on {}", escape_invisible(&claim.task))));
    match agent.reservations.as_slice() {
        [] => {}
        [one] => notes.push(format!("holds {}{}", escape_invisible(&one.typed()), one.reach_note())),
        [first, rest @ ..] => {
            let typed = first.typed();
            let pattern = escape_invisible(&typed);
            notes.push(format!("holds {pattern}{} and {} more", first.reach_note(), rest.len()));
        }
    }
    if profile.unread > 0 {
        notes.push(format!("{} unread", profile.unread));
    }
    notes.extend(profile.place.as_ref().map(|place| format!("at {}", escape_invisible(&place.text()))));
    notes.extend(as_of(profile).or_else(|| heard(profile, clock::now())));
    notes.extend(agent.status.iter().map(|status| format!("“{}”", escape_invisible(status))));
    // Leave it out if the task was already mentioned.
    let is_new = |status: &String| !notes.contains(status);
    let status =
        profile.auto_status.as_ref().map(|status| escape_invisible(status).into_owned()).filter(is_new);
    notes.extend(status);
    notes.join(", ")
}

/// For an agent on another machine: since when it can't be reached, or when this was last known.
fn as_of(profile: &AgentProfile) -> Option<String> {
    let since = profile.agent.machine.as_ref()?.away_since;
    since
        .map(|since| format!("since {}", time_of_day(since)))
        .or_else(|| profile.as_of.map(|at| format!("as of {}", time_of_day(at))))
}

/// For an agent on another machine: how long ago that machine said anything of it, if it should have done so since.
fn heard(profile: &AgentProfile, now: Timestamp) -> Option<String> {
    let age = now.duration_since(profile.agent.machine.as_ref()?.heard_at?);
    (age >= SILENT).then(|| format!("seen {} ago", format_duration(age)))
}

/// The folder of an agent. One on another machine is not below a home directory of this one.
pub(super) fn folder(profile: &AgentProfile, home: &Home) -> String {
    let cwd = &profile.agent.cwd;
    let shown = if profile.agent.is_remote() { cwd.clone() } else { home.shorten(cwd) };
    escape_invisible(&shown).into_owned()
}

/// One agent in full.
pub(super) fn text(page: &mut Page, profile: &AgentProfile, home: &Home, now: Timestamp) {
    let agent = &profile.agent;
    page.line(format!("{}  {}", style::bold(&agent.name_and_machine()), profile.presence));
    let mut row =
        |label: &str, value: String| page.line(format!("  {}  {value}", style::dim(&format!("{label:<8}"))));
    let branch = agent
        .git_branch
        .as_deref()
        .map_or(String::new(), |branch| format!(" on {}", escape_invisible(branch)));
    let model = match agent.model.as_str() {
        "unknown" | "human" => String::new(),
        model => format!(" ({})", escape_invisible(model)),
    };
    let process = match agent.is_remote() {
        true => String::new(),
        false => format!(", process {}", agent.process.pid()),
    };
    if let Some(machine) = &agent.machine {
        let note = as_of(profile).or_else(|| heard(profile, now));
        let note = note.map_or(String::new(), |note| format!(", {note}"));
        row("machine", format!("{}{note}", machine.name));
    }
    row("harness", format!("{}{model}{process}", harness(profile)));
    row("folder", format!("{}{branch}", folder(profile, home)));
    if let Some(place) = &profile.place {
        row("place", escape_invisible(&place.text()).into_owned());
    }
    row("here for", duration(now, agent.started_at));
    if let Some(spec) = &agent.spec {
        row("spec", escape_invisible(&home.shorten(spec)).into_owned());
    }
    for claim in &profile.claims {
        let reason = claim
            .reason
            .as_deref()
            .map_or(String::new(), |reason| format!(" – {}", escape_invisible(reason)));
        row(
            "task",
            format!("{} for {}{reason}", escape_invisible(&claim.task), duration(now, claim.claimed_at)),
        );
    }
    for reservation in &agent.reservations {
        let reason = reservation
            .reason
            .as_deref()
            .map_or(String::new(), |reason| format!(" – {}", escape_invisible(reason)));
        let typed = reservation.typed();
        let pattern = escape_invisible(&typed);
        row("holds", format!("{pattern}{}{reason}", reservation.reach_note()));
    }
    if profile.unread > 0 {
        row("unread", profile.unread.to_string());
    }
    if let Some(status) = &agent.status {
        row("status", escape_invisible(status).into_owned());
    }
    match profile.presence {
        Presence::Active | Presence::Idle => {
            profile.activity.iter().for_each(|activity| row("now", escape_invisible(activity).into_owned()));
        }
        Presence::Away | Presence::Stuck => row("quiet", duration(now, profile.last_sign)),
        Presence::Unknown | Presence::Unreachable | Presence::Gone => {}
    }
    if profile.tool_calls > 0 {
        let last = profile.last_tool_call.as_deref();
        let last = last.map_or(String::new(), |last| format!(", the last: {}", escape_invisible(last)));
        let calls = if profile.tool_calls == 1 { "call" } else { "calls" };
        row("tools", format!("{} {calls}{last}", profile.tool_calls));
    }
    if !profile.files_modified.is_empty() {
        row("changed", changed(&profile.files_modified));
    }
    for former in agent.formerly.iter().filter(|former| former.until > now) {
        row("formerly", former.name.to_string());
    }
}

/// The latest changed files.
fn changed(files: &[String]) -> String {
    let latest: Vec<String> =
        files.iter().rev().take(MOST_CHANGED).map(|file| escape_invisible(file).into_owned()).collect();
    match files.len() - latest.len() {
        0 => latest.join(", "),
        rest => format!("{} and {rest} more", latest.join(", ")),
    }
}

/// The time between two moments, in the largest suitable unit.
pub(super) fn duration(now: Timestamp, then: Timestamp) -> String {
    format_duration(now.duration_since(then))
}
