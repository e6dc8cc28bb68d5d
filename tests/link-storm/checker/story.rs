//! A history as operations: what was tried, when, by whom, and with what result.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::history::{Answer, Disturbance, Event, Fate, Intent, Line, Record, Time};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Ok,
    No {
        code: i32,
        kind: String,
    },
    Killed,
    /// Its agent died before it was answered.
    Orphaned,
    Odd(String),
    /// No result was recorded.
    Unknown,
}

#[derive(Clone, Debug)]
pub(super) struct Op<'h> {
    pub(super) who: &'h str,
    pub(super) machine: &'h str,
    pub(super) session: &'h str,
    pub(super) intent: &'h Intent,
    pub(super) fate: Fate,
    pub(super) invoked: Time,
    /// When it ended; `Time::MAX` if that is unknown.
    pub(super) ended: Time,
    pub(super) outcome: Outcome,
    pub(super) answer: Answer,
    pub(super) lines: Vec<&'h Line>,
}

impl Op<'_> {
    /// Whether it was refused, so that nothing has changed.
    pub(super) fn is_refused(&self) -> bool {
        match &self.outcome {
            // Another command was faster here, after the server had decided.
            Outcome::No { kind, .. } if kind == "changed_meanwhile" => false,
            Outcome::No { code, .. } => (1..=3).contains(code),
            _ => false,
        }
    }

    /// Whether it may have been interrupted at any step.
    pub(super) fn is_cut_short(&self) -> bool {
        match &self.outcome {
            Outcome::Killed | Outcome::Unknown | Outcome::Odd(_) => true,
            Outcome::Orphaned => matches!(self.fate, Fate::Step(_) | Fate::After(_)),
            Outcome::No { code, .. } => *code >= 4,
            Outcome::Ok => false,
        }
    }

    pub(super) fn overlaps(&self, from: Time, until: Time) -> bool {
        self.invoked <= until && self.ended >= from
    }

    pub(super) fn proof(&self) -> Vec<Line> {
        self.lines.iter().map(|line| (*line).clone()).collect()
    }
}

#[derive(Debug, Default)]
pub(super) struct Story<'h> {
    pub(super) ops: Vec<Op<'h>>,
    pub(super) deeds: Vec<(&'h Disturbance, &'h Line)>,
    /// In the order of the server.
    pub(super) records: Vec<(&'h Record, &'h Line)>,
    /// Where messages were at the end, by the name of their file. One may be in several places.
    pub(super) lies: HashMap<&'h str, Vec<(&'h str, &'h Line)>>,
    pub(super) unsettled: Vec<(&'h str, &'h Line)>,
    /// The sessions of agents that lived to the end.
    pub(super) resting: HashSet<&'h str>,
    /// Machine and session by life.
    lives: BTreeMap<&'h str, (&'h str, &'h str)>,
    pub(super) last: Time,
}

impl<'h> Story<'h> {
    pub(super) fn of(lines: &'h [Line]) -> Self {
        let mut story = Self::default();
        let mut places: HashMap<(&str, u64), usize> = HashMap::new();
        for line in lines {
            story.last = story.last.max(line.at);
            match &line.event {
                Event::Born { machine, session, .. } => {
                    story.lives.insert(&line.who, (machine, session));
                }
                Event::Invoke { op, intent, fate } => {
                    let (machine, session) = story.lives.get(line.who.as_str()).copied().unwrap_or_default();
                    places.insert((&line.who, *op), story.ops.len());
                    story.ops.push(Op {
                        who: &line.who,
                        machine,
                        session,
                        intent,
                        fate: *fate,
                        invoked: line.at,
                        ended: Time::MAX,
                        outcome: Outcome::Unknown,
                        answer: Answer::default(),
                        lines: vec![line],
                    });
                }
                Event::Rests => {
                    story.resting.extend(story.lives.get(line.who.as_str()).map(|(_, session)| *session));
                }
                Event::Disturbance { deed, .. } => story.deeds.push((deed, line)),
                Event::Did { .. } => {}
                Event::Record(record) => story.records.push((record, line)),
                Event::Lies { place, stem } => story.lies.entry(stem).or_default().push((place, line)),
                Event::Unsettled { what } => story.unsettled.push((what, line)),
                event => {
                    let Some((op, ended, outcome, answer)) = answered(event, line.at) else { continue };
                    let Some(place) = places.get(&(line.who.as_str(), op)) else { continue };
                    let op = &mut story.ops[*place];
                    op.ended = ended;
                    op.outcome = outcome;
                    op.answer = answer;
                    op.lines.push(line);
                }
            }
        }
        story.records.sort_by_key(|(record, _)| record.sequence);
        story
    }

    /// The lines after which a life may have ended.
    pub(super) fn deaths(&self) -> impl Iterator<Item = (&'h str, &'h Line)> {
        self.deeds.iter().filter_map(|(deed, line)| match deed {
            Disturbance::KillAgent { who } => Some((who.as_str(), *line)),
            _ => None,
        })
    }
}

fn answered(event: &Event, at: Time) -> Option<(u64, Time, Outcome, Answer)> {
    Some(match event {
        Event::Ok { op, answer } => (*op, at, Outcome::Ok, answer.clone()),
        Event::No { op, code, kind, answer } => {
            (*op, at, Outcome::No { code: *code, kind: kind.clone() }, answer.clone())
        }
        Event::Killed { op, answer } => (*op, at, Outcome::Killed, answer.clone()),
        // Nobody saw when it ended.
        Event::Orphaned { op, answer } => (*op, Time::MAX, Outcome::Orphaned, answer.clone()),
        Event::Odd { op, text } => (*op, at, Outcome::Odd(text.clone()), Answer::default()),
        _ => return None,
    })
}
