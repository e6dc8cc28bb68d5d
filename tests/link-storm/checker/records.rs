//! The server's records, in its order: who certainly had a lease, and whether anything was taken from such an owner.

use std::collections::{BTreeMap, HashMap};

use super::holdings::covers;
use super::story::Story;
use super::{Promise, Violation};
use crate::history::{Line, Owner, Record, RecordState, Time};

/// A lease that was certainly held without interruption: each renewal replaced the one before it.
#[derive(Clone, Debug)]
pub(super) struct Lease<'h> {
    pub(super) epoch: &'h str,
    first: u64,
    last: u64,
    from: Time,
    until: Time,
}

impl Lease<'_> {
    pub(super) fn until(&self) -> Time {
        self.until
    }
}

#[derive(Debug)]
pub(super) struct Records<'h> {
    all: Vec<(&'h Record, &'h Line)>,
    leases: BTreeMap<&'h str, Vec<Lease<'h>>>,
}

pub(super) struct Findings {
    pub(super) violations: Vec<Violation>,
    /// How often something was taken from an owner on another machine.
    pub(super) takeovers: usize,
    /// How many leases there were.
    pub(super) leases: usize,
}

impl<'h> Records<'h> {
    pub(super) fn of(story: &Story<'h>) -> Self {
        let mut leases: BTreeMap<&str, Vec<Lease<'h>>> = BTreeMap::new();
        let mut is_open: HashMap<&str, bool> = HashMap::new();
        for (record, _) in &story.records {
            let Some(machine) = record.key.strip_prefix("machine.") else { continue };
            let of_machine = leases.entry(machine).or_default();
            let RecordState::Lease { epoch } = &record.state else {
                is_open.insert(machine, false);
                continue;
            };
            let (sequence, effect) = (record.sequence, record.effect);
            match of_machine.last_mut() {
                Some(lease)
                    if is_open.get(machine) == Some(&true)
                        && lease.epoch == epoch
                        && record.replaces == Some(lease.last) =>
                {
                    (lease.last, lease.until) = (sequence, lease.until.max(effect));
                }
                _ => of_machine.push(Lease {
                    epoch,
                    first: sequence,
                    last: sequence,
                    from: effect,
                    until: effect,
                }),
            }
            is_open.insert(machine, true);
        }
        Self { all: story.records.clone(), leases }
    }

    /// The lease that the machine certainly had all that time.
    pub(super) fn lease(&self, machine: &str, from: Time, until: Time) -> Option<&Lease<'h>> {
        let covers = |lease: &&Lease<'h>| lease.from <= from && lease.until >= until;
        self.leases.get(machine)?.iter().find(covers)
    }

    /// Whether the owner certainly had its lease when the server wrote that.
    fn lived(&self, owner: &Owner, sequence: u64) -> bool {
        let is_it =
            |lease: &Lease<'h>| lease.epoch == owner.epoch && lease.first < sequence && sequence < lease.last;
        self.leases.get(owner.machine.as_str()).is_some_and(|leases| leases.iter().any(is_it))
    }

    /// From when on the server's record says that this session has the name, while that lease lasts.
    pub(super) fn named(
        &self,
        name: &str,
        session: &str,
        lease: &Lease<'h>,
        from: Time,
    ) -> Option<(Time, &'h Line)> {
        let is_name = |record: &Record| matches!(&record.state, RecordState::Owned { thing, .. } if thing.strip_prefix("name ").is_some_and(|thing| thing.eq_ignore_ascii_case(name)));
        let key = &self.all.iter().find(|(record, _)| is_name(record))?.0.key;
        let of_key = || self.all.iter().filter(|(record, _)| record.key == *key);
        let is_ours = |record: &Record| match &record.state {
            RecordState::Owned { owner, .. } => owner.session == session && owner.epoch == lease.epoch,
            _ => false,
        };
        let before = of_key().rfind(|(record, _)| record.effect <= from);
        if let Some((_, line)) = before.filter(|(record, _)| is_ours(record)) {
            return Some((from, line));
        }
        let after = of_key().find(|(record, _)| record.effect > from && is_ours(record));
        after.map(|(record, line)| (record.effect, *line))
    }

    pub(super) fn check(&self) -> Findings {
        let mut known: HashMap<&str, (&Record, &Line)> = HashMap::new();
        let (mut violations, mut takeovers) = (Vec::new(), 0);
        for (record, line) in &self.all {
            if let RecordState::Paths { held } = &record.state {
                violations.extend(self.overlap(record, held, line));
            }
            let before = known.insert(&record.key, (record, line));
            // What came in between was not seen, so nothing is certain.
            let Some((before, seen)) = before.filter(|(before, _)| record.replaces == Some(before.sequence))
            else {
                continue;
            };
            let mut broken = |promise, text: String| {
                violations.push(Violation { promise, text, proof: vec![seen.clone(), (*line).clone()] });
            };
            match (&before.state, &record.state) {
                (RecordState::Owned { is_done: true, thing, .. }, RecordState::Owned { owner, .. }) => {
                    broken(
                        Promise::CompletedOnce,
                        format!("{thing} was done, and {owner:?} has it without opening it again"),
                    );
                }
                (
                    RecordState::Owned { owner: loser, thing, is_done: false },
                    RecordState::Owned { owner, .. },
                ) => {
                    if loser.machine != owner.machine && self.lived(loser, record.sequence) {
                        let text = format!("{owner:?} took {thing} from {loser:?}, whose lease was not over");
                        broken(Promise::RecordsAreFenced, text);
                    }
                    takeovers += usize::from(loser.machine != owner.machine);
                }
                (RecordState::Paths { held: before }, RecordState::Paths { held }) => {
                    let writer = held.iter().find(|entry| !before.contains(entry)).map(|(owner, _)| owner);
                    let Some(writer) = writer else { continue };
                    let gone = before.iter().filter(|entry| !held.contains(entry));
                    for (loser, pattern) in gone.filter(|(loser, _)| loser.machine != writer.machine) {
                        if self.lived(loser, record.sequence) {
                            let text = format!(
                                "{writer:?} took `{pattern}` from {loser:?}, whose lease was not over"
                            );
                            broken(Promise::RecordsAreFenced, text);
                        }
                        takeovers += 1;
                    }
                }
                _ => {}
            }
        }
        Findings { violations, takeovers, leases: self.leases.values().map(|leases| epochs(leases)).sum() }
    }

    /// Two machines with overlapping paths. Agents of one machine are told apart by its mesh.
    fn overlap(&self, record: &Record, held: &[(Owner, String)], line: &Line) -> Option<Violation> {
        let live: Vec<&(Owner, String)> =
            held.iter().filter(|(owner, _)| self.lived(owner, record.sequence)).collect();
        let pairs =
            live.iter().enumerate().flat_map(|(at, one)| live[at + 1..].iter().map(move |two| (one, two)));
        let mut both = pairs.filter(|((a, path_a), (b, path_b))| {
            a.machine != b.machine && (covers(path_a, path_b) || covers(path_b, path_a))
        });
        let ((a, path_a), (b, path_b)) = both.next()?;
        let text = format!("{a:?} has `{path_a}`, and {b:?} has `{path_b}`");
        Some(Violation { promise: Promise::OneOwner, text, proof: vec![line.clone()] })
    }

    /// Records that are left in the end and whose owner does not live.
    pub(super) fn owned_by_dead(&self, story: &Story<'h>) -> Vec<Violation> {
        let mut last: BTreeMap<&str, (&Record, &Line)> = BTreeMap::new();
        for (record, line) in &self.all {
            last.insert(&record.key, (record, line));
        }
        let mut violations = Vec::new();
        for (record, line) in last.into_values() {
            let owners = match &record.state {
                RecordState::Owned { owner, is_done: false, .. } => vec![owner],
                RecordState::Paths { held } => held.iter().map(|(owner, _)| owner).collect(),
                _ => continue,
            };
            for owner in owners.into_iter().filter(|owner| !story.resting.contains(owner.session.as_str())) {
                let text = format!("{owner:?} is dead, and still has {:?}", record.state);
                violations.push(Violation {
                    promise: Promise::DeadOwnNothing,
                    text,
                    proof: vec![line.clone()],
                });
            }
        }
        violations
    }
}

fn epochs(leases: &[Lease<'_>]) -> usize {
    let mut epochs: Vec<&str> = leases.iter().map(|lease| lease.epoch).collect();
    epochs.sort_unstable();
    epochs.dedup();
    epochs.len()
}
