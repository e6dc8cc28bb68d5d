//! The directories of a storm: a home, a working directory, a mesh, and next to them the history, which neither a full
//! disk nor the nemesis reaches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ravenry::sys::test_switches;

/// How long the holder of a contested path has to answer.
pub const CONTEST_SECONDS: u64 = 1;

/// Directories that agents reserve, and files in each.
pub const DIRECTORIES: u64 = 8;
pub const FILES: u64 = 4;
/// Tasks in the spec.
const TASKS: usize = 60;

#[derive(Clone, Debug)]
pub struct Place {
    root: PathBuf,
}

impl Place {
    /// Creates everything but the mesh.
    pub fn make(root: &Path) -> Self {
        let place = Self::at(root);
        for dir in ["home", "work", "history", "out", "disk"] {
            fs::create_dir(root.join(dir)).unwrap();
        }
        for dir in 0..DIRECTORIES {
            let dir = place.work().join(format!("d{dir}"));
            fs::create_dir(&dir).unwrap();
            (0..FILES).for_each(|file| fs::write(dir.join(format!("f{file}")), "").unwrap());
        }
        let mut spec = "# The storm\n\n".to_string();
        for number in 0..TASKS {
            let needs =
                if number % 5 == 4 { format!(" (needs TASK-{:02})", number - 4) } else { String::new() };
            spec.push_str(&format!("- [ ] TASK-{number:02}: number {number}{needs}\n"));
        }
        fs::write(place.spec(), spec).unwrap();
        place
    }

    pub fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub fn spec(&self) -> PathBuf {
        self.work().join("spec.md")
    }

    /// The mounted disk, if one can be mounted. It holds the mesh, and what is moved out of the mesh.
    pub fn disk(&self) -> PathBuf {
        self.root.join("disk")
    }

    pub fn mesh(&self) -> PathBuf {
        self.disk().join("mesh")
    }

    pub fn trash(&self) -> PathBuf {
        self.disk().join("trash")
    }

    pub fn history(&self) -> PathBuf {
        self.root.join("history")
    }

    /// The output of a running command.
    pub fn out(&self, who: &str, op: u64) -> PathBuf {
        self.root.join("out").join(format!("{}-{op}", who.replace('.', "-")))
    }

    /// The file in which a listener announces that it listens.
    pub fn bell(&self, slot: u64) -> PathBuf {
        self.root.join(format!("bell-{slot}"))
    }

    /// Once this file exists, agents end.
    pub fn enough(&self) -> PathBuf {
        self.root.join("enough")
    }

    /// How many milliseconds the time of day is off.
    pub fn clock(&self) -> PathBuf {
        self.root.join("clock")
    }

    /// The real `msg`, confined to these directories.
    pub fn msg(&self, ancestry_end: u32) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_msg"));
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("HOME", self.root.join("home"))
            .env("MSG_MESH", self.mesh())
            .env("MSG_CONTEST_TIMEOUT", CONTEST_SECONDS.to_string())
            .env("PATH", path);
        command.env(test_switches::ANCESTRY_END, ancestry_end.to_string());
        command.env(test_switches::BACKGROUND, "off");
        if let Ok(bug) = std::env::var(test_switches::BUG) {
            command.env(test_switches::BUG, bug);
        }
        let shift = fs::read_to_string(self.clock()).ok().and_then(|text| text.trim().parse::<i64>().ok());
        if let Some(millis) = shift.filter(|millis| *millis != 0) {
            let time = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(millis);
            command.env(test_switches::NOW, time.to_string());
        }
        command.current_dir(self.work()).stdin(Stdio::null());
        command
    }
}
