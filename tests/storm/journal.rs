//! Files with a line for each thing that happened, which several processes write at once: each has a file of its own.
//! Times are from the machine's monotonic clock, which all processes share and which does not jump with the time of day.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::marker::PhantomData;
use std::path::Path;

use nix::time::{ClockId, clock_gettime};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Microseconds of the machine's monotonic clock.
pub type Time = u64;

pub fn now() -> Time {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    time.tv_sec() as u64 * 1_000_000 + time.tv_nsec() as u64 / 1_000
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Line<E> {
    pub at: Time,
    pub who: String,
    pub event: E,
}

/// A file that is being written.
pub struct Journal<E> {
    file: File,
    who: String,
    events: PhantomData<fn(E)>,
}

impl<E: Serialize> Journal<E> {
    pub fn open(dir: &Path, who: &str) -> Self {
        let path = dir.join(format!("{who}.jsonl"));
        let file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        Self { file, who: who.to_string(), events: PhantomData }
    }

    /// Writes a line. Returns its time.
    pub fn write(&mut self, event: E) -> Time {
        let line = Line { at: now(), who: self.who.clone(), event };
        let text = serde_json::to_string(&line).unwrap() + "\n";
        self.file.write_all(text.as_bytes()).unwrap();
        line.at
    }
}

/// All lines, ordered by time. A process that was killed may have left half a line, which is ignored.
pub fn read<E: DeserializeOwned>(dir: &Path) -> Vec<Line<E>> {
    let mut lines: Vec<Line<E>> = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        lines.extend(whole.lines().map(|line| serde_json::from_str(line).unwrap()));
    }
    lines.sort_by_key(|line| line.at);
    lines
}
