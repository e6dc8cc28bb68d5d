//! `quarantine/`: whatever could not be read, with the reason beside it.

use std::path::Path;

use super::error::StoreError;
use super::mesh::Mesh;
use super::wire::pretty;
use crate::sys::clock;
use crate::sys::files;

impl Mesh {
    /// Moves a file there. `owner` is a word for whose it was. Returns where it is now.
    pub(super) fn put_aside(&self, path: &Path, owner: &str, reason: &str) -> Result<String, StoreError> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let safe: String = file.chars().take(100).map(plain).collect();
        let name = format!("{owner}-{}-{safe}", clock::now().as_millisecond());
        let dir = self.layout.directory("quarantine");
        files::create_dir(&dir)?;
        let note = serde_json::json!({ "was": path.display().to_string(), "reason": reason });
        self.files.replace(&dir.join(format!("{name}.reason")), &pretty(&note))?;
        let aside = dir.join(name);
        self.files.take(path, &aside)?;
        Ok(aside.display().to_string())
    }

    /// The files that were put aside.
    pub fn quarantined(&self) -> Result<Vec<String>, StoreError> {
        let dir = self.layout.directory("quarantine");
        let names = files::list(&dir)?.into_iter().filter(|name| !name.ends_with(".reason"));
        Ok(names.map(|name| dir.join(name).display().to_string()).collect())
    }
}
