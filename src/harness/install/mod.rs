//! What is installed into harnesses: which files, and what we add to each.
//!
//! Nothing here changes a file: content comes in, content goes out. `ops::setup::install` plans and writes.

mod context;
mod installed_part;
mod no_project_settings;
mod original;
pub mod server_entry;
mod settings_entry;

pub use context::{HOOK_SECONDS, HookGroup, InstallContext, InstallScope, PLACE_OF_PROGRAM, given_plugin};
pub use installed_part::{CustomPart, InstallTarget, InstalledPart};
pub use no_project_settings::NoProjectSettings;
pub use original::{FileLookup, RecordedOriginal};
pub use server_entry::ServerEntry;
pub use settings_entry::{Hook, HookRole, PermissionRule, SettingsFileEntry};

use std::path::PathBuf;

use crate::domain::Harness;
use crate::domain::text_edit::json::Dialect;
use crate::sys::environment::variable;

/// The members of JSON settings that most harnesses get from us. `*` stands for any name.
pub const COMMON_MEMBERS: &[&[&str]] = &[&["hooks", "*"], &["mcpServers", server_entry::NAME]];

/// The path of a member of JSON settings.
pub fn member(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_string()).collect()
}

/// Our entries in a JSON settings file.
pub fn settings(harness: Harness, dialect: Dialect, entries: Vec<SettingsFileEntry>) -> InstalledPart {
    InstalledPart::Entries { harness, dialect, entries }
}

/// The list of an event's hooks, for the harnesses that have them beneath `hooks`.
pub fn hook_list(event: &str) -> Vec<String> {
    vec!["hooks".to_string(), event.to_string()]
}

/// The directory that this variable names; `None` if it is unset or not absolute.
pub fn directory_from(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
