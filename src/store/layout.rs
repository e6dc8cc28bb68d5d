//! Which file is where. Paths are made of checked names and hashes only.

use std::path::{Path, PathBuf};

use crate::domain::{AgentName, SessionId};

/// The directory of a mesh and what lies in it.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    root: PathBuf,
}

/// The directories that a mesh has from the start.
pub(super) const DIRECTORIES: [&str; 6] = ["registry", "inbox", "sessions", "graves", "presence", "tmp"];

/// What may be added to it later.
pub(super) const LATER: [&str; 12] = [
    "mesh.lock",
    "swarm.lock",
    "claims.json",
    "completions.json",
    "index",
    "trouble.jsonl",
    "trouble.old.jsonl",
    "hooks",
    "feed",
    "seen",
    "sent",
    "quarantine",
];

impl Layout {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn directory(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(super) fn registry(&self) -> PathBuf {
        self.root.join("registry")
    }

    pub(super) fn registration(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("registry/{name}.json"))
    }

    /// Where a registration lies while it is looked at whose it is.
    pub(super) fn taken(&self, name: &AgentName) -> PathBuf {
        self.registry().join(super::registry::taken_file(name))
    }

    pub(super) fn inbox(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("inbox/{name}"))
    }

    pub(super) fn seen(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("seen/{name}"))
    }

    pub(super) fn contacts(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("seen/{name}/.contacts"))
    }

    /// Whose inbox it is that an agent of pi-messenger has.
    pub(super) fn owner(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("seen/{name}/.owner"))
    }

    pub(super) fn sent(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("sent/{name}"))
    }

    /// The sender's last stamp, which is also the lock of its turn.
    pub(super) fn stamp(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("sent/{name}/.stamp"))
    }

    pub(super) fn presence(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("presence/{name}"))
    }

    /// No name has a dot in it.
    pub(super) fn stuck(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("presence/{name}.stuck"))
    }

    pub(super) fn last_look(&self) -> PathBuf {
        self.root.join("presence/.looked")
    }

    pub(super) fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Its time is when somebody pruned last.
    pub(super) fn pruned(&self) -> PathBuf {
        self.root.join("sessions/.pruned")
    }

    pub(super) fn session(&self, session: &SessionId) -> PathBuf {
        self.root.join(format!("sessions/{}.json", session_hash(session)))
    }

    pub(super) fn graves(&self) -> PathBuf {
        self.root.join("graves")
    }

    pub(super) fn grave(&self, grave: &super::GraveId) -> PathBuf {
        self.root.join("graves").join(grave.as_str())
    }

    pub(super) fn claims(&self) -> PathBuf {
        self.root.join("claims.json")
    }

    pub(super) fn completions(&self) -> PathBuf {
        self.root.join("completions.json")
    }

    pub(super) fn mesh_lock(&self) -> PathBuf {
        self.root.join("mesh.lock")
    }

    pub(super) fn swarm_lock(&self) -> PathBuf {
        self.root.join("swarm.lock")
    }

    pub(super) fn index(&self) -> PathBuf {
        self.root.join("index")
    }

    pub(super) fn hooks(&self) -> PathBuf {
        self.root.join("hooks")
    }

    pub(super) fn trouble(&self) -> PathBuf {
        self.root.join("trouble.jsonl")
    }

    pub(super) fn feed(&self) -> PathBuf {
        self.root.join("feed")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }
}

/// Session ids are somebody else's text: files are named after a hash of them.
pub(super) fn session_hash(session: &SessionId) -> String {
    uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, session.as_str().as_bytes()).simple().to_string()
}
