//! Everything that can go wrong on a machine, in an order that the seed decides. Each action is recorded before it is
//! done, so that its rightful damage is known, and nothing else is excused.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ravenry::domain::settings::Durability;
use ravenry::store::{Mesh, MeshLocation, MeshOptions};
use serde_json::json;

use crate::chance::Chance;
use crate::command::WORDS;
use crate::disk::Disk;
use crate::history::{Disturbance, Event, Journal};
use crate::place::Place;

/// Waiting longer for the lock would delay the undoing of other actions.
const LOCK: Duration = Duration::from_secs(1);
/// Longest pause between two actions, in milliseconds.
const PAUSE: u64 = 400;

pub struct Nemesis {
    place: Place,
    journal: Journal,
    chance: Chance,
    disk: Option<Disk>,
    deeds: u64,
    /// What has to be undone, and when.
    later: Vec<(Instant, Undo)>,
    next: Instant,
    /// Processes that foreign registrations name.
    strangers: Vec<Child>,
}

/// The agents' processes, as the nemesis reaches them.
pub trait Victims {
    /// The life in that slot, if there is one now.
    fn who(&mut self, slot: u64) -> Option<String>;
    fn kill(&mut self, slot: u64);
    fn stop(&mut self, slot: u64);
    fn go_on(&mut self, slot: u64);
    fn count(&self) -> u64;
}

enum Undo {
    FreeDisk(u64),
    GoOn(u64, u64),
    Complete {
        number: u64,
        path: PathBuf,
        text: String,
    },
    /// Restores the same file, even if its name now leads to another.
    Mend {
        number: u64,
        file: File,
        content: Vec<u8>,
    },
    PutClaimsBack {
        number: u64,
        content: Vec<u8>,
        cut: Vec<u8>,
    },
    Clock,
    Stranger,
}

impl Nemesis {
    pub fn new(place: &Place, seed: u64, disk: Option<Disk>) -> Self {
        let journal = Journal::open(&place.history(), "nemesis");
        fs::create_dir(place.trash()).unwrap();
        let (later, strangers) = (Vec::new(), Vec::new());
        let (chance, next) = (Chance(seed ^ 0x6e65_6d65), Instant::now());
        Self { place: place.clone(), journal, chance, disk, deeds: 0, later, next, strangers }
    }

    /// Undoes what is due, and does something new if it is time.
    pub fn turn(&mut self, victims: &mut impl Victims) {
        self.undo_until(Instant::now(), victims);
        if Instant::now() >= self.next {
            self.next = Instant::now() + Duration::from_millis(20 + self.chance.below(PAUSE));
            self.strike(victims);
        }
    }

    /// Undoes everything.
    pub fn calm(&mut self, victims: &mut impl Victims) {
        while !self.later.is_empty() {
            let last = self.later.iter().map(|(due, _)| *due).max().unwrap_or(self.next);
            self.undo_until(last, victims);
        }
        self.strangers.drain(..).for_each(end);
    }

    /// Returns the disk at the end.
    pub fn give_up_disk(mut self) -> Option<Disk> {
        self.disk.take()
    }

    /// Kills an agent. The record names the nemesis as the cause.
    pub fn kill(&mut self, victims: &mut impl Victims, slot: u64) {
        let Some(who) = victims.who(slot) else { return };
        let number = self.note(Disturbance::KillAgent { who });
        victims.kill(slot);
        self.done(number);
    }

    fn note(&mut self, deed: Disturbance) -> u64 {
        self.deeds += 1;
        self.journal.write(Event::Disturbance { number: self.deeds, deed });
        self.deeds
    }

    fn done(&mut self, number: u64) {
        self.journal.write(Event::Did { number });
    }

    fn after(&mut self, millis: u64, undo: Undo) {
        self.later.push((Instant::now() + Duration::from_millis(millis), undo));
    }

    fn strike(&mut self, victims: &mut impl Victims) {
        let slot = self.chance.below(victims.count());
        match self.chance.below(30) {
            0..=6 => self.kill(victims, slot),
            7..=8 => self.stop(victims, slot),
            9..=10 => self.fill_disk(),
            11..=13 => self.write_half_a_message(),
            14..=15 => self.cut_message(),
            16..=17 => self.cut_registration(),
            18 => self.cut_claims(),
            19 => self.cut_tail("feed", Disturbance::CutFeed),
            20 => self.cut_tail("index", Disturbance::CutIndex),
            21..=22 => self.move_inbox(),
            23 => self.move_directory(),
            24..=25 => self.replace_registration(),
            26 => self.unregister(),
            _ => self.jump_the_clock(),
        }
    }

    fn stop(&mut self, victims: &mut impl Victims, slot: u64) {
        let Some(who) = victims.who(slot) else { return };
        let millis = 50 + self.chance.below(1_500);
        let number = self.note(Disturbance::StopAgent { who, millis });
        victims.stop(slot);
        self.after(millis, Undo::GoOn(number, slot));
    }

    fn fill_disk(&mut self) {
        let is_full = self.later.iter().any(|(_, undo)| matches!(undo, Undo::FreeDisk(_)));
        if self.disk.is_none() || is_full {
            return;
        }
        let millis = 100 + self.chance.below(600);
        let number = self.note(Disturbance::FillDisk { millis });
        if self.disk.as_ref().is_some_and(Disk::fill) {
            self.after(millis, Undo::FreeDisk(number));
        }
    }

    /// A name that is registered now.
    fn name(&mut self) -> Option<String> {
        let names = self.names("registry");
        let names: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".json")).collect();
        let count = names.len() as u64;
        (count > 0).then(|| names[self.chance.below(count) as usize].to_string())
    }

    /// The names in a directory of the mesh, sorted.
    fn names(&self, dir: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.place.mesh().join(dir)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Writes as pi-messenger does: in place, so that others see half of it.
    fn write_half_a_message(&mut self) {
        let Some(name) = self.name() else { return };
        let inbox = self.place.mesh().join("inbox").join(&name);
        let completed = self.chance.one_in(2);
        let (millis, letters) = (jiff::Timestamp::now().as_millisecond(), self.short_id());
        let stem = format!("{millis}-{letters}");
        let token = format!("foreign.{letters}");
        let text = json!({
            "id": format!("pi-{millis}-{letters}"), "from": "Pi", "to": name, "text": format!("{WORDS}{token}"),
            "timestamp": "2026-11-14T23:57:56.113Z", "replyTo": null,
        })
        .to_string();
        let path = inbox.join(format!("{stem}.json"));
        let number = self.note(Disturbance::HalfMessage { name, token, stem, completed });
        // If the inbox is gone or the disk is full, the foreign writer fails.
        if fs::write(&path, &text[..text.len() / 2]).is_ok() && completed {
            let pause = 1 + self.chance.below(300);
            self.after(pause, Undo::Complete { number, path, text });
        }
    }

    fn short_id(&mut self) -> String {
        (0..6)
            .map(|_| char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[self.chance.below(36) as usize]))
            .collect()
    }

    /// A torn write: the file exists without its end.
    fn cut_message(&mut self) {
        let Some(name) = self.name() else { return };
        let names = self.names(&format!("inbox/{name}"));
        let Some(file) = names.iter().find(|file| file.ends_with(".json")) else { return };
        let stem = file.trim_end_matches(".json").to_string();
        let path = self.place.mesh().join("inbox").join(&name).join(file);
        let number = self.note(Disturbance::CutMessage { name, stem });
        if let Ok(file) = OpenOptions::new().write(true).open(path) {
            let length = file.metadata().map_or(0, |metadata| metadata.len());
            file.set_len(length / 2).ok();
        }
        self.done(number);
    }

    fn cut_registration(&mut self) {
        let Some(name) = self.name() else { return };
        let path = self.place.mesh().join(format!("registry/{name}.json"));
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(path) else { return };
        let mut content = Vec::new();
        if file.read_to_end(&mut content).is_err()
            || serde_json::from_slice::<serde_json::Value>(&content).is_err()
        {
            return;
        }
        let millis = 5 + self.chance.below(250);
        let number = self.note(Disturbance::CutRegistration { name, millis });
        file.set_len(content.len() as u64 / 2).unwrap();
        self.after(millis, Undo::Mend { number, file, content });
    }

    /// Holds the lock, so that none of our processes writes at the same time; the next one finds the file damaged.
    fn cut_claims(&mut self) {
        let is_at_it = |undo: &Undo| matches!(undo, Undo::PutClaimsBack { .. } | Undo::Mend { .. });
        if self.later.iter().any(|(_, undo)| is_at_it(undo)) {
            return;
        }
        let path = self.place.mesh().join("claims.json");
        let millis = 50 + self.chance.below(300);
        let mesh = self.mesh();
        let Ok(_locked) = mesh.lock() else { return };
        let Ok(content) = fs::read(&path) else { return };
        if content.len() < 4 {
            return;
        }
        let cut = content[..content.len() / 2].to_vec();
        let number = self.note(Disturbance::CutClaims { millis });
        OpenOptions::new().write(true).open(&path).unwrap().set_len(cut.len() as u64).unwrap();
        self.after(millis, Undo::PutClaimsBack { number, content, cut });
    }

    fn mesh(&self) -> Mesh {
        let options = MeshOptions { durability: Durability::Process, lock_timeout: LOCK };
        Mesh::create(&MeshLocation::at(&self.place.mesh()), options).unwrap()
    }

    /// Truncates a file, or the newest file in a directory.
    fn cut_tail(&mut self, name: &str, deed: Disturbance) {
        let mut path = self.place.mesh().join(name);
        if path.is_dir() {
            let names = self.names(name);
            let Some(last) = names.iter().rfind(|name| name.ends_with(".jsonl")) else { return };
            path = path.join(last);
        }
        let Ok(file) = OpenOptions::new().write(true).open(path) else { return };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let number = self.note(deed);
        file.set_len(length.saturating_sub(1 + self.chance.below(60))).unwrap();
        self.done(number);
    }

    /// Moves an inbox with its content to the trash, where it is found at the end.
    fn move_inbox(&mut self) {
        let Some(name) = self.name() else { return };
        let made_anew = self.chance.one_in(2);
        let inbox = self.place.mesh().join("inbox").join(&name);
        let number = self.note(Disturbance::MoveInbox { name, made_anew });
        let moved = fs::rename(&inbox, self.place.trash().join(format!("inbox-{number}"))).is_ok();
        if moved && made_anew {
            // Another process may have been first, or the disk is full.
            fs::create_dir(&inbox).ok();
        }
        self.done(number);
    }

    fn move_directory(&mut self) {
        let name = ["presence", "feed", "tmp"][self.chance.below(3) as usize].to_string();
        let number = self.note(Disturbance::MoveDirectory { name: name.clone() });
        fs::rename(self.place.mesh().join(&name), self.place.trash().join(format!("{name}-{number}"))).ok();
        self.done(number);
    }

    /// pi-messenger takes no lock, and checks a process only by its id.
    fn replace_registration(&mut self) {
        let Some(name) = self.name() else { return };
        let alive = self.chance.one_in(2);
        let stranger = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let pid = stranger.id();
        if alive {
            self.strangers.push(stranger);
        } else {
            end(stranger);
        }
        let text = json!({
            "name": name, "pid": pid, "sessionId": format!("pi-{}", self.deeds), "cwd": self.place.work(),
            "model": "m", "startedAt": jiff::Timestamp::now().to_string(), "reservations": [],
        })
        .to_string();
        let path = self.place.mesh().join(format!("registry/{name}.json"));
        let number = self.note(Disturbance::Foreign { name, alive });
        fs::write(path, text).ok();
        self.done(number);
        if alive {
            let millis = 500 + self.chance.below(4_000);
            self.after(millis, Undo::Stranger);
        }
    }

    fn unregister(&mut self) {
        let Some(name) = self.name() else { return };
        let path = self.place.mesh().join(format!("registry/{name}.json"));
        let number = self.note(Disturbance::Unregister { name });
        fs::remove_file(path).ok();
        self.done(number);
    }

    /// Back or forth, by seconds or by half an hour, for a while.
    fn jump_the_clock(&mut self) {
        let span = if self.chance.one_in(2) { 5_000 } else { 1_800_000 };
        let millis = self.chance.below(2 * span).cast_signed() - span.cast_signed();
        let number = self.note(Disturbance::Clock { millis });
        self.set_clock(millis);
        self.done(number);
        let pause = 200 + self.chance.below(2_000);
        self.after(pause, Undo::Clock);
    }

    fn set_clock(&self, millis: i64) {
        let new = self.place.clock().with_extension("new");
        fs::write(&new, millis.to_string()).unwrap();
        fs::rename(new, self.place.clock()).unwrap();
    }

    fn undo_until(&mut self, time: Instant, victims: &mut impl Victims) {
        let (due, later) = std::mem::take(&mut self.later).into_iter().partition(|(due, _)| *due <= time);
        self.later = later;
        for (_, undo) in due {
            self.undo(undo, victims);
        }
    }

    fn undo(&mut self, undo: Undo, victims: &mut impl Victims) {
        match undo {
            Undo::FreeDisk(number) => {
                assert!(self.disk.as_ref().is_some_and(Disk::free), "the disk can't be made larger again");
                self.done(number);
            }
            Undo::GoOn(number, slot) => {
                victims.go_on(slot);
                self.done(number);
            }
            Undo::Complete { number, path, text } => {
                // If it was moved to quarantine, or the disk is full, it was never accepted.
                if path.exists() && fs::write(&path, text).is_ok() {
                    self.done(number);
                }
            }
            Undo::Mend { number, mut file, content } => {
                match file.rewind().and_then(|()| file.write_all(&content)) {
                    Ok(()) => self.done(number),
                    // The disk is full.
                    Err(_) => self.after(10, Undo::Mend { number, file, content }),
                }
            }
            Undo::PutClaimsBack { number, content, cut } => {
                let mesh = self.mesh();
                let path = self.place.mesh().join("claims.json");
                let Ok(_locked) = mesh.lock() else {
                    return self.after(1, Undo::PutClaimsBack { number, content, cut });
                };
                let kept = fs::read(&path).is_ok_and(|now| now == cut);
                let verdict = self.note(Disturbance::ClaimsKept { kept });
                self.done(verdict);
                if fs::write(&path, &content).is_ok() {
                    self.done(number);
                } else {
                    let cut = fs::read(&path).unwrap();
                    self.after(10, Undo::PutClaimsBack { number, content, cut });
                }
            }
            Undo::Clock => self.set_clock(0),
            Undo::Stranger => self.strangers.drain(..1).for_each(end),
        }
    }
}

fn end(mut child: Child) {
    child.kill().ok();
    child.wait().ok();
}

impl Drop for Nemesis {
    fn drop(&mut self) {
        self.strangers.drain(..).for_each(end);
    }
}
