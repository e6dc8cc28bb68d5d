//! A machine of a linked mesh: a mesh of its own, a clone of one repository, and its link process in the foreground.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use ravenry::domain::link::{LinkAddress, MachineName};
use ravenry::domain::{AgentName, RootCommit};
use ravenry::store::{LinkConfig, LinkCredentials, LinkStage, Mesh};
use serde_json::Value;

use crate::scratch::Scratch;

/// Longer than anything here takes on a machine that is busy.
pub const PATIENCE: Duration = Duration::from_secs(180);

pub struct Machine {
    pub scratch: Scratch,
    pub name: String,
    pub mesh: Mesh,
    link: Option<Child>,
}

/// Waits for a state.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

impl Machine {
    /// A machine with a clone of the repository, and no link.
    pub fn new(name: &str) -> Self {
        let scratch = Scratch::new();
        let mesh = scratch.open();
        let machine = Self { scratch, name: name.to_string(), mesh, link: None };
        machine.make_repository();
        machine
    }

    pub fn repository(&self) -> PathBuf {
        self.scratch.home().join("shop")
    }

    /// The same commit on every machine, made alike.
    fn make_repository(&self) {
        let dir = self.repository();
        std::fs::create_dir_all(&dir).unwrap();
        let tasks: String = (0..5_000).map(|number| format!("- [ ] T-{number} one\n")).collect();
        std::fs::write(dir.join("plan.md"), format!("# Plan\n\n{tasks}")).unwrap();
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "."],
            &["commit", "--quiet", "--message", "start"],
        ] {
            self.git(args);
        }
    }

    fn git(&self, args: &[&str]) -> String {
        let mut command = self.scratch.command("git");
        command.args(args).current_dir(self.repository()).env("PATH", std::env::var_os("PATH").unwrap());
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.org");
            command.env(format!("GIT_{who}_DATE"), "2026-11-14T12:00:00Z");
        }
        let done = command.stdout(std::process::Stdio::piped()).output().unwrap();
        assert!(done.status.success(), "git {args:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_string()
    }

    pub fn root_commit(&self) -> RootCommit {
        RootCommit::new(&self.git(&["rev-list", "--max-parents=0", "HEAD"])).unwrap()
    }

    /// `msg` in the repository.
    pub fn msg(&self, args: &[&str]) -> Command {
        let mut command = self.scratch.msg(args);
        command.current_dir(self.repository()).env("PATH", std::env::var_os("PATH").unwrap());
        command
    }

    pub fn ok(&self, args: &[&str]) {
        let status = self.msg(args).status().unwrap();
        assert!(status.success(), "{}: msg {args:?}: {status}", self.name);
    }

    /// An agent whose host is this process joins.
    pub fn join(&self, agent: &str) {
        let pid = std::process::id().to_string();
        self.ok(&["join", agent, "--pid", &pid, "--session", &format!("session-of-{agent}")]);
    }

    /// Registers copies of an agent that joined, as if they had done so, too.
    pub fn copy(
        &self,
        original: &str,
        copies: impl Iterator<Item = String>,
        change: impl Fn(&str, &mut Value),
    ) {
        let dir = self.scratch.mesh();
        let joined = std::fs::read(dir.join(format!("registry/{original}.json"))).unwrap();
        let registration: Value = serde_json::from_slice(&joined).unwrap();
        for name in copies {
            let mut registration = registration.clone();
            registration["name"] = name.as_str().into();
            registration["sessionId"] = format!("session-of-{name}").into();
            change(&name, &mut registration);
            let text = serde_json::to_string_pretty(&registration).unwrap();
            std::fs::write(dir.join(format!("presence/{name}")), "").unwrap();
            std::fs::create_dir(dir.join(format!("inbox/{name}"))).unwrap();
            std::fs::write(dir.join(format!("registry/{name}.json")), text).unwrap();
        }
    }

    /// Says how the mesh is linked.
    pub fn configure(&self, url: &str) {
        let config = LinkConfig {
            address: LinkAddress::parse(&format!("{url}/team")).unwrap(),
            machine: MachineName::new(self.name.as_str()).unwrap(),
            installation: self.name.clone(),
            credentials: LinkCredentials::None,
            ca: None,
            client_certificate: None,
            replicas: 1,
            reserves_repository: false,
            runs: ravenry::store::RunPermission::default(),
        };
        self.mesh.link().set_config(&config).unwrap();
    }

    /// Starts the link process, and waits until it is linked.
    pub fn link(&mut self, url: &str) {
        self.configure(url);
        self.link = Some(self.msg(&["link", "run"]).spawn().unwrap());
        self.wait_until_linked();
    }

    pub fn wait_until_linked(&self) {
        wait_until("it is linked", || {
            self.mesh.link().state().unwrap().is_some_and(|state| state.stage == LinkStage::Linked)
        });
    }

    pub fn link_pid(&self) -> u32 {
        self.link.as_ref().unwrap().id()
    }

    pub fn end_link(&mut self) {
        if let Some(mut link) = self.link.take() {
            drop(link.kill());
            drop(link.wait());
        }
    }

    /// How many agents of other machines are known here.
    pub fn known_elsewhere(&self) -> usize {
        self.mesh.remote().agents().unwrap().len()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.end_link();
    }
}

/// A number of `/proc/PID/status`, in MiB.
pub fn memory(pid: u32, key: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

/// The processor time of a process so far, in milliseconds, from a clock of 10 ms.
pub fn processor_time(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) * 10.0
}
