//! The numbers of a storm.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use super::story::{Outcome, Story};
use crate::history::{Fate, Handed};

#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub operations: usize,
    pub done: usize,
    /// By error kind.
    pub refused: BTreeMap<String, usize>,
    pub killed: usize,
    pub stopped: usize,
    pub unknown: usize,
    /// By what the nemesis did.
    pub deeds: BTreeMap<String, usize>,
    /// By operation.
    pub intents: BTreeMap<String, usize>,
    pub accepted: usize,
    pub delivered: usize,
    /// Of those, how many were sent from another machine.
    pub carried: usize,
    pub again: usize,
    pub lie: usize,
    pub returned: usize,
    /// Changes of the server's records.
    pub records: usize,
    pub proven: Proven,
    pub seconds: f64,
}

/// What the verdict is based on.
#[derive(Clone, Debug, Default)]
pub struct Proven {
    /// Names, tasks and paths that were certainly held.
    pub names: usize,
    pub tasks: usize,
    pub paths: usize,
    /// Messages whose order was compared.
    pub pairs: usize,
    /// Messages that reached another session than the one that certainly had the name when they were sent.
    pub astray: usize,
    pub completions: usize,
    /// How often another machine got what a lease had held.
    pub takeovers: usize,
    pub leases: usize,
}

impl Figures {
    pub(super) fn of(story: &Story<'_>, proven: Proven) -> Self {
        let mut figures = Self { operations: story.ops.len(), proven, ..Self::default() };
        figures.records = story.records.len();
        let mut handed: HashMap<&Handed, (usize, &str)> = HashMap::new();
        let mut stems: HashSet<&str> = HashSet::new();
        let mut machines: HashMap<Handed, &str> = HashMap::new();
        for op in &story.ops {
            *figures.intents.entry(first_word(op.intent)).or_default() += 1;
            match &op.outcome {
                Outcome::Ok => figures.done += 1,
                Outcome::No { kind, .. } => *figures.refused.entry(kind.clone()).or_default() += 1,
                Outcome::Killed => figures.killed += 1,
                Outcome::Orphaned | Outcome::Odd(_) | Outcome::Unknown => figures.unknown += 1,
            }
            figures.stopped += usize::from(matches!(op.fate, Fate::Stopped(..)));
            if let crate::history::Intent::Send { token, .. } | crate::history::Intent::Broadcast { token } =
                op.intent
            {
                let keys = op.answer.accepted.iter().map(|accepted| Handed::of(token, &accepted.stem));
                machines.extend(keys.map(|key| (key, op.machine)));
            }
            stems.extend(op.answer.accepted.iter().map(|accepted| accepted.stem.as_str()));
            for key in &op.answer.handed {
                handed.entry(key).or_insert((0, op.machine)).0 += 1;
            }
        }
        for (deed, _) in &story.deeds {
            *figures.deeds.entry(first_word(deed)).or_default() += 1;
        }
        figures.accepted = machines.len();
        figures.delivered = handed.len();
        let is_carried =
            |(key, (_, to)): &(&&Handed, &(usize, &str))| machines.get(**key).is_some_and(|from| from != to);
        figures.carried = handed.iter().filter(is_carried).count();
        figures.again = handed.values().map(|(count, _)| count - 1).sum();
        for (_, lies) in story.lies.iter().filter(|(stem, _)| stems.contains(**stem)) {
            let is_in = |inside: &str| lies.iter().any(|(place, _)| place.contains(inside));
            figures.returned += usize::from(is_in("/remote/refused/"));
            figures.lie += usize::from(["/inbox/", "/graves/", "/quarantine/"].iter().any(|dir| is_in(dir)));
        }
        let first = story.ops.first().map_or(story.last, |op| op.invoked);
        figures.seconds = (story.last - first) as f64 / 1e6;
        figures
    }

    /// How often the nemesis did that.
    pub fn deed(&self, name: &str) -> usize {
        self.deeds.get(name).copied().unwrap_or_default()
    }
}

/// `Send { … }` is `Send`.
fn first_word(value: &impl fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.split([' ', '(', '{']).next().unwrap_or_default().to_string()
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |counts: &BTreeMap<String, usize>| {
            let words: Vec<String> = counts.iter().map(|(word, count)| format!("{word} {count}")).collect();
            words.join(", ")
        };
        let Self { operations, seconds, done, killed, stopped, unknown, .. } = self;
        writeln!(f, "{operations} operations in {seconds:.0} s: {}", list(&self.intents))?;
        let refused: usize = self.refused.values().sum();
        writeln!(
            f,
            "{done} done, {refused} refused, {killed} killed, {stopped} stopped, {unknown} never answered"
        )?;
        writeln!(f, "refused: {}", list(&self.refused))?;
        writeln!(f, "the nemesis: {}", list(&self.deeds))?;
        let Self { accepted, delivered, carried, again, lie, returned, records, .. } = self;
        writeln!(
            f,
            "{accepted} messages accepted, {delivered} handed over, {carried} of them from another machine, {again} again \
             behind a kill, {lie} lie in inboxes, graves and quarantine, {returned} were refused with word to the sender"
        )?;
        let Proven { names, tasks, paths, pairs, astray, completions, takeovers, leases } = &self.proven;
        writeln!(
            f,
            "{records} changes of the server's records, {leases} leases, {takeovers} things passed to another machine"
        )?;
        write!(
            f,
            "surely held: {names} names, {tasks} tasks, {paths} paths; {completions} completions; {pairs} pairs of messages \
             compared for their order; {astray} messages reached who took the name since"
        )
    }
}
