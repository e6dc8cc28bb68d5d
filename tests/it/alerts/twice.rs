//! Several watchers at once, some of which are killed: nothing is told twice.

use std::collections::BTreeSet;
use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::domain::EventKind;

use super::{command, happen, join_person, lines, marks, watch, with_robin, written};
use crate::support::environment::wait_until;
use crate::tui::screen::Screen;

const EVENTS: usize = 40;

#[test]
fn two_watchers_and_the_chat_tell_each_event_once_in_all() {
    let env = with_robin(r#"{"notify": {"stuck": ["command", "osc9"]}}"#);
    let (program, log) = command(&env, "echo \"$MSG_ALERT\" >>\"$log\"");
    env.ok(&["config", "set", "notifyCommand", &program]);
    join_person(&env, "Wren");
    let chat = Screen::open(&env, &["--as", "Wren"]);
    chat.wait_for("Wren · 2 peers");
    let mut screens = [watch(&env, "Robin"), watch(&env, "Wren"), chat];
    for number in 0..EVENTS {
        happen(&env, EventKind::Stuck, &format!("TASK-{number:02}"));
    }
    wait_until("all are told", || lines(&log).len() >= EVENTS);
    for screen in &screens[..2] {
        screen.signal(Signal::SIGINT);
    }
    screens[2].write("\u{3}");
    for screen in &mut screens {
        screen.end();
    }
    let told = lines(&log);
    let expected: BTreeSet<String> =
        (0..EVENTS).map(|number| format!("Alice seems stuck on TASK-{number:02}")).collect();
    assert_eq!((told.len(), told.into_iter().collect::<BTreeSet<_>>()), (EVENTS, expected));
    assert_eq!(marks(&env), EVENTS);
    // Notifications may be for several at once, and none names one that another named.
    let named = screens.iter().map(|screen| written(screen).matches("]9;msg: Alice seems stuck").count());
    assert!((1..=EVENTS).contains(&named.sum()));
}

#[test]
fn what_a_killed_watcher_began_to_tell_is_told_by_nobody_else() {
    let env = with_robin(r#"{"notify": {"stuck": ["command"]}}"#);
    let go = env.path().join("go");
    let hold = format!(
        "echo \"$PPID $MSG_ALERT\" >>\"$log\"; while ! test -e '{}'; do sleep 0.02; done",
        go.display()
    );
    let (program, log) = command(&env, &hold);
    env.ok(&["config", "set", "notifyCommand", &program]);
    join_person(&env, "Wren");
    let mut screens = vec![watch(&env, "Robin"), watch(&env, "Wren")];
    happen(&env, EventKind::Stuck, "TASK-01");
    wait_until("it is being told", || !lines(&log).is_empty());
    let teller: i32 = lines(&log)[0].split(' ').next().unwrap().parse().unwrap();
    kill(Pid::from_raw(teller), Signal::SIGKILL).unwrap();
    let dead = screens.iter().position(|screen| screen.child.id().cast_signed() == teller).unwrap();
    screens.remove(dead).end();
    fs::write(&go, "").unwrap();
    // One that is started now does not tell it either.
    screens.push(watch(&env, if dead == 0 { "Robin" } else { "Wren" }));
    happen(&env, EventKind::Stuck, "TASK-02");
    wait_until("the other is told", || lines(&log).len() >= 2);
    for screen in &mut screens {
        screen.signal(Signal::SIGINT);
        screen.end();
    }
    let told: Vec<String> =
        lines(&log).iter().map(|line| line.split_once(' ').unwrap().1.to_string()).collect();
    assert_eq!(told, ["Alice seems stuck on TASK-01", "Alice seems stuck on TASK-02"]);
}

/// Marks of long ago are removed, and there are never too many.
#[test]
fn marks_are_bounded() {
    use ravenry::domain::alert::Alert;
    use ravenry::domain::{AnyEventKind, Event};
    use ravenry::store::AlertMark;
    let env = with_robin("{}");
    let mesh = env.store();
    let now: jiff::Timestamp = "2026-11-14T12:00:00Z".parse().unwrap();
    let alert = |at: jiff::Timestamp, number: usize| {
        let event = Event {
            at,
            what: AnyEventKind::Ours(EventKind::Stuck),
            agent: "Alice\u{1b}/../..".to_string(),
            target: Some(number.to_string()),
            preview: None,
            message_kind: None,
            machine: None,
        };
        Alert::of_event(&event).unwrap()
    };
    let hours = jiff::SignedDuration::from_hours;
    assert_eq!(mesh.told().mark(&alert(now - hours(3), 0)).unwrap(), AlertMark::Made);
    for number in 0..4_100 {
        assert_eq!(mesh.told().mark(&alert(now, number)).unwrap(), AlertMark::Made);
    }
    assert_eq!(mesh.told().mark(&alert(now, 7)).unwrap(), AlertMark::Found);
    assert_eq!(mesh.told().mark(&alert(now - hours(1), 7)).unwrap(), AlertMark::Made);
    mesh.told().prune(now).unwrap();
    assert_eq!(marks(&env), 4_000);
    mesh.told().prune(now + hours(3)).unwrap();
    assert_eq!(marks(&env), 0);
    mesh.told().prune(now).unwrap();
}
