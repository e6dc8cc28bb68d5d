//! Real servers: started on free ports with a store of their own, killed when they are dropped.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::ground;
use super::ports::free_port;

/// How long anything may take on a machine that is busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The program to test with. Without one these tests prove nothing, so they fail.
pub fn program() -> PathBuf {
    let Some(path) = std::env::var_os("RAVENRY_NATS_SERVER") else {
        panic!("set RAVENRY_NATS_SERVER to a nats-server of version 2.11 or later, or run .ci/link");
    };
    PathBuf::from(path)
}

/// One server.
#[derive(Debug)]
pub struct Server {
    pub port: u16,
    /// What it calls itself: no other server of any test has the same name.
    name: String,
    config: PathBuf,
    log: PathBuf,
    child: Option<Child>,
    /// The directory with the configuration and the store; `None` if a cluster has it.
    dir: Option<TempDir>,
}

impl Server {
    /// A server without users.
    pub fn start() -> Self {
        Self::with("")
    }

    /// A server with more lines of configuration. `$DIR` in them is a directory of its own.
    pub fn with(more: &str) -> Self {
        let dir = ground::directory("ravenry-nats-");
        let mut server = Self::in_dir(dir.path(), "one", more);
        server.dir = Some(dir);
        server
    }

    fn in_dir(dir: &Path, file: &str, more: &str) -> Self {
        let port = free_port();
        let name = format!("{file}-{}-{port}", std::process::id());
        let config = dir.join(format!("{file}.conf"));
        let more = more.replace("$DIR", &dir.display().to_string());
        let text = format!(
            "server_name: {name}\nlisten: 127.0.0.1:{port}\njetstream {{ store_dir: {:?} }}\n{more}\n",
            dir.join(file)
        );
        std::fs::write(&config, text).unwrap();
        let log = dir.join(format!("{file}.log"));
        let mut server = Self { port, name, config, log, child: None, dir: None };
        server.launch();
        server
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// A directory that lives as long as the server.
    pub fn dir(&self) -> &Path {
        self.config.parent().unwrap()
    }

    /// Ends it without a chance to tidy up.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Starts it again, with the same store and port.
    pub fn restart(&mut self) {
        self.kill();
        self.launch();
        self.wait_until_ready();
    }

    /// Writes the configuration anew; takes effect with the next start.
    pub fn configure(&self, change: impl FnOnce(String) -> String) {
        let text = std::fs::read_to_string(&self.config).unwrap();
        std::fs::write(&self.config, change(text)).unwrap();
    }

    fn launch(&mut self) {
        self.spawn();
        if self.dir.is_none() && self.is_clustered() {
            return;
        }
        self.wait_until_ready();
    }

    fn spawn(&mut self) {
        let log = std::fs::File::options().create(true).append(true).open(&self.log).unwrap();
        let child = Command::new(program())
            .arg("-c")
            .arg(&self.config)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
    }

    fn is_clustered(&self) -> bool {
        std::fs::read_to_string(&self.config).unwrap().contains("cluster {")
    }

    /// Waits until it greets its clients.
    pub fn wait_until_ready(&mut self) {
        let start = Instant::now();
        while !self.greets() {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().unwrap());
            let is_lasting = ended.is_some() && !is_port_taken(&self.log());
            assert!(!is_lasting && start.elapsed() < PATIENCE, "no server: {ended:?}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
            if ended.is_some() {
                self.spawn();
            }
        }
    }

    fn greets(&self) -> bool {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut line = String::new();
        let is_read = BufReader::new(stream).read_line(&mut line).is_ok();
        is_read && line.starts_with("INFO ") && line.contains(&format!("\"server_name\":\"{}\"", self.name))
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Whether a server ended because its port was not free. The descriptor that asked whether it is free may still be open in
/// a child of another test that has not yet called `exec`, so it is worth another attempt.
pub fn is_port_taken(log: &str) -> bool {
    log.lines().rev().take(3).any(|line| line.contains("address already in use"))
}

/// Three servers that keep everything three times.
#[derive(Debug)]
pub struct Cluster {
    pub servers: Vec<Server>,
    _dir: TempDir,
}

impl Cluster {
    pub fn start() -> Self {
        let dir = ground::directory("ravenry-nats-");
        let routes: Vec<u16> = (0..3).map(|_| free_port()).collect();
        let all: Vec<String> = routes.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        let servers = routes.iter().enumerate().map(|(n, port)| {
            let more = format!(
                "cluster {{ name: c, listen: \"127.0.0.1:{port}\", no_advertise: true, routes: [{}] }}",
                all.join(", ")
            );
            Server::in_dir(dir.path(), &format!("s{n}"), &more)
        });
        let mut cluster = Self { servers: servers.collect(), _dir: dir };
        for server in &mut cluster.servers {
            server.wait_until_ready();
        }
        cluster
    }

    pub fn urls(&self) -> Vec<String> {
        self.servers.iter().map(Server::url).collect()
    }
}
