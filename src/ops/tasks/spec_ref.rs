//! Finds the spec that a command refers to (named, the agent's own, or the folder) and reads its file.

use std::path::{Path, PathBuf};

use crate::domain::Agent;
use crate::domain::spec::{self, Spec};
use crate::ops::context::Context;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::store::holds_a_lock;
use crate::sys::files::{self, FileError};
use crate::sys::git::WorkTree;
use crate::sys::test_switches;

use super::spec_key::{Spellings, key};

/// Larger files are not accepted as specs (in bytes).
const MAX_SPEC: u64 = 64 * 1024 * 1024;

/// A spec: its key and its file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::ops) struct SpecRef {
    /// The key of its claims and completions: absolute, links resolved, and for a linked work tree the path in the main
    /// one, because it is the same spec.
    pub(super) key: String,
    /// The file it is read from; `None` if there is none, and tasks are ad hoc.
    pub(super) file: Option<PathBuf>,
}

impl SpecRef {
    /// The named spec, else the agent's own; without either, the folder acts as one.
    pub(super) fn find(
        ctx: &Context,
        named: Option<&str>,
        agent: Option<&Agent>,
    ) -> Result<Self, CommandError> {
        if let Some(text) = named {
            return Self::named(ctx, text);
        }
        match agent.and_then(|agent| agent.spec.as_deref()) {
            Some(path) => Ok(Self { key: key(Path::new(path)), file: Some(PathBuf::from(path)) }),
            None => {
                let root = WorkTree::containing(&ctx.cwd).map_or_else(|| ctx.cwd.clone(), |tree| tree.root);
                Ok(Self { key: key(&root), file: None })
            }
        }
    }

    /// The spec of an agent or a claim, by the path recorded there.
    pub(super) fn worked_on(path: &str) -> Self {
        let file = Some(PathBuf::from(path)).filter(|file| !file.is_dir());
        Self { key: key(Path::new(path)), file }
    }

    pub(super) fn named(ctx: &Context, text: &str) -> Result<Self, CommandError> {
        let full = ctx.cwd.join(ctx.home.expand(text));
        if !full.is_file() {
            let what = if full.exists() { "not a file" } else { "no such file" };
            let text = format!("{what}: `{}`", full.display());
            return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint("give the path of a Markdown file"));
        }
        person_required::check_spec(ctx, &full)?;
        Ok(Self { key: key(&full), file: Some(full) })
    }

    /// The present text of the file.
    pub(super) fn text(&self) -> Result<String, CommandError> {
        let Some(file) = &self.file else { return Ok(String::new()) };
        test_switches::count(if holds_a_lock() { "spec-under-lock" } else { "spec" });
        let unreadable = |error: FileError| {
            let text = format!("the spec can't be read: {error}");
            CommandError::new(CommandErrorKind::InvalidValue, text).hint("set it with `msg spec PATH`")
        };
        let metadata = fs_err::metadata(file).map_err(|error| unreadable(error.into()))?;
        if !metadata.is_file() {
            let text = format!("the spec `{}` is not a plain file", file.display());
            return Err(
                CommandError::new(CommandErrorKind::InvalidValue, text).hint("set it with `msg spec PATH`")
            );
        }
        let size = metadata.len();
        if size > MAX_SPEC {
            let text = format!("the spec `{}` has {size} bytes; {MAX_SPEC} is the most", file.display());
            return Err(CommandError::new(CommandErrorKind::TooLarge, text));
        }
        let bytes = files::read_large(file).map(Option::unwrap_or_default).map_err(unreadable)?;
        String::from_utf8(bytes).map_err(|_| {
            let text = format!("the spec `{}` is not UTF-8 text", file.display());
            CommandError::new(CommandErrorKind::InvalidValue, text)
        })
    }

    /// Parses the present text.
    pub(super) fn read(&self) -> Result<Spec, CommandError> {
        Ok(spec::read(&self.text()?))
    }

    /// Whether that key is another spelling of this spec. pi-messenger doesn't resolve links.
    pub(super) fn is_meant_by(&self, other: &str, spellings: &Spellings) -> bool {
        other == self.key || spellings.meaning(other) == self.key
    }
}
