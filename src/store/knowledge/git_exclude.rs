//! Keeps the log out of commits.

use std::path::Path;

use crate::domain::text_edit::lines;
use crate::store::error::StoreError;
use crate::sys::files;

const LINE: &str = "/.ravenry/knowledge/";

/// Adds the directory of the log to `info/exclude` below the directory that all worktrees of a repository share.
pub fn exclude_knowledge_from_git(common_dir: &Path) -> Result<(), StoreError> {
    let path = common_dir.join("info/exclude");
    let before = files::read(&path)?;
    let edited = lines::put(before.as_deref().unwrap_or_default(), LINE);
    let after =
        edited.map_err(|error| StoreError::Corrupt { path: path.clone(), reason: error.to_string() })?;
    if before.as_ref() == Some(&after) {
        return Ok(());
    }
    files::make_room(&path)?;
    files::write_through(&path, &after)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_added_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("info/exclude");
        for _ in 0..2 {
            exclude_knowledge_from_git(dir.path()).unwrap();
            assert_eq!(files::read(&path).unwrap().unwrap(), b"/.ravenry/knowledge/\n");
        }
    }
}
