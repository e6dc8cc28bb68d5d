//! The numbers of a storm.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use super::mail::is_expiry;
use super::story::{Outcome, Story};
use crate::history::{Disturbance, Fate, Handed, Intent, Line};

#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub operations: usize,
    pub done: usize,
    /// By error kind.
    pub refused: BTreeMap<String, usize>,
    pub killed: usize,
    pub stopped: usize,
    pub unknown: usize,
    pub agents_killed: usize,
    /// By what the nemesis did.
    pub deeds: BTreeMap<String, usize>,
    /// By operation.
    pub intents: BTreeMap<String, usize>,
    pub accepted: usize,
    pub delivered: usize,
    pub again: usize,
    pub expired: usize,
    pub lie: usize,
    pub destroyed: usize,
    /// Edits that hooks were asked about, and edits that they refused.
    pub edits: [usize; 2],
    /// What the verdict is based on: names, tasks and paths that were certainly held, messages whose order was
    /// compared, and watchers that listened long enough.
    pub proven: Proven,
    pub seconds: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Proven {
    pub names: usize,
    pub tasks: usize,
    pub paths: usize,
    pub pairs: usize,
    pub watchers: usize,
}

impl Figures {
    pub(super) fn of(story: &Story<'_>, proven: Proven) -> Self {
        let mut figures = Self { operations: story.ops.len(), proven, ..Self::default() };
        let mut handed: HashMap<&Handed, usize> = HashMap::new();
        let mut stems: HashSet<&str> = HashSet::new();
        for op in &story.ops {
            *figures.intents.entry(first_word(op.intent)).or_default() += 1;
            match &op.outcome {
                Outcome::Ok => figures.done += 1,
                Outcome::No { kind, .. } => *figures.refused.entry(kind.clone()).or_default() += 1,
                Outcome::Killed => figures.killed += 1,
                Outcome::Orphaned | Outcome::Odd(_) | Outcome::Unknown => figures.unknown += 1,
            }
            if let (Intent::Hook { .. }, Some(free)) = (op.intent, op.answer.free) {
                figures.edits[0] += 1;
                figures.edits[1] += usize::from(!free);
            }
            figures.stopped += usize::from(matches!(op.fate, Fate::Stopped(..)));
            stems.extend(op.answer.accepted.iter().map(|accepted| accepted.stem.as_str()));
            op.answer.handed.iter().for_each(|key| *handed.entry(key).or_default() += 1);
        }
        for blow in &story.blows {
            figures.agents_killed += usize::from(matches!(blow.deed, Disturbance::KillAgent { .. }));
            *figures.deeds.entry(first_word(blow.deed)).or_default() += 1;
        }
        figures.accepted = stems.len();
        figures.delivered = handed.len();
        figures.again = handed.values().map(|count| count - 1).sum();
        let is_expired = |(stem, line): &(&&str, &&Line)| stems.contains(**stem) && is_expiry(line);
        figures.expired = story.seen.iter().filter(is_expired).count();
        let of_ours = story.lies.iter().filter(|(stem, _)| stems.contains(**stem));
        for (_, line) in of_ours {
            let trashed = format!("{:?}", line.event).contains("trash/");
            *(if trashed { &mut figures.destroyed } else { &mut figures.lie }) += 1;
        }
        let first = story.ops.first().map_or(story.last, |op| op.invoked);
        figures.seconds = (story.last - first) as f64 / 1e6;
        figures
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
        let Self { operations, seconds, done, killed, stopped, unknown, agents_killed, .. } = self;
        writeln!(f, "{operations} operations in {seconds:.0} s: {}", list(&self.intents))?;
        let refused: usize = self.refused.values().sum();
        writeln!(
            f,
            "{done} done, {refused} refused, {killed} killed, {stopped} stopped, {unknown} never answered"
        )?;
        writeln!(f, "refused: {}", list(&self.refused))?;
        writeln!(f, "{agents_killed} agents killed; the nemesis: {}", list(&self.deeds))?;
        let Self { accepted, delivered, again, expired, lie, destroyed, .. } = self;
        writeln!(
            f,
            "{accepted} messages accepted, {delivered} handed over, {again} again behind a kill, {expired} expired, {lie} lie in inboxes, \
             graves and quarantine, {destroyed} were in directories that the nemesis took away"
        )?;
        let [asked, refused] = self.edits;
        writeln!(f, "{asked} edits came before a hook, {refused} of them were refused")?;
        let Proven { names, tasks, paths, pairs, watchers } = &self.proven;
        write!(
            f,
            "surely held: {names} names, {tasks} tasks, {paths} paths; {pairs} pairs of messages compared for their order; \
             {watchers} watchers listened for long"
        )
    }
}
