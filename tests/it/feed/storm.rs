//! 32 writers at once, killed at any time, while half lines are written: each acknowledged event is in the feed, once.
//!
//! A writer acknowledges an event in its own journal outside of the mesh, after the event was appended. Kills depend
//! on the number of journal lines, so that a slow machine sees as many.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use ravenry::domain::Event;
use ravenry::store::{FeedPosition, Mesh};

use super::{event, segments};
use crate::support::environment::{PATIENCE, TestEnvironment, open_mesh, wait_until};

const WRITERS: usize = 32;
const KILLS: usize = 96;
/// Events that are written, at least.
const EVENTS: u64 = 6000;
/// Events of one writer, which then waits to be killed: a fast machine must not write more than is kept.
const EACH: usize = 100;
/// Bytes of a line of a journal.
const LINE: u64 = 7;

/// A process of this binary that writes events until it is killed.
struct Writer {
    child: Child,
    name: String,
    journal: PathBuf,
}

impl Writer {
    fn start(env: &TestEnvironment, life: usize, keep: u64) -> Self {
        let name = format!("W{life}");
        let journal = env.path().join(format!("journal-{life}"));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "feed::storm::a_writer_alone_loses_nothing", "--nocapture", "--quiet"]);
        command.env("FEED_WRITER", &name).env("FEED_MESH", env.mesh());
        command.env("FEED_JOURNAL", &journal).env("FEED_KEEP", keep.to_string());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        Self { child, name, journal }
    }

    /// Kills the process; returns what it acknowledged.
    fn kill(mut self) -> (String, Vec<usize>) {
        self.child.kill().unwrap();
        assert!(!self.child.wait().unwrap().success(), "it was killed, and had not failed");
        (self.name.clone(), acknowledged(&self.journal))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn acknowledged(journal: &Path) -> Vec<usize> {
    let text = fs::read_to_string(journal).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| line.trim().parse().unwrap()).collect()
}

fn write_on(mesh: &Mesh, name: &str, journal: &Path, keep: u64, numbers: impl Iterator<Item = usize>) {
    let mut journal = OpenOptions::new().append(true).create(true).open(journal).unwrap();
    for number in numbers {
        mesh.feed().append(&[event(name, number)], keep).unwrap();
        journal.write_all(format!("{number:06}\n").as_bytes()).unwrap();
    }
}

/// The storm also runs this test as its writers.
#[test]
fn a_writer_alone_loses_nothing() {
    let value = |name: &str| std::env::var(format!("FEED_{name}")).ok();
    if let Some(name) = value("WRITER") {
        let mesh = open_mesh(Path::new(&value("MESH").unwrap()), PATIENCE);
        let (journal, keep) = (PathBuf::from(value("JOURNAL").unwrap()), value("KEEP").unwrap());
        write_on(&mesh, &name, &journal, keep.parse().unwrap(), 0..EACH);
        loop {
            std::thread::park();
        }
    }
    let env = TestEnvironment::new();
    let (mesh, journal) = (env.store(), env.path().join("journal"));
    write_on(&mesh, "W0", &journal, 1000, 0..500);
    assert_eq!(acknowledged(&journal), (0..500).collect::<Vec<_>>());
    assert_eq!(
        by_name(mesh.feed().last(usize::MAX, |_| true).unwrap().0.events)["W0"],
        acknowledged(&journal)
    );
}

fn by_name(events: Vec<Event>) -> HashMap<String, Vec<usize>> {
    let mut found: HashMap<String, Vec<usize>> = HashMap::new();
    for event in events {
        found.entry(event.agent).or_default().push(event.target.unwrap().parse().unwrap());
    }
    found
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The result of a storm.
struct Aftermath {
    /// The events that each process acknowledged.
    acknowledged: HashMap<String, Vec<usize>>,
    half_lines: usize,
}

/// Runs the writers, with kills, until they have written enough.
fn rage(env: &TestEnvironment, keep: u64) -> Aftermath {
    let mut writers: Vec<Writer> = (0..WRITERS).map(|life| Writer::start(env, life, keep)).collect();
    let mut after = Aftermath { acknowledged: HashMap::new(), half_lines: 0 };
    for kill in 0..KILLS {
        let enough = EVENTS * LINE * kill as u64 / KILLS as u64;
        wait_until("they have written enough", || written(env) >= enough);
        after.acknowledged.extend([writers.remove(kill * 7 % WRITERS).kill()]);
        writers.push(Writer::start(env, WRITERS + kill, keep));
        // As a writer that dies in the middle of a line, which nobody can complete.
        if let Some(newest) = segments(env).pop()
            && let Ok(mut file) = OpenOptions::new().append(true).open(newest)
        {
            file.write_all(b"{\"ts\":\"2026-11-14T23:57:56.0").unwrap();
            after.half_lines += 1;
        }
    }
    wait_until("they have written all", || written(env) >= EVENTS * LINE);
    after.acknowledged.extend(writers.into_iter().map(Writer::kill));
    after
}

/// Bytes of all journals.
fn written(env: &TestEnvironment) -> u64 {
    let entries = fs::read_dir(env.path()).unwrap().map(|entry| entry.unwrap());
    let journals = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("journal-"));
    journals.map(|journal| journal.metadata().unwrap().len()).sum()
}

#[test]
fn nothing_is_lost_or_torn_and_who_follows_hears_all_of_it_once() {
    let env = TestEnvironment::new();
    // Enough that all are kept, in more than one segment.
    let keep = ((WRITERS + KILLS) * EACH) as u64;
    drop(env.store());
    let is_over = AtomicBool::new(false);
    let (after, heard) = std::thread::scope(|scope| {
        let (mesh, is_over) = (open_mesh(&env.mesh(), PATIENCE), &is_over);
        let follower = scope.spawn(move || {
            let (mut place, mut heard) = (FeedPosition::default(), Vec::new());
            loop {
                let is_last = is_over.load(Ordering::SeqCst);
                heard.extend(mesh.feed().since(&mut place).unwrap().events);
                if is_last {
                    return heard;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        // Also if it fails: the scope waits for the follower.
        let end = SetOnDrop(is_over);
        let after = rage(&env, keep);
        drop(end);
        (after, follower.join().unwrap())
    });
    assert!(segments(&env).len() > 1, "there was more than one segment: {:?}", segments(&env));
    let (given, _) = env.store().feed().last(usize::MAX, |_| true).unwrap();
    assert!(
        given.unreadable > 0 && given.unreadable <= 2 * after.half_lines,
        "{} half lines",
        given.unreadable
    );
    assert_eq!(given.events.len(), heard.len());
    for (how, events) in [("in the feed", given.events), ("heard", heard)] {
        let found = by_name(events);
        for (name, acknowledged) in &after.acknowledged {
            let found = found.get(name).map(Vec::as_slice).unwrap_or_default();
            // The last one may have been written without being acknowledged.
            let whole: Vec<usize> = (0..found.len()).collect();
            assert_eq!(found, whole, "{how}: each of {name} once, in order");
            assert!((acknowledged.len()..=acknowledged.len() + 1).contains(&found.len()), "{how}: {name}");
        }
    }
}

#[test]
fn what_is_kept_has_no_holes_while_segments_come_and_go() {
    let env = TestEnvironment::new();
    drop(env.store());
    let keep = 300;
    let after = rage(&env, keep);
    let (given, _) = env.store().feed().last(usize::MAX, |_| true).unwrap();
    assert!(given.events.len() as u64 >= keep, "{} are left", given.events.len());
    assert!(given.events.len() as u64 <= 3 * keep, "{} are left", given.events.len());
    let names: Vec<String> = segments(&env).iter().map(|path| path.display().to_string()).collect();
    assert!(names.len() < 16 && !names[0].ends_with("/000000000000.jsonl"), "old segments went: {names:?}");
    let found = by_name(given.events);
    for (name, acknowledged) in &after.acknowledged {
        let Some(found) = found.get(name) else { continue };
        let expected: Vec<usize> = (found[0]..found[0] + found.len()).collect();
        assert_eq!(found, &expected, "{name}: none is missing between two that are there");
        assert!(acknowledged.last() <= found.last(), "{name}: nor the last one");
    }
}

/// A process that is stopped while it holds the lock must not keep others from writing.
#[test]
fn one_who_is_stopped_in_its_turn_stops_nobody() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let turn = ravenry::sys::flock::FileLock::acquire(&env.mesh().join("feed/.lock"), PATIENCE).unwrap();
    let mut place = FeedPosition::default();
    let mesh = env.store();
    mesh.feed().since(&mut place).unwrap();
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    let news = mesh.feed().since(&mut place).unwrap().events;
    assert_eq!(news.len(), 1, "{news:?}");
    drop(turn);
}
