//! Messages for the measurements, posted by the library or by bare file operations.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ravenry::domain::{AgentName, Message};
use ravenry::store::{Mesh, Outbox};

/// About as long as a typical message between agents.
const TEXT: &str = "The parser is done and its tests pass. I go on with the printer; src/print.rs is mine until noon, \
                    the rest of src/ is free. Tell me if the tree is to keep its comments.";

pub fn name(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

/// Posts one message, as `send` does after its checks.
pub fn post(outbox: &mut Outbox<'_>, from: &AgentName, to: &AgentName) {
    let stamp = outbox.stamp().unwrap();
    let message = Message::new(stamp, from, to, TEXT);
    assert!(outbox.post(stamp, to, message).unwrap().is_some(), "{to} has no inbox");
}

/// Posts that many messages at once, and returns the bytes of one.
pub fn fill(mesh: &Mesh, dir: &Path, from: &AgentName, to: &AgentName, count: usize) -> Vec<u8> {
    let mut outbox = mesh.outboxes().lock(from).unwrap();
    (0..count).for_each(|_| post(&mut outbox, from, to));
    // The sender's copy, which is never taken.
    let sent = std::fs::read_dir(dir.join("sent").join(from.as_str())).unwrap();
    let mut paths = sent.map(|entry| entry.unwrap().path());
    let any = paths.find(|path| path.extension().is_some_and(|extension| extension == "json")).unwrap();
    std::fs::read(any).unwrap()
}

/// The minimum that posting could take: a private file, then a rename and optionally a link.
pub struct Bare {
    dir: PathBuf,
    content: Vec<u8>,
    count: usize,
}

impl Bare {
    /// Uses a new directory in `dir`.
    pub fn new(dir: &Path, content: Vec<u8>) -> Self {
        let dir = tempfile::Builder::new().prefix("bare").tempdir_in(dir).unwrap().keep();
        let bare = Self { dir, content, count: 0 };
        for part in ["tmp", "inbox", "sent"] {
            std::fs::create_dir_all(bare.dir.join(part)).unwrap();
        }
        bare
    }

    pub fn inbox(&self) -> PathBuf {
        self.dir.join("inbox")
    }

    pub fn length(&self) -> usize {
        self.content.len()
    }

    /// Writes the next file under its private name.
    pub fn create(&mut self) {
        self.count += 1;
        let mut options = OpenOptions::new();
        let mut file: File = options.write(true).create_new(true).mode(0o600).open(self.path("tmp")).unwrap();
        file.write_all(&self.content).unwrap();
    }

    /// Links it to the sender's copy.
    pub fn link(&self) {
        std::fs::hard_link(self.path("tmp"), self.path("sent")).unwrap();
    }

    /// Renames it into the inbox.
    pub fn rename(&self) {
        std::fs::rename(self.path("tmp"), self.path("inbox")).unwrap();
    }

    fn path(&self, part: &str) -> PathBuf {
        // As long as the file name of a message.
        self.dir.join(part).join(format!("{:020}.json", self.count))
    }
}
