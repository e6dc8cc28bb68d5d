//! `contests/<id>.<round>`: while the file exists, the holder of a contested reservation has given no sign.
//!
//! A sign of the holder is the removal of the file. That takes no lock and is one step, so a hook that is killed has
//! given the sign or not, and giving it again changes nothing. A contester that takes the path first renames the file
//! to `<id>.<round>.taken`: of a sign and a taking at the same time only one finds the file.
//!
//! A file is made once, when its round begins, and is never renamed back. So it is there, then taken, then gone, and a
//! sign that was given stays given. The `.taken` file of a contester that was killed before it had the path still stands
//! for the holder's silence; only who has the lock can tell it from one of a taking that is under way, and removes it.

use crate::domain::{ContestId, ContestMark};
use crate::store::agents::registry::Census;
use crate::store::error::StoreError;
use crate::store::handles::ContestTokens;
use crate::store::locked_mesh::LockedMesh;
use crate::sys::files::{self, Published};

/// How a round of contests ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ContestEnd {
    /// The holder was silent.
    Taken,
    /// The holder gave a sign.
    AtWork,
}

impl ContestTokens<'_> {
    /// Records that the holder gave a sign, without a lock. If somebody has begun to take the path, only who has the
    /// lock finds out whether it is too late: see [`LockedMesh::give_sign`].
    pub fn give_sign(self, mark: &ContestMark) -> Result<ContestEnd, StoreError> {
        let layout = &self.mesh.layout;
        // In this order: a file that is renamed in between is seen by its second name.
        files::remove(&layout.contest_token(mark))?;
        let is_taken = files::exists(&layout.taken_contest_token(mark))?;
        Ok(if is_taken { ContestEnd::Taken } else { ContestEnd::AtWork })
    }

    /// Whether the holder has given no sign in this round.
    pub fn is_silent(self, mark: &ContestMark) -> Result<bool, StoreError> {
        let layout = &self.mesh.layout;
        // In this order: a file that is renamed in between is seen by its second name.
        Ok(files::exists(&layout.contest_token(mark))? || files::exists(&layout.taken_contest_token(mark))?)
    }
}

impl LockedMesh<'_> {
    /// Begins a round. Must not be called for one that has begun: that would undo a sign.
    pub fn open_contest(&self, mark: &ContestMark) -> Result<(), StoreError> {
        let dir = self.mesh.layout.contests();
        if !files::exists(&dir)? {
            files::create_dir(&dir)?;
        }
        let (Published::Done | Published::Exists) =
            files::create_empty(&self.mesh.layout.contest_token(mark))?;
        Ok(())
    }

    /// Ends the round for one who takes the path, unless the holder has given a sign.
    pub fn take_contest(&self, mark: &ContestMark) -> Result<ContestEnd, StoreError> {
        let layout = &self.mesh.layout;
        let (token, taken) = (layout.contest_token(mark), layout.taken_contest_token(mark));
        // One that was renamed already is of a contester that is dead: it had the lock. A sign since then has removed it.
        let is_silent = self.mesh.files.take(&token, &taken)? || files::exists(&taken)?;
        Ok(if is_silent { ContestEnd::Taken } else { ContestEnd::AtWork })
    }

    /// Records that the holder gave a sign. Whoever had begun to take the path is dead, so the holder must still have
    /// it.
    pub fn give_sign(&self, mark: &ContestMark) -> Result<(), StoreError> {
        let layout = &self.mesh.layout;
        files::remove(&layout.contest_token(mark))?;
        files::remove(&layout.taken_contest_token(mark))?;
        Ok(())
    }

    /// Removes the files that no contest in the census refers to.
    pub fn sweep_contests(&self, census: &Census) -> Result<(), StoreError> {
        let dir = self.mesh.layout.contests();
        for file in files::list(&dir)? {
            let is_used = || {
                let mut numbers = file.split('.');
                let id = numbers.next().and_then(ContestId::new)?;
                let round: u32 = numbers.next()?.parse().ok()?;
                let mark = ContestMark { id, round };
                let mut contests = census.records.iter().flat_map(|record| &record.agent.contests);
                Some(contests.any(|contest| contest.mark == mark))
            };
            if is_used() != Some(true) {
                files::remove(&dir.join(&file))?;
            }
        }
        Ok(())
    }
}
