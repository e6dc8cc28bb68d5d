//! Finds the hook file that git runs, and examines what is already there.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::ops::context::Context;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::sys::environment::Home;
use crate::sys::files;
use crate::sys::flock::{FileLock, LockError};
use crate::sys::git::Repository;
use crate::sys::paths;

use crate::ops::setup::guard::HOOK;
use crate::ops::setup::guard::script::{self, GuardBlock, GuardShape, KEPT, KEPT_FILE};

/// The path of the hook file, and the paths where the previous hook is kept.
#[derive(Clone, Debug)]
pub(super) struct HookLocation {
    pub(super) hook: PathBuf,
    /// Directory for `kept`. In it the previous hook keeps its file name, because some hooks depend on their name.
    pub(super) kept_in: PathBuf,
    /// Link through which our hook runs the previous one.
    pub(super) kept: PathBuf,
    /// Target of `kept` if the previous hook was a file. It stays in the hook's directory, because some hooks load
    /// their neighbours.
    pub(super) kept_file: PathBuf,
    /// The root of the work tree.
    root: PathBuf,
    home: Home,
}

/// The current content of the path of the hook.
#[derive(Debug)]
pub(super) enum ExistingHook {
    Nothing,
    /// A file with our block in it.
    Ours {
        content: Vec<u8>,
        mode: u32,
        found: GuardBlock,
    },
    /// A shell script that git runs and that does not read itself.
    Script {
        content: Vec<u8>,
    },
    /// Anything else: a program, a script in another language, a script that reads itself, a link, a file that git
    /// ignores.
    Other,
}

/// The previous hook.
#[derive(Debug)]
pub(super) enum PreviousHook {
    Nothing,
    File(PathBuf),
    /// A link, with its target text at its original path.
    Link(PathBuf),
}

/// The people and repositories that would get a hook that is written there.
#[derive(Debug)]
pub(super) enum HookSharing {
    ThisRepository,
    /// It would be committed.
    Committed,
    /// It is neither in the repository nor in the work tree.
    OtherRepositories,
}

impl HookLocation {
    pub(super) fn of(ctx: &Context, repository: &Repository) -> Result<Self, CommandError> {
        let hook = repository.hook(HOOK)?;
        let kept_in = hook.with_file_name(KEPT);
        let (root, home) = (repository.root.clone(), ctx.home.clone());
        let (kept, kept_file) = (kept_in.join(HOOK), hook.with_file_name(KEPT_FILE));
        let place = Self { kept, kept_in, kept_file, hook, root, home };
        if files::metadata(place.dir())?.is_some_and(|metadata| !metadata.is_dir()) {
            let dir = place.shown(place.dir());
            let text = format!("git looks for hooks in `{dir}`, which is not a directory");
            return Err(CommandError::new(CommandErrorKind::HookInTheWay, text)
                .hint("`git config --show-origin core.hooksPath` shows where that is set"));
        }
        Ok(place)
    }

    /// Files next to the hook with names such as `pre-commit.old`: other installers rename the hook they find, and may
    /// still call it.
    pub(super) fn moved_aside(&self) -> Result<Vec<Self>, CommandError> {
        let mut places = Vec::new();
        for name in files::list(self.dir())? {
            let hook = self.hook.with_file_name(&name);
            let is_after = name.strip_prefix(HOOK).is_some_and(|rest| rest.starts_with('.'));
            if is_after && files::link_metadata(&hook)?.is_some_and(|metadata| metadata.is_file()) {
                places.push(Self { hook, ..self.clone() });
            }
        }
        Ok(places)
    }

    pub(super) fn dir(&self) -> &Path {
        self.hook.parent().unwrap_or(Path::new("/"))
    }

    /// Excludes other installations while one is running. `None` if the file system does not support locks.
    pub(super) fn lock(&self, ctx: &Context) -> Result<Option<FileLock>, CommandError> {
        match FileLock::acquire(self.dir(), ctx.settings.lock_timeout()) {
            Err(LockError::Unsupported { .. }) => Ok(None),
            held => Ok(Some(held?)),
        }
    }

    /// The path as shown to the user.
    pub(super) fn shown(&self, path: &Path) -> String {
        self.home.shorten(&path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy())
    }

    pub(super) fn occupant(&self) -> Result<ExistingHook, CommandError> {
        let Some(metadata) = files::link_metadata(&self.hook)? else { return Ok(ExistingHook::Nothing) };
        if metadata.is_symlink() {
            return Ok(ExistingHook::Other);
        }
        if !metadata.is_file() {
            let text = format!("`{}` is not a file", self.shown(&self.hook));
            return Err(
                CommandError::new(CommandErrorKind::HookInTheWay, text).hint("look at it, and move it away")
            );
        }
        let content = files::read_large(&self.hook)?.unwrap_or_default();
        let mode = metadata.permissions().mode() & 0o7777;
        let found = script::find(&content).map_err(|script::UnpairedMark| {
            let text = format!("`{}` has one of our marks without the other", self.shown(&self.hook));
            CommandError::new(CommandErrorKind::HookInTheWay, text)
                .hint("take our lines out by hand; they are about `ravenry guard`")
                .fact("file", self.hook.display().to_string())
        })?;
        Ok(match found {
            Some(found) => ExistingHook::Ours { content, mode, found },
            None if is_executable(mode) && script::is_shell(&content) && !script::reads_itself(&content) => {
                ExistingHook::Script { content }
            }
            None => ExistingHook::Other,
        })
    }

    /// Whether another hook runs before our check. A hook that git would ignore does not count.
    pub(super) fn runs_another(&self, occupant: &ExistingHook) -> Result<bool, CommandError> {
        let runs = |file: &Path| -> Result<bool, CommandError> {
            let metadata = files::metadata(file)?;
            Ok(metadata.is_some_and(|file| file.is_file() && is_executable(file.permissions().mode())))
        };
        match occupant {
            ExistingHook::Nothing => Ok(false),
            ExistingHook::Script { .. } => Ok(true),
            ExistingHook::Other => runs(&self.hook),
            ExistingHook::Ours { found, .. } if found.shape == GuardShape::Inserted => Ok(true),
            ExistingHook::Ours { .. } => runs(&self.kept),
        }
    }

    /// The previous hook. Our link without its file counts as nothing: the link is removed last, and that was
    /// interrupted.
    pub(super) fn what_is_kept(&self) -> Result<PreviousHook, CommandError> {
        let link = files::read_link(&self.kept)?;
        Ok(match link {
            Some(text) if text != to_file() => PreviousHook::Link(from_above(&text)),
            // Earlier versions kept the file here, without a link.
            None if files::exists(&self.kept)? => PreviousHook::File(self.kept.clone()),
            _ if files::exists(&self.kept_file)? => PreviousHook::File(self.kept_file.clone()),
            _ => PreviousHook::Nothing,
        })
    }

    /// The path where the previous hook is kept, if there is one.
    pub(super) fn place_of_kept(&self) -> Result<Option<PathBuf>, CommandError> {
        Ok(match self.what_is_kept()? {
            PreviousHook::Nothing => None,
            PreviousHook::File(file) => Some(file),
            PreviousHook::Link(_) => Some(self.kept.clone()),
        })
    }

    /// Whether the hook and the kept one are the same, as they are after a crash.
    pub(super) fn is_kept(&self) -> Result<bool, CommandError> {
        let kept = match self.what_is_kept()? {
            PreviousHook::Nothing => return Ok(false),
            PreviousHook::Link(text) => return Ok(files::read_link(&self.hook)? == Some(text)),
            PreviousHook::File(file) => file,
        };
        let (Some(there), Some(file)) = (files::link_metadata(&self.hook)?, files::link_metadata(&kept)?)
        else {
            return Ok(false);
        };
        if !there.is_file() || !file.is_file() || there.permissions() != file.permissions() {
            return Ok(false);
        }
        Ok(files::read_large(&self.hook)? == files::read_large(&kept)?)
    }

    /// Removes the directory and the link if no hook is kept.
    pub(super) fn tidy(&self) -> Result<(), CommandError> {
        if matches!(self.what_is_kept()?, PreviousHook::Nothing) && files::exists(&self.kept_in)? {
            files::remove(&self.kept)?;
            files::remove_dir(&self.kept_in)?;
        }
        Ok(())
    }

    pub(super) fn audience(&self, repository: &Repository) -> Result<HookSharing, CommandError> {
        let dir = paths::resolve(self.dir());
        if dir.is_within(&paths::resolve(&repository.common_dir()?)) {
            return Ok(HookSharing::ThisRepository);
        }
        let Some(inside) = dir.relative_to(&paths::resolve(&repository.root)) else {
            return Ok(HookSharing::OtherRepositories);
        };
        match repository.would_commit(&Path::new(inside).join(HOOK))? {
            true => Ok(HookSharing::Committed),
            false => Ok(HookSharing::ThisRepository),
        }
    }
}

pub(super) fn is_executable(mode: u32) -> bool {
    mode & 0o111 != 0
}

/// The target text of our link to the kept file.
pub(super) fn to_file() -> PathBuf {
    from_below(Path::new(KEPT_FILE))
}

/// The target text of a link after the link moved one directory down.
pub(super) fn from_below(text: &Path) -> PathBuf {
    match text.is_absolute() {
        true => text.to_path_buf(),
        false => OsStr::from_bytes(&[b"../", text.as_os_str().as_bytes()].concat()).into(),
    }
}

/// The inverse of [`from_below`].
fn from_above(text: &Path) -> PathBuf {
    let text = text.as_os_str().as_bytes();
    OsStr::from_bytes(text.strip_prefix(b"../").unwrap_or(text)).into()
}
