//! Whose name git signs commits with.

use std::path::Path;
use std::time::Duration;

use super::WorkTree;
use super::read_only::ReadOnlyGit;

/// The name outside of a repository: the one that is configured for this user or this machine.
pub fn user_name_outside(dir: &Path, limit: Duration) -> Option<String> {
    let tree = WorkTree { root: dir.to_path_buf(), git_dir: dir.to_path_buf() };
    ReadOnlyGit::at(&tree, limit).ok()?.user_name()
}

impl ReadOnlyGit {
    /// `user.name`, as it is configured for this repository, this user or this machine.
    pub fn user_name(&self) -> Option<String> {
        let output = self.ask_or_none(&["config", "--get", "user.name"]).ok()?;
        let name = String::from_utf8(output.bytes).ok()?.trim().to_string();
        Some(name).filter(|name| !name.is_empty())
    }
}
