//! The fence of a run: a worker that works in a work tree of its own changes nothing outside of it.
//!
//! What a tool or a command will write is known beforehand for most (`planned_changes`), and refused with the right
//! path. What nobody can tell beforehand is named afterwards (`parent_tree`).

use std::path::{Path, PathBuf};

use crate::domain::hook::ToolUse;
use crate::domain::quote_code;
use crate::domain::runs::Run;
use crate::domain::shell::ProgramRun;
use crate::ops::context::Context;
use crate::sys::git::WorkTree;
use crate::sys::{environment, paths};

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
    /// Where `msg` keeps what is no one's work.
    state: PathBuf,
    /// The mesh, which only `msg` writes to.
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
        let state = paths::follow(&ctx.home.state.join("ravenry"));
        let mesh = paths::follow(Path::new(&ctx.location.to_string()));
        Some(Self { root, project, repository, temporary, state, mesh })
    }

    /// Whether the worker may write there.
    fn lets(&self, place: &Path) -> bool {
        if place.starts_with(&self.root) {
            return true;
        }
        // A directory above contains the tree.
        if place.starts_with(&self.project) || self.project.starts_with(place) || self.root.starts_with(place)
        {
            return false;
        }
        if place.starts_with(&self.mesh) || self.mesh.starts_with(place) {
            return false;
        }
        let is_in_repository = || {
            self.repository.as_ref().is_some_and(|shared| {
                let other = WorkTree::containing(place).and_then(|tree| tree.repository());
                place.starts_with(shared) || other.as_ref() == Some(shared)
            })
        };
        let is_temporary = self.temporary.iter().any(|dir| place.starts_with(dir));
        let is_state = place.starts_with(&self.state) && WorkTree::containing(place).is_none();
        (is_temporary || is_state) && !is_in_repository()
    }

    /// The refusal of what a tool call would write outside, or of a git command that reaches beyond the work tree.
    pub(super) fn refusal(&self, tool: &ToolUse, plan: &ToolPlan) -> Option<PlainRefusal> {
        let outside = plan.changes.iter().map(|change| change.place()).find(|place| !self.lets(place));
        if let Some(place) = outside {
            let shown = place.to_string_lossy().into_owned();
            let root = quote_code(&self.root.to_string_lossy());
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
        let (command, rest) = call.words.split_first()?;
        let first = rest.iter().copied().find(|word| !word.starts_with('-'));
        let has = |flags: &[&str]| rest.iter().any(|word| flags.contains(word));
        let operands = rest.iter().filter(|word| !word.starts_with('-')).count();
        let why = match (*command, first) {
            ("stash", Some("list" | "show")) | ("worktree", Some("list") | None) => return None,
            ("stash", _) => {
                "would use the stash, which all work trees share: commit to keep something, in the work tree of this run"
            }
            ("worktree", _) => {
                "would change the work trees of the repository: stay in the work tree of this run"
            }
            ("update-ref", _) => {
                "would change a ref, which all work trees share: commit in the work tree of this run"
            }
            ("branch", _)
                if has(&[
                    "-d", "-D", "-m", "-M", "-c", "-C", "-f", "--delete", "--move", "--copy", "--force",
                ]) =>
            {
                "would change a branch, which all work trees share: commit in the work tree of this run"
            }
            ("config", Some("get" | "list")) => return None,
            ("config", first)
                if !has(&[
                    "--get",
                    "--get-all",
                    "--get-regexp",
                    "--get-urlmatch",
                    "-l",
                    "--list",
                    "-f",
                    "--file",
                ]) && (operands > 1
                    || first.is_some_and(|word| word == "edit")
                    || has(&["-e", "--edit", "--unset", "--unset-all"])) =>
            {
                "would change the configuration, which all work trees share: use `git -c NAME=VALUE` in the work tree of this run"
            }
            _ => return None,
        };
        let shown: Vec<&str> = std::iter::once(*command).chain(first).collect();
        Some((format!("git {}", shown.join(" ")), why.to_string()))
    }
}

/// A git command, as far as it is known.
struct GitCall<'a> {
    /// The directories that it works in, by `-C`, `--git-dir`, `--work-tree` or a change of directory before.
    places: Vec<PathBuf>,
    /// The command and its arguments.
    words: Vec<&'a str>,
}

impl<'a> GitCall<'a> {
    fn of(run: &'a ProgramRun) -> Self {
        let mut dir = run.dir.as_deref().map(PathBuf::from);
        let mut places = Vec::new();
        let mut arguments = run.arguments.iter();
        let mut words = Vec::new();
        while let Some(argument) = arguments.next() {
            let Some(word) = argument.as_deref() else { continue };
            let join = |dir: &Option<PathBuf>, text: &str| dir.as_ref().map(|dir| dir.join(text));
            match word {
                "-C" => dir = arguments.next().and_then(|next| join(&dir, next.as_deref()?)),
                "-c" | "--namespace" | "--config-env" | "--super-prefix" => drop(arguments.next()),
                "--git-dir" | "--work-tree" => {
                    places.extend(arguments.next().and_then(|next| join(&dir, next.as_deref()?)));
                }
                flag if flag.starts_with('-') => {
                    let value =
                        ["--git-dir=", "--work-tree="].iter().find_map(|name| flag.strip_prefix(name));
                    places.extend(value.and_then(|value| join(&dir, value)));
                }
                _ => {
                    words.push(word);
                    words.extend(arguments.by_ref().filter_map(|next| next.as_deref()));
                }
            }
        }
        places.extend(dir);
        Self { places: places.iter().map(|place| paths::follow(place)).collect(), words }
    }
}
