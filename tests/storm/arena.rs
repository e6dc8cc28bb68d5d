//! A storm from start to verdict: agents in processes of their own, the nemesis, the calm afterwards, and where every
//! message is at the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::sys::test_switches::{self, Bug};

use crate::agent::{Mood, Task};
use crate::chance::Chance;
use crate::checker::{self, Verdict};
use crate::command;
use crate::disk::Disk;
use crate::history::{self, Event, Intent, Journal};
use crate::nemesis::{Nemesis, Victims};
use crate::place::Place;

/// By then everything has ended, or hangs.
const LONGEST_CALM: Duration = Duration::from_secs(240);

/// The parameters of a storm.
#[derive(Clone, Debug)]
pub struct Weather {
    pub seed: u64,
    pub agents: u64,
    pub time: Duration,
    pub mood: Mood,
    /// Whether there is a nemesis.
    pub is_hostile: bool,
    /// A fault to switch on in the program.
    pub bug: Option<Bug>,
}

/// The result of a storm.
pub struct Aftermath {
    pub verdict: Verdict,
    /// Disturbances that are not possible here.
    pub not_done: Vec<String>,
    // Dropped in this order: the mounted disk before the directory it is mounted on.
    disk: Option<Disk>,
    dir: tempfile::TempDir,
}

impl Aftermath {
    /// Keeps the directory for inspection, and writes the violations into it.
    pub fn keep(self) -> PathBuf {
        let Self { verdict, disk, dir, .. } = self;
        let text: String = verdict.violations.iter().map(|violation| format!("{violation}\n")).collect();
        fs::write(dir.path().join("violations.txt"), text).unwrap();
        let place = Place::at(dir.path());
        if let Some(disk) = disk {
            Command::new("cp")
                .arg("-a")
                .arg(place.disk())
                .arg(dir.path().join("disk-as-it-was"))
                .status()
                .ok();
            drop(disk);
        }
        dir.keep()
    }
}

/// The agents, each in its slot.
struct Crowd {
    weather: Weather,
    place: Place,
    chance: Chance,
    seats: Vec<Seat>,
}

struct Seat {
    child: Option<Child>,
    life: u64,
    session: u64,
}

impl Victims for Crowd {
    fn who(&mut self, slot: u64) -> Option<String> {
        let seat = &self.seats[slot as usize];
        seat.child.as_ref().map(|_| format!("{slot}.{}", seat.life))
    }

    fn kill(&mut self, slot: u64) {
        if let Some(mut child) = self.seats[slot as usize].child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
            self.let_orphans_go_on(slot);
        }
    }

    fn stop(&mut self, slot: u64) {
        self.signal(slot, Signal::SIGSTOP);
    }

    fn go_on(&mut self, slot: u64) {
        self.signal(slot, Signal::SIGCONT);
    }

    fn count(&self) -> u64 {
        self.seats.len() as u64
    }
}

impl Crowd {
    fn signal(&self, slot: u64, signal: Signal) {
        if let Some(child) = &self.seats[slot as usize].child {
            kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        }
    }

    /// Commands that a killed agent had stopped would stay stopped for ever.
    fn let_orphans_go_on(&self, slot: u64) {
        let prefix = format!("{slot}-{}-", self.seats[slot as usize].life);
        for entry in fs::read_dir(self.place.root().join("out")).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&prefix)
                && name.ends_with(".stopped")
                && let Some(pid) = fs::read_to_string(entry.path()).ok().and_then(|text| text.parse().ok())
            {
                kill(Pid::from_raw(pid), Signal::SIGCONT).ok();
                fs::remove_file(entry.path()).ok();
            }
        }
    }

    /// Starts an agent in every empty slot: in most cases as the session that was there before.
    fn fill_seats(&mut self) {
        for slot in 0..self.seats.len() {
            if self.seats[slot].child.is_some() {
                continue;
            }
            let is_new = self.chance.one_in(3);
            let seat = &mut self.seats[slot];
            seat.life += 1;
            seat.session += u64::from(is_new);
            let task = Task {
                root: self.place.root().to_path_buf(),
                seed: self.weather.seed,
                slot: slot as u64,
                life: seat.life,
                agents: self.weather.agents,
                session: format!("session-{slot}-{}", seat.session),
                mood: self.weather.mood,
            };
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "agents_are_processes_of_this_program", "--nocapture", "--quiet"]);
            command.envs(task.variables()).stdin(Stdio::null()).stdout(Stdio::null());
            if let Some(bug) = self.weather.bug {
                command.env(test_switches::BUG, bug.name());
            }
            seat.child = Some(command.spawn().unwrap());
        }
    }

    /// An agent that ends by itself has failed.
    fn assert_alive(&mut self) {
        for (slot, seat) in self.seats.iter_mut().enumerate() {
            let ended = seat.child.as_mut().and_then(|child| child.try_wait().unwrap());
            assert!(ended.is_none(), "agent {slot}.{} ended by itself: {ended:?}", seat.life);
        }
    }

    /// Waits until all agents have read their mail and have ended.
    fn see_off(&mut self) -> Vec<String> {
        let give_up = Instant::now() + LONGEST_CALM;
        let mut troubles = Vec::new();
        for (slot, seat) in self.seats.iter_mut().enumerate() {
            let Some(mut child) = seat.child.take() else { continue };
            let status = loop {
                match child.try_wait().unwrap() {
                    Some(status) => break Some(status),
                    None if Instant::now() > give_up => break None,
                    None => std::thread::sleep(Duration::from_millis(5)),
                }
            };
            match status {
                Some(status) if status.success() => {}
                Some(status) => troubles.push(format!("agent {slot}.{} failed: {status}", seat.life)),
                None => {
                    child.kill().ok();
                    child.wait().ok();
                    troubles.push(format!("agent {slot}.{} does not come to an end", seat.life));
                }
            }
        }
        troubles
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for seat in &mut self.seats {
            if let Some(mut child) = seat.child.take() {
                child.kill().ok();
                child.wait().ok();
            }
        }
    }
}

/// Runs a storm for its time, and checks it.
pub fn storm(weather: &Weather) -> Aftermath {
    let dir = tempfile::Builder::new().prefix("ravenry-storm-").tempdir().unwrap();
    let place = Place::make(dir.path());
    let mut not_done = Vec::new();
    let disk = match weather.is_hostile.then(|| Disk::mount(&place.disk())) {
        None => None,
        Some(Ok(disk)) => Some(disk),
        Some(Err(why)) => {
            crate::skip::skip(&format!("a disk that is full: {why}"));
            not_done.push(format!(
                "a full disk ({why}); commands that may write no large file are there all the same"
            ));
            None
        }
    };
    let mut nemesis = Nemesis::new(&place, weather.seed, disk);
    let seats = (0..weather.agents).map(|_| Seat { child: None, life: 0, session: 0 }).collect();
    let chance = Chance(weather.seed ^ 0x6372_6f77);
    let mut crowd = Crowd { weather: weather.clone(), place: place.clone(), chance, seats };
    let end = Instant::now() + weather.time;
    while Instant::now() < end {
        crowd.fill_seats();
        crowd.assert_alive();
        if weather.is_hostile {
            nemesis.turn(&mut crowd);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    nemesis.calm(&mut crowd);
    crowd.fill_seats();
    // Files that were truncated and could not be restored are repaired as a person would do it.
    let repaired = place.msg(std::process::id()).args(["doctor", "--repair"]).output();
    let code = repaired.unwrap().status.code();
    assert!(code == Some(0) || code == Some(4), "a repair ended with {code:?}");
    fs::write(place.enough(), "").unwrap();
    let troubles = crowd.see_off();
    take_stock(&place);
    let mut verdict = checker::check(&history::read(&place.history()));
    verdict.violations.extend(troubles.into_iter().map(|text| checker::Violation {
        promise: checker::Promise::EverythingAnswers,
        text,
        proof: Vec::new(),
    }));
    Aftermath { verdict, not_done, disk: nemesis.give_up_disk(), dir }
}

/// Records what commands of dead agents answered, and where every message is.
fn take_stock(place: &Place) {
    let mut journal = Journal::open(&place.history(), "nemesis");
    for (place, stem) in messages(place) {
        journal.write(Event::Lies { place, stem });
    }
    let history = history::read(&place.history());
    for line in &history {
        let Event::Invoke { op, intent, .. } = &line.event else { continue };
        let out = place.out(&line.who, *op);
        // The output of an answered command has been removed.
        let Ok(said) = fs::read(&out) else { continue };
        let answer = command::answer(intent, &String::from_utf8_lossy(&said)).unwrap_or_default();
        let is_worth_it =
            !answer.handed.is_empty() || !answer.accepted.is_empty() || *intent == Intent::Watch;
        if is_worth_it {
            Journal::open(&place.history(), &line.who).write(Event::Orphaned { op: *op, answer });
        }
    }
}

/// Every message in a place where it may be, by the name of its file.
fn messages(place: &Place) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for dir in ["inbox", "graves", "quarantine", "seen"] {
        collect(&place.mesh().join(dir), dir, &mut found);
    }
    collect(&place.trash(), "trash", &mut found);
    found
}

fn collect(dir: &Path, shown: &str, found: &mut Vec<(String, String)>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let shown = format!("{shown}/{name}");
        if path.is_dir() {
            collect(&path, &shown, found);
        } else if let Some(stem) = stem_in(&name) {
            found.push((shown, stem));
        }
    }
}

/// The stem of a message in a file name: thirteen digits, a dash and six letters, with anything around them.
fn stem_in(name: &str) -> Option<String> {
    const DIGITS: usize = 13;
    const LENGTH: usize = DIGITS + 1 + 6;
    let is_stem = |word: &[u8]| {
        let letters = &word[DIGITS + 1..];
        word[..DIGITS].iter().all(u8::is_ascii_digit)
            && word[DIGITS] == b'-'
            && letters.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
    };
    // In quarantine the time comes first, so the last match counts.
    let last = name.as_bytes().windows(LENGTH).rfind(|word| is_stem(word))?;
    String::from_utf8(last.to_vec()).ok()
}
