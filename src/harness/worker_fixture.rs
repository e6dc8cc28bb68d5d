//! What the tests of the worker adapters share: recorded outputs of the real clients, and an order to start from.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;

use super::worker::{
    LoginState, WorkerAccess, WorkerAdapter, WorkerCall, WorkerEnd, WorkerEvent, WorkerExit, WorkerOrder,
    WorkerSession,
};
use super::{MsgProgram, SUPPORTED};
use crate::domain::SessionId;
use crate::sys::environment::Home;
use crate::sys::files;

pub(in crate::harness) const SESSION: &str = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
static PROGRAM: MsgProgram = MsgProgram::OnPath;

/// A home in which nothing is trusted.
static HOME: LazyLock<Home> = LazyLock::new(|| {
    let at = |name: &str| PathBuf::from("/nowhere").join(name);
    Home { home: at(""), config: at("c"), state: at("s"), cache: at("k") }
});

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/workers")
}

/// What a reader makes of a recorded output: `NAME.out`, `NAME.err` and `NAME.rc` in the folder of a version.
#[track_caller]
pub(in crate::harness) fn replay(
    adapter: &dyn WorkerAdapter,
    version: &str,
    name: &str,
) -> (Vec<WorkerEvent>, WorkerEnd) {
    let folder = recordings().join(version);
    let file = |kind: &str| std::fs::read_to_string(folder.join(format!("{name}.{kind}"))).unwrap();
    let mut reader = adapter.reader(Path::new("/w"));
    let events = file("out").lines().flat_map(|line| reader.line(line)).collect();
    let exit = WorkerExit::Code(file("rc").trim().parse().unwrap());
    (events, reader.end(exit, &file("err"), &folder.join(name)))
}

/// What it does, in its own words.
pub(in crate::harness) fn doings(events: &[WorkerEvent]) -> Vec<&str> {
    let mut doings = Vec::new();
    for event in events {
        if let WorkerEvent::Doing(words) = event {
            doings.push(words.as_str());
        }
    }
    doings
}

/// A home with these files.
pub(in crate::harness) fn home(files: &[(&str, &str)]) -> (tempfile::TempDir, Home) {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for (name, content) in files {
        let path = at(name);
        files::create_dir(path.parent().unwrap()).unwrap();
        assert!(matches!(files::create_empty(&path).unwrap(), files::Published::Done));
        files::overwrite(&path, content.as_bytes()).unwrap();
    }
    let home = Home { home: at(""), config: at(".config"), state: at("s"), cache: at("k") };
    (dir, home)
}

/// Whether its user seems to be logged in, with one variable and these files.
pub(in crate::harness) fn login(
    adapter: &dyn WorkerAdapter,
    set: &str,
    files: &[(&str, &str)],
) -> LoginState {
    let (_dir, home) = home(files);
    adapter.login(&home, &|name| (name == set).then(|| "x".to_string()))
}

pub(in crate::harness) fn session() -> SessionId {
    SessionId::new(SESSION).unwrap()
}

/// An order to read, in a new session.
pub(in crate::harness) fn order<'a>(task: &'a str, session: &'a SessionId) -> WorkerOrder<'a> {
    WorkerOrder {
        task,
        instructions: None,
        model: None,
        access: WorkerAccess::Reads,
        tools: &[],
        args: &[],
        session: WorkerSession::New(session),
        root: Path::new("/w"),
        project: Path::new("/w"),
        home: &HOME,
        scratch: Path::new("/run"),
        hooks: &PROGRAM,
        budget: None,
    }
}

pub(in crate::harness) fn words(call: &WorkerCall) -> Vec<&str> {
    call.args.iter().map(|word| word.to_str().unwrap()).collect()
}

fn adapters() -> impl Iterator<Item = &'static dyn WorkerAdapter> {
    SUPPORTED.iter().filter_map(|harness| harness.worker())
}

/// Every recorded line of every client.
fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for folder in
        std::fs::read_dir(recordings()).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir())
    {
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "out") {
                lines.extend(std::fs::read_to_string(path).unwrap().lines().map(str::to_string));
            }
        }
    }
    lines
}

#[test]
fn tasks_that_cannot_be_an_argument_are_refused() {
    let session = session();
    let (long, null) = ("x".repeat(100_001), "a\0b".to_string());
    for adapter in adapters() {
        assert!(adapter.call(&order(&long, &session)).unwrap_err().to_string().contains("100001 bytes"));
        assert!(adapter.call(&order(&null, &session)).unwrap_err().to_string().contains("null character"));
        assert!(adapter.call(&order(&long[..90_000], &session)).is_ok());
    }
}

#[test]
fn a_worker_that_says_nothing_has_failed_and_used_nothing_that_is_known() {
    for adapter in adapters() {
        let end = adapter.reader(Path::new("/w")).end(WorkerExit::Signal(9), "", Path::new("/nowhere"));
        let failure = end.failure.unwrap().to_string();
        assert_eq!(failure, "it was ended by SIGKILL");
        assert_eq!((end.usage, end.cost, end.result), Default::default());
    }
}

proptest! {
    /// Lines that are cut, mixed between clients, or not JSON never end a reader, and what it says stays short and on
    /// one line.
    #[test]
    fn any_output_is_tolerated(picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>(), ".{0,20}"), 0..40)) {
        let lines = lines();
        for adapter in adapters() {
            let mut reader = adapter.reader(Path::new("/w"));
            for (line, place, kind, garbage) in &picks {
                let line = line.get(&lines);
                let mut place = place.index(line.len() + 1);
                while !line.is_char_boundary(place) {
                    place -= 1;
                }
                let line = match kind % 5 {
                    0 => line.clone(),
                    1 => line[..place].to_string(),
                    2 => line[place..].to_string(),
                    3 => format!("{}{garbage}{}", &line[..place], &line[place..]),
                    _ => line.replace(":0", ":-1").replace("\":\"", "\":[\"").replace("\",", "\"],"),
                };
                for event in reader.line(&line) {
                    if let WorkerEvent::Doing(words) | WorkerEvent::Denied(words) | WorkerEvent::Model(words) = event {
                        prop_assert!(words.chars().count() <= 80 && !words.chars().any(char::is_control), "{words}");
                    }
                }
            }
            let errors = picks.first().map_or("", |pick| pick.3.as_str());
            reader.end(WorkerExit::Code(1), errors, Path::new("/nowhere"));
        }
    }
}
