//! One agent: a process that runs one command after another until it is killed. What it does next is drawn from the
//! seed, its slot and its life, and depends on what it believes it has.

use std::path::PathBuf;
use std::time::Duration;

use nix::unistd::getppid;

use crate::chance::Chance;
use crate::command::{Caller, Running};
use crate::history::{Answer, Event, Fate, Intent, Journal};
use crate::place::{DIRECTORIES, FILES, Place, Stage, TASKS};

/// More steps than any command has.
const STEPS: u64 = 24;
/// The longest pause between two commands, in milliseconds.
const PAUSE: u64 = 60;
/// How many tasks greedy agents want.
const GREED: u64 = 4;
/// How often an agent that has nothing to do looks whether that has changed.
const REST: Duration = Duration::from_millis(20);

/// Which operations the agents do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mood {
    /// All of them.
    Storm,
    /// Only messages.
    Letters,
    /// Few tasks, wanted by all, and completed late.
    Greed,
    /// Names, tasks and paths, held for long.
    Hoard,
}

impl Mood {
    const ALL: [Self; 4] = [Self::Storm, Self::Letters, Self::Greed, Self::Hoard];

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

    fn who(&self) -> String {
        format!("{}.{}", self.slot, self.life)
    }

    pub fn run(self) {
        let place = Place::at(&self.root);
        let mut journal = Journal::open(&place.history(), &self.who());
        let machine = place.machine_of(self.slot).name;
        journal.write(Event::Born { machine, session: self.session.clone(), pid: std::process::id() });
        let seed = self.seed.wrapping_mul(1_000_003) ^ (self.slot << 32) ^ (self.life << 16);
        Agent {
            chance: Chance(seed),
            place,
            journal,
            belief: Belief::default(),
            ops: 0,
            parent: getppid().as_raw(),
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
    /// Messages that can be acknowledged.
    questions: Vec<String>,
    /// A task that is done, and could be opened again.
    done: Option<String>,
    /// A completion could not be decided, because the server was not reached.
    insists: bool,
    /// A command was interrupted, so it should check.
    unsure: bool,
}

struct Agent {
    task: Task,
    place: Place,
    journal: Journal,
    chance: Chance,
    belief: Belief,
    ops: u64,
    parent: i32,
}

impl Agent {
    fn live(mut self) {
        while !self.place.enough().exists() && self.has_parent() {
            if let Some(intent) = self.want() {
                let fate = self.fate(&intent);
                self.perform(intent, fate);
            }
            let pause = self.chance.below(PAUSE);
            std::thread::sleep(Duration::from_millis(pause));
        }
        std::fs::write(self.place.stage(self.task.slot, Stage::Quiet), "").unwrap();
        while !self.place.arrived().exists() && self.has_parent() {
            std::thread::sleep(REST);
        }
        self.read_the_rest();
        self.journal.write(Event::Rests);
        std::fs::write(self.place.stage(self.task.slot, Stage::Rests), "").unwrap();
        while self.has_parent() {
            std::thread::sleep(REST);
        }
    }

    /// Whether somebody is there to end us.
    fn has_parent(&self) -> bool {
        getppid().as_raw() == self.parent
    }

    fn read_the_rest(&mut self) {
        for _ in 0..60 {
            let event = match self.belief.name {
                None => {
                    let name = format!("A{:02}", self.task.slot);
                    self.perform(Intent::Join { name }, Fate::Lives)
                }
                Some(_) => self.perform(Intent::Read, Fate::Lives),
            };
            match event {
                Event::Ok { answer, .. } if answer.handed.is_empty() && answer.name.is_none() => return,
                Event::Ok { .. } => {}
                // Its name may be taken for good.
                Event::No { kind, .. } if kind == "name_taken" => {
                    let name = format!("Z{:02}x{}", self.task.slot, self.ops);
                    self.perform(Intent::Join { name }, Fate::Lives);
                }
                // Something still prevents it, but not for long.
                _ => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }

    fn perform(&mut self, intent: Intent, fate: Fate) -> Event {
        self.ops += 1;
        let op = self.ops;
        self.journal.write(Event::Invoke { op, intent: intent.clone(), fate });
        let caller = Caller {
            place: &self.place,
            slot: self.task.slot,
            who: self.task.who(),
            session: &self.task.session,
        };
        let running = Running::start(&caller, op, intent.clone(), fate);
        running.suffer();
        let event = running.end();
        self.journal.write(event.clone());
        self.learn(&intent, &event);
        event
    }

    fn learn(&mut self, intent: &Intent, event: &Event) {
        if let Intent::Complete { .. } = intent {
            self.belief.insists = matches!(event, Event::No { kind, .. } if kind == "not_linked");
        }
        match event {
            Event::Ok { answer, .. } => self.believe(intent, answer),
            Event::No { kind, .. } => match (kind.as_str(), intent) {
                ("not_completed", Intent::Reopen { .. }) => self.belief.done = None,
                ("not_joined" | "evicted", _) => self.belief = Belief::default(),
                ("already_joined" | "ambiguous_caller" | "already_have_claim", _) => {
                    self.belief.unsure = true;
                }
                ("already_completed", Intent::Claim { task } | Intent::Complete { task }) => {
                    self.belief.done = Some(task.clone());
                    self.forget(task);
                }
                // What another machine took is given up here, too.
                ("not_yours" | "not_claimed", Intent::Complete { .. }) => self.belief.unsure = true,
                ("not_yours" | "not_claimed", Intent::Unclaim { task }) => self.forget(task),
                ("not_reserved", Intent::Release { .. }) => self.belief.paths.clear(),
                _ => {}
            },
            _ => self.belief.unsure = true,
        }
    }

    fn forget(&mut self, task: &str) {
        self.belief.task.take_if(|own| own == task);
    }

    fn believe(&mut self, intent: &Intent, answer: &Answer) {
        let belief = &mut self.belief;
        match intent {
            Intent::Join { .. } | Intent::WhoAmI | Intent::Rename { .. } => {
                belief.name = answer.name.clone();
                belief.unsure = false;
            }
            Intent::Leave => *belief = Belief::default(),
            Intent::Claim { .. } => belief.task = answer.task.clone().map(|(task, _)| task),
            Intent::Reserve { path } => belief.paths.push(path.clone()),
            Intent::Release { path } => belief.paths.retain(|held| held != path),
            Intent::Complete { task } => {
                belief.done = Some(task.clone());
                belief.task = None;
            }
            Intent::Unclaim { task } => self.forget(task),
            Intent::Reopen { .. } => belief.done = None,
            Intent::Read => belief.questions.clone_from(&answer.questions),
            Intent::Ack { id } => belief.questions.retain(|question| question != id),
            _ => {}
        }
    }

    fn fate(&mut self, intent: &Intent) -> Fate {
        let chance = &mut self.chance;
        match self.task.mood {
            Mood::Storm => {}
            Mood::Letters if matches!(intent, Intent::Read) && chance.one_in(6) => {
                return Fate::Step(1 + chance.below(STEPS));
            }
            Mood::Letters | Mood::Greed | Mood::Hoard => return Fate::Lives,
        }
        match chance.below(50) {
            0..=2 => Fate::Step(1 + chance.below(STEPS)),
            3 => Fate::After(chance.below(60_000)),
            4 => Fate::Stopped(chance.below(40_000), 1_000 * chance.below(800)),
            // Longer than a lease.
            5 if chance.one_in(4) => {
                Fate::Stopped(chance.below(60_000), 1_000 * (2_000 + chance.below(3_000)))
            }
            _ => Fate::Lives,
        }
    }

    /// What it does next; `None`: nothing for a moment.
    fn want(&mut self) -> Option<Intent> {
        if self.belief.unsure && self.chance.one_in(2) {
            return Some(Intent::WhoAmI);
        }
        if self.belief.name.is_none() {
            let name = self.wish_for_name();
            return Some(Intent::Join { name });
        }
        match self.task.mood {
            Mood::Letters => Some(match self.chance.below(2) {
                0 => self.want_to_send(),
                _ => Intent::Read,
            }),
            Mood::Greed => self.want_greedily(),
            Mood::Hoard => self.want_to_hoard(),
            Mood::Storm => Some(self.want_anything()),
        }
    }

    fn want_anything(&mut self) -> Intent {
        match self.chance.below(100) {
            0..=27 => self.want_to_send(),
            28..=42 => Intent::Read,
            43..=46 => match self.belief.questions.first() {
                Some(id) => Intent::Ack { id: id.clone() },
                None => Intent::Read,
            },
            47..=63 => self.want_task(),
            64..=78 => self.want_paths(),
            79..=82 => Intent::WhoAmI,
            83..=84 => Intent::Rename { to: self.any_name() },
            85..=86 => Intent::Leave,
            87 => Intent::Broadcast { token: self.token() },
            _ => self.want_to_look(),
        }
    }

    fn want_to_look(&mut self) -> Intent {
        let looks = ["agents", "inbox", "tasks", "reservations", "feed"];
        Intent::Look { command: looks[self.chance.below(looks.len() as u64) as usize].to_string() }
    }

    /// Whoever has a task keeps it for a few seconds, so that a machine that was cut off meanwhile has lost it to one that
    /// still has it.
    fn want_greedily(&mut self) -> Option<Intent> {
        match &self.belief.task {
            // It wanted to complete it, and could not ask.
            Some(task) if self.belief.insists => Some(Intent::Complete { task: task.clone() }),
            Some(task) => match self.chance.below(400) {
                0..=2 => Some(Intent::Complete { task: task.clone() }),
                3 => Some(Intent::Unclaim { task: task.clone() }),
                _ => None,
            },
            None => match self.belief.done.clone() {
                Some(task) => Some(Intent::Reopen { task }),
                None => Some(Intent::Claim { task: format!("T-{}", self.chance.below(GREED)) }),
            },
        }
    }

    fn want_to_hoard(&mut self) -> Option<Intent> {
        match self.chance.below(12) {
            0 if self.belief.task.is_none() => Some(Intent::Claim { task: self.any_task() }),
            1 if self.belief.paths.is_empty() => Some(Intent::Reserve { path: self.path() }),
            2 => Some(self.want_to_look()),
            _ => None,
        }
    }

    fn want_task(&mut self) -> Intent {
        match self.belief.task.clone() {
            Some(task) => match self.chance.below(5) {
                0..=2 => Intent::Complete { task },
                _ => Intent::Unclaim { task },
            },
            None => match self.belief.done.clone().filter(|_| self.chance.one_in(3)) {
                Some(task) => Intent::Reopen { task },
                None => Intent::Claim { task: self.any_task() },
            },
        }
    }

    fn any_task(&mut self) -> String {
        format!("T-{}", self.chance.below(TASKS))
    }

    fn want_paths(&mut self) -> Intent {
        if !self.belief.paths.is_empty() && !self.chance.one_in(3) {
            let number = self.chance.below(self.belief.paths.len() as u64) as usize;
            return Intent::Release { path: self.belief.paths[number].clone() };
        }
        Intent::Reserve { path: self.path() }
    }

    fn path(&mut self) -> String {
        let dir = self.chance.below(DIRECTORIES);
        match self.chance.one_in(3) {
            true => format!("d{dir}/"),
            false => format!("d{dir}/f{}", self.chance.below(FILES)),
        }
    }

    /// Each agent prefers one name, and sometimes wants another's.
    fn wish_for_name(&mut self) -> String {
        match self.chance.below(6) {
            0 => self.any_name(),
            _ => format!("A{:02}", self.task.slot),
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
            0 => self.any_name(),
            _ => format!("A{:02}", self.chance.below(4.min(self.task.agents))),
        };
        Intent::Send { to, token: self.token(), wants_ack: self.chance.one_in(6) }
    }
}
