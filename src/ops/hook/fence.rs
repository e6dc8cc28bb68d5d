//! The fence of a run: a worker that works in a work tree of its own changes nothing outside of it.
//!
//! What a tool or a command will write is known beforehand for most (`planned_changes`), and refused with the right
//! path. What nobody can tell beforehand is named afterwards (`parent_tree`).

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use crate::domain::hook::ToolUse;
use crate::domain::quote_code;
use crate::domain::runs::Run;
use crate::domain::shell::ProgramRun;
use crate::ops::context::Context;
use crate::sys::git::WorkTree;
use crate::sys::{environment, paths};

use super::git_rules;
use super::plain_refusal::PlainRefusal;
use super::planned_changes::ToolPlan;

/// Directories for temporary files, besides the one that the environment names.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Variables that make git work elsewhere.
const GIT_VARIABLES: [&str; 4] = ["GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_COMMON_DIR="];

/// What a worker may write, with all links resolved.
pub(super) struct Fence {
    /// The work tree of the run.
    root: PathBuf,
    /// The person's tree that it works for.
    pub(super) project: PathBuf,
    /// The directory that the work trees of the repository share.
    repository: Option<PathBuf>,
    temporary: Vec<PathBuf>,
    /// The mesh: only `msg` writes there.
    mesh: PathBuf,
}

impl Fence {
    /// The fence of this run, if it works in a work tree of its own.
    pub(super) fn of(ctx: &Context, run: &Run) -> Option<Self> {
        let project = paths::follow(Path::new(run.project.as_deref()?));
        let root = paths::follow(Path::new(&run.root));
        let repository = WorkTree::containing(&root).and_then(|tree| tree.repository());
        let own = environment::temporary_dir();
        let temporary = TEMPORARY.into_iter().map(PathBuf::from).chain([own]);
        let temporary = temporary.map(|dir| paths::follow(&dir)).collect();
        let mesh = paths::follow(Path::new(&ctx.location.to_string()));
        Some(Self { root, project, repository, temporary, mesh })
    }

    /// Whether the worker may write there.
    fn lets(&self, place: &Path) -> bool {
        if place.starts_with(&self.root) {
            return !self.is_link_to_repository(place);
        }
        // A directory above contains the tree.
        let is_around = |tree: &Path| place.starts_with(tree) || tree.starts_with(place);
        if is_around(&self.project) || is_around(&self.mesh) || self.root.starts_with(place) {
            return false;
        }
        let is_in_repository = || {
            self.repository.as_ref().is_some_and(|shared| {
                let other = WorkTree::containing(place).and_then(|tree| tree.repository());
                place.starts_with(shared) || other.as_ref() == Some(shared)
            })
        };
        let is_temporary = self.temporary.iter().any(|dir| place.starts_with(dir));
        is_temporary && !is_in_repository()
    }

    /// Whether it is what ties the work tree to its repository.
    fn is_link_to_repository(&self, place: &Path) -> bool {
        place.starts_with(self.root.join(".git"))
    }

    /// The refusal of what a tool call would write outside, or of a git command that reaches beyond the work tree.
    pub(super) fn refusal(&self, tool: &ToolUse, plan: &ToolPlan) -> Option<PlainRefusal> {
        let outside = plan.changes.iter().map(|change| change.place()).find(|place| !self.lets(place));
        if let Some(place) = outside {
            let shown = place.to_string_lossy().into_owned();
            let root = quote_code(&self.root.to_string_lossy());
            if self.is_link_to_repository(&place) {
                let text = format!("{} ties this work tree to its repository: leave it.", quote_code(&shown));
                return Some(PlainRefusal { text, shown });
            }
            let right = match place.strip_prefix(&self.project) {
                Ok(inside) if !inside.as_os_str().is_empty() => {
                    let right = self.root.join(inside);
                    format!(
                        "The same file of this run is {}: use that path.",
                        quote_code(&right.to_string_lossy())
                    )
                }
                _ => "Write inside of it, or into a temporary directory.".to_string(),
            };
            let text =
                format!("{} is outside of the work tree of this run, {root}. {right}", quote_code(&shown));
            return Some(PlainRefusal { text, shown });
        }
        let by_git = plan.runs.iter().filter(|run| run.program == "git").find_map(|run| self.beyond(run));
        let by_variable = || {
            let command = tool.command.as_deref()?;
            let variable = GIT_VARIABLES.into_iter().find(|variable| command.contains(variable))?;
            Some((
                variable.to_string(),
                "makes git work elsewhere: run git in the work tree of this run".to_string(),
            ))
        };
        let (what, why) = by_git.or_else(by_variable)?;
        let root = quote_code(&self.root.to_string_lossy());
        let text = format!("{} is refused to this run: it {why} ({root}).", quote_code(&what));
        Some(PlainRefusal { text, shown: what })
    }

    /// What of a git command reaches beyond the work tree, and why that is refused.
    fn beyond(&self, run: &ProgramRun) -> Option<(String, String)> {
        let call = GitCall::of(run);
        let elsewhere = call.places.iter().find(|place| !self.lets(place));
        if let Some(place) = elsewhere {
            let why = "works in another directory: run it in the work tree of this run";
            return Some((format!("git -C {}", place.display()), why.to_string()));
        }
        if let Some(setting) = call.setting {
            let why = "would make git do something else: run the command itself in the work tree of this run";
            return Some((format!("git -c {setting}"), why.to_string()));
        }
        let (command, words) = call.words.split_first()?;
        let Some(command) = command else {
            let why = "is known only when it runs: write the command itself, in the work tree of this run";
            return Some(("git".to_string(), why.to_string()));
        };
        let shown = || {
            let first = words.iter().copied().flatten().next();
            let all: Vec<&str> = std::iter::once(*command).chain(first).collect();
            format!("git {}", all.join(" "))
        };
        if call.is_somewhere && !git_rules::is_reading(command) {
            let why =
                "works in a directory that is known only when it runs: run it in the work tree of this run";
            return Some((shown(), why.to_string()));
        }
        // In a repository of its own it may do all.
        if call.places.last().is_some_and(|place| !place.starts_with(&self.root)) {
            return None;
        }
        let tree = OnceCell::new();
        let is_of_others = |name: &str| {
            let tree = tree.get_or_init(|| WorkTree::containing(&self.root));
            tree.as_ref().is_some_and(|tree| tree.is_branch_of_others(name))
        };
        let why = git_rules::refusal(command, words, is_of_others)?;
        Some((shown(), why.to_string()))
    }
}

/// A git command, as far as it is known.
struct GitCall<'a> {
    /// The directories that it works in, by `-C`, `--git-dir`, `--work-tree` or a change of directory before.
    places: Vec<PathBuf>,
    /// One of them is known only at run time.
    is_somewhere: bool,
    /// A setting that changes what git does.
    setting: Option<&'a str>,
    /// The command and its arguments; `None` for what is known only at run time.
    words: Vec<Option<&'a str>>,
}

impl<'a> GitCall<'a> {
    fn of(run: &'a ProgramRun) -> Self {
        let mut dir = run.dir.as_deref().map(PathBuf::from);
        let (mut places, mut is_somewhere, mut setting) = (Vec::new(), false, None);
        let mut arguments = run.arguments.iter().map(Option::as_deref);
        let mut words = Vec::new();
        while let Some(argument) = arguments.next() {
            let join = |dir: &Option<PathBuf>, text: Option<&str>| Some(dir.as_ref()?.join(text?));
            let mut name_place = |place: Option<PathBuf>| {
                is_somewhere |= place.is_none();
                places.extend(place);
            };
            match argument {
                Some("-C") => dir = join(&dir, arguments.next().flatten()),
                Some("-c") => {
                    let given = arguments.next().flatten();
                    setting = setting.or(given.filter(|given| is_redirecting(given)));
                }
                Some("--namespace" | "--super-prefix" | "--attr-source") => drop(arguments.next()),
                Some("--config-env") => {
                    let given = arguments.next().flatten();
                    setting = setting.or(given.filter(|given| is_redirecting(given)));
                }
                Some("--git-dir" | "--work-tree") => name_place(join(&dir, arguments.next().flatten())),
                Some(flag) if flag.starts_with('-') => {
                    let value =
                        ["--git-dir=", "--work-tree="].iter().find_map(|name| flag.strip_prefix(name));
                    if value.is_some() {
                        name_place(join(&dir, value));
                    }
                    let given = flag.strip_prefix("--config-env=").filter(|given| is_redirecting(given));
                    setting =
                        setting.or(given).or(Some(flag).filter(|flag| flag.starts_with("--exec-path=")));
                }
                word => {
                    words.push(word);
                    words.extend(arguments.by_ref());
                }
            }
        }
        is_somewhere |= dir.is_none();
        places.extend(dir);
        let places = places.iter().map(|place| paths::follow(place)).collect();
        Self { places, is_somewhere, setting, words }
    }
}

/// Whether a setting gives commands another meaning, or leads elsewhere.
fn is_redirecting(setting: &str) -> bool {
    let name = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    name.starts_with("alias.") || name == "core.worktree" || name.starts_with("include")
}
