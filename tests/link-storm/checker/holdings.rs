//! Computes who certainly held what, from when to when. No two intervals of one thing may overlap.
//!
//! An interval begins with the answer that grants it. It ends with the first attempt of anything that could end it: a
//! command of its holder, a kill, or the last renewal of its machine's lease that is certain. If something could have
//! ended it while it was being granted, or if the lease is not certain all that time, there is no interval.

use std::collections::BTreeMap;

use super::records::Records;
use super::story::{Op, Outcome, Story};
use super::{Promise, Violation};
use crate::history::{Intent, Line, Time};

/// A command whose end nobody saw has no effect after this long, in microseconds.
const LONGEST: Time = 90_000_000;

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Thing {
    /// In lower case, because names are unique regardless of case.
    Name(String),
    Task(String),
    Path(String),
}

impl Thing {
    /// Only things in the same bucket can exclude each other.
    fn bucket(&self) -> String {
        match self {
            Self::Name(name) => format!("name {name}"),
            Self::Task(task) => format!("task {task}"),
            Self::Path(path) => format!("path {}", path.split('/').next().unwrap_or_default()),
        }
    }

    /// Whether two agents cannot have both at the same time.
    fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(a), Self::Path(b)) => covers(a, b) || covers(b, a),
            _ => self == other,
        }
    }
}

/// Whether the pattern is the path, or a directory that it is in.
pub(super) fn covers(pattern: &str, path: &str) -> bool {
    let directory = pattern.trim_end_matches('/');
    let path = path.trim_end_matches('/');
    path == directory || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

#[derive(Clone, Debug)]
pub(super) struct Held<'h> {
    pub(super) thing: Thing,
    pub(super) who: &'h str,
    pub(super) session: &'h str,
    pub(super) since: Time,
    pub(super) until: Time,
    proof: Vec<&'h Line>,
}

/// What an event ends.
#[derive(Clone, Debug)]
enum Scope {
    All,
    Name,
    Task(String),
    Path(String),
}

struct End<'h> {
    scope: Scope,
    from: Time,
    until: Time,
    line: &'h Line,
}

#[derive(Debug, Default)]
pub(super) struct Holdings<'h> {
    /// By bucket, ordered by time.
    held: BTreeMap<String, Vec<Held<'h>>>,
}

impl<'h> Holdings<'h> {
    pub(super) fn of(story: &Story<'h>, records: &Records<'h>) -> Self {
        let mut ends: BTreeMap<&str, Vec<End<'h>>> = BTreeMap::new();
        for op in &story.ops {
            ends.entry(op.who).or_default().extend(own_end(op));
        }
        for (who, line) in story.deaths() {
            let (scope, from, until) = (Scope::All, line.at, Time::MAX);
            ends.entry(who).or_default().push(End { scope, from, until, line });
        }
        let mut held: BTreeMap<String, Vec<Held<'h>>> = BTreeMap::new();
        for op in story.ops.iter().filter(|op| op.outcome == Outcome::Ok) {
            let ends = ends.get(op.who).map_or(&[][..], Vec::as_slice);
            for interval in granted(op).into_iter().filter_map(|thing| interval(op, thing, ends, records)) {
                held.entry(interval.thing.bucket()).or_default().push(interval);
            }
        }
        held.values_mut().for_each(|held| held.sort_by_key(|held| held.since));
        Self { held }
    }

    /// The number of intervals of names, tasks and paths.
    pub(super) fn counts(&self) -> [usize; 3] {
        let all: Vec<&Thing> = self.held.values().flatten().map(|held| &held.thing).collect();
        let count = |is_it: fn(&Thing) -> bool| all.iter().filter(|thing| is_it(thing)).count();
        [
            count(|thing| matches!(thing, Thing::Name(_))),
            count(|thing| matches!(thing, Thing::Task(_))),
            count(|thing| matches!(thing, Thing::Path(_))),
        ]
    }

    /// The agents that certainly held that throughout.
    pub(super) fn holders<'a>(
        &'a self,
        thing: &'a Thing,
        from: Time,
        until: Time,
    ) -> impl Iterator<Item = &'a Held<'h>> {
        let is_it =
            move |held: &&Held<'h>| held.thing.excludes(thing) && held.since <= from && held.until >= until;
        self.held.get(&thing.bucket()).into_iter().flatten().filter(is_it)
    }

    pub(super) fn check(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for held in self.held.values() {
            for (at, first) in held.iter().enumerate() {
                for second in held[at + 1..].iter().take_while(|second| second.since < first.until) {
                    if first.session != second.session && first.thing.excludes(&second.thing) {
                        violations.push(two_owners(first, second));
                    }
                }
            }
        }
        violations
    }
}

impl Held<'_> {
    pub(super) fn proof(&self) -> Vec<Line> {
        self.proof.iter().map(|line| (*line).clone()).collect()
    }
}

fn two_owners(first: &Held<'_>, second: &Held<'_>) -> Violation {
    let text = format!(
        "{} held {:?} from {} to {}, and {} held {:?} from {} to {}",
        first.who,
        first.thing,
        first.since,
        first.until,
        second.who,
        second.thing,
        second.since,
        second.until
    );
    let proof = first.proof().into_iter().chain(second.proof()).collect();
    Violation { promise: Promise::OneOwner, text, proof }
}

fn interval<'h>(op: &Op<'h>, thing: Thing, ends: &[End<'h>], records: &Records<'h>) -> Option<Held<'h>> {
    // What was granted under one lease and answered under the next may belong to another by now.
    let lease = records.lease(op.machine, op.invoked, op.ended)?;
    let mut proof = op.lines.clone();
    let (mut since, mut until) = (op.ended, lease.until());
    if let Thing::Name(name) = &thing {
        // An agent may join without the server. Its name counts once the server has it.
        let (named, line) = records.named(name, op.session, lease, since)?;
        since = named;
        proof.push(line);
    }
    let mut ended_by = None;
    for end in ends.iter().filter(|end| ends_it(&end.scope, &thing)) {
        // The command that grants one thing may end another.
        if op.lines.iter().any(|own| std::ptr::eq(*own, end.line)) {
            continue;
        }
        if end.from <= since && end.until >= op.invoked {
            return None;
        }
        if end.from > since && end.from < until {
            (until, ended_by) = (end.from, Some(end.line));
        }
    }
    proof.extend(ended_by);
    (since < until).then_some(Held { thing, who: op.who, session: op.session, since, until, proof })
}

fn ends_it(scope: &Scope, thing: &Thing) -> bool {
    match (scope, thing) {
        (Scope::All, _) | (Scope::Name, Thing::Name(_)) => true,
        (Scope::Task(ended), Thing::Task(task)) => ended == task,
        (Scope::Path(released), Thing::Path(path)) => covers(released, path) || covers(path, released),
        _ => false,
    }
}

/// What a command of the holder itself could end.
fn own_end<'h>(op: &Op<'h>) -> Option<End<'h>> {
    if op.is_refused() {
        return None;
    }
    let scope = match op.intent {
        Intent::Leave => Scope::All,
        Intent::Rename { .. } => Scope::Name,
        Intent::Release { path } => Scope::Path(path.clone()),
        Intent::Complete { task } | Intent::Unclaim { task } => Scope::Task(task.clone()),
        _ => return None,
    };
    let until = op.ended.min(op.invoked + LONGEST);
    Some(End { scope, from: op.invoked, until, line: op.lines[0] })
}

/// What an answer grants.
fn granted(op: &Op<'_>) -> Vec<Thing> {
    match op.intent {
        Intent::Join { .. } | Intent::Rename { .. } | Intent::WhoAmI => {
            op.answer.name.iter().map(|name| Thing::Name(name.to_lowercase())).collect()
        }
        Intent::Reserve { .. } => op.answer.paths.iter().cloned().map(Thing::Path).collect(),
        Intent::Claim { .. } => {
            let own = op.answer.task.iter().filter(|(_, session)| session == op.session);
            own.map(|(task, _)| Thing::Task(task.clone())).collect()
        }
        _ => Vec::new(),
    }
}
