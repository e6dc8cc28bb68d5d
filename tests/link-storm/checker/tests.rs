//! Histories that are written by hand: what must be found, and what doubt excuses.

use super::{Promise, check};
use crate::history::{
    Accepted, Answer, Disturbance, Event, Fate, Handed, Intent, Line, Owner, Record, RecordState, Time,
};

const SECOND: Time = 1_000_000;

/// A history that grows by one second with each line.
#[derive(Default)]
struct Tale {
    lines: Vec<Line>,
    ops: u64,
    sequence: u64,
    /// By key, the sequence of the last record.
    last: std::collections::HashMap<String, u64>,
}

impl Tale {
    /// Three machines with a lease that lasts to the end, and an agent on each: `a`, `b` and `c`.
    fn of_three() -> Self {
        let mut tale = Self::default();
        for (who, machine) in [("a", "ma"), ("b", "mb"), ("c", "mc")] {
            tale.add(who, Event::Born { machine: machine.into(), session: format!("session-{who}"), pid: 1 });
            tale.lease(machine, "e1");
        }
        tale
    }

    fn add(&mut self, who: &str, event: Event) -> Time {
        let at = (self.lines.len() as Time + 1) * SECOND;
        self.lines.push(Line { at, who: who.to_string(), event });
        at
    }

    fn record(&mut self, key: &str, state: RecordState) {
        self.sequence += 1;
        let replaces = Some(self.last.insert(key.to_string(), self.sequence).unwrap_or(0));
        let effect = (self.lines.len() as Time + 1) * SECOND;
        let (sequence, key) = (self.sequence, key.to_string());
        self.add("server", Event::Record(Record { sequence, effect, key, replaces, state }));
    }

    fn lease(&mut self, machine: &str, epoch: &str) {
        self.record(&format!("machine.{machine}"), RecordState::Lease { epoch: epoch.into() });
    }

    /// Every machine renews its lease.
    fn renew(&mut self) {
        ["ma", "mb", "mc"].iter().for_each(|machine| self.lease(machine, "e1"));
    }

    fn begin(&mut self, who: &str, intent: Intent) -> u64 {
        self.ops += 1;
        self.add(who, Event::Invoke { op: self.ops, intent, fate: Fate::Lives });
        self.ops
    }

    fn ok(&mut self, who: &str, intent: Intent, answer: Answer) {
        let op = self.begin(who, intent);
        self.add(who, Event::Ok { op, answer });
    }

    fn no(&mut self, who: &str, intent: Intent, code: i32, kind: &str) {
        let op = self.begin(who, intent);
        self.add(who, Event::No { op, code, kind: kind.into(), answer: Answer::default() });
    }

    fn claim(&mut self, who: &str, task: &str) {
        let answer = Answer { task: Some((task.into(), format!("session-{who}"))), ..Answer::default() };
        self.ok(who, Intent::Claim { task: task.into() }, answer);
    }

    fn complete(&mut self, who: &str, task: &str) {
        self.ok(who, Intent::Complete { task: task.into() }, Answer::default());
    }

    fn send(&mut self, who: &str, to: &str, number: u64) {
        let answer =
            Answer { accepted: vec![Accepted { to: to.into(), stem: stem(number) }], ..Answer::default() };
        let token = format!("{who}.{number}");
        self.ok(who, Intent::Send { to: to.into(), token, wants_ack: false }, answer);
    }

    fn read(&mut self, who: &str, from: &str, numbers: &[u64]) {
        self.ok(who, Intent::Read, handed(from, numbers));
    }

    fn lies(&mut self, place: &str, number: u64) {
        self.add("stock", Event::Lies { place: place.into(), stem: stem(number) });
    }

    /// All who were born live to the end.
    fn rest(&mut self) {
        for who in ["a", "b", "c"] {
            self.add(who, Event::Rests);
        }
    }

    fn broken(&self) -> Vec<Promise> {
        let mut promises: Vec<Promise> =
            check(&self.lines).violations.into_iter().map(|violation| violation.promise).collect();
        promises.sort_unstable();
        promises.dedup();
        promises
    }
}

fn stem(number: u64) -> String {
    format!("{number:013}-aaaa{number:02}")
}

fn handed(from: &str, numbers: &[u64]) -> Answer {
    let handed = numbers.iter().map(|number| Handed::of(&format!("{from}.{number}"), &stem(*number)));
    Answer { handed: handed.collect(), ..Answer::default() }
}

fn owner(who: &str, epoch: &str) -> Owner {
    Owner { machine: format!("m{who}"), epoch: epoch.into(), session: format!("session-{who}") }
}

fn owned(thing: &str, owner: Owner) -> RecordState {
    RecordState::Owned { thing: thing.into(), owner, is_done: false }
}

#[test]
fn two_owners_of_a_task_are_found() {
    let mut tale = Tale::of_three();
    tale.claim("a", "T-1");
    tale.claim("b", "T-1");
    tale.renew();
    assert_eq!(tale.broken(), [Promise::OneOwner]);
}

#[test]
fn an_owner_whose_lease_may_be_over_owns_nothing() {
    // Its machine does not renew its lease afterwards.
    let mut tale = Tale::of_three();
    tale.claim("a", "T-1");
    tale.lease("mb", "e1");
    tale.claim("b", "T-1");
    tale.lease("mb", "e1");
    assert_eq!(tale.broken(), []);
    // It has another one afterwards.
    tale.lease("ma", "e2");
    tale.lease("ma", "e2");
    assert_eq!(tale.broken(), []);
    // A renewal was not seen, or it was one of a lease that was over.
    let mut tale = Tale::of_three();
    tale.claim("a", "T-1");
    tale.last.insert("machine.ma".into(), 77);
    tale.claim("b", "T-1");
    tale.renew();
    assert_eq!(tale.broken(), []);
    // It was granted under one lease, and answered under the next.
    let mut tale = Tale::of_three();
    let op = tale.begin("a", Intent::Claim { task: "T-1".into() });
    tale.lease("ma", "e2");
    let answer = Answer { task: Some(("T-1".into(), "session-a".into())), ..Answer::default() };
    tale.add("a", Event::Ok { op, answer });
    tale.claim("b", "T-1");
    ["ma", "mb"].iter().zip(["e2", "e1"]).for_each(|(machine, epoch)| tale.lease(machine, epoch));
    assert_eq!(tale.broken(), []);
}

#[test]
fn what_is_given_up_or_left_behind_is_free() {
    let ends: [&dyn Fn(&mut Tale); 4] = [
        &|tale| tale.ok("a", Intent::Unclaim { task: "T-1".into() }, Answer::default()),
        &|tale| tale.ok("a", Intent::Leave, Answer::default()),
        // It may have come so far before it was killed.
        &|tale| {
            tale.begin("a", Intent::Unclaim { task: "T-1".into() });
        },
        &|tale| {
            let deed = Disturbance::KillAgent { who: "a".into() };
            tale.add("nemesis", Event::Disturbance { number: 1, deed });
        },
    ];
    for end in ends {
        let mut tale = Tale::of_three();
        tale.claim("a", "T-1");
        end(&mut tale);
        tale.claim("b", "T-1");
        tale.renew();
        assert_eq!(tale.broken(), []);
    }
    // A refusal ends nothing.
    let mut tale = Tale::of_three();
    tale.claim("a", "T-1");
    tale.no("a", Intent::Unclaim { task: "T-1".into() }, 1, "not_claimed");
    tale.claim("b", "T-1");
    tale.renew();
    assert_eq!(tale.broken(), [Promise::OneOwner]);
}

#[test]
fn overlapping_paths_are_found() {
    let reserve = |tale: &mut Tale, who: &str, path: &str| {
        let answer = Answer { paths: vec![path.into()], ..Answer::default() };
        tale.ok(who, Intent::Reserve { path: path.into() }, answer);
    };
    for (one, other, broken) in [
        ("d0/", "d0/f1", &[Promise::OneOwner][..]),
        ("d0/f1", "d0/", &[Promise::OneOwner]),
        ("d0/f1", "d0/f1", &[Promise::OneOwner]),
        ("d0/f1", "d0/f2", &[]),
        ("d0/f1", "d0/f11", &[]),
    ] {
        let mut tale = Tale::of_three();
        reserve(&mut tale, "a", one);
        reserve(&mut tale, "b", other);
        tale.renew();
        assert_eq!(tale.broken(), broken, "{one} {other}");
    }
}

#[test]
fn a_name_counts_once_the_server_has_it() {
    let join = |tale: &mut Tale, who: &str| {
        let answer = Answer { name: Some("Anna".into()), ..Answer::default() };
        tale.ok(who, Intent::Join { name: "Anna".into() }, answer);
    };
    // One joined without the server.
    let mut tale = Tale::of_three();
    join(&mut tale, "a");
    tale.record("name.1", owned("name Anna", owner("a", "e1")));
    join(&mut tale, "b");
    tale.renew();
    tale.rest();
    assert_eq!(tale.broken(), []);
    // The record passed from a live agent to another one.
    let mut tale = Tale::of_three();
    join(&mut tale, "a");
    tale.record("name.1", owned("name Anna", owner("a", "e1")));
    tale.record("name.1", owned("name anna", owner("b", "e1")));
    join(&mut tale, "b");
    tale.renew();
    tale.rest();
    assert_eq!(tale.broken(), [Promise::OneOwner, Promise::RecordsAreFenced]);
}

#[test]
fn a_record_is_taken_only_when_the_lease_is_over() {
    let mut tale = Tale::of_three();
    tale.record("task.1", owned("task T-1", owner("a", "e1")));
    tale.record("task.1", owned("task T-1", owner("b", "e1")));
    tale.renew();
    tale.rest();
    assert_eq!(tale.broken(), [Promise::RecordsAreFenced]);
    // Its lease was over before.
    let mut tale = Tale::of_three();
    tale.record("task.1", owned("task T-1", owner("a", "e1")));
    tale.record("machine.ma", RecordState::Gone);
    tale.record("task.1", owned("task T-1", owner("b", "e1")));
    tale.renew();
    tale.rest();
    assert_eq!(tale.broken(), []);
    // It may have been given back in between: that was not seen.
    let mut tale = Tale::of_three();
    tale.record("task.1", owned("task T-1", owner("a", "e1")));
    tale.last.insert("task.1".into(), 99);
    tale.record("task.1", owned("task T-1", owner("b", "e1")));
    tale.renew();
    tale.rest();
    assert_eq!(tale.broken(), []);
    // Its lease was over, and it has another one: what it had under the first is free.
    let mut tale = Tale::of_three();
    tale.record("task.1", owned("task T-1", owner("a", "e0")));
    tale.record("task.1", owned("task T-1", owner("b", "e1")));
    tale.renew();
    tale.rest();
    assert_eq!(tale.broken(), []);
}

#[test]
fn a_table_of_paths_is_fenced() {
    let paths = |held: &[(&str, &str)]| RecordState::Paths {
        held: held.iter().map(|(who, path)| (owner(who, "e1"), (*path).to_string())).collect(),
    };
    // Another machine writes itself in, and a live one out.
    let mut tale = Tale::of_three();
    tale.record("paths.1", paths(&[("a", "d0/")]));
    tale.record("paths.1", paths(&[("b", "d0/f1")]));
    tale.renew();
    tale.rest();
    assert_eq!(tale.broken(), [Promise::RecordsAreFenced]);
    // It lets go of it by itself.
    let mut tale = Tale::of_three();
    tale.record("paths.1", paths(&[("a", "d0/"), ("b", "d1/")]));
    tale.record("paths.1", paths(&[("b", "d1/")]));
    tale.record("paths.1", paths(&[("b", "d0/"), ("b", "d1/")]));
    tale.renew();
    tale.rest();
    assert_eq!(tale.broken(), []);
    // Both at once.
    let mut tale = Tale::of_three();
    tale.record("paths.1", paths(&[("a", "d0/"), ("b", "d0/f1")]));
    tale.renew();
    tale.rest();
    assert_eq!(tale.broken(), [Promise::OneOwner]);
}

#[test]
fn a_completion_by_a_loser_is_found() {
    let mut tale = Tale::of_three();
    tale.claim("b", "T-1");
    tale.complete("a", "T-1");
    tale.renew();
    assert_eq!(tale.broken(), [Promise::LosersCompleteNothing]);
    // The other one may have given it up meanwhile.
    let mut tale = Tale::of_three();
    tale.claim("b", "T-1");
    let op = tale.begin("a", Intent::Complete { task: "T-1".into() });
    tale.ok("b", Intent::Unclaim { task: "T-1".into() }, Answer::default());
    tale.add("a", Event::Ok { op, answer: Answer::default() });
    tale.renew();
    assert_eq!(tale.broken(), []);
}

#[test]
fn a_second_completion_is_found() {
    let mut tale = Tale::of_three();
    tale.complete("a", "T-1");
    tale.complete("b", "T-1");
    tale.renew();
    assert_eq!(tale.broken(), [Promise::CompletedOnce]);
    // It was opened again; perhaps: the command that did it was killed.
    let mut tale = Tale::of_three();
    tale.complete("a", "T-1");
    tale.begin("c", Intent::Reopen { task: "T-1".into() });
    tale.complete("b", "T-1");
    tale.renew();
    assert_eq!(tale.broken(), []);
    // A repeated completion says so.
    let mut tale = Tale::of_three();
    tale.complete("a", "T-1");
    let again = Answer { already: true, ..Answer::default() };
    tale.ok("a", Intent::Complete { task: "T-1".into() }, again);
    tale.renew();
    assert_eq!(tale.broken(), []);
    // The record was done, and was claimed all the same.
    let mut tale = Tale::of_three();
    let done = RecordState::Owned { thing: "task T-1".into(), owner: owner("a", "e1"), is_done: true };
    tale.record("task.1", done);
    tale.record("task.1", owned("task T-1", owner("b", "e1")));
    tale.rest();
    assert_eq!(tale.broken(), [Promise::CompletedOnce]);
}

#[test]
fn records_of_the_dead_are_found() {
    let mut tale = Tale::of_three();
    tale.record("task.1", owned("task T-1", owner("a", "e1")));
    tale.add("b", Event::Rests);
    assert_eq!(tale.broken(), [Promise::DeadOwnNothing]);
    tale.record("task.1", RecordState::Gone);
    assert_eq!(tale.broken(), []);
}

#[test]
fn a_lost_message_is_found() {
    let mut tale = Tale::of_three();
    tale.send("a", "Bob", 1);
    assert_eq!(tale.broken(), [Promise::NothingIsLost]);
    // Recorded as handed over, or put aside: nobody has it.
    for place in ["mb/seen/Bob/x", "server/dead"] {
        let mut tale = Tale::of_three();
        tale.send("a", "Bob", 1);
        tale.lies(place, 1);
        assert_eq!(tale.broken(), [Promise::NothingIsLost], "{place}");
    }
    for place in ["mb/inbox/Bob/x", "mb/graves/x", "ma/remote/queued/Bob/x", "ma/remote/refused/Bob/x"] {
        let mut tale = Tale::of_three();
        tale.send("a", "Bob", 1);
        tale.lies(place, 1);
        assert_eq!(tale.broken(), [], "{place}");
    }
}

#[test]
fn a_message_that_comes_twice_is_found() {
    let mut tale = Tale::of_three();
    tale.send("a", "Bob", 1);
    tale.read("b", "a", &[1]);
    tale.read("b", "a", &[1]);
    assert_eq!(tale.broken(), [Promise::HandedOverOnce]);
    // The first reader was killed.
    let mut tale = Tale::of_three();
    tale.send("a", "Bob", 1);
    let op = tale.begin("b", Intent::Read);
    tale.add("b", Event::Killed { op, answer: handed("a", &[1]) });
    tale.read("b", "a", &[1]);
    assert_eq!(tale.broken(), []);
}

#[test]
fn a_wrong_order_is_found() {
    let mut tale = Tale::of_three();
    tale.send("a", "Bob", 1);
    tale.send("a", "Bob", 2);
    tale.read("b", "a", &[2]);
    tale.read("b", "a", &[1]);
    assert_eq!(tale.broken(), [Promise::OrderIsKept]);
    let mut tale = Tale::of_three();
    tale.send("a", "Bob", 1);
    tale.send("a", "Bob", 2);
    tale.read("b", "a", &[2, 1]);
    assert_eq!(tale.broken(), [Promise::OrderIsKept]);
    // A reader that was killed had the first one in hand.
    let mut tale = Tale::of_three();
    tale.send("a", "Bob", 1);
    tale.send("a", "Bob", 2);
    let killed = tale.begin("b", Intent::Read);
    let reading = tale.begin("b", Intent::Read);
    tale.add("b", Event::Killed { op: killed, answer: Answer::default() });
    tale.add("b", Event::Ok { op: reading, answer: handed("a", &[2]) });
    tale.read("b", "a", &[1]);
    assert_eq!(tale.broken(), []);
}

#[test]
fn odd_answers_and_unrest_are_found() {
    let mut tale = Tale::of_three();
    tale.no("a", Intent::Read, 1, "made_up");
    assert_eq!(tale.broken(), [Promise::EverythingAnswers]);
    let mut tale = Tale::of_three();
    tale.add("stock", Event::Unsettled { what: "mail waits".into() });
    assert_eq!(tale.broken(), [Promise::ComesToRest]);
}
