//! `quarantine/`: files that could not be read, each with a file beside it that says why.

use std::path::Path;

use super::error::StoreError;
use super::handles::Upkeep;
use super::mesh::Mesh;
use super::wire::pretty;
use crate::sys::clock;
use crate::sys::files::{self, Published};

impl Mesh {
    /// Moves a file to quarantine. `owner` is a word for whose file it was. Returns its new path; `None`: it was gone
    /// already.
    pub(super) fn put_aside(
        &self,
        path: &Path,
        owner: &str,
        reason: &str,
    ) -> Result<Option<String>, StoreError> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let safe: String = file.chars().take(100).map(plain).collect();
        let dir = self.layout.directory("quarantine");
        files::create_dir(&dir)?;
        let note = pretty(&serde_json::json!({ "was": path.display().to_string(), "reason": reason }));
        // Creating the note reserves the name: two files with the same name must not overwrite each other.
        let mut at = clock::now().as_millisecond();
        let name = loop {
            let name = format!("{owner}-{at}-{safe}");
            match self.files.publish(&dir.join(format!("{name}.reason")), &note)? {
                Published::Done => break name,
                Published::Exists => at += 1,
            }
        };
        let aside = dir.join(&name);
        if !self.files.take(path, &aside)? {
            files::remove(&dir.join(format!("{name}.reason")))?;
            return Ok(None);
        }
        Ok(Some(aside.display().to_string()))
    }
}

impl Upkeep<'_> {
    /// The paths of all files in quarantine.
    pub fn quarantined_files(self) -> Result<Vec<String>, StoreError> {
        let dir = self.mesh.layout.directory("quarantine");
        let names = files::list(&dir)?.into_iter().filter(|name| !name.ends_with(".reason"));
        Ok(names.map(|name| dir.join(name).display().to_string()).collect())
    }
}
