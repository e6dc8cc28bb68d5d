//! Runs a storm: the servers, the machines, the agents, the nemesis, and at the end the settling and the stock.

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
use crate::fleet::Fleet;
use crate::ground;
use crate::history::{self, Event, Intent, Journal, RecordState};
use crate::nemesis::{Nemesis, Victims};
use crate::observer::{self, Observer};
use crate::place::{MACHINES, Place, Stage};

/// By then everything has ended, or hangs.
const LONGEST_CALM: Duration = Duration::from_secs(240);
/// How long links may take to settle once nothing is in their way; with a fault they may never.
const SETTLING: Duration = Duration::from_secs(90);
const SETTLING_WITH_FAULT: Duration = Duration::from_secs(12);
/// The pause between two looks at whether they have.
const LOOK: Duration = Duration::from_millis(500);

/// The parameters of a storm.
#[derive(Clone, Debug)]
pub struct Weather {
    pub seed: u64,
    pub servers: usize,
    pub agents: u64,
    pub time: Duration,
    pub mood: Mood,
    /// A fault to switch on in the program.
    pub bug: Option<Bug>,
}

/// The result of a storm.
pub struct Aftermath {
    pub verdict: Verdict,
    /// Disturbances that are not possible here.
    pub not_done: Vec<String>,
    fleet: Fleet,
    dir: tempfile::TempDir,
}

impl Aftermath {
    /// Keeps the directory for inspection, and writes the violations into it.
    pub fn keep(self) -> PathBuf {
        let Self { verdict, fleet, dir, .. } = self;
        let text: String = verdict.violations.iter().map(|violation| format!("{violation}\n")).collect();
        fs::write(dir.path().join("violations.txt"), text).unwrap();
        for machine in &fleet.machines {
            let to = dir.path().join(format!("{}-as-it-was", machine.place.name));
            Command::new("cp").arg("-a").arg(machine.place.disk()).arg(to).status().ok();
        }
        for server in fleet.servers.all() {
            fs::write(dir.path().join(format!("{}.log", server.name())), server.log()).unwrap();
        }
        drop(fleet);
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

    fn count(&self) -> u64 {
        self.seats.len() as u64
    }
}

impl Crowd {
    fn new(weather: &Weather, place: &Place) -> Self {
        let seats = (0..weather.agents).map(|_| Seat { child: None, life: 0, session: 0 }).collect();
        let chance = Chance(weather.seed ^ 0x6372_6f77);
        Self { weather: weather.clone(), place: place.clone(), chance, seats }
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

    /// Waits until all agents have come so far.
    fn wait_for(&mut self, stage: Stage) -> Vec<String> {
        let give_up = Instant::now() + LONGEST_CALM;
        let mut troubles = Vec::new();
        for slot in 0..self.seats.len() {
            let path = self.place.stage(slot as u64, stage);
            while self.seats[slot].child.is_some() && !path.exists() {
                self.assert_alive();
                if Instant::now() > give_up {
                    troubles.push(format!("agent {slot}.{} does not come to an end", self.seats[slot].life));
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        troubles
    }

    /// The sessions of agents that live.
    fn sessions(&self) -> Vec<String> {
        let live = self.seats.iter().enumerate().filter(|(_, seat)| seat.child.is_some());
        live.map(|(slot, seat)| format!("session-{slot}-{}", seat.session)).collect()
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
    let dir = ground::directory("link-storm-");
    let place = Place::make(dir.path());
    let mut fleet = Fleet::start(&place, weather.servers, weather.mood == Mood::Storm, weather.bug);
    let not_done: Vec<String> = fleet.no_disk.iter().map(|why| format!("a full disk ({why})")).collect();
    not_done.iter().for_each(|what| crate::skip::skip(what));
    let observer = Observer::start(fleet.servers.urls(), &place.history());
    let mut nemesis = Nemesis::new(&place, weather.seed, weather.mood, weather.bug);
    let mut crowd = Crowd::new(weather, &place);
    crowd.fill_seats();
    fleet.wait_until_linked();
    let end = Instant::now() + weather.time;
    while Instant::now() < end {
        crowd.fill_seats();
        crowd.assert_alive();
        nemesis.turn(&mut fleet, &mut crowd);
        std::thread::sleep(Duration::from_millis(5));
    }
    nemesis.calm(&mut fleet);
    crowd.fill_seats();
    // The last of each machine dies with what it has, and nobody comes in its place.
    let machines = MACHINES.len() as u64;
    for slot in weather.agents.saturating_sub(machines)..weather.agents {
        nemesis.kill_slot(&mut crowd, slot);
    }
    fs::write(place.enough(), "").unwrap();
    let mut troubles = crowd.wait_for(Stage::Quiet);
    let sessions = crowd.sessions();
    let limit = if weather.bug.is_some() { SETTLING_WITH_FAULT } else { SETTLING };
    let unsettled = settle(&fleet, &observer, &sessions, limit);
    fs::write(place.arrived(), "").unwrap();
    troubles.extend(crowd.wait_for(Stage::Rests));
    take_stock(&place, &fleet, unsettled);
    drop(observer);
    drop(crowd);
    let mut verdict = checker::check(&history::read(&place.history()));
    verdict.violations.extend(troubles.into_iter().map(|text| checker::Violation {
        promise: checker::Promise::EverythingAnswers,
        text,
        proof: Vec::new(),
    }));
    Aftermath { verdict, not_done, fleet, dir }
}

/// Waits until all mail has arrived and the records are those of live agents. What is not so in the end is returned.
fn settle(fleet: &Fleet, observer: &Observer, sessions: &[String], limit: Duration) -> Vec<String> {
    let give_up = Instant::now() + limit;
    let mut calm = 0;
    loop {
        let unsettled = unsettled(fleet, observer, sessions);
        calm = if unsettled.is_empty() { calm + 1 } else { 0 };
        // Twice: a command of an agent that was killed may still have sent something.
        if calm == 2 || Instant::now() > give_up {
            return unsettled;
        }
        std::thread::sleep(LOOK);
    }
}

fn unsettled(fleet: &Fleet, observer: &Observer, sessions: &[String]) -> Vec<String> {
    let mut unsettled = Vec::new();
    for machine in &fleet.machines {
        // Any look buries the dead, and starts the link.
        machine.run(&["agents"]);
        let status = machine.status();
        if status["linked"] != true || status["queued"] != 0 {
            unsettled.push(format!("{} is not linked, or has messages queued: {status}", machine.place.name));
        }
    }
    match observer::look(&fleet.servers.urls()) {
        None => unsettled.push("the server does not answer".to_string()),
        Some(there) if !there.waiting.is_empty() || there.receipts > 0 => {
            let (messages, receipts) = (there.waiting.len(), there.receipts);
            unsettled.push(format!("{messages} messages and {receipts} receipts wait on the server"));
        }
        Some(_) => {}
    }
    for (key, state) in observer.records() {
        let owners = match state {
            RecordState::Owned { owner, is_done: false, .. } => vec![owner],
            RecordState::Paths { held } => held.into_iter().map(|(owner, _)| owner).collect(),
            _ => continue,
        };
        let dead = owners.into_iter().find(|owner| !sessions.contains(&owner.session));
        unsettled.extend(dead.map(|owner| format!("the record {key} is of a dead agent: {owner:?}")));
    }
    unsettled
}

/// Records what commands of dead agents answered, and where every message is.
fn take_stock(place: &Place, fleet: &Fleet, unsettled: Vec<String>) {
    let mut journal = Journal::open(&place.history(), "stock");
    for what in unsettled {
        journal.write(Event::Unsettled { what });
    }
    for machine in &fleet.machines {
        for (shown, stem) in messages(&machine.place.mesh()) {
            journal.write(Event::Lies { place: format!("{}/{shown}", machine.place.name), stem });
        }
    }
    if let Some(there) = observer::look(&fleet.servers.urls()) {
        let lie = |stems: Vec<String>, shown: &str| {
            let shown = format!("server/{shown}");
            stems.into_iter().map(move |stem| Event::Lies { place: shown.clone(), stem })
        };
        for event in lie(there.waiting, "inbox").chain(lie(there.dead, "dead")) {
            journal.write(event);
        }
    }
    let history = history::read(&place.history());
    for line in &history {
        let Event::Invoke { op, intent, .. } = &line.event else { continue };
        // The output of an answered command has been removed.
        let Ok(said) = fs::read(place.out(&line.who, *op)) else { continue };
        let answer = command::answer(intent, &String::from_utf8_lossy(&said)).unwrap_or_default();
        if !answer.handed.is_empty() || !answer.accepted.is_empty() || *intent == Intent::Read {
            Journal::open(&place.history(), &line.who).write(Event::Orphaned { op: *op, answer });
        }
    }
}

/// Every message in a place where it may be, by the name of its file.
fn messages(mesh: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for dir in ["inbox", "graves", "quarantine", "seen", "remote/queued", "remote/refused"] {
        collect(&mesh.join(dir), dir, &mut found);
    }
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
