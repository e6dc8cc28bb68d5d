//! The machines and the servers of a storm.

use std::fs;
use std::process::Output;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::sys::test_switches;
use serde_json::Value;

use crate::disk::Disk;
use crate::place::{MACHINES, MachinePlace, Place};
use crate::proxy::Proxy;
use crate::server::{Cluster, Server};

const PATIENCE: Duration = Duration::from_secs(90);

pub enum Servers {
    One(Box<Server>),
    Three(Cluster),
}

impl Servers {
    pub fn start(count: usize) -> Self {
        if count == 1 { Self::One(Box::new(Server::start())) } else { Self::Three(Cluster::start()) }
    }

    pub fn all(&self) -> &[Server] {
        match self {
            Self::One(server) => std::slice::from_ref(server),
            Self::Three(cluster) => &cluster.servers,
        }
    }

    pub fn all_mut(&mut self) -> &mut [Server] {
        match self {
            Self::One(server) => std::slice::from_mut(server),
            Self::Three(cluster) => &mut cluster.servers,
        }
    }

    /// Where they are, with no nemesis in the way.
    pub fn urls(&self) -> Vec<String> {
        self.all().iter().map(Server::url).collect()
    }
}

/// A machine: what is on its disk, and its ways to the servers.
pub struct Machine {
    pub place: MachinePlace,
    pub network: Vec<Proxy>,
    // Dropped after the last command has ended, and before the directory it is mounted on.
    pub disk: Option<Disk>,
}

pub struct Fleet {
    pub machines: Vec<Machine>,
    pub servers: Servers,
    /// Why there are no disks that can be filled.
    pub no_disk: Option<String>,
}

impl Fleet {
    /// Waits until all machines are linked, or for long enough that they never will be. The agents start their links.
    pub fn wait_until_linked(&self) {
        let give_up = Instant::now() + PATIENCE;
        let is_linked = |machine: &Machine| machine.status()["linked"] == true;
        while !self.machines.iter().all(is_linked) && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts the servers, and links the machines.
    pub fn start(place: &Place, servers: usize, wants_disks: bool, bug: Option<test_switches::Bug>) -> Self {
        let servers = Servers::start(servers);
        let mut no_disk = None;
        let machines = MACHINES.map(|name| {
            let place = place.machine(name);
            let disk = wants_disks.then(|| Disk::mount(&place.disk()));
            let disk = disk.and_then(|disk| disk.map_err(|why| no_disk = Some(why)).ok());
            let network = servers.all().iter().map(|server| Proxy::to(server.port)).collect();
            Machine { place, network, disk }
        });
        let fleet = Self { machines: machines.into(), servers, no_disk };
        let replicas = fleet.servers.all().len().to_string();
        for machine in &fleet.machines {
            machine.link(&replicas, bug);
        }
        fleet
    }
}

impl Machine {
    fn url(&self) -> String {
        let hosts: Vec<String> =
            self.network.iter().map(|proxy| format!("127.0.0.1:{}", proxy.port)).collect();
        format!("nats://{}/team", hosts.join(","))
    }

    fn link(&self, replicas: &str, bug: Option<test_switches::Bug>) {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let mut command = self.place.msg(std::process::id());
            command.envs(bug.map(|bug| (test_switches::BUG, bug.name())));
            command.args(["link", &self.url(), "--machine", &self.place.name, "--replicas", replicas]);
            let output = command.output().unwrap();
            if output.status.success() {
                return;
            }
            // A cluster that has just started has no leader.
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(Instant::now() < give_up, "{} can't be linked: {text}", self.place.name);
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Runs a command of the storm itself, which no agent asks for.
    pub fn run(&self, args: &[&str]) -> Output {
        self.place.msg(std::process::id()).args(args).arg("--json").output().unwrap()
    }

    pub fn status(&self) -> Value {
        serde_json::from_slice(&self.run(&["link", "status"]).stdout).unwrap_or_default()
    }

    /// The link process, if there is one.
    pub fn link_process(&self) -> Option<Pid> {
        self.link_process_at(None)
    }

    /// The link process, if it says that it is linked.
    pub fn linked_process(&self) -> Option<Pid> {
        self.link_process_at(Some("linked"))
    }

    fn link_process_at(&self, stage: Option<&str>) -> Option<Pid> {
        let state = fs::read(self.place.mesh().join("link/state.json")).ok()?;
        let state: Value = serde_json::from_slice(&state).ok()?;
        if stage.is_some_and(|stage| state["stage"] != stage) {
            return None;
        }
        let pid = i32::try_from(state["pid"].as_i64()?).ok()?;
        // It may be another one's by now.
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let is_ours = line.contains(&*self.place.mesh().to_string_lossy()) && line.contains("\0link\0run");
        is_ours.then_some(Pid::from_raw(pid))
    }

    pub fn signal_link(&self, signal: Signal) -> Option<Pid> {
        let pid = self.link_process()?;
        kill(pid, signal).ok().map(|()| pid)
    }

    /// Starts a link that dies before that change to the file system.
    pub fn start_doomed_link(&self, step: u64, bug: Option<test_switches::Bug>) {
        let mut command = self.place.msg(std::process::id());
        command.env(test_switches::CRASH_AT, step.to_string());
        command.envs(bug.map(|bug| (test_switches::BUG, bug.name())));
        command.arg("--mesh").arg(self.place.mesh()).args(["link", "run", "--background"]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        if let Ok(mut child) = command.spawn() {
            // It is waited for, so that nothing of it stays.
            std::thread::spawn(move || child.wait());
        }
    }

    pub fn heal(&self) {
        self.network.iter().for_each(Proxy::heal);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.signal_link(Signal::SIGCONT);
        drop(self.run(&["link", "stop"]));
        self.signal_link(Signal::SIGKILL);
    }
}
