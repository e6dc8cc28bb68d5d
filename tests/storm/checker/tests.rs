//! Hand-written histories: violations that must be found, and behaviour that must not count as one.

use crate::checker::{Promise, check};
use crate::history::{Accepted, Answer, Disturbance, Event, Fate, Handed, Intent, Line, Time};

/// A history under construction. Times are in milliseconds.
#[derive(Default)]
struct Script {
    lines: Vec<Line>,
    ops: u64,
}

impl Script {
    /// Two agents under their names, each with a session of its own.
    fn of_two() -> Self {
        let mut script = Self::default();
        for (who, session, name) in [("0.1", "ann", "Ann"), ("1.1", "bob", "Bob")] {
            script.line(0, who, Event::Born { session: session.to_string(), pid: 1 });
            let answer = Answer { name: Some(name.to_string()), ..Answer::default() };
            script.done(who, 1, 2, Intent::Join { name: Some(name.to_string()) }, answer);
        }
        script
    }

    fn line(&mut self, millis: Time, who: &str, event: Event) {
        self.lines.push(Line { at: millis * 1_000, who: who.to_string(), event });
    }

    fn tried(&mut self, who: &str, from: Time, intent: Intent, fate: Fate) -> u64 {
        self.ops += 1;
        self.line(from, who, Event::Invoke { op: self.ops, intent, fate });
        self.ops
    }

    fn done(&mut self, who: &str, from: Time, until: Time, intent: Intent, answer: Answer) {
        let op = self.tried(who, from, intent, Fate::Lives);
        self.line(until, who, Event::Ok { op, answer });
    }

    fn killed(&mut self, who: &str, from: Time, until: Time, intent: Intent, answer: Answer) {
        let op = self.tried(who, from, intent, Fate::After(1));
        self.line(until, who, Event::Killed { op, answer });
    }

    fn refused(&mut self, who: &str, from: Time, until: Time, intent: Intent, code: i32, kind: &str) {
        let op = self.tried(who, from, intent, Fate::Lives);
        let (kind, answer) = (kind.to_string(), Answer::default());
        self.line(until, who, Event::No { op, code, kind, answer });
    }

    fn deed(&mut self, from: Time, until: Time, deed: Disturbance) {
        self.ops += 1;
        self.line(from, "nemesis", Event::Disturbance { number: self.ops, deed });
        self.line(until, "nemesis", Event::Did { number: self.ops });
    }

    /// Ann sends to Bob.
    fn send(&mut self, from: Time, until: Time, number: u64) {
        self.send_for(None, from, until, number);
    }

    fn send_for(&mut self, ttl: Option<u64>, from: Time, until: Time, number: u64) {
        let intent = Intent::Send { to: "Bob".to_string(), token: token(number), ttl };
        let accepted = vec![Accepted { to: "Bob".to_string(), stem: stem(number) }];
        self.done("0.1", from, until, intent, Answer { accepted, ..Answer::default() });
    }

    fn read(&mut self, who: &str, from: Time, until: Time, numbers: &[u64]) {
        self.done(who, from, until, Intent::Read { limit: None }, handed(numbers));
    }

    fn claim(&mut self, who: &str, session: &str, from: Time, until: Time) {
        let task = Some(("T1".to_string(), session.to_string()));
        let intent = Intent::Claim { task: Some("T1".to_string()), paths: Vec::new() };
        self.done(who, from, until, intent, Answer { task, ..Answer::default() });
    }

    fn reserve(&mut self, who: &str, from: Time, until: Time, path: &str) {
        let paths = vec![path.to_string()];
        self.done(
            who,
            from,
            until,
            Intent::Reserve { paths: paths.clone() },
            Answer { paths, ..Answer::default() },
        );
    }

    fn lies(&mut self, place: &str, number: u64) {
        self.line(1_000_000, "nemesis", Event::Lies { place: place.to_string(), stem: stem(number) });
    }

    #[track_caller]
    fn breaks(mut self, promises: &[Promise]) {
        self.lines.sort_by_key(|line| line.at);
        let verdict = check(&self.lines);
        let mut broken: Vec<Promise> = verdict.violations.iter().map(|violation| violation.promise).collect();
        broken.dedup();
        assert_eq!(broken, promises, "{:#?}", verdict.violations);
        assert!(verdict.violations.iter().all(|violation| !violation.proof.is_empty()), "each is proven");
    }

    #[track_caller]
    fn breaks_nothing(self) {
        self.breaks(&[]);
    }
}

fn token(number: u64) -> String {
    format!("0.1.{number}")
}

fn stem(number: u64) -> String {
    format!("179470067611{number}-aaaaa{number}")
}

fn handed(numbers: &[u64]) -> Answer {
    let handed = numbers.iter().map(|number| Handed::of(&token(*number), &stem(*number))).collect();
    Answer { handed, ..Answer::default() }
}

#[test]
fn what_is_handed_over_or_lies_somewhere_is_not_lost() {
    let mut script = Script::of_two();
    for number in 1..=4 {
        script.send(10 * number, 10 * number + 5, number);
    }
    script.read("1.1", 60, 70, &[1]);
    script.lies("graves/Bob-0/inbox/x", 2);
    script.lies("quarantine/x", 3);
    script.lies("trash/inbox-7/x", 4);
    script.breaks_nothing();
}

#[test]
fn what_is_nowhere_is_lost() {
    let mut script = Script::of_two();
    script.send(10, 15, 1);
    script.breaks(&[Promise::NothingIsLost]);
}

#[test]
fn to_be_recorded_is_not_to_be_handed_over() {
    let mut script = Script::of_two();
    script.send(10, 15, 1);
    script.killed("1.1", 20, 30, Intent::Read { limit: None }, Answer::default());
    script.lies("seen/Bob/x", 1);
    script.breaks(&[Promise::NothingIsLost]);
}

#[test]
fn what_expires_was_to_expire_and_is_handed_to_nobody() {
    const EXPIRED: &str = "seen/Bob/x,1,expired.json";
    let script = |ttl: Option<u64>, place: &str| {
        let mut script = Script::of_two();
        script.send_for(ttl, 10, 15, 1);
        script.lies(place, 1);
        script
    };
    script(Some(1), EXPIRED).breaks_nothing();
    script(None, EXPIRED).breaks(&[Promise::NothingIsLost]);
    script(Some(1), "seen/Bob/x,1,read.json").breaks(&[Promise::NothingIsLost]);
    let mut both = script(Some(1), EXPIRED);
    both.read("1.1", 20, 30, &[1]);
    both.breaks(&[Promise::HandedOverOnce]);
    let mut late = Script::of_two();
    late.send_for(Some(1), 10, 15, 1);
    late.read("1.1", 1_016, 1_030, &[1]);
    late.breaks(&[Promise::HandedOverOnce]);
    let mut in_time = Script::of_two();
    in_time.send_for(Some(1), 10, 15, 1);
    in_time.read("1.1", 1_014, 1_030, &[1]);
    in_time.breaks_nothing();
    let mut killed = script(Some(1), EXPIRED);
    killed.killed("1.1", 20, 30, Intent::Read { limit: None }, handed(&[1]));
    killed.breaks_nothing();
}

#[test]
fn what_was_not_accepted_is_not_missed() {
    let mut script = Script::of_two();
    let intent = Intent::Send { to: "Bob".to_string(), token: token(1), ttl: None };
    script.killed("0.1", 10, 20, intent.clone(), Answer::default());
    script.refused("0.1", 30, 40, intent, 4, "disk_full");
    script.breaks_nothing();
}

#[test]
fn what_a_hook_says_counts_when_the_next_hook_shows_that_the_model_went_on() {
    let hook = || Intent::Hook { event: "PostToolUse".to_string(), path: None };
    let told = |goes_on: bool| {
        let mut script = Script::of_two();
        script.send(10, 15, 1);
        script.done("1.1", 20, 30, hook(), handed(&[1]));
        if goes_on {
            script.done("1.1", 32, 34, hook(), Answer::default());
        }
        script.read("1.1", 40, 50, &[1]);
        script
    };
    told(false).breaks_nothing();
    told(true).breaks(&[Promise::HandedOverOnce]);
}

#[test]
fn twice_is_once_too_often_unless_somebody_died() {
    let mut script = Script::of_two();
    script.send(10, 15, 1);
    script.read("1.1", 20, 30, &[1]);
    script.read("1.1", 40, 50, &[1]);
    script.breaks(&[Promise::HandedOverOnce]);
    let mut script = Script::of_two();
    script.send(10, 15, 1);
    script.killed("1.1", 20, 30, Intent::Read { limit: None }, handed(&[1]));
    script.read("1.1", 40, 50, &[1]);
    script.breaks_nothing();
}

#[test]
fn a_watchers_death_excuses_what_it_had_in_hand_and_no_more() {
    let mut script = Script::of_two();
    script.send(10, 15, 1);
    let others = (0..64).map(|number| Handed { token: format!("x.{number}"), letters: "000000".to_string() });
    let handed = handed(&[1]).handed.into_iter().chain(others).collect();
    script.killed("1.1", 20, 30, Intent::Watch, Answer { handed, ..Answer::default() });
    script.read("1.1", 40, 50, &[1]);
    script.breaks(&[Promise::HandedOverOnce]);
}

#[test]
fn order_is_kept_in_one_answer_and_from_one_to_the_next() {
    let mut script = Script::of_two();
    script.send(10, 15, 1);
    script.send(20, 25, 2);
    script.read("1.1", 30, 40, &[2, 1]);
    script.breaks(&[Promise::OrderIsKept]);
    let mut script = Script::of_two();
    script.send(10, 15, 1);
    script.send(20, 25, 2);
    script.read("1.1", 30, 40, &[2]);
    script.read("1.1", 50, 60, &[1]);
    script.breaks(&[Promise::OrderIsKept]);
}

#[test]
fn what_a_dead_reader_had_in_hand_may_come_late() {
    let mut script = Script::of_two();
    script.send(10, 15, 1);
    script.send(20, 25, 2);
    script.killed("1.1", 28, 35, Intent::Read { limit: None }, Answer::default());
    script.read("1.1", 30, 40, &[2]);
    script.read("1.1", 50, 60, &[1]);
    script.breaks_nothing();
}

#[test]
fn what_is_sent_to_one_session_reaches_no_other() {
    let mut script = Script::of_two();
    script.send(10, 15, 1);
    script.read("0.1", 20, 30, &[1]);
    script.breaks(&[Promise::ForTheRecipientAlone]);
    // If the name changed owners meanwhile, it is not known whom the message was for.
    let mut script = Script::of_two();
    script.deed(8, 9, Disturbance::Foreign { name: "Bob".to_string(), alive: false });
    script.send(10, 15, 1);
    script.read("0.1", 20, 30, &[1]);
    script.breaks_nothing();
}

#[test]
fn a_watcher_that_listens_long_enough_hears() {
    let watch = |until: Time| {
        let mut script = Script::of_two();
        script.done("1.1", 10, until, Intent::Watch, Answer::default());
        script.send(20, 25, 1);
        script.lies("inbox/Bob/x", 1);
        script
    };
    watch(30_000).breaks(&[Promise::WatchersHear]);
    watch(5_000).breaks_nothing();
}

#[test]
fn a_task_has_one_owner() {
    let mut script = Script::of_two();
    script.claim("0.1", "ann", 10, 20);
    script.claim("1.1", "bob", 30, 40);
    script.breaks(&[Promise::OneOwner]);
    for end in [Intent::Unclaim, Intent::Leave, Intent::Complete { task: "T1".to_string() }] {
        let mut script = Script::of_two();
        script.claim("0.1", "ann", 10, 20);
        script.killed("0.1", 25, 29, end, Answer::default());
        script.claim("1.1", "bob", 30, 40);
        script.breaks_nothing();
    }
    // A refused command has changed nothing.
    let mut script = Script::of_two();
    script.claim("0.1", "ann", 10, 20);
    script.refused("0.1", 22, 25, Intent::Unclaim, 3, "not_joined");
    script.claim("1.1", "bob", 30, 40);
    script.breaks(&[Promise::OneOwner]);
}

#[test]
fn a_death_ends_what_was_held_and_a_stop_does_not() {
    let mut script = Script::of_two();
    script.claim("0.1", "ann", 10, 20);
    script.deed(25, 26, Disturbance::KillAgent { who: "0.1".to_string() });
    script.claim("1.1", "bob", 30, 40);
    script.breaks_nothing();
    let mut script = Script::of_two();
    script.claim("0.1", "ann", 10, 20);
    script.deed(25, 90, Disturbance::StopAgent { who: "0.1".to_string(), millis: 65 });
    script.claim("1.1", "bob", 30, 40);
    script.breaks(&[Promise::OneOwner]);
}

#[test]
fn a_task_that_is_handed_over_is_the_heirs() {
    let handoff = |thief: &str| {
        let mut script = Script::of_two();
        script.claim("0.1", "ann", 10, 20);
        let task = Some(("T1".to_string(), "bob".to_string()));
        let intent = Intent::Handoff { task: "T1".to_string(), to: "Bob".to_string() };
        script.done("0.1", 30, 40, intent, Answer { task, ..Answer::default() });
        script.claim(if thief == "ann" { "0.1" } else { "1.1" }, thief, 50, 60);
        script
    };
    handoff("ann").breaks(&[Promise::OneOwner]);
    handoff("bob").breaks_nothing();
}

#[test]
fn paths_that_are_handed_over_are_the_heirs() {
    let handoff = |mine: &str, given: &str| {
        let mut script = Script::of_two();
        script.reserve("0.1", 10, 20, mine);
        let intent = Intent::Handoff { task: "T1".to_string(), to: "Bob".to_string() };
        let task = Some(("T1".to_string(), "bob".to_string()));
        let paths = vec![given.to_string()];
        script.done("0.1", 30, 40, intent, Answer { task, paths, ..Answer::default() });
        script
    };
    for mine in ["d1/", "d1/f1", "d2/"] {
        handoff(mine, "d1/").breaks_nothing();
    }
    handoff("d1/", "d1/f1").breaks(&[Promise::OneOwner]);
    let mut script = handoff("d2/", "d1/");
    script.reserve("1.1", 50, 60, "d2/f1");
    script.breaks(&[Promise::OneOwner]);
}

#[test]
fn a_directory_and_a_file_in_it_are_one_path() {
    for (mine, yours, meet) in
        [("d1/", "d1/f1", true), ("d1/f1", "d1/", true), ("d1/f1", "d1/f2", false), ("d1/", "d10/", false)]
    {
        let mut script = Script::of_two();
        script.reserve("0.1", 10, 20, mine);
        script.reserve("1.1", 30, 40, yours);
        script.breaks(if meet { &[Promise::OneOwner] } else { &[] });
    }
}

#[test]
fn a_name_has_one_owner_whatever_its_case() {
    let join = |name: &str| {
        let mut script = Script::of_two();
        let answer = Answer { name: Some(name.to_string()), ..Answer::default() };
        script.done("1.1", 30, 40, Intent::Rename { to: name.to_string() }, answer);
        script
    };
    join("ANN").breaks(&[Promise::OneOwner]);
    join("Cem").breaks_nothing();
    let mut script = Script::of_two();
    script.done("1.1", 10, 20, Intent::Evict { name: "Ann".to_string(), force: true }, Answer::default());
    let answer = Answer { name: Some("Ann".to_string()), ..Answer::default() };
    script.done("1.1", 30, 40, Intent::Rename { to: "Ann".to_string() }, answer);
    script.breaks_nothing();
}

#[test]
fn what_is_held_is_not_said_to_be_free() {
    let check = |from: Time| {
        let mut script = Script::of_two();
        script.reserve("0.1", 10, 20, "d1/");
        let answer = Answer { free: Some(true), ..Answer::default() };
        script.done("1.1", from, from + 10, Intent::Check { path: "d1/f1".to_string() }, answer);
        script
    };
    check(30).breaks(&[Promise::HeldIsRefused]);
    check(15).breaks_nothing();
}

#[test]
fn an_edit_of_what_is_held_is_not_let_through() {
    let edit = |by: &str, path: &str, free: Option<bool>, until: Time| {
        let mut script = Script::of_two();
        script.reserve("0.1", 10, 20, "d1/");
        let intent = Intent::Hook { event: "PreToolUse".to_string(), path: Some(path.to_string()) };
        script.done(by, 30, until, intent, Answer { free, ..Answer::default() });
        script
    };
    edit("1.1", "d1/f1", Some(true), 40).breaks(&[Promise::HeldIsRefused]);
    edit("1.1", "d1/f1", Some(false), 40).breaks_nothing();
    edit("0.1", "d1/f1", Some(true), 40).breaks_nothing();
    edit("1.1", "d2/f1", Some(true), 40).breaks_nothing();
    // The hook failed and said so, or ran out of time.
    edit("1.1", "d1/f1", None, 40).breaks_nothing();
    edit("1.1", "d1/f1", Some(true), 40_000_000).breaks_nothing();
}

#[test]
fn every_error_is_a_documented_one() {
    let mut script = Script::of_two();
    script.refused("0.1", 10, 20, Intent::Unclaim, 1, "not_claimed");
    script.refused("0.1", 30, 40, Intent::Read { limit: None }, 4, "disk_full");
    let to_oneself = Intent::Handoff { task: "T1".to_string(), to: "Ann".to_string() };
    script.refused("0.1", 50, 60, to_oneself, 2, "invalid_value");
    script.breaks_nothing();
    for (code, kind) in [(70, "bug"), (1, "disk_full"), (2, "usage"), (4, "never_heard_of")] {
        let mut script = Script::of_two();
        script.refused("0.1", 10, 20, Intent::Unclaim, code, kind);
        script.breaks(&[Promise::EverythingAnswers]);
    }
    let mut script = Script::of_two();
    script.refused("0.1", 10, 20, Intent::Hook { event: "Stop".to_string(), path: None }, 4, "io");
    script.breaks(&[Promise::EverythingAnswers]);
    let mut script = Script::of_two();
    let op = script.tried("0.1", 10, Intent::Leave, Fate::Lives);
    script.line(20, "0.1", Event::Odd { op, text: "no answer after 60 s".to_string() });
    script.breaks(&[Promise::EverythingAnswers]);
}

#[test]
fn damaged_claims_are_left_as_they_are() {
    let mut script = Script::of_two();
    script.deed(10, 20, Disturbance::ClaimsKept { kept: false });
    script.breaks(&[Promise::UnreadableIsKept]);
}

fn contest(script: &mut Script, from: Time, until: Time) {
    let contested = Some(("Ann".to_string(), "d1/".to_string()));
    let answer = Answer { contested, fresh: Some(true), ..Answer::default() };
    script.done("1.1", from, until, Intent::Contest { path: "d1/f1".to_string() }, answer);
}

fn take(script: &mut Script, from: Time, until: Time) {
    let contested = Some(("Ann".to_string(), "d1/".to_string()));
    let answer = Answer { contested, paths: vec!["d1/f1".to_string()], ..Answer::default() };
    let intent = Intent::TakeOver { path: "d1/f1".to_string(), from: "Ann".to_string() };
    script.done("1.1", from, until, intent, answer);
}

fn edit(script: &mut Script, from: Time, until: Time, path: &str) {
    let intent = Intent::Hook { event: "PreToolUse".to_string(), path: Some(path.to_string()) };
    script.done("0.1", from, until, intent, Answer { free: Some(true), ..Answer::default() });
}

fn promises(script: &Script) -> Vec<Promise> {
    check(&script.lines).violations.iter().map(|violation| violation.promise).collect()
}

#[test]
fn a_contested_path_passes_from_a_silent_holder() {
    let mut script = Script::of_two();
    script.reserve("0.1", 3, 4, "d1/");
    contest(&mut script, 5, 6);
    edit(&mut script, 7, 8, "d2/f1");
    take(&mut script, 1_100, 1_101);
    // It is Bob's now.
    script.reserve("0.1", 1_200, 1_201, "d1/f1");
    assert_eq!(promises(&script), [Promise::OneOwner]);
}

#[test]
fn a_path_that_is_taken_too_early_or_from_one_at_work_is_seen() {
    let mut script = Script::of_two();
    contest(&mut script, 5, 6);
    take(&mut script, 900, 901);
    assert_eq!(promises(&script), [Promise::OnlyFromTheSilent]);
    let mut script = Script::of_two();
    contest(&mut script, 5, 6);
    edit(&mut script, 7, 8, "d1/f2");
    take(&mut script, 1_100, 1_101);
    assert_eq!(promises(&script), [Promise::OnlyFromTheSilent]);
    let mut script = Script::of_two();
    contest(&mut script, 5, 6);
    edit(&mut script, 7, 8, "d1/f2");
    // A command that was killed may have begun a new contest.
    script.killed("1.1", 9, 10, Intent::Contest { path: "d1/".to_string() }, Answer::default());
    take(&mut script, 1_100, 1_101);
    assert_eq!(promises(&script), []);
}
