//! A real server on loopback, as `msg link config` configures one: every write is synced before it is confirmed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::ports::free_port;

/// The program, if there is one.
pub fn program() -> Option<PathBuf> {
    std::env::var_os("RAVENRY_NATS_SERVER").map(PathBuf::from)
}

/// A server with a store of its own; dropping it ends it.
pub struct Server {
    pub port: u16,
    monitor: u16,
    dir: TempDir,
    child: Child,
}

impl Server {
    pub fn start() -> Self {
        let (port, monitor) = (free_port(), free_port());
        let dir = TempDir::new().unwrap();
        let text = format!(
            "listen: 127.0.0.1:{port}\nhttp: 127.0.0.1:{monitor}\n\
             jetstream {{ store_dir: {:?}, sync_interval: always }}\n",
            dir.path().join("store")
        );
        std::fs::write(dir.path().join("server.conf"), text).unwrap();
        let child = launch(&dir);
        let server = Self { port, monitor, dir, child };
        server.wait();
        server
    }

    fn wait(&self) {
        let since = Instant::now();
        while !self.greets() {
            assert!(since.elapsed() < Duration::from_secs(30), "the server does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn greets(&self) -> bool {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).is_ok() && line.starts_with("INFO ")
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn restart(&mut self) {
        self.child = launch(&self.dir);
        self.wait();
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it says of itself: messages and bytes, in and out, since it started.
    pub fn counters(&self) -> [u64; 4] {
        let mut stream = TcpStream::connect(("127.0.0.1", self.monitor)).unwrap();
        stream.write_all(b"GET /varz HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let facts: Value = serde_json::from_str(body).unwrap();
        ["in_msgs", "out_msgs", "in_bytes", "out_bytes"].map(|key| facts[key].as_u64().unwrap())
    }
}

fn launch(dir: &TempDir) -> Child {
    let mut command = Command::new(program().unwrap());
    command.arg("-c").arg(dir.path().join("server.conf"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
