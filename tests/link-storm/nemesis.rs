//! Who disturbs: kills agents, links and servers, stops links for longer than a lease, cuts and slows down networks,
//! fills disks and makes clocks jump. What it does is drawn from the seed.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::sys::test_switches::Bug;

use crate::agent::Mood;
use crate::chance::Chance;
use crate::disk::Disk;
use crate::fleet::Fleet;
use crate::history::{Disturbance, Event, Journal};
use crate::observer;
use crate::place::{LEASE, MACHINES, Place};
use crate::proxy::{Direction, Proxy};

/// More steps than a link takes between two disturbances.
const LINK_STEPS: u64 = 80;

/// The agents, as the nemesis sees them.
pub trait Victims {
    /// The life in that slot, if there is one.
    fn who(&mut self, slot: u64) -> Option<String>;
    fn kill(&mut self, slot: u64);
    fn count(&self) -> u64;
}

/// What takes a disturbance back.
enum Undo {
    Heal(u64, usize),
    GoOn(u64, Pid),
    StartServer(u64, usize),
    FreeDisk(u64, usize),
}

pub struct Nemesis {
    place: Place,
    chance: Chance,
    mood: Mood,
    bug: Option<Bug>,
    journal: Journal,
    deeds: u64,
    later: Vec<(Instant, Undo)>,
    /// By machine: how far the wall clock is off, and how long it has slept.
    clocks: [(i64, u64); MACHINES.len()],
}

impl Nemesis {
    pub fn new(place: &Place, seed: u64, mood: Mood, bug: Option<Bug>) -> Self {
        Self {
            place: place.clone(),
            chance: Chance(seed ^ 0x006e_656d),
            mood,
            bug,
            journal: Journal::open(&place.history(), "nemesis"),
            deeds: 0,
            later: Vec::new(),
            clocks: Default::default(),
        }
    }

    /// Called every few milliseconds: takes back what is due, and does something now and then.
    pub fn turn(&mut self, fleet: &mut Fleet, victims: &mut impl Victims) {
        self.undo(fleet, Some(Instant::now()));
        match self.mood {
            Mood::Storm if self.chance.one_in(90) => self.disturb(fleet, victims),
            Mood::Letters if self.chance.one_in(70) => self.kill_linked(fleet),
            Mood::Greed if self.later.is_empty() && self.chance.one_in(150) => {
                let millis = LEASE * 5 / 2 + self.chance.below(LEASE);
                self.cut(fleet, millis);
            }
            Mood::Hoard if self.chance.one_in(200) => self.kill_agent(victims),
            _ => {}
        }
    }

    /// Takes everything back.
    pub fn calm(&mut self, fleet: &mut Fleet) {
        self.undo(fleet, None);
        for (number, machine) in MACHINES.iter().enumerate() {
            if self.clocks[number].0 != 0 {
                let deed = self.begin(Disturbance::Clock { machine: (*machine).to_string(), millis: 0 });
                self.clocks[number].0 = 0;
                self.set_clock(number);
                self.end(deed);
            }
        }
    }

    fn begin(&mut self, deed: Disturbance) -> u64 {
        self.deeds += 1;
        self.journal.write(Event::Disturbance { number: self.deeds, deed });
        self.deeds
    }

    fn end(&mut self, number: u64) {
        self.journal.write(Event::Did { number });
    }

    fn after(&mut self, millis: u64, undo: Undo) {
        self.later.push((Instant::now() + Duration::from_millis(millis), undo));
    }

    fn undo(&mut self, fleet: &mut Fleet, until: Option<Instant>) {
        let is_due = |(at, _): &(Instant, Undo)| until.is_none_or(|until| *at <= until);
        let (due, later) = std::mem::take(&mut self.later).into_iter().partition(is_due);
        self.later = later;
        for (_, undo) in due {
            let number = match undo {
                Undo::Heal(number, machine) => {
                    fleet.machines[machine].heal();
                    number
                }
                Undo::GoOn(number, pid) => {
                    kill(pid, Signal::SIGCONT).ok();
                    number
                }
                Undo::StartServer(number, server) => {
                    fleet.servers.all_mut()[server].restart();
                    number
                }
                Undo::FreeDisk(number, machine) => {
                    fleet.machines[machine].disk.as_ref().map(Disk::free);
                    number
                }
            };
            self.end(number);
        }
    }

    fn disturb(&mut self, fleet: &mut Fleet, victims: &mut impl Victims) {
        match self.chance.below(100) {
            0..=29 => self.kill_agent(victims),
            30..=44 => self.kill_link(fleet),
            45..=53 => self.stop_link(fleet),
            54..=63 => {
                let millis = self.while_cut();
                self.cut(fleet, millis);
            }
            64..=73 => self.half_cut(fleet),
            74..=81 => self.delay(fleet),
            82..=86 => self.kill_server(fleet),
            87..=91 => self.fill_disk(fleet),
            92..=95 => self.jump_clock(),
            _ => self.sleep(),
        }
    }

    /// Half of them are shorter than a lease.
    fn while_cut(&mut self) -> u64 {
        match self.chance.one_in(2) {
            true => 50 + self.chance.below(LEASE),
            false => LEASE + self.chance.below(2 * LEASE),
        }
    }

    fn kill_agent(&mut self, victims: &mut impl Victims) {
        let slot = self.chance.below(victims.count());
        self.kill_slot(victims, slot);
    }

    pub fn kill_slot(&mut self, victims: &mut impl Victims, slot: u64) {
        let Some(who) = victims.who(slot) else { return };
        let number = self.begin(Disturbance::KillAgent { who });
        victims.kill(slot);
        self.end(number);
    }

    fn any_machine(&mut self) -> usize {
        self.chance.below(MACHINES.len() as u64) as usize
    }

    /// One that is not linked has no message in hand, and its death only keeps it from getting there.
    fn kill_linked(&mut self, fleet: &Fleet) {
        let machine = self.any_machine();
        if fleet.machines[machine].linked_process().is_some() {
            self.kill_link_of(fleet, machine);
        }
    }

    fn kill_link(&mut self, fleet: &Fleet) {
        let machine = self.any_machine();
        self.kill_link_of(fleet, machine);
    }

    fn kill_link_of(&mut self, fleet: &Fleet, machine: usize) {
        let machine = &fleet.machines[machine];
        let name = machine.place.name.clone();
        let number = self.begin(Disturbance::KillLink { machine: name.clone() });
        machine.signal_link(Signal::SIGKILL);
        self.end(number);
        if self.chance.one_in(2) {
            let step = 1 + self.chance.below(LINK_STEPS);
            let number = self.begin(Disturbance::DoomLink { machine: name, step });
            machine.start_doomed_link(step, self.bug);
            self.end(number);
        }
    }

    fn stop_link(&mut self, fleet: &Fleet) {
        let machine = &fleet.machines[self.any_machine()];
        let millis = self.while_cut();
        let number = self.begin(Disturbance::StopLink { machine: machine.place.name.clone(), millis });
        match machine.signal_link(Signal::SIGSTOP) {
            Some(pid) => self.after(millis, Undo::GoOn(number, pid)),
            None => self.end(number),
        }
    }

    /// A machine whose network works.
    fn reached(&mut self) -> Option<usize> {
        let machine = self.any_machine();
        let is_its = |(_, undo): &(Instant, Undo)| matches!(undo, Undo::Heal(_, of) if *of == machine);
        (!self.later.iter().any(is_its)).then_some(machine)
    }

    fn cut(&mut self, fleet: &Fleet, millis: u64) {
        let Some(machine) = self.reached() else { return };
        let number = self.begin(Disturbance::Cut { machine: MACHINES[machine].to_string(), millis });
        fleet.machines[machine].network.iter().for_each(Proxy::cut);
        self.after(millis, Undo::Heal(number, machine));
    }

    fn half_cut(&mut self, fleet: &Fleet) {
        let Some(machine) = self.reached() else { return };
        let (millis, to_server) = (self.while_cut(), self.chance.one_in(2));
        let name = MACHINES[machine].to_string();
        let number = self.begin(Disturbance::HalfCut { machine: name, to_server, millis });
        let direction = if to_server { Direction::ToServer } else { Direction::FromServer };
        fleet.machines[machine].network.iter().for_each(|proxy| proxy.stall(direction));
        self.after(millis, Undo::Heal(number, machine));
    }

    fn delay(&mut self, fleet: &Fleet) {
        let Some(machine) = self.reached() else { return };
        let (by_millis, millis) = (5 + self.chance.below(120), 300 + self.chance.below(3_000));
        let name = MACHINES[machine].to_string();
        let number = self.begin(Disturbance::Delay { machine: name, by_millis, millis });
        fleet.machines[machine]
            .network
            .iter()
            .for_each(|proxy| proxy.delay(Duration::from_millis(by_millis)));
        self.after(millis, Undo::Heal(number, machine));
    }

    /// One at a time, so that the others of a cluster can go on. Of those, most often the leader.
    fn kill_server(&mut self, fleet: &mut Fleet) {
        if self.later.iter().any(|(_, undo)| matches!(undo, Undo::StartServer(..))) {
            return;
        }
        let servers = fleet.servers.all();
        let mut server = self.chance.below(servers.len() as u64) as usize;
        if servers.len() > 1 && !self.chance.one_in(3) {
            let leader = observer::leader(&fleet.servers.urls());
            server = servers.iter().position(|server| Some(server.name()) == leader).unwrap_or(server);
        }
        let millis = 50 + self.chance.below(2 * LEASE);
        let number = self.begin(Disturbance::KillServer { server: servers[server].name(), millis });
        fleet.servers.all_mut()[server].kill();
        self.after(millis, Undo::StartServer(number, server));
    }

    fn fill_disk(&mut self, fleet: &Fleet) {
        let machine = self.any_machine();
        let is_full = |(_, undo): &(Instant, Undo)| matches!(undo, Undo::FreeDisk(..));
        let Some(disk) = &fleet.machines[machine].disk else { return };
        if self.later.iter().any(is_full) {
            return;
        }
        // Also longer than a message is tried.
        let most = if self.chance.one_in(3) { 7_000 } else { 1_500 };
        let millis = 100 + self.chance.below(most);
        let number = self.begin(Disturbance::FillDisk { machine: MACHINES[machine].to_string(), millis });
        disk.fill();
        self.after(millis, Undo::FreeDisk(number, machine));
    }

    fn jump_clock(&mut self) {
        let machine = self.any_machine();
        let by = 1 + self.chance.below(2 * 3_600_000) as i64;
        let millis = match self.chance.below(3) {
            0 => 0,
            1 => by,
            _ => -by,
        };
        let number = self.begin(Disturbance::Clock { machine: MACHINES[machine].to_string(), millis });
        self.clocks[machine].0 = millis;
        self.set_clock(machine);
        self.end(number);
    }

    fn sleep(&mut self) {
        let machine = self.any_machine();
        let millis = 100 + self.chance.below(3 * LEASE);
        let number = self.begin(Disturbance::Sleep { machine: MACHINES[machine].to_string(), millis });
        self.clocks[machine].1 += millis;
        self.set_clock(machine);
        self.end(number);
    }

    /// Whoever reads it meanwhile must not find it empty.
    fn set_clock(&self, machine: usize) {
        let (wall, slept) = self.clocks[machine];
        let path = self.place.machine(MACHINES[machine]).clock();
        let new = path.with_extension("new");
        fs::write(&new, format!("{wall} {slept}")).unwrap();
        fs::rename(new, path).unwrap();
    }
}
