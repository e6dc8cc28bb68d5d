//! Servers that run with a configuration as `msg link config` makes it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions};
use ravenry::domain::link::server_config::{
    ADMIN, ConfigFileKind, ConfigFiles, Listen, MachineUser, NodeAddress, Password, ServerPlan, cluster,
    hash_password, inbox_prefix, password_text, server,
};
use tempfile::TempDir;

use super::ground;
use super::ports::free_port;
use super::server::is_port_taken;

pub const MESH: &str = "team";

/// How long a state may take to come on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// One server, or the nodes of a cluster. They end with it.
pub struct ConfigServer {
    pub plan: ServerPlan,
    pub nodes: Vec<Node>,
    pub dir: TempDir,
}

pub struct Node {
    pub client_port: u16,
    pub cluster_port: u16,
    pub monitor_port: u16,
    config: PathBuf,
    process: Child,
    log: PathBuf,
}

impl ConfigServer {
    /// A server without TLS for these machines.
    pub fn start(machines: &[&str]) -> Self {
        let dir = ground::directory("ravenry-nats-");
        let plan = plan(dir.path(), machines);
        Self::start_planned(dir, plan)
    }

    /// The same, with room for the streams that a link process makes.
    pub fn start_roomy(machines: &[&str]) -> Self {
        let dir = ground::directory("ravenry-nats-");
        let plan = ServerPlan { max_file_store_gib: 4, ..plan(dir.path(), machines) };
        Self::start_planned(dir, plan)
    }

    pub fn start_planned(dir: TempDir, plan: ServerPlan) -> Self {
        let files = server(&plan).unwrap();
        let config = write(dir.path(), &files).remove(0);
        let address = NodeAddress {
            client_port: plan.listen.port,
            monitor_port: plan.monitor_port,
            ..addresses(dir.path()).remove(0)
        };
        let mut node = Node::start(&config, &address);
        node.wait_until_healthy();
        Self { plan, nodes: vec![node], dir }
    }

    /// Three nodes on the loopback address.
    pub fn start_cluster(machines: &[&str]) -> Self {
        let dir = ground::directory("ravenry-nats-");
        let plan = plan(dir.path(), machines);
        Self::start_planned_cluster(dir, plan)
    }

    pub fn start_planned_cluster(dir: TempDir, plan: ServerPlan) -> Self {
        let addresses = addresses(dir.path());
        let configs = write(dir.path(), &cluster(&plan, &addresses, "between-us").unwrap());
        let mut nodes: Vec<Node> =
            configs.iter().zip(&addresses).map(|(config, address)| Node::start(config, address)).collect();
        for node in &mut nodes {
            node.wait_until_healthy();
        }
        Self { plan, nodes, dir }
    }

    /// A fourth node that knows where the first is, and another password than the others.
    pub fn start_stranger(&self, route_password: &str) -> Node {
        let dir = self.dir.path().join("stranger");
        fs::create_dir(&dir).unwrap();
        let mut nodes = addresses(&dir);
        nodes[0].name = "stranger".to_string();
        nodes[1].cluster_port = self.nodes[0].cluster_port;
        let files = cluster(&self.plan, &nodes, route_password).unwrap();
        Node::start(&write(&dir, &files)[0], &nodes[0])
    }

    /// The connection of a machine, or of the admin.
    pub async fn connect(&self, user: &str) -> Client {
        self.connect_to(0, user).await
    }

    pub async fn connect_to(&self, node: usize, user: &str) -> Client {
        let url = format!("nats://127.0.0.1:{}", self.nodes[node].client_port);
        self.options(user).connect(url).await.unwrap()
    }

    pub fn options(&self, user: &str) -> ConnectOptions {
        let machine = self.plan.machines.iter().find(|machine| machine.id == user);
        let password = machine.map_or(&self.plan.admin, |machine| &machine.password);
        assert!(machine.is_some() || user == ADMIN);
        ConnectOptions::with_user_and_password(user.to_string(), password.plain.clone())
            .custom_inbox_prefix(inbox_prefix(user))
    }
}

impl Node {
    fn start(config: &Path, address: &NodeAddress) -> Self {
        let log = config.with_extension("log");
        let process = launch(config, &log);
        let NodeAddress { client_port, cluster_port, monitor_port, .. } = *address;
        Self { client_port, cluster_port, monitor_port, config: config.to_path_buf(), process, log }
    }

    /// Until it serves JetStream: in a cluster, until it has found the others and they have a leader.
    fn wait_until_healthy(&mut self) {
        let end = Instant::now() + PATIENCE;
        while !self.monitor("/healthz").is_some_and(|answer| answer.contains("\"status\":\"ok\"")) {
            let has_ended = self.process.try_wait().unwrap().is_some();
            let is_lasting = has_ended && !is_port_taken(&self.log());
            assert!(!is_lasting && Instant::now() < end, "not healthy: {}", self.log());
            sleep(Duration::from_millis(20));
            if has_ended {
                self.process = launch(&self.config, &self.log);
            }
        }
    }

    /// A page of its monitoring port.
    pub fn monitor(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.monitor_port)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Without a chance to say anything.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // One that was killed before has nothing to say.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn launch(config: &Path, log: &Path) -> Child {
    let output = File::options().create(true).append(true).open(log).unwrap();
    Command::new(program())
        .arg("-c")
        .arg(config)
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .unwrap()
}

/// The server that `.ci/link` has found.
pub fn program() -> PathBuf {
    let named = std::env::var_os("RAVENRY_NATS_SERVER");
    named.expect("RAVENRY_NATS_SERVER names no nats-server: run `.ci/link`, which fetches one").into()
}

/// What the server says about a configuration.
pub fn check(config: &Path) -> Output {
    Command::new(program()).arg("-t").arg("-c").arg(config).output().unwrap()
}

pub fn plan(dir: &Path, machines: &[&str]) -> ServerPlan {
    ServerPlan {
        mesh: MESH.to_string(),
        machines: machines
            .iter()
            .map(|id| MachineUser { id: id.to_string(), password: password() })
            .collect(),
        admin: password(),
        listen: Listen { host: "127.0.0.1".to_string(), port: free_port() },
        monitor_port: free_port(),
        store_dir: dir.join("store").to_str().unwrap().to_string(),
        max_file_store_gib: 1,
        tls: None,
        is_durable: true,
    }
}

pub fn addresses(dir: &Path) -> Vec<NodeAddress> {
    let node = |name: &&str| NodeAddress {
        name: name.to_string(),
        host: "127.0.0.1".to_string(),
        client_port: free_port(),
        cluster_port: free_port(),
        monitor_port: free_port(),
        store_dir: Some(dir.join(format!("store-{name}")).to_str().unwrap().to_string()),
    };
    ["one", "two", "three"].iter().map(node).collect()
}

/// Writes the files as `msg link config --output` does. The paths of the servers' configurations.
pub fn write(dir: &Path, files: &ConfigFiles) -> Vec<PathBuf> {
    let mut configs = Vec::new();
    for file in &files.files {
        let path = dir.join(&file.name);
        let mut open = File::options();
        open.write(true).create_new(true).mode(0o600);
        open.open(&path).unwrap().write_all(file.text.as_bytes()).unwrap();
        if matches!(file.kind, ConfigFileKind::Server { .. }) {
            configs.push(path);
        }
    }
    configs
}

pub fn password() -> Password {
    let plain = password_text(rand::random());
    let hash = hash_password(&plain, rand::random());
    Password { hash: Some(hash.unwrap()), plain }
}

/// What a server says to these lines, until it closes the connection.
pub fn speak(port: u16, lines: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(lines.as_bytes()).unwrap();
    let mut said = Vec::new();
    // It may close without reading all of it.
    stream.read_to_end(&mut said).ok();
    String::from_utf8_lossy(&said).into_owned()
}

/// Runs what talks to a server; whatever waits for ever fails.
pub fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE * 2, work).await.expect("ends in time") })
}
