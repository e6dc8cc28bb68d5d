//! `awareness/<repository>.conflicts`: the conflicts between work trees that are open, one per line. The
//! process that looks for them holds `awareness/<repository>.conflicts.lock`.

use crate::domain::awareness::RepositoryId;
use crate::domain::awareness::worktree_conflict::WorktreeConflict;
use crate::store::error::StoreError;
use crate::store::handles::AwarenessFiles;
use crate::sys::files;
use crate::sys::flock::FileLock;

/// The right to look for conflicts in a repository: no other process does.
#[derive(Debug)]
#[must_use = "another process may look for them as soon as this is dropped"]
pub struct ConflictLock<'m> {
    files: AwarenessFiles<'m>,
    repository: RepositoryId,
    _held: FileLock,
}

impl<'m> AwarenessFiles<'m> {
    /// The conflicts that were found last. A line that can't be read counts as absent: its conflict is told again.
    pub fn conflicts(self, repository: &RepositoryId) -> Result<Vec<WorktreeConflict>, StoreError> {
        let content = files::read_note(&self.mesh.layout.conflicts(repository))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&content);
        Ok(text.lines().filter_map(WorktreeConflict::parse).collect())
    }

    /// `None`: another process looks for conflicts.
    pub fn lock_conflicts(self, repository: &RepositoryId) -> Result<Option<ConflictLock<'m>>, StoreError> {
        files::create_dir(&self.mesh.layout.directory("awareness"))?;
        let held = FileLock::try_acquire(&self.mesh.layout.conflicts_lock(repository))?;
        let repository = repository.clone();
        Ok(held.map(|held| ConflictLock { files: self, repository, _held: held }))
    }
}

impl ConflictLock<'_> {
    pub fn replace(&self, conflicts: &[WorktreeConflict]) -> Result<(), StoreError> {
        let mesh = self.files.mesh;
        let text: String = conflicts.iter().map(|conflict| conflict.encode() + "\n").collect();
        Ok(mesh.files.replace(&mesh.layout.conflicts(&self.repository), text.as_bytes())?)
    }
}
