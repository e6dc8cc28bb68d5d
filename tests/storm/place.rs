//! Where a storm happens: a home, a folder to work in, a mesh, and beside them the history, which no full disk and no
//! nemesis reaches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ravenry::sys::seams;

/// The directories that agents reserve, and the files in each.
pub const DIRECTORIES: u64 = 8;
pub const FILES: u64 = 4;
/// How many tasks the spec has.
const TASKS: usize = 60;

#[derive(Clone, Debug)]
pub struct Place {
    root: PathBuf,
}

impl Place {
    /// Makes everything but the mesh.
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

    /// What is mounted, where something can be; the mesh lies on it, and what is taken out of the mesh.
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

    /// What commands say while they run.
    pub fn out(&self, who: &str, op: u64) -> PathBuf {
        self.root.join("out").join(format!("{}-{op}", who.replace('.', "-")))
    }

    /// Where a listener says that it listens.
    pub fn bell(&self, slot: u64) -> PathBuf {
        self.root.join(format!("bell-{slot}"))
    }

    /// Once it is there, agents come to an end.
    pub fn enough(&self) -> PathBuf {
        self.root.join("enough")
    }

    /// By how many milliseconds the time of day is off.
    pub fn clock(&self) -> PathBuf {
        self.root.join("clock")
    }

    /// The real `msg`, in nothing but this place.
    pub fn msg(&self, ancestry_end: u32) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_msg"));
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("HOME", self.root.join("home"))
            .env("MSG_MESH", self.mesh())
            .env("PATH", path);
        command.env(seams::ANCESTRY_END, ancestry_end.to_string());
        if let Ok(bug) = std::env::var(seams::BUG) {
            command.env(seams::BUG, bug);
        }
        let shift = fs::read_to_string(self.clock()).ok().and_then(|text| text.trim().parse::<i64>().ok());
        if let Some(millis) = shift.filter(|millis| *millis != 0) {
            let time = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(millis);
            command.env(seams::NOW, time.to_string());
        }
        command.current_dir(self.work()).stdin(Stdio::null());
        command
    }
}
