//! One agent: a process that runs one command after another until it is killed. What it does next is drawn from the
//! seed, its slot and its life, and depends on what it believes it has.

use std::path::PathBuf;

use nix::unistd::getppid;

use crate::chance::Chance;
use crate::command::Running;
use crate::history::{Answer, Event, Fate, Intent, Journal, now};
use crate::place::{DIRECTORIES, FILES, Place};

/// More steps than any command has.
const STEPS: u64 = 24;
/// How long an agent listens if nothing arrives, in microseconds: longer than what the checker counts as listening.
const PATIENCE: u64 = 13_000_000;
/// Tasks that are not in the spec, which all agents want.
const TASKS: u64 = 16;

/// Which operations the agents do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mood {
    /// All of them.
    Storm,
    /// Few tasks and paths, wanted by all.
    Greed,
    /// Only messages.
    Letters,
    /// Watchers that are started again and again, with one message each.
    Doorbell,
}

impl Mood {
    const ALL: [Self; 4] = [Self::Storm, Self::Greed, Self::Letters, Self::Doorbell];

    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|mood| mood.name() == text).unwrap()
    }
}

/// The parameters of an agent's process.
pub struct Task {
    pub root: PathBuf,
    pub seed: u64,
    pub slot: u64,
    pub life: u64,
    pub agents: u64,
    pub session: String,
    pub mood: Mood,
}

impl Task {
    pub fn variables(&self) -> Vec<(String, String)> {
        let Self { root, seed, slot, life, agents, session, mood } = self;
        let values = [
            ("ROOT", root.display().to_string()),
            ("SEED", seed.to_string()),
            ("SLOT", slot.to_string()),
            ("LIFE", life.to_string()),
            ("AGENTS", agents.to_string()),
            ("SESSION", session.clone()),
            ("MOOD", mood.name()),
        ];
        values.map(|(name, value)| (format!("STORM_AGENT_{name}"), value)).to_vec()
    }

    pub fn from_environment() -> Option<Self> {
        let value = |name: &str| std::env::var(format!("STORM_AGENT_{name}")).ok();
        let number = |name: &str| value(name)?.parse().ok();
        Some(Self {
            root: value("ROOT")?.into(),
            seed: number("SEED")?,
            slot: number("SLOT")?,
            life: number("LIFE")?,
            agents: number("AGENTS")?,
            session: value("SESSION")?,
            mood: Mood::parse(&value("MOOD")?),
        })
    }

    pub fn who(&self) -> String {
        format!("{}.{}", self.slot, self.life)
    }

    pub fn run(self) {
        let place = Place::at(&self.root);
        let mut journal = Journal::open(&place.history(), &self.who());
        journal.write(Event::Born { session: self.session.clone(), pid: std::process::id() });
        let seed = self.seed.wrapping_mul(1_000_003) ^ (self.slot << 32) ^ (self.life << 16);
        Agent {
            chance: Chance(seed),
            place,
            journal,
            belief: Belief::default(),
            watch: None,
            ops: 0,
            parent: getppid().as_raw(),
            heard: None,
            task: self,
        }
        .live();
    }
}

/// What the agent believes it has; its commands correct it often enough.
#[derive(Default)]
struct Belief {
    name: Option<String>,
    task: Option<String>,
    paths: Vec<String>,
    /// A path that it contests, and who holds it.
    contested: Option<(String, String)>,
    /// A command was interrupted, so it should check.
    unsure: bool,
    /// By the number of a task, how many rounds of it are completed.
    rounds: std::collections::BTreeMap<u64, u64>,
}

struct Agent {
    task: Task,
    place: Place,
    journal: Journal,
    chance: Chance,
    belief: Belief,
    watch: Option<Watch>,
    ops: u64,
    parent: i32,
    /// The last time that the neighbour began to listen.
    heard: Option<String>,
}

/// A watcher that runs next to the other commands.
struct Watch {
    running: Running,
    /// When it is stopped, by our clock.
    until: u64,
}

impl Agent {
    fn live(mut self) {
        while !self.place.enough().exists() {
            // The storm's process is gone, so nobody can tell us to end.
            if getppid().as_raw() != self.parent {
                return;
            }
            if self.task.mood == Mood::Doorbell {
                self.ring();
                continue;
            }
            self.mind_the_watch();
            let intent = self.want();
            let fate = self.fate(&intent);
            self.perform(intent, fate);
        }
        self.come_to_an_end();
        self.journal.write(Event::Ends);
    }

    fn come_to_an_end(&mut self) {
        self.stop_watch();
        for _ in 0..40 {
            let event = match self.belief.name {
                None => self.perform(Intent::Join { name: None }, Fate::Lives),
                Some(_) => self.perform(Intent::Read { limit: None }, Fate::Lives),
            };
            match event {
                Event::Ok { answer, .. } if answer.handed.is_empty() && answer.name.is_none() => return,
                Event::Ok { .. } => {}
                // Something still prevents it, but not for long.
                _ => std::thread::sleep(std::time::Duration::from_millis(200)),
            }
        }
    }

    fn perform(&mut self, intent: Intent, fate: Fate) -> Event {
        self.ops += 1;
        let op = self.ops;
        self.journal.write(Event::Invoke { op, intent: intent.clone(), fate });
        let (place, session) = (&self.place, &self.task.session);
        let running = Running::start(place, &self.task.who(), session, op, intent.clone(), fate);
        running.suffer();
        let event = running.end();
        self.journal.write(event.clone());
        self.learn(&intent, &event);
        event
    }

    /// Starts a watcher, or stops one that has run long enough.
    fn mind_the_watch(&mut self) {
        if let Some(watch) = &mut self.watch {
            if watch.running.has_ended() || now() >= watch.until {
                self.stop_watch();
            }
        } else if self.belief.name.is_some() && self.chance.one_in(25) {
            let seconds =
                if self.chance.one_in(3) { 15 + self.chance.below(10) } else { 1 + self.chance.below(3) };
            let fate =
                if self.chance.one_in(4) { Fate::After(self.chance.below(60_000)) } else { Fate::Lives };
            self.start_watch(seconds * 1_000_000, fate);
        }
    }

    fn start_watch(&mut self, micros: u64, fate: Fate) {
        self.ops += 1;
        let op = self.ops;
        self.journal.write(Event::Invoke { op, intent: Intent::Watch, fate });
        let (place, session) = (&self.place, &self.task.session);
        let running = Running::start(place, &self.task.who(), session, op, Intent::Watch, fate);
        running.suffer();
        self.watch = Some(Watch { running, until: now() + micros });
    }

    fn stop_watch(&mut self) {
        let Some(watch) = self.watch.take() else { return };
        watch.running.interrupt();
        let event = watch.running.end();
        self.journal.write(event);
    }

    fn learn(&mut self, intent: &Intent, event: &Event) {
        match event {
            Event::Ok { answer, .. } => self.believe(intent, answer),
            Event::No { kind, answer, .. } => match kind.as_str() {
                "not_joined" | "evicted" => {
                    let rounds = std::mem::take(&mut self.belief.rounds);
                    self.belief = Belief { rounds, ..Belief::default() };
                }
                "already_joined" | "ambiguous_caller" => self.belief.unsure = true,
                "already_have_claim" => self.belief.task = answer.task.clone().map(|(task, _)| task),
                "already_completed" | "not_claimed" | "not_yours" => {
                    self.belief.task = None;
                    if let (Intent::Claim { task: Some(task), .. }, "already_completed") =
                        (intent, kind.as_str())
                    {
                        self.next_round(task);
                    }
                }
                kind => {
                    let is_taking = matches!(intent, Intent::TakeOver { .. });
                    if is_taking && !["too_early", "not_first", "lock_timeout"].contains(&kind) {
                        self.belief.contested = None;
                    }
                }
            },
            _ => self.belief.unsure = true,
        }
    }

    fn believe(&mut self, intent: &Intent, answer: &Answer) {
        let belief = &mut self.belief;
        match intent {
            Intent::Join { .. } | Intent::WhoAmI | Intent::Rename { .. } => {
                belief.name = answer.name.clone();
                belief.unsure = false;
            }
            Intent::Leave => {
                (belief.name, belief.task) = (None, None);
                belief.paths.clear();
            }
            Intent::Claim { .. } => belief.task = answer.task.clone().map(|(task, _)| task),
            Intent::Reserve { .. } => belief.paths.extend(answer.paths.clone()),
            Intent::Contest { path } => {
                let holder = answer.contested.clone().map(|(holder, _)| holder);
                belief.contested = holder.map(|holder| (path.clone(), holder));
            }
            Intent::TakeOver { .. } => {
                belief.contested = None;
                belief.paths.extend(answer.paths.clone());
            }
            Intent::Release { paths } if paths.is_empty() => belief.paths.clear(),
            Intent::Release { paths } => belief.paths.retain(|path| !paths.contains(path)),
            Intent::Complete { task } => {
                belief.task = None;
                let task = task.clone();
                self.next_round(&task);
            }
            Intent::Unclaim | Intent::Handoff { .. } => belief.task = None,
            _ => {}
        }
    }

    /// `T5.2` is done, so the next of its kind is `T5.3`.
    fn next_round(&mut self, task: &str) {
        let Some((number, round)) = task.strip_prefix('T').and_then(|task| task.split_once('.')) else {
            return;
        };
        if let (Ok(number), Ok(round)) = (number.parse(), round.parse::<u64>()) {
            let known = self.belief.rounds.entry(number).or_default();
            *known = (*known).max(round + 1);
        }
    }

    fn fate(&mut self, intent: &Intent) -> Fate {
        let chance = &mut self.chance;
        if self.task.mood == Mood::Letters && matches!(intent, Intent::Read { .. }) && chance.one_in(2) {
            return Fate::Step(1 + chance.below(STEPS));
        }
        let writes_little =
            matches!(intent, Intent::Send { .. } | Intent::Reserve { .. } | Intent::Claim { .. });
        match chance.below(40) {
            0..=2 => Fate::Step(1 + chance.below(STEPS)),
            3..=4 => Fate::After(chance.below(40_000)),
            5 => Fate::Stopped(chance.below(20_000), 1_000 * chance.below(400)),
            6 if writes_little => Fate::Starved,
            _ => Fate::Lives,
        }
    }

    fn want(&mut self) -> Intent {
        if self.belief.name.is_none() && !self.chance.one_in(8) {
            return Intent::Join { name: self.wish_for_name() };
        }
        if self.belief.unsure && self.chance.one_in(2) {
            return Intent::WhoAmI;
        }
        match self.task.mood {
            Mood::Greed => match self.chance.below(10) {
                0..=1 => self.want_task(),
                2..=5 => self.want_paths(),
                _ => self.want_to_change_task(),
            },
            Mood::Letters => match self.chance.below(2) {
                0 => self.want_to_send(),
                _ => Intent::Read { limit: None },
            },
            Mood::Storm | Mood::Doorbell => self.want_anything(),
        }
    }

    fn want_anything(&mut self) -> Intent {
        match self.chance.below(100) {
            0..=25 => self.want_to_send(),
            26..=39 => {
                let limit = self.chance.one_in(3).then(|| 1 + self.chance.below(5));
                Intent::Read { limit }
            }
            40..=47 => self.want_paths(),
            48..=53 => Intent::Check { path: self.path() },
            54..=61 => self.want_task(),
            62..=69 => self.want_to_change_task(),
            70..=75 => Intent::Hook { event: "PostToolUse".to_string(), path: None },
            76..=83 => Intent::Hook { event: "PreToolUse".to_string(), path: Some(self.path()) },
            84..=87 => Intent::WhoAmI,
            88..=89 => Intent::Rename { to: self.any_name() },
            90..=91 => Intent::Leave,
            92 => Intent::Evict { name: self.any_name(), force: self.chance.one_in(2) },
            93 if self.chance.one_in(2) => Intent::Broadcast { token: self.token() },
            93..=94 => Intent::Join { name: self.wish_for_name() },
            _ => {
                let looks = ["agents", "inbox", "feed", "reservations", "tasks", "history", "doctor"];
                let command = looks[self.chance.below(looks.len() as u64) as usize].to_string();
                Intent::Look { command }
            }
        }
    }

    /// Each agent prefers one name, and sometimes wants another's.
    fn wish_for_name(&mut self) -> Option<String> {
        match self.chance.below(8) {
            0 => None,
            1 => Some(self.any_name()),
            _ => Some(format!("A{:02}", self.task.slot)),
        }
    }

    fn any_name(&mut self) -> String {
        let letter = if self.chance.one_in(4) { 'B' } else { 'A' };
        format!("{letter}{:02}", self.chance.below(self.task.agents))
    }

    fn token(&self) -> String {
        format!("{}.{}", self.task.who(), self.ops + 1)
    }

    fn want_to_send(&mut self) -> Intent {
        // A few agents get most of the mail, so that there is an order to check.
        let to = match self.chance.below(3) {
            0 => format!("A{:02}", self.chance.below(4.min(self.task.agents))),
            _ => self.any_name(),
        };
        let ttl = self.chance.one_in(4).then(|| 1 + self.chance.below(4));
        Intent::Send { to, token: self.token(), ttl }
    }

    fn path(&mut self) -> String {
        let dir = self.directory();
        format!("d{dir}/f{}", self.chance.below(FILES))
    }

    fn directory(&mut self) -> u64 {
        self.chance.below(if self.task.mood == Mood::Greed { 2 } else { DIRECTORIES })
    }

    fn wish_for_path(&mut self) -> String {
        match self.chance.one_in(3) {
            true => format!("d{}/", self.directory()),
            false => self.path(),
        }
    }

    fn want_paths(&mut self) -> Intent {
        if let Some((path, from)) = self.belief.contested.clone().filter(|_| self.chance.one_in(2)) {
            return Intent::TakeOver { path, from };
        }
        if self.chance.one_in(4) {
            return Intent::Contest { path: self.wish_for_path() };
        }
        if !self.belief.paths.is_empty() && !self.chance.one_in(3) {
            let all = self.chance.one_in(3);
            let paths = if all { Vec::new() } else { vec![self.belief.paths[0].clone()] };
            return Intent::Release { paths };
        }
        let mut paths = vec![self.wish_for_path()];
        if self.chance.one_in(4) {
            paths.push(self.wish_for_path());
        }
        Intent::Reserve { paths }
    }

    fn want_task(&mut self) -> Intent {
        let number = self.chance.below(TASKS);
        let round = self.belief.rounds.get(&number).copied().unwrap_or(0);
        let task = (!self.chance.one_in(4)).then(|| format!("T{number}.{round}"));
        let paths = if self.chance.one_in(4) { vec![self.wish_for_path()] } else { Vec::new() };
        Intent::Claim { task, paths }
    }

    fn want_to_change_task(&mut self) -> Intent {
        let Some(task) = self.belief.task.clone() else { return self.want_task() };
        match self.chance.below(4) {
            0 => Intent::Complete { task },
            1 => Intent::Handoff { task, to: format!("A{:02}", self.other()) },
            _ => Intent::Unclaim,
        }
    }

    /// The slot of another agent.
    fn other(&mut self) -> u64 {
        (self.task.slot + 1 + self.chance.below(self.task.agents.max(2) - 1)) % self.task.agents
    }

    /// Of two neighbours, one starts a new watcher each time and the other sends it one message each time: no later
    /// message can hide one that was not noticed.
    fn ring(&mut self) {
        if self.belief.name.is_none() {
            self.perform(Intent::Join { name: Some(format!("A{:02}", self.task.slot)) }, Fate::Lives);
        } else if self.task.slot.is_multiple_of(2) {
            self.listen();
        } else {
            self.ring_once();
        }
    }

    fn listen(&mut self) {
        self.start_watch(0, Fate::Lives);
        let bell = self.place.bell(self.task.slot);
        std::fs::write(bell, self.ops.to_string()).unwrap();
        let out = self.place.out(&self.task.who(), self.ops);
        let give_up = now() + PATIENCE;
        while now() < give_up && std::fs::metadata(&out).is_ok_and(|out| out.len() == 0) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        self.stop_watch();
    }

    fn ring_once(&mut self) {
        let bell = std::fs::read_to_string(self.place.bell(self.task.slot - 1)).unwrap_or_default();
        if bell.is_empty() || self.heard.as_ref() == Some(&bell) {
            std::thread::sleep(std::time::Duration::from_micros(500));
            return;
        }
        self.heard = Some(bell);
        std::thread::sleep(std::time::Duration::from_micros(self.chance.below(20_000)));
        let to = format!("A{:02}", self.task.slot - 1);
        self.perform(Intent::Send { to, token: self.token(), ttl: None }, Fate::Lives);
    }
}
