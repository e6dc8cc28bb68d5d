//! A history as operations: what was tried, when, by whom, and with what result.

use std::collections::{BTreeMap, HashMap};

use crate::history::{Answer, Disturbance, Event, Fate, Intent, Line, Time};

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
        matches!(self.outcome, Outcome::No { code: 1..=3, .. })
    }

    /// Whether it may have been interrupted at any step.
    pub(super) fn is_cut_short(&self) -> bool {
        match &self.outcome {
            Outcome::Killed | Outcome::Unknown | Outcome::Odd(_) => true,
            Outcome::Orphaned => self.fate.is_death(),
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

/// What the nemesis did, from when to when.
#[derive(Clone, Debug)]
pub(super) struct Blow<'h> {
    pub(super) deed: &'h Disturbance,
    pub(super) from: Time,
    pub(super) until: Time,
    pub(super) line: &'h Line,
}

#[derive(Debug, Default)]
pub(super) struct Story<'h> {
    pub(super) ops: Vec<Op<'h>>,
    pub(super) blows: Vec<Blow<'h>>,
    /// Where messages were at the end, by the name of their file.
    pub(super) lies: HashMap<&'h str, &'h Line>,
    /// Messages recorded as handed over, by the name of their file.
    pub(super) seen: HashMap<&'h str, &'h Line>,
    /// Sessions by life.
    sessions: BTreeMap<&'h str, &'h str>,
    /// The lives of each session, ordered by time.
    lives: HashMap<&'h str, Vec<(Time, &'h str)>>,
    ends: Vec<&'h Line>,
    pub(super) last: Time,
}

impl<'h> Story<'h> {
    pub(super) fn of(lines: &'h [Line]) -> Self {
        let mut story = Self::default();
        let mut places: HashMap<(&str, u64), usize> = HashMap::new();
        let mut blows: HashMap<u64, usize> = HashMap::new();
        for line in lines {
            story.last = story.last.max(line.at);
            match &line.event {
                Event::Born { session, .. } => {
                    story.sessions.insert(&line.who, session);
                    story.lives.entry(session).or_default().push((line.at, &line.who));
                }
                Event::Invoke { op, intent, fate } => {
                    let session = story.sessions.get(line.who.as_str()).copied().unwrap_or("");
                    places.insert((&line.who, *op), story.ops.len());
                    story.ops.push(Op {
                        who: &line.who,
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
                Event::Ends => story.ends.push(line),
                Event::Disturbance { number, deed } => {
                    blows.insert(*number, story.blows.len());
                    story.blows.push(Blow { deed, from: line.at, until: Time::MAX, line });
                }
                Event::Did { number } => {
                    if let Some(place) = blows.get(number) {
                        story.blows[*place].until = line.at;
                    }
                }
                Event::Lies { place, stem } => {
                    let map = if place.starts_with("seen/") { &mut story.seen } else { &mut story.lies };
                    map.insert(stem, line);
                }
                event => {
                    let (op, ended, outcome, answer) = answered(event, line.at);
                    let Some(place) = places.get(&(line.who.as_str(), op)) else { continue };
                    let op = &mut story.ops[*place];
                    op.ended = ended;
                    op.outcome = outcome;
                    op.answer = answer;
                    op.lines.push(line);
                }
            }
        }
        story
    }

    /// The life of a session at that time.
    pub(super) fn life_of(&self, session: &str, at: Time) -> Option<&'h str> {
        let lives = self.lives.get(session)?.iter();
        lives.rev().find(|(born, _)| *born <= at).map(|(_, who)| *who)
    }

    pub(super) fn session_of(&self, who: &str) -> Option<&'h str> {
        self.sessions.get(who).copied()
    }

    /// The lines after which a life may have ended.
    pub(super) fn deaths(&self) -> impl Iterator<Item = (&'h str, &'h Line)> {
        let killed = self.blows.iter().filter_map(|blow| match blow.deed {
            Disturbance::KillAgent { who } => Some((who.as_str(), blow.line)),
            _ => None,
        });
        killed.chain(self.ends.iter().map(|line| (line.who.as_str(), *line)))
    }
}

fn answered(event: &Event, at: Time) -> (u64, Time, Outcome, Answer) {
    match event {
        Event::Ok { op, answer } => (*op, at, Outcome::Ok, answer.clone()),
        Event::No { op, code, kind, answer } => {
            (*op, at, Outcome::No { code: *code, kind: kind.clone() }, answer.clone())
        }
        Event::Killed { op, answer } => (*op, at, Outcome::Killed, answer.clone()),
        // Nobody saw when it ended.
        Event::Orphaned { op, answer } => (*op, Time::MAX, Outcome::Orphaned, answer.clone()),
        Event::Odd { op, text } => (*op, at, Outcome::Odd(text.clone()), Answer::default()),
        _ => (u64::MAX, at, Outcome::Unknown, Answer::default()),
    }
}
