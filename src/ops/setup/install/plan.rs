//! Plans the changes to the files of one recipient, and carries them out.
//!
//! A file that cannot be parsed is left alone. The record (`store::setup::installs`) is written before the file, so
//! `install` and `uninstall` go on after a crash. Our entries are recognised by the form of their command line
//! (`harness::HookLine`), without a mark.

use std::path::{Path, PathBuf};

use crate::domain::text_edit::EditError;
use crate::harness::install::{FileLookup, InstallTarget, InstalledPart};
use crate::store::{
    InstallRecord, InstallRecords, InstallsLock, OriginalFile, RestoredFile, StoreError, WrittenFile,
};
use crate::sys::files;
use crate::sys::git::WorkTree;

use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::setup::Execution;
use crate::ops::setup::install::{InstallDestination, exclusion, original_file, shown};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum InstallDirection {
    Install,
    Uninstall,
}

/// A file that changes. `None` as content: there is no file.
#[derive(Clone, Debug)]
pub struct FileChange {
    pub recipient: InstallDestination,
    pub path: PathBuf,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

/// The changes wanted for one recipient.
#[derive(Debug)]
pub(super) struct InstallPlan<'a> {
    pub(super) recipient: InstallDestination,
    pub(super) targets: Vec<InstallTarget>,
    /// Set if the files belong to a project; they must stay out of this repository.
    pub(super) tree: Option<&'a WorkTree>,
    pub(super) way: InstallDirection,
}

/// A file, its present and its new content, and its record.
#[derive(Debug)]
pub(super) struct PlannedFile {
    pub(super) target: InstallTarget,
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Option<Vec<u8>>,
    record: Option<InstallRecord>,
    /// The content without our part, which `uninstall` will restore.
    original: Option<Vec<u8>>,
}

impl InstallPlan<'_> {
    /// Carries out the plan, or only says what would change. Returns the changes. `list` lists the targets again: which
    /// files they are may depend on which exist.
    pub(super) fn carry_out(
        mut self,
        installs: &InstallRecords,
        execution: Execution,
        list: impl Fn() -> Result<Vec<InstallTarget>, CommandError>,
    ) -> Result<Vec<FileChange>, CommandError> {
        self.prepare()?;
        if execution == Execution::DryRun {
            return Ok(self.changes(&self.steps(installs)?));
        }
        self.targets.iter().try_for_each(|target| files::sweep_beside(&target.path))?;
        match self.permitted_steps(installs) {
            // With nothing to do, leave nothing behind, not even a lock file.
            Ok(steps) if steps.iter().all(|step| step.is_settled(self.way)) => return Ok(Vec::new()),
            Err(error) if !installs.has_lock_file()? => return Err(error),
            // Another process may be in the middle of its changes, so what was seen without the lock decides nothing.
            Ok(_) | Err(_) => {}
        }
        let lock = installs.lock()?;
        self.targets = list()?;
        self.prepare()?;
        let steps = self.permitted_steps(installs)?;
        match self.way {
            InstallDirection::Install => steps.iter().try_for_each(|step| step.put(&lock))?,
            InstallDirection::Uninstall => steps.iter().rev().try_for_each(|step| step.take(&lock))?,
        }
        Ok(self.changes(&steps))
    }

    fn prepare(&mut self) -> Result<(), CommandError> {
        self.targets.iter().try_for_each(|target| refuse_no_text(&target.path))?;
        self.keep_out_of_repository()
    }

    /// Like [`Self::steps`]; fails if one of the files must not be changed.
    fn permitted_steps(&self, installs: &InstallRecords) -> Result<Vec<PlannedFile>, CommandError> {
        let steps = self.steps(installs)?;
        for step in steps.iter().filter(|step| step.before != step.after) {
            refuse_read_only(&step.target.path)?;
            refuse_of_another(&step.target.path)?;
            step.refuse_edited()?;
        }
        Ok(steps)
    }

    /// Plans all files before any of them is written.
    pub(super) fn steps(&self, installs: &InstallRecords) -> Result<Vec<PlannedFile>, CommandError> {
        let mut steps: Vec<PlannedFile> = Vec::new();
        for target in &self.targets {
            steps.push(self.step(target, installs, &steps)?);
        }
        Ok(steps)
    }

    fn step(
        &self,
        target: &InstallTarget,
        installs: &InstallRecords,
        done: &[PlannedFile],
    ) -> Result<PlannedFile, CommandError> {
        let path = &target.path;
        refuse_odd(path)?;
        let before = files::read_large(path).map_err(|error| unreadable(path, &error))?;
        let record = installs.get(path).map_err(damaged)?;
        let view = |path: &Path| {
            let step = done.iter().find(|step| step.target.path == path);
            step.map_or((None, None), |step| (step.before.clone(), step.after.clone()))
        };
        let refused = |refusal: EditError| refuse(path, self.recipient, &target.part, &refusal);
        // If another file of this harness has a record and this one has none, there was nothing to write here: a
        // permission in it is the user's.
        let is_theirs = record.is_none() && done.iter().any(|step| step.record.is_some());
        let part = if is_theirs { target.part.without_permissions() } else { target.part.clone() };
        let kept = match (&record, &before) {
            (Some(record), _) => Some(original_file::kept(record)),
            (None, Some(bytes)) if is_theirs => Some(OriginalFile::Known(original_file::known(bytes))),
            (None, _) => None,
        };
        let original = match &before {
            Some(bytes) => self.original(&part, bytes, record.as_ref(), &view).map_err(refused)?,
            None => None,
        };
        let after = match self.way {
            InstallDirection::Install => {
                // A file that is ours alone is replaced, whichever version wrote it.
                let is_old =
                    matches!(target.part, InstalledPart::Own(_)) && is_untouched(record.as_ref(), &before);
                let current = before.as_deref().filter(|_| !is_old);
                if target.part.has_rival(before.as_deref().unwrap_or_default()).map_err(refused)? {
                    return Err(rival(path, self.recipient));
                }
                Some(
                    target
                        .part
                        .put(current, original_file::original(kept.as_ref()), &view)
                        .map_err(refused)?,
                )
            }
            InstallDirection::Uninstall => original.clone(),
        };
        Ok(PlannedFile { target: target.clone(), before, after, record, original })
    }

    /// The file without us: the original if nobody has changed it since, otherwise the present content without our
    /// entries. `None`: no file.
    fn original(
        &self,
        part: &InstalledPart,
        bytes: &[u8],
        record: Option<&InstallRecord>,
        view: FileLookup<'_>,
    ) -> Result<Option<Vec<u8>>, EditError> {
        // In a file that other harnesses use too, only our own part is removed.
        let is_whole = !(part.is_shared() && self.way == InstallDirection::Uninstall);
        match record.filter(|_| is_whole).map_or(RestoredFile::Unknown, |record| record.original(bytes)) {
            RestoredFile::Absent => return Ok(None),
            RestoredFile::Content(first) => return Ok(Some(first)),
            RestoredFile::Unknown => {}
        }
        let kept = record.map(original_file::kept);
        // Without a record, what looks like ours may be the user's own.
        if self.way == InstallDirection::Install && record.is_none() && !part.is_in(bytes)? {
            return Ok(Some(bytes.to_vec()));
        }
        match part.take(bytes, original_file::original(kept.as_ref()), view) {
            Err(_)
                if self.way == InstallDirection::Uninstall
                    && record.is_none()
                    && !part.is_mentioned(bytes) =>
            {
                Ok(Some(bytes.to_vec()))
            }
            rest => rest,
        }
    }

    /// Adds a project's files to the repository's exclude file, and refuses those that are committed.
    fn keep_out_of_repository(&mut self) -> Result<(), CommandError> {
        let Some(tree) = self.tree else { return Ok(()) };
        for InstallTarget { path, part } in self.targets.clone() {
            if self.way == InstallDirection::Install && tree.tracks(&path) {
                let text = format!(
                    "`{}` is committed to the repository, so what is in it is not yours alone",
                    shown(&path)
                );
                return Err(CommandError::new(CommandErrorKind::NoProjectSettings, text).hint(format!(
                    "`msg install {}` installs it for yourself, in every project",
                    self.recipient
                )));
            }
            if self.way == InstallDirection::Uninstall && is_elsewhere(tree, &path, &part)? {
                continue;
            }
            if let Some((file, line)) = exclusion(tree, &path) {
                self.targets.push(InstallTarget::new(file, InstalledPart::Line(line)));
            }
        }
        Ok(())
    }

    fn changes(&self, steps: &[PlannedFile]) -> Vec<FileChange> {
        let changed = steps.iter().filter(|step| step.before != step.after);
        let change = |step: &PlannedFile| FileChange {
            recipient: self.recipient,
            path: step.target.path.clone(),
            before: step.before.clone(),
            after: step.after.clone(),
        };
        changed.map(change).collect()
    }
}

impl PlannedFile {
    /// Whether anything of ours is in the file.
    pub(super) fn is_installed(&self) -> bool {
        let is_old = matches!(self.target.part, InstalledPart::Own(_))
            && is_untouched(self.record.as_ref(), &self.before);
        is_old || self.before.as_deref().is_some_and(|bytes| self.target.part.is_in(bytes).unwrap_or(false))
    }

    /// Refuses to touch a file of ours that was edited: what somebody added is not ours to remove.
    fn refuse_edited(&self) -> Result<(), CommandError> {
        let (InstalledPart::Own(content), Some(bytes), Some(record)) =
            (&self.target.part, &self.before, &self.record)
        else {
            return Ok(());
        };
        if bytes == content.as_bytes() || record.is_untouched(bytes) {
            return Ok(());
        }
        let path = shown(&self.target.path);
        let text = format!("`{path}` was changed since msg wrote it");
        Err(CommandError::new(CommandErrorKind::BadConfig, text)
            .hint("keep what is yours in another file, remove this one, and try again")
            .fact("file", path))
    }

    /// Whether there is nothing to write, neither in the file nor in its record.
    fn is_settled(&self, way: InstallDirection) -> bool {
        let is_copy =
            self.record.as_ref().is_some_and(|record| matches!(record.before, OriginalFile::Copy(_)));
        self.before == self.after && !is_copy && (way == InstallDirection::Install || self.record.is_none())
    }

    fn put(&self, lock: &InstallsLock) -> Result<(), CommandError> {
        let (path, Some(after)) = (&self.target.path, &self.after) else { return Ok(()) };
        if self.before == self.after {
            return self.drop_copy(lock);
        }
        self.refuse_if_changed()?;
        let mut made = self.record.as_ref().map(|record| record.made.clone()).unwrap_or_default();
        for dir in files::missing_above(path)? {
            let dir = dir.to_string_lossy().into_owned();
            if !made.contains(&dir) {
                made.push(dir);
            }
        }
        let original = self.original.as_deref();
        lock.note(&InstallRecord {
            path: shown(path),
            before: original
                .map_or(OriginalFile::Nothing, |bytes| OriginalFile::Known(original_file::known(bytes))),
            wrote: std::iter::once(WrittenFile::new(after, original)).chain(self.earlier()).collect(),
            made,
        })?;
        files::make_room(path)?;
        self.write(after)
    }

    /// What we wrote before, in case we die before the new content is in place.
    fn earlier(&self) -> Option<WrittenFile> {
        let record = self.record.as_ref()?;
        match self.before.as_deref().filter(|bytes| record.is_untouched(bytes)) {
            Some(bytes) => Some(WrittenFile::new(bytes, self.original.as_deref())),
            None => record.wrote.first().cloned(),
        }
    }

    /// Removes the copy of the whole file that a record of the first format holds.
    fn drop_copy(&self, lock: &InstallsLock) -> Result<(), CommandError> {
        let record = self.record.as_ref();
        let rest = record.and_then(|record| original_file::without_copy(record, self.before.as_deref()));
        Ok(rest.map_or(Ok(()), |record| lock.note(&record))?)
    }

    /// Writes the content. Checks as late as possible that the file has not changed.
    fn write(&self, content: &[u8]) -> Result<(), CommandError> {
        let path = &self.target.path;
        let is_same = || Ok(files::read_large(path)? == self.before);
        match files::write_through_if(path, content, is_same) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.changed_meanwhile()),
            Err(error) => Err(unwritable(path, &error)),
        }
    }

    /// The harness writes to its settings too, and does not know our lock.
    fn refuse_if_changed(&self) -> Result<(), CommandError> {
        let path = &self.target.path;
        if files::read_large(path)? == self.before { Ok(()) } else { Err(self.changed_meanwhile()) }
    }

    fn changed_meanwhile(&self) -> CommandError {
        let path = shown(&self.target.path);
        let text = format!("`{path}` was changed by somebody else at this moment");
        CommandError::new(CommandErrorKind::Io, text).hint("try again").fact("file", path)
    }

    fn take(&self, lock: &InstallsLock) -> Result<(), CommandError> {
        let path = &self.target.path;
        if self.before != self.after {
            self.refuse_if_changed()?;
            match &self.after {
                Some(content) => self.write(content)?,
                None => _ = files::remove_through(path).map_err(|error| unwritable(path, &error))?,
            }
        }
        let Some(record) = &self.record else { return Ok(()) };
        if self.after.is_none() {
            for dir in record.made.iter().rev() {
                // A directory that others have put something into stays, and so do its parents.
                if !files::remove_dir(Path::new(dir))? && files::exists(Path::new(dir))? {
                    break;
                }
            }
        }
        // A record of a shared file stays until the last harness has restored the original.
        if record.is_original(self.after.as_deref()) || !self.target.part.is_shared() {
            lock.forget(path)?;
            return Ok(());
        }
        self.drop_copy(lock)
    }
}

fn is_untouched(record: Option<&InstallRecord>, content: &Option<Vec<u8>>) -> bool {
    record.zip(content.as_deref()).is_some_and(|(record, bytes)| record.is_untouched(bytes))
}

/// Whether another work tree of the repository has the same file with our part. All work trees share one exclude file.
fn is_elsewhere(tree: &WorkTree, path: &Path, part: &InstalledPart) -> Result<bool, CommandError> {
    let Ok(inside) = path.strip_prefix(&tree.root) else { return Ok(false) };
    for root in tree.others() {
        let other = root.join(inside);
        // A file that can't be parsed may contain our part.
        let is_file = files::metadata(&other)?.is_some_and(|metadata| metadata.is_file());
        if is_file && files::read_large(&other)?.is_some_and(|bytes| part.is_in(&bytes).unwrap_or(true)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn refuse(
    path: &Path,
    recipient: InstallDestination,
    part: &InstalledPart,
    refusal: &EditError,
) -> CommandError {
    if matches!(part, InstalledPart::Own(_)) {
        let text = format!("`{}` is there already, and {}", shown(path), refusal.reason);
        return CommandError::new(CommandErrorKind::BadConfig, text)
            .hint(format!("move it away, then try again; nothing of {recipient} was changed"))
            .fact("file", shown(path));
    }
    CommandError::new(CommandErrorKind::BadConfig, format!("`{}` can't be read: {refusal}", shown(path)))
        .hint(format!("fix the file, then try again; nothing of {recipient} was changed"))
        .fact("file", shown(path))
        .number("line", refusal.line as u64)
        .number("column", refusal.column as u64)
}

/// There is only one status line, and a user who has made their own wants to keep it.
fn rival(path: &Path, recipient: InstallDestination) -> CommandError {
    CommandError::new(
        CommandErrorKind::StatusLineInUse,
        format!("`{}` has a status line of your own", shown(path)),
    )
    .hint("call `msg statusline` in it, with the JSON that it gets; `msg statusline --help` shows how")
    .hint(format!("or remove `statusLine` there, then try again; nothing of {recipient} was changed"))
    .fact("file", shown(path))
}

/// Refuses paths that are not UTF-8: records and settings that name a path are text.
fn refuse_no_text(path: &Path) -> Result<(), CommandError> {
    let real = files::destination(path);
    let Some(odd) = [path, &real].into_iter().find(|path| path.to_str().is_none()) else { return Ok(()) };
    let text = format!("the path `{}` is not text", shown(odd));
    Err(CommandError::new(CommandErrorKind::InvalidValue, text)
        .hint("give it a name that is UTF-8".to_string()))
}

/// Refuses anything but plain files. Some users link a settings file to `/dev/null` so that nobody writes to it:
/// renaming a file onto that would do harm. Reading from a pipe might block forever.
fn refuse_odd(path: &Path) -> Result<(), CommandError> {
    if files::metadata(path)?.is_none_or(|metadata| metadata.is_file()) {
        return Ok(());
    }
    let real = files::destination(path);
    let text = match real == *path {
        true => format!("`{}` is not a plain file", shown(path)),
        false => format!("`{}` leads to `{}`, which is not a plain file", shown(path), shown(&real)),
    };
    Err(CommandError::new(CommandErrorKind::ReadOnly, text)
        .hint("move it away, and try again".to_string())
        .fact("file", shown(path)))
}

/// Refuses read-only files and directories: somebody had a reason to make them so, and a rename would ignore it.
fn refuse_read_only(path: &Path) -> Result<(), CommandError> {
    let Some(what) = files::read_only(path)? else { return Ok(()) };
    let text = match what == *path {
        true => format!("`{}` is read-only", shown(path)),
        false => format!("`{}` can't be changed: `{}` is read-only", shown(path), shown(&what)),
    };
    Err(CommandError::new(CommandErrorKind::ReadOnly, text)
        .hint(format!(
            "`chmod u+w {}`, or change it where it is made, if it is made by a program",
            shown(&what)
        ))
        .fact("file", shown(path)))
}

/// Refuses files of another user: a file that is rewritten belongs to its writer, and the owner might lose access to
/// it.
fn refuse_of_another(path: &Path) -> Result<(), CommandError> {
    if !files::is_of_another(path)? {
        return Ok(());
    }
    let text = format!("`{}` belongs to another user, and would become yours", shown(path));
    Err(CommandError::new(CommandErrorKind::ReadOnly, text)
        .hint("let its owner do it, or root".to_string())
        .fact("file", shown(path)))
}

/// The damaged record may hold the only copy of somebody's settings.
fn damaged(error: StoreError) -> CommandError {
    let StoreError::Corrupt { path, .. } = &error else { return error.into() };
    CommandError::new(CommandErrorKind::Corrupt, error.to_string())
        .hint(
            "it may hold what was there before `install`: look, then move it away; `uninstall` works without it",
        )
        .fact("file", shown(path))
}

fn unreadable(path: &Path, error: &files::FileError) -> CommandError {
    CommandError::new(CommandErrorKind::Io, format!("`{}` can't be read: {error}", shown(path)))
        .hint("fix that, then try again; nothing was changed")
        .fact("file", shown(path))
}

fn unwritable(path: &Path, error: &files::FileError) -> CommandError {
    let kind = if error.is_full() { CommandErrorKind::DiskFull } else { CommandErrorKind::Io };
    CommandError::new(kind, format!("`{}` can't be written: {error}", shown(path)))
        .hint("it was not changed; fix that, then try again")
        .fact("file", shown(path))
}
