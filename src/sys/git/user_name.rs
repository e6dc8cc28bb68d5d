//! Whose name git signs commits with.

use super::read_only::ReadOnlyGit;

impl ReadOnlyGit {
    /// `user.name`, as it is configured for this repository, this user or this machine.
    pub fn user_name(&self) -> Option<String> {
        let output = self.ask_or_none(&["config", "--get", "user.name"]).ok()?;
        let name = String::from_utf8(output.bytes).ok()?.trim().to_string();
        Some(name).filter(|name| !name.is_empty())
    }
}
