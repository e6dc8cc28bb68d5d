//! The timeline: a lane for each agent, with bars for when it was there and what it held, and marks for what it did. Drawn in
//! percent of the width, so it fits every screen without a script.

use std::collections::HashSet;

use jiff::Timestamp;

use super::super::words;
use super::Sheet;
use super::markup::text;
use super::section::Section;
use crate::domain::{AnyEventKind, Event, EventKind};
use crate::ops::export::{ExportAgent, HeldPath, HeldUntil, Period};

/// The most lanes; the busiest agents get one.
const MOST_LANES: usize = 60;
/// The most rows of reservations in a lane.
const MOST_ROWS: usize = 5;
/// The most bars in a lane.
const MOST_BARS: usize = 200;
/// Marks of one kind that are closer than this part of the width become one.
const STEPS: f64 = 250.0;
/// Heights and distances, in pixels.
const PRESENCE: usize = 30;
const BAR: usize = 15;
const GAP: usize = 3;
const AXIS: usize = 22;
/// The narrowest bar, and the narrowest that has a text, in percent.
const NARROWEST: f64 = 0.35;
const ROOM_FOR_TEXT: f64 = 4.0;
/// The most lines on the axis.
const MOST_TICKS: i64 = 6;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The distances between lines of the axis, in seconds.
const DISTANCES: [i64; 22] = [
    1,
    2,
    5,
    10,
    30,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    30 * DAY,
    90 * DAY,
];

/// What is drawn of an event.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Mark {
    Message,
    Commit,
    Claimed,
    Completed,
    Refused,
}

impl Mark {
    const ALL: [Self; 5] = [Self::Message, Self::Commit, Self::Claimed, Self::Completed, Self::Refused];

    fn of(event: &Event) -> Option<Self> {
        match event.what {
            AnyEventKind::Ours(EventKind::Message) => Some(Self::Message),
            AnyEventKind::Ours(EventKind::Commit) => Some(Self::Commit),
            AnyEventKind::Ours(EventKind::Claim) => Some(Self::Claimed),
            AnyEventKind::Ours(EventKind::Complete) => Some(Self::Completed),
            AnyEventKind::Ours(EventKind::Refused) => Some(Self::Refused),
            _ => None,
        }
    }

    /// In the middle of where it is put.
    fn shape(self) -> &'static str {
        match self {
            Self::Message => r#"<circle class="m-message" r="3"/>"#,
            Self::Commit => r#"<rect class="m-commit" x="-3.5" y="-3.5" width="7" height="7" rx="1.5"/>"#,
            Self::Claimed => r#"<path class="m-claimed" d="M0 -4.6L4.6 0L0 4.6L-4.6 0Z"/>"#,
            Self::Completed => r#"<path class="m-completed" d="M0 -5L5 0L0 5L-5 0Z"/>"#,
            Self::Refused => r#"<path class="m-refused" d="M-3.4 -3.4L3.4 3.4M-3.4 3.4L3.4 -3.4"/>"#,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Commit => "commit",
            Self::Claimed => "task claimed",
            Self::Completed => "task completed",
            Self::Refused => "refused",
        }
    }

    /// Kinds that often come together have heights of their own, so that they do not hide each other.
    fn height(self) -> usize {
        match self {
            Self::Message | Self::Commit => 7,
            Self::Claimed | Self::Completed => 15,
            Self::Refused => 23,
        }
    }
}

/// Places in time as parts of the width.
struct Scale {
    from: i64,
    /// In milliseconds, at least a minute: a page of one moment has a width, too.
    length: i64,
}

impl Scale {
    fn new(shown: Period) -> Self {
        let (from, to) = (shown.from.as_millisecond(), shown.to.as_millisecond());
        Self { from, length: (to - from).max(MINUTE * 1000) }
    }

    fn percent(&self, at: Timestamp) -> f64 {
        let part = (at.as_millisecond() - self.from) as f64 / self.length as f64;
        (100.0 * part).clamp(0.0, 100.0)
    }

    /// Where a bar begins and how long it is, within the width.
    fn bar(&self, from: Timestamp, to: Option<Timestamp>) -> (f64, f64) {
        let (start, end) = (self.percent(from), to.map_or(100.0, |to| self.percent(to)));
        let width = (end - start).max(NARROWEST);
        (start.min(100.0 - width), width)
    }
}

pub(super) fn section(sheet: &Sheet<'_>) -> Option<Section> {
    let mut agents: Vec<&ExportAgent> =
        sheet.page.agents.iter().filter(|agent| !agent.there.is_empty()).collect();
    if agents.is_empty() {
        return None;
    }
    let total = agents.len();
    if total > MOST_LANES {
        let mut busiest = agents.clone();
        busiest.sort_by_key(|agent| {
            std::cmp::Reverse(agent.sent + agent.received + agent.refused + agent.completed)
        });
        let kept: HashSet<&str> = busiest.iter().take(MOST_LANES).map(|agent| agent.name.as_str()).collect();
        agents.retain(|agent| kept.contains(agent.name.as_str()));
    }
    let scale = Scale::new(sheet.page.shown);
    let ticks = ticks(sheet, &scale);
    let lanes: String = agents.iter().map(|agent| lane(sheet, agent, &scale, &ticks)).collect();
    let remark = match total > MOST_LANES {
        true => format!("the {MOST_LANES} busiest of {} agents", words::grouped(total)),
        false => words::period(sheet.page, sheet.time),
    };
    let body = format!("<div class=\"lanes\">\n{}{lanes}</div>\n{}", axis(&ticks), key());
    Some(Section { remark, body })
}

/// A line of the axis, in percent, and its label.
struct Tick {
    at: f64,
    label: String,
}

/// Lines at round local times.
fn ticks(sheet: &Sheet<'_>, scale: &Scale) -> Vec<Tick> {
    let seconds = scale.length / 1000;
    let fits = |distance: &&i64| seconds / **distance <= MOST_TICKS;
    let years = (seconds / MOST_TICKS / (90 * DAY) + 1) * 90 * DAY;
    let distance = DISTANCES.iter().find(fits).copied().unwrap_or(years);
    let from = scale.from.div_euclid(1000);
    let offset = sheet.time.offset(sheet.page.shown.from);
    let first = (from + offset).div_euclid(distance) * distance - offset;
    let mut before = sheet.page.shown.from;
    let times = (0..=MOST_TICKS + 1).map(|place| first + place * distance);
    times
        .filter(|second| (from..=from + seconds).contains(second))
        .filter_map(|second| Timestamp::from_second(second).ok())
        .map(|at| {
            let is_new_day = sheet.time.day(at) != sheet.time.day(before);
            before = at;
            let format = match distance {
                DAY.. => "%-d %b",
                _ if is_new_day => "%a %H:%M",
                MINUTE.. => "%H:%M",
                _ => "%H:%M:%S",
            };
            Tick { at: scale.percent(at), label: sheet.time.format(at, format) }
        })
        .collect()
}

fn axis(ticks: &[Tick]) -> String {
    let labels: String = ticks
        .iter()
        .map(|Tick { at, label }| {
            let anchor = match at {
                ..5.0 => "start",
                95.0.. => "end",
                _ => "middle",
            };
            format!("<text x=\"{at:.2}%\" y=\"13\" text-anchor=\"{anchor}\">{}</text>", text(label))
        })
        .collect();
    format!(
        "<div class=\"lane axis\" aria-hidden=\"true\"><div></div><svg class=\"track\" height=\"{AXIS}\">{labels}</svg></div>\n"
    )
}

fn lane(sheet: &Sheet<'_>, agent: &ExportAgent, scale: &Scale, ticks: &[Tick]) -> String {
    let colour = sheet.colour(&agent.name);
    let rows = rows(sheet, agent, scale);
    let height = PRESENCE + rows.iter().filter(|row| !row.is_empty()).count() * (BAR + GAP);
    let grid: String = ticks
        .iter()
        .map(|Tick { at, .. }| {
            format!("<line class=\"grid\" x1=\"{at:.2}%\" x2=\"{at:.2}%\" y1=\"0\" y2=\"{height}\"/>")
        })
        .collect();
    let there: String = agent
        .there
        .iter()
        .map(|span| {
            let (x, width) = scale.bar(span.from, span.to);
            format!("<rect class=\"there\" x=\"{x:.2}%\" y=\"0\" width=\"{width:.2}%\" height=\"{PRESENCE}\" rx=\"6\"/>")
        })
        .collect();
    let mut held = String::new();
    for (place, row) in rows.iter().enumerate() {
        let y = PRESENCE + GAP + place * (BAR + GAP);
        row.iter().for_each(|hold| held.push_str(&bar(sheet, hold, scale, y)));
    }
    format!(
        "<div class=\"lane {colour}\" {}><div>{}</div><svg class=\"track\" height=\"{height}\" role=\"img\" aria-label=\"{}\">{grid}{there}{held}{}</svg></div>\n",
        sheet.about([agent.name.as_str()]),
        sheet.who(&agent.name),
        text(&sentence(sheet, agent)),
        marks(sheet, agent, scale),
    )
}

/// The reservations of an agent, in as many rows as they overlap.
fn rows<'p>(sheet: &Sheet<'p>, agent: &ExportAgent, scale: &Scale) -> Vec<Vec<&'p HeldPath>> {
    let mut rows: Vec<(f64, Vec<&HeldPath>)> = Vec::new();
    let holds = sheet.page.holds.shown.iter().filter(|hold| hold.agent == agent.name);
    for hold in holds.take(MOST_BARS) {
        let (start, width) = scale.bar(hold.from, until(hold));
        if let Some((end, row)) = rows.iter_mut().find(|(end, _)| *end <= start) {
            *end = start + width;
            row.push(hold);
        } else if rows.len() < MOST_ROWS {
            rows.push((start + width, vec![hold]));
        }
    }
    // What has no room here is in the table of reservations.
    rows.into_iter().map(|(_, row)| row).collect()
}

fn until(hold: &HeldPath) -> Option<Timestamp> {
    match hold.end {
        HeldUntil::Held => None,
        HeldUntil::At(at) | HeldUntil::Before(at) => Some(at),
    }
}

fn bar(sheet: &Sheet<'_>, hold: &HeldPath, scale: &Scale, y: usize) -> String {
    let (x, width) = scale.bar(hold.from, until(hold));
    let class = if hold.end == HeldUntil::Held { "held" } else { "held past" };
    let when = words::held(hold, sheet.page, sheet.time);
    let reason = hold.reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
    let title = format!("{}, {when}{reason}", hold.pattern);
    // What is longer than its bar is cut off there.
    let name = match width > ROOM_FOR_TEXT {
        true => format!("<text x=\"5\" y=\"11\">{}</text>", text(&hold.pattern)),
        false => String::new(),
    };
    format!(
        "<svg x=\"{x:.2}%\" y=\"{y}\" width=\"{width:.2}%\" height=\"{BAR}\"><title>{}</title><rect class=\"{class}\" width=\"100%\" height=\"{BAR}\" rx=\"4\"/>{name}</svg>",
        text(&title)
    )
}

/// What the agent did, each kind in a place of its own, and what is close together as one.
fn marks(sheet: &Sheet<'_>, agent: &ExportAgent, scale: &Scale) -> String {
    let mut drawn: Vec<(Mark, i64, Timestamp, String, usize)> = Vec::new();
    for event in sheet.page.events.shown.iter().filter(|event| event.agent == agent.name) {
        let Some(mark) = Mark::of(event) else { continue };
        let step = (scale.percent(event.at) / 100.0 * STEPS).round() as i64;
        match drawn.iter_mut().rev().find(|(other, at, ..)| (*other, *at) == (mark, step)) {
            Some((.., count)) => *count += 1,
            None => drawn.push((mark, step, event.at, event.phrase(), 1)),
        }
    }
    let shape = |(mark, step, at, phrase, count): &(Mark, i64, Timestamp, String, usize)| {
        let x = 100.0 * *step as f64 / STEPS;
        let more = if *count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        let title = format!("{}: {phrase}{more}", sheet.time.moment(*at, sheet.page.shown.to));
        format!(
            "<svg x=\"{x:.2}%\" y=\"{}\" overflow=\"visible\"><title>{}</title>{}</svg>",
            mark.height(),
            text(&title),
            mark.shape()
        )
    };
    drawn.iter().map(shape).collect()
}

/// The lane in words, for those who do not see it.
fn sentence(sheet: &Sheet<'_>, agent: &ExportAgent) -> String {
    let held = sheet.page.holds.shown.iter().filter(|hold| hold.agent == agent.name).count();
    let counts = [
        (held, "reservation", "reservations"),
        (agent.sent, "message sent", "messages sent"),
        (agent.refused, "refusal", "refusals"),
        (agent.completed, "task completed", "tasks completed"),
    ];
    let counts = counts.iter().filter(|(number, ..)| *number > 0);
    let counts = counts.map(|(number, one, many)| format!(", {}", words::count(*number, one, many)));
    format!(
        "{} was there {}{}",
        agent.name,
        words::there(&agent.there, sheet.page, sheet.time),
        counts.collect::<String>()
    )
}

/// What the signs mean.
fn key() -> String {
    let bar = |class: &str, name: &str| {
        format!(
            "<li><svg width=\"22\" height=\"14\" class=\"k0\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"22\" height=\"14\" rx=\"4\"/></svg>{name}</li>\n"
        )
    };
    let marks = Mark::ALL.map(|mark| {
        let shape = mark.shape();
        format!("<li class=\"k0\"><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><svg x=\"7\" y=\"7\" overflow=\"visible\">{shape}</svg></svg>{}</li>\n", mark.name())
    });
    format!(
        "<ul class=\"key\">\n{}{}{}</ul>\n",
        bar("there", "there"),
        bar("held", "reserved"),
        marks.concat()
    )
}
