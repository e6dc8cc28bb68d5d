//! Messages for the measurements, posted by the library and by the barest means.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ravenry::domain::{AgentName, Message};
use ravenry::store::{Mesh, Outbox};

/// About as long as what agents say to each other.
const TEXT: &str = "The parser is done and its tests pass. I go on with the printer; src/print.rs is mine until noon, \
                    the rest of src/ is free. Tell me if the tree is to keep its comments.";

pub fn name(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

/// Posts one message, as `send` does once it knows that it may.
pub fn post(outbox: &mut Outbox<'_>, from: &AgentName, to: &AgentName) {
    let stamp = outbox.stamp().unwrap();
    let message = Message::new(stamp, from, to, TEXT);
    assert!(outbox.post(stamp, to, message).unwrap().is_some(), "{to} has no inbox");
}

/// Posts that many at once, and returns the bytes of one.
pub fn fill(mesh: &Mesh, dir: &Path, from: &AgentName, to: &AgentName, count: usize) -> Vec<u8> {
    let mut outbox = mesh.outbox(from).unwrap();
    (0..count).for_each(|_| post(&mut outbox, from, to));
    // The sender's copy: nobody takes it away.
    let sent = std::fs::read_dir(dir.join("sent").join(from.as_str())).unwrap();
    let mut paths = sent.map(|entry| entry.unwrap().path());
    let any = paths.find(|path| path.extension().is_some_and(|extension| extension == "json")).unwrap();
    std::fs::read(any).unwrap()
}

/// The least that posting could be: a private file, and then a rename and perhaps a link.
pub struct Bare {
    dir: PathBuf,
    content: Vec<u8>,
    count: usize,
}

impl Bare {
    /// A directory of its own in `dir`.
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

    /// Writes the next file where nobody looks.
    pub fn create(&mut self) {
        self.count += 1;
        let mut options = OpenOptions::new();
        let mut file: File = options.write(true).create_new(true).mode(0o600).open(self.path("tmp")).unwrap();
        file.write_all(&self.content).unwrap();
    }

    /// Links it to where it is kept.
    pub fn link(&self) {
        std::fs::hard_link(self.path("tmp"), self.path("sent")).unwrap();
    }

    /// Moves it to where it is looked for.
    pub fn rename(&self) {
        std::fs::rename(self.path("tmp"), self.path("inbox")).unwrap();
    }

    fn path(&self, part: &str) -> PathBuf {
        // As long as a message's own name.
        self.dir.join(part).join(format!("{:020}.json", self.count))
    }
}
