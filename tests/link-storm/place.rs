//! The directories of a storm: for each machine a home, a clone of the repository and a mesh, and next to them the
//! history, which neither a full disk nor the nemesis reaches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ravenry::sys::test_switches;

pub const MACHINES: [&str; 3] = ["laptop", "desktop", "buildbox"];
/// How long the lease of a machine lasts, in milliseconds.
pub const LEASE: u64 = 2_000;

/// Directories that agents reserve, and files in each.
pub const DIRECTORIES: u64 = 4;
pub const FILES: u64 = 3;
/// Tasks in the spec.
pub const TASKS: u64 = 10;

#[derive(Clone, Debug)]
pub struct Place {
    root: PathBuf,
}

/// How far an agent is at the end.
#[derive(Clone, Copy, Debug)]
pub enum Stage {
    /// It does nothing new.
    Quiet,
    /// It has read its mail.
    Rests,
}

/// The directories of one machine.
#[derive(Clone, Debug)]
pub struct MachinePlace {
    pub name: String,
    dir: PathBuf,
}

impl Place {
    /// Creates everything but the meshes.
    pub fn make(root: &Path) -> Self {
        let place = Self::at(root);
        for dir in ["history", "out"] {
            fs::create_dir(root.join(dir)).unwrap();
        }
        for name in MACHINES {
            let machine = place.machine(name);
            for dir in ["home", "work", "disk"] {
                fs::create_dir_all(machine.dir.join(dir)).unwrap();
            }
            machine.make_repository();
        }
        place
    }

    pub fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn machine(&self, name: &str) -> MachinePlace {
        MachinePlace { name: name.to_string(), dir: self.root.join(name) }
    }

    /// The machine of the agent in that slot.
    pub fn machine_of(&self, slot: u64) -> MachinePlace {
        self.machine(MACHINES[(slot % MACHINES.len() as u64) as usize])
    }

    pub fn history(&self) -> PathBuf {
        self.root.join("history")
    }

    /// The output of a running command.
    pub fn out(&self, who: &str, op: u64) -> PathBuf {
        self.root.join("out").join(format!("{}-{op}", who.replace('.', "-")))
    }

    /// Once this file exists, agents do nothing new.
    pub fn enough(&self) -> PathBuf {
        self.root.join("enough")
    }

    /// The file by which the agent in that slot says how far it is.
    pub fn stage(&self, slot: u64, stage: Stage) -> PathBuf {
        self.root.join(format!("{stage:?}-{slot}").to_lowercase())
    }

    /// Once this one exists too, all mail has arrived, and they read it.
    pub fn arrived(&self) -> PathBuf {
        self.root.join("arrived")
    }
}

impl MachinePlace {
    pub fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// The mounted disk, if one can be mounted. It holds the mesh.
    pub fn disk(&self) -> PathBuf {
        self.dir.join("disk")
    }

    pub fn mesh(&self) -> PathBuf {
        self.disk().join("mesh")
    }

    /// How many milliseconds its clocks are off.
    pub fn clock(&self) -> PathBuf {
        self.dir.join("clock")
    }

    /// The real `msg`, confined to this machine.
    pub fn msg(&self, ancestry_end: u32) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_msg"));
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("HOME", self.dir.join("home"))
            .env("MSG_MESH", self.mesh())
            .env("PATH", path)
            .env(test_switches::ANCESTRY_END, ancestry_end.to_string())
            .env(test_switches::BACKGROUND, "off")
            .env(test_switches::LINK_LEASE, LEASE.to_string())
            .env(test_switches::CLOCK, self.clock());
        if let Ok(bug) = std::env::var(test_switches::BUG) {
            command.env(test_switches::BUG, bug);
        }
        command.current_dir(self.work()).stdin(Stdio::null());
        command
    }

    /// A clone of one repository: the same commit, made alike on each machine.
    fn make_repository(&self) {
        let work = self.work();
        for dir in 0..DIRECTORIES {
            let dir = work.join(format!("d{dir}"));
            fs::create_dir(&dir).unwrap();
            (0..FILES).for_each(|file| fs::write(dir.join(format!("f{file}")), "").unwrap());
        }
        let tasks: String = (0..TASKS).map(|number| format!("- [ ] T-{number} number {number}\n")).collect();
        fs::write(work.join("plan.md"), format!("# The storm\n\n{tasks}")).unwrap();
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.current_dir(&work).args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
            command.env("HOME", self.dir.join("home"));
            for who in ["AUTHOR", "COMMITTER"] {
                command.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.org");
                command.env(format!("GIT_{who}_DATE"), "2026-11-14T12:00:00Z");
            }
            let done = command.output().unwrap();
            assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "--quiet", "--initial-branch=main"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "start"]);
    }
}
