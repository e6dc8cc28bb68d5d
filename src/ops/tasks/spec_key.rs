//! Which spec is meant, and under which key its claims are kept.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::domain::Agent;
use crate::domain::spec::{self, Spec};
use crate::ops::agents::identity;
use crate::ops::context::Context;
use crate::ops::error::{CommandError, Kind};
use crate::ops::person;
use crate::store::{Claims, Completion, Completions, Finished, holds_a_lock};
use crate::sys::files::{self, FileError};
use crate::sys::git::WorkTree;
use crate::sys::{paths, seams};

/// Larger files are not accepted as specs (in bytes).
const MAX_SPEC: u64 = 64 * 1024 * 1024;

/// A spec: its key and its file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::ops) struct Place {
    /// The key of its claims and completions: absolute, links resolved, and for a linked work tree the path in the main
    /// one, because it is the same spec.
    pub(super) key: String,
    /// The file it is read from; `None` if there is none, and tasks are ad hoc.
    pub(super) file: Option<PathBuf>,
}

impl Place {
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

    fn named(ctx: &Context, text: &str) -> Result<Self, CommandError> {
        let full = ctx.cwd.join(ctx.home.expand(text));
        if !full.is_file() {
            let what = if full.exists() { "not a file" } else { "no such file" };
            let text = format!("{what}: `{}`", full.display());
            return Err(CommandError::new(Kind::InvalidValue, text).hint("give the path of a Markdown file"));
        }
        person::check_spec(ctx, &full)?;
        Ok(Self { key: key(&full), file: Some(full) })
    }

    /// The present text of the file.
    pub(super) fn text(&self) -> Result<String, CommandError> {
        let Some(file) = &self.file else { return Ok(String::new()) };
        seams::count(if holds_a_lock() { "spec-under-lock" } else { "spec" });
        let unreadable = |error: FileError| {
            let text = format!("the spec can't be read: {error}");
            CommandError::new(Kind::InvalidValue, text).hint("`msg spec PATH` says which it is")
        };
        let metadata = fs_err::metadata(file).map_err(|error| unreadable(error.into()))?;
        if !metadata.is_file() {
            let text = format!("the spec `{}` is no plain file", file.display());
            return Err(CommandError::new(Kind::InvalidValue, text).hint("`msg spec PATH` says which it is"));
        }
        let size = metadata.len();
        if size > MAX_SPEC {
            let text = format!("the spec `{}` has {size} bytes; {MAX_SPEC} is the most", file.display());
            return Err(CommandError::new(Kind::TooLarge, text));
        }
        let bytes = files::read_large(file).map(Option::unwrap_or_default).map_err(unreadable)?;
        String::from_utf8(bytes).map_err(|_| {
            let text = format!("the spec `{}` is no text (UTF-8)", file.display());
            CommandError::new(Kind::InvalidValue, text)
        })
    }

    /// What the spec says now.
    fn read(&self) -> Result<Spec, CommandError> {
        Ok(spec::read(&self.text()?))
    }

    /// Whether that key is another spelling of this spec. pi-messenger doesn't resolve links.
    pub(super) fn is_meant_by(&self, other: &str, spellings: &Spellings) -> bool {
        other == self.key || spellings.meaning(other) == self.key
    }
}

/// The one key of a spec, however it is spelled and in whichever work tree it lies.
pub(super) fn key(path: &Path) -> String {
    seams::count(if holds_a_lock() { "path-under-lock" } else { "path" });
    let real = PathBuf::from(paths::resolve(path).as_str());
    let in_main = || {
        // Without a spec a folder stands for one: it may be the whole work tree.
        let tree = WorkTree::containing(if real.is_dir() { &real } else { real.parent()? })?;
        let main = tree.main_root()?;
        let rest = real.strip_prefix(paths::resolve(&tree.root).as_str()).ok()?;
        Some(if rest.as_os_str().is_empty() { main } else { main.join(rest) })
    };
    in_main().unwrap_or(real).to_string_lossy().into_owned()
}

/// Keys of specs as they are spelled, compared by what they mean. Each is looked up once.
#[derive(Debug, Default)]
pub(in crate::ops) struct Spellings(RefCell<HashMap<String, String>>);

impl Spellings {
    pub(in crate::ops) fn are_same(&self, one: &str, other: &str) -> bool {
        one == other || self.meaning(one) == self.meaning(other)
    }

    fn meaning(&self, spelled: &str) -> String {
        let mut known = self.0.borrow_mut();
        known.entry(spelled.to_string()).or_insert_with(|| key(Path::new(spelled))).clone()
    }

    /// Looks up all that claims and completions name. It may take long, so it is done before a lock is taken.
    pub(super) fn look_up(&self, claims: &Claims, completions: &Completions) {
        for claim in claims.iter() {
            self.meaning(&claim.spec);
        }
        for done in completions.specs() {
            self.meaning(done.spec());
        }
    }

    /// Who finished that task of that spec, under whichever spelling.
    pub(in crate::ops) fn completion(
        &self,
        completions: &Completions,
        spec: &str,
        task: &str,
    ) -> Option<Completion> {
        let is_there = |done: &&Finished| done.has(task) && self.are_same(done.spec(), spec);
        completions.specs().find(is_there).and_then(|done| completions.find(done, task))
    }
}

/// A spec that an agent works through.
#[derive(Clone, Debug)]
pub struct SpecInUse {
    /// `None`: the agent has none.
    pub path: Option<String>,
    pub tasks: usize,
    /// Boxes that are no tasks because they have no id.
    pub boxes_without_id: usize,
    pub problems: Vec<String>,
}

/// Shows the caller's spec, or sets it.
pub fn spec(ctx: &Context, path: Option<&str>) -> Result<SpecInUse, CommandError> {
    let place = path.map(|text| Place::named(ctx, text)).transpose()?;
    let (mesh, caller) = identity::caller(ctx)?;
    let agent = match &place {
        Some(Place { file: Some(file), .. }) => {
            let real = paths::resolve(file).to_string();
            mesh.lock()?.edit(&caller.agent, |agent| agent.spec = Some(real))?.agent
        }
        _ => caller.agent,
    };
    let Some(path) = agent.spec.clone() else {
        return Ok(SpecInUse { path: None, tasks: 0, boxes_without_id: 0, problems: Vec::new() });
    };
    let spec = Place::find(ctx, None, Some(&agent))?.read()?;
    let problems = spec.problems.iter().map(ToString::to_string).collect();
    let boxes_without_id = spec.boxes_without_id;
    Ok(SpecInUse { path: Some(path), tasks: spec.tasks.len(), boxes_without_id, problems })
}

/// What is wrong with the spec of an agent.
pub(in crate::ops) fn problems(path: &str) -> Result<Vec<String>, CommandError> {
    let place = Place { key: String::new(), file: Some(PathBuf::from(path)) };
    Ok(place.read()?.problems.iter().map(ToString::to_string).collect())
}
