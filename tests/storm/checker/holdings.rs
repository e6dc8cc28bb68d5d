//! Computes who certainly held what, from when to when. No two intervals of one thing may overlap.
//!
//! An interval begins with the answer that grants it, and ends with the first attempt of anything that could end it: a
//! command of its holder, an eviction, a kill, a foreign change of its registration. If something could have ended it
//! while it was being granted, there is no interval.

use std::collections::{BTreeMap, BTreeSet};

use super::story::{Op, Outcome, Story};
use super::{Promise, Violation};
use crate::history::{Disturbance, Fate, Intent, Line, Time};

/// A command whose end nobody saw has no effect after this long, in microseconds.
const LONGEST: Time = 60_000_000;

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Thing {
    /// In lower case, because names are unique regardless of case.
    Name(String),
    Task(String),
    Path(String),
}

impl Thing {
    pub(super) fn name(name: &str) -> Self {
        Self::Name(name.to_lowercase())
    }

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

pub(super) fn covers(pattern: &str, path: &str) -> bool {
    pattern == path || pattern.ends_with('/') && path.starts_with(pattern)
}

#[derive(Clone, Debug)]
pub(super) struct Held<'h> {
    pub(super) thing: Thing,
    pub(super) who: &'h str,
    pub(super) since: Time,
    pub(super) until: Time,
    proof: Vec<&'h Line>,
}

/// What an event ends.
#[derive(Clone, Debug)]
enum Scope {
    All,
    Name,
    /// The task, and the paths that were reserved with it.
    Task(Option<String>),
    Path(String),
    /// The path, and everything in it.
    Within(String),
    /// The path, everything in it, and whatever it is in.
    Around(String),
    AllPaths,
}

struct End<'h> {
    scope: Scope,
    from: Time,
    until: Time,
    line: &'h Line,
}

struct Begin<'h> {
    thing: Thing,
    /// The task with which a path was reserved.
    task: Option<String>,
    tried: Time,
    granted: Time,
    lines: Vec<&'h Line>,
}

#[derive(Debug, Default)]
pub(super) struct Holdings<'h> {
    /// By bucket, ordered by time.
    held: BTreeMap<String, Vec<Held<'h>>>,
}

impl<'h> Holdings<'h> {
    pub(super) fn of(story: &Story<'h>) -> Self {
        let mut begins: BTreeMap<&str, Vec<Begin<'h>>> = BTreeMap::new();
        let mut ends: BTreeMap<&str, Vec<End<'h>>> = BTreeMap::new();
        let mut names: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for op in &story.ops {
            let known = names.entry(op.who).or_default();
            known.extend(names_in(op));
            ends.entry(op.who).or_default().extend(own_ends(op));
            for (session, begin) in granted(op) {
                let who =
                    if session == op.session { Some(op.who) } else { story.life_of(session, begin.granted) };
                if let Some(who) = who {
                    begins.entry(who).or_default().push(begin);
                }
            }
        }
        for (name, from, until, line) in cuts(story) {
            for (who, known) in &names {
                if known.contains(&name.to_lowercase()) {
                    ends.entry(who).or_default().push(End { scope: Scope::All, from, until, line });
                }
            }
        }
        for (name, scope, op) in takings(story) {
            for (who, known) in &names {
                if known.contains(&name.to_lowercase()) {
                    let until = op.ended.min(op.invoked + LONGEST);
                    let end = End { scope: scope.clone(), from: op.invoked, until, line: op.lines[0] };
                    ends.entry(who).or_default().push(end);
                }
            }
        }
        for (who, line) in story.deaths() {
            let (scope, from, until) = (Scope::All, line.at, Time::MAX);
            ends.entry(who).or_default().push(End { scope, from, until, line });
        }
        let mut held: BTreeMap<String, Vec<Held<'h>>> = BTreeMap::new();
        for (who, begins) in begins {
            let ends = ends.get(who).map_or(&[][..], Vec::as_slice);
            for interval in begins.into_iter().filter_map(|begin| interval(who, begin, ends, story.last)) {
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

    pub(super) fn check(&self, story: &Story<'h>) -> Vec<Violation> {
        let mut violations = Vec::new();
        for held in self.held.values() {
            for (at, first) in held.iter().enumerate() {
                for second in held[at + 1..].iter().take_while(|second| second.since < first.until) {
                    if first.who != second.who && first.thing.excludes(&second.thing) {
                        violations.push(two_owners(first, second));
                    }
                }
            }
        }
        for op in &story.ops {
            let Some(path) = said_to_be_free(op) else { continue };
            let thing = Thing::Path(path.to_string());
            for held in self.holders(&thing, op.invoked, op.ended).filter(|held| held.who != op.who) {
                let text = format!("`{path}` was said to be free while {} held {:?}", held.who, held.thing);
                let proof = held.proof().into_iter().chain(op.proof()).collect();
                violations.push(Violation { promise: Promise::HeldIsRefused, text, proof });
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

/// The path that a command or a hook reported as free. A hook that ran out of time lets everything through, so it does
/// not count.
fn said_to_be_free<'h>(op: &Op<'h>) -> Option<&'h str> {
    const TIME_TO_LOOK: Time = 3_000_000;
    let path = match op.intent {
        Intent::Check { path } => path,
        Intent::Hook { path: Some(path), .. } => {
            let had_time = op.fate == Fate::Lives && op.ended - op.invoked < TIME_TO_LOOK;
            (op.outcome == Outcome::Ok && had_time).then_some(path)?
        }
        _ => return None,
    };
    (op.answer.free == Some(true)).then_some(path)
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

fn interval<'h>(who: &'h str, begin: Begin<'h>, ends: &[End<'h>], last: Time) -> Option<Held<'h>> {
    let mut until = last + 1;
    let mut lines = begin.lines.clone();
    for end in ends.iter().filter(|end| ends_it(&end.scope, &begin)) {
        // The command that grants one thing may end another.
        if begin.lines.contains_line(end.line) {
            continue;
        }
        if end.from <= begin.granted && end.until >= begin.tried {
            return None;
        }
        if end.from > begin.granted && end.from < until {
            until = end.from;
            lines.truncate(begin.lines.len());
            lines.push(end.line);
        }
    }
    Some(Held { thing: begin.thing, who, since: begin.granted, until, proof: lines })
}

trait ContainsLine {
    fn contains_line(&self, line: &Line) -> bool;
}

impl ContainsLine for Vec<&Line> {
    fn contains_line(&self, line: &Line) -> bool {
        self.iter().any(|own| std::ptr::eq(*own, line))
    }
}

fn ends_it(scope: &Scope, begin: &Begin<'_>) -> bool {
    match (scope, &begin.thing) {
        (Scope::All, _) | (Scope::Name, Thing::Name(_)) | (Scope::AllPaths, Thing::Path(_)) => true,
        (Scope::Task(which), Thing::Task(task)) => which.as_ref().is_none_or(|which| which == task),
        (Scope::Task(which), Thing::Path(_)) => match (&begin.task, which) {
            (Some(task), Some(which)) => task == which,
            (Some(_), None) => true,
            (None, _) => false,
        },
        (Scope::Path(released), Thing::Path(path)) => released == path,
        (Scope::Within(given), Thing::Path(path)) => covers(given, path),
        (Scope::Around(taken), Thing::Path(path)) => covers(taken, path) || covers(path, taken),
        _ => false,
    }
}

/// The names that an agent may have got by this operation.
fn names_in(op: &Op<'_>) -> Vec<String> {
    let wanted = match op.intent {
        Intent::Join { name } => name.clone(),
        Intent::Rename { to } => Some(to.clone()),
        _ => None,
    };
    wanted.into_iter().chain(op.answer.name.clone()).map(|name| name.to_lowercase()).collect()
}

/// What a command of the holder itself could end.
fn own_ends<'h>(op: &Op<'h>) -> Vec<End<'h>> {
    if op.is_refused() {
        return Vec::new();
    }
    let scopes = match op.intent {
        Intent::Leave => vec![Scope::All],
        Intent::Rename { .. } => vec![Scope::Name],
        Intent::Release { paths } if paths.is_empty() => vec![Scope::AllPaths],
        Intent::Release { paths } => paths.iter().cloned().map(Scope::Path).collect(),
        Intent::Complete { task } => vec![Scope::Task(Some(task.clone()))],
        Intent::Handoff { task, .. } => handed_over(op, task),
        Intent::Unclaim => vec![Scope::Task(None)],
        _ => Vec::new(),
    };
    let until = op.ended.min(op.invoked + LONGEST);
    scopes.into_iter().map(|scope| End { scope, from: op.invoked, until, line: op.lines[0] }).collect()
}

/// The task and its paths, which only the answer names.
fn handed_over(op: &Op<'_>, task: &str) -> Vec<Scope> {
    let task = Scope::Task(Some(task.to_string()));
    match op.outcome {
        Outcome::Ok => {
            std::iter::once(task).chain(op.answer.paths.iter().cloned().map(Scope::Within)).collect()
        }
        _ => vec![task, Scope::AllPaths],
    }
}

/// What an answer grants, and to which session.
fn granted<'a, 'h>(op: &'a Op<'h>) -> Vec<(&'a str, Begin<'h>)> {
    if op.outcome != Outcome::Ok {
        return Vec::new();
    }
    let begin = |thing: Thing, task: Option<&String>| Begin {
        thing,
        task: task.cloned(),
        tried: op.invoked,
        granted: op.ended,
        lines: op.lines.clone(),
    };
    let paths = |task: Option<&String>| -> Vec<Begin<'h>> {
        op.answer.paths.iter().map(|path| begin(Thing::Path(path.clone()), task)).collect()
    };
    match op.intent {
        Intent::Join { .. } | Intent::Rename { .. } | Intent::WhoAmI => {
            let name = op.answer.name.iter();
            name.map(|name| (op.session, begin(Thing::name(name), None))).collect()
        }
        Intent::Reserve { .. } | Intent::TakeOver { .. } => {
            paths(None).into_iter().map(|begin| (op.session, begin)).collect()
        }
        Intent::Claim { .. } | Intent::Handoff { .. } => {
            let Some((task, session)) = &op.answer.task else { return Vec::new() };
            let own = begin(Thing::Task(task.clone()), None);
            std::iter::once(own).chain(paths(Some(task))).map(|begin| (session.as_str(), begin)).collect()
        }
        _ => Vec::new(),
    }
}

/// Who may have lost a path to a contester, and which.
fn takings<'s, 'h>(story: &'s Story<'h>) -> impl Iterator<Item = (&'h str, Scope, &'s Op<'h>)> {
    story.ops.iter().filter(|op| !op.is_refused()).filter_map(|op| match op.intent {
        Intent::TakeOver { path, from } => Some((from.as_str(), Scope::Around(path.clone()), op)),
        _ => None,
    })
}

/// When others changed the registration of a name.
fn cuts<'h>(story: &Story<'h>) -> Vec<(&'h str, Time, Time, &'h Line)> {
    let evictions = story.ops.iter().filter(|op| !op.is_refused()).filter_map(|op| match op.intent {
        Intent::Evict { name, .. } => {
            Some((name.as_str(), op.invoked, op.ended.min(op.invoked + LONGEST), op.lines[0]))
        }
        _ => None,
    });
    let blows = story.blows.iter().filter_map(|blow| match blow.deed {
        Disturbance::Foreign { name, .. } | Disturbance::Unregister { name } => {
            Some((name.as_str(), blow.from, blow.until, blow.line))
        }
        _ => None,
    });
    evictions.chain(blows).collect()
}
