//! The paths of all files in a mesh. They are built only from checked names and hashes.

use std::path::{Path, PathBuf};

use super::agents::grave_id::GraveId;
use super::agents::session_hash::session_hash;
use crate::domain::awareness::RepositoryId;
use crate::domain::runs::RunId;
use crate::domain::{AgentName, ContestMark, SessionId};

/// The directory of a mesh.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    root: PathBuf,
}

/// The directories that a mesh has from the start.
pub(super) const DIRECTORIES: [&str; 6] = ["registry", "inbox", "sessions", "graves", "presence", "tmp"];

/// Directories of the machine that are beside the default mesh. They may be there before it.
pub(super) const OF_MACHINE: [&str; 6] = ["git", "worktrees", "panes", "tmux", "slots", "limits"];

/// Files and directories that may be added later.
pub(super) const LATER: [&str; 22] = [
    "awareness",
    "runs",
    "modes",
    "mesh.lock",
    "swarm.lock",
    "claims.json",
    "completions.json",
    "claim-numbers.json",
    "contests",
    "index",
    "trouble.jsonl",
    "trouble.old.jsonl",
    "hooks",
    "feed",
    "seen",
    "sent",
    "quarantine",
    "repositories",
    "search",
    "told",
    "link",
    "remote",
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

    /// Where a registration is while a burial checks whose it is. The name does not end in `.json`, so neither we nor
    /// pi-messenger take it for a registration.
    pub(super) fn taken(&self, name: &AgentName) -> PathBuf {
        self.registry().join(format!(".{name}.taken"))
    }

    pub(super) fn inbox(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("inbox/{name}"))
    }

    pub(super) fn seen(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("seen/{name}"))
    }

    /// What is derived from the files in a directory of messages, for the search.
    pub(super) fn mail_texts(&self, of: &str, name: &AgentName) -> PathBuf {
        self.directory("search").join(format!("{of}-{name}"))
    }

    pub(super) fn contacts(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("seen/{name}/.contacts"))
    }

    /// Records which agent of pi-messenger owns the inbox.
    pub(super) fn owner(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("seen/{name}/.owner"))
    }

    pub(super) fn sent(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("sent/{name}"))
    }

    /// The sender's last stamp. The file is also the lock that orders its messages.
    pub(super) fn stamp(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("sent/{name}/.stamp"))
    }

    pub(super) fn presence(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("presence/{name}"))
    }

    /// Names contain no dots, so this is not the presence file of another agent.
    pub(super) fn stuck(&self, name: &AgentName) -> PathBuf {
        self.root.join(format!("presence/{name}.stuck"))
    }

    pub(super) fn last_look(&self) -> PathBuf {
        self.root.join("presence/.looked")
    }

    pub(super) fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Its modification time is the time of the last pruning.
    pub(super) fn pruned(&self) -> PathBuf {
        self.root.join("sessions/.pruned")
    }

    pub(super) fn session(&self, session: &SessionId) -> PathBuf {
        self.root.join(format!("sessions/{}.json", session_hash(session)))
    }

    pub(super) fn graves(&self) -> PathBuf {
        self.root.join("graves")
    }

    pub(super) fn grave(&self, grave: &GraveId) -> PathBuf {
        self.root.join("graves").join(grave.as_str())
    }

    /// The directory of a run.
    pub(super) fn run(&self, id: &RunId) -> PathBuf {
        self.root.join("runs").join(id.as_str())
    }

    pub(super) fn claims(&self) -> PathBuf {
        self.root.join("claims.json")
    }

    pub(super) fn claim_numbers(&self) -> PathBuf {
        self.root.join("claim-numbers.json")
    }

    pub(super) fn completions(&self) -> PathBuf {
        self.root.join("completions.json")
    }

    pub(super) fn contests(&self) -> PathBuf {
        self.root.join("contests")
    }

    /// The token of one round of contests about a reservation.
    pub(super) fn contest_token(&self, mark: &ContestMark) -> PathBuf {
        self.contests().join(format!("{}.{}", mark.id, mark.round))
    }

    /// The same while a contester takes the path.
    pub(super) fn taken_contest_token(&self, mark: &ContestMark) -> PathBuf {
        self.contests().join(format!("{}.{}.taken", mark.id, mark.round))
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

    pub(super) fn counts(&self, repository: &RepositoryId) -> PathBuf {
        self.root.join(format!("awareness/{}", repository.as_str()))
    }

    pub(super) fn track(&self, repository: &RepositoryId) -> PathBuf {
        self.root.join(format!("awareness/{}.track", repository.as_str()))
    }

    pub(super) fn predictions(&self, repository: &RepositoryId) -> PathBuf {
        self.root.join(format!("awareness/{}.predictions", repository.as_str()))
    }

    pub(super) fn conflicts(&self, repository: &RepositoryId) -> PathBuf {
        self.root.join(format!("awareness/{}.conflicts", repository.as_str()))
    }

    pub(super) fn conflicts_lock(&self, repository: &RepositoryId) -> PathBuf {
        self.root.join(format!("awareness/{}.conflicts.lock", repository.as_str()))
    }

    pub(super) fn counting_lock(&self, repository: &RepositoryId) -> PathBuf {
        self.root.join(format!("awareness/{}.lock", repository.as_str()))
    }

    pub(super) fn repositories(&self) -> PathBuf {
        self.root.join("repositories")
    }

    pub(super) fn modes(&self) -> PathBuf {
        self.root.join("modes")
    }

    pub(super) fn mode(&self, repository: &RepositoryId) -> PathBuf {
        self.modes().join(repository.as_str())
    }

    /// Marks of alerts that a person was told.
    pub(super) fn told(&self) -> PathBuf {
        self.root.join("told")
    }

    /// Files of the process that links the mesh with other machines.
    pub(super) fn link(&self, file: &str) -> PathBuf {
        self.root.join("link").join(file)
    }

    /// What is known of other machines.
    pub(super) fn remote(&self, directory: &str) -> PathBuf {
        self.root.join("remote").join(directory)
    }

    /// Messages to an agent on another machine, in that state.
    pub(super) fn remote_mail(&self, state: &str, to: &AgentName) -> PathBuf {
        self.root.join(format!("remote/{state}/{to}"))
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }
}

/// The agent whose registration is in a file of this name while a burial checks whose it is: the inverse of
/// [`Layout::taken`].
pub(super) fn taken_name(file: &str) -> Option<AgentName> {
    AgentName::new(file.strip_prefix('.')?.strip_suffix(".taken")?).ok()
}
