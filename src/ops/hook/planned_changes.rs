//! Predicts which paths a tool call will change: those that it edits and those that its shell command writes. And which
//! parts of a git repository its commands need.

use std::path::{Path, PathBuf};

use crate::domain::hook::ToolUse;
use crate::domain::pattern::{NormalPath, Pattern, has_wildcard};
use crate::domain::shell::{
    self, CommandPrediction, Extent, GitNeed, GitPart, PathWrite, ProgramRun, ShellEnvironment,
};
use crate::domain::{ChangeTarget, ReservationReach, Thing, escape_invisible, is_unasked};
use crate::ops::context::Context;
use crate::ops::reservations::check;
use crate::ops::reservations::reserve::PatternBase;
use crate::ops::reservations::things;
use crate::sys::environment::variable;
use crate::sys::git::WorkTree;
use crate::sys::{files, paths};

/// At most this many paths of a command are checked. The rest counts as unknown, and is compared after the command.
const MOST_CHANGES: usize = 4_000;
/// Patches longer than this (in bytes) are not read.
const MAX_PATCH: u64 = 1024 * 1024;

/// Whether this is one of the calls of `msg` that need no permission, and nothing else.
pub(super) fn is_permitted(command: &str) -> bool {
    shell::plain_words(command).is_some_and(|words| words[0] == "msg" && is_unasked(&words[1..]))
}

/// Whether this may be one of our commands or tools that asks for mail. If so, the mail must stay where it looks.
pub(super) fn may_ask_for_mail(tool: &ToolUse) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_./-".contains(c);
    let is_msg = |word: &str| word == "msg" || word.ends_with("/msg");
    let calls_msg = |command: &String| command.split(|c| !is_part(c)).any(is_msg);
    tool.tool.contains("ravenry") || tool.command.as_ref().is_some_and(calls_msg)
}

/// What a tool will change, as far as it can be known beforehand.
pub(super) struct ToolPlan {
    pub(super) changes: Vec<PlannedChange>,
    /// It may change more than that.
    pub(super) is_opaque: bool,
    /// Why a part of the command was not checked, if it was too long.
    pub(super) unread: Option<String>,
    /// The programs that it will run.
    pub(super) runs: Vec<ProgramRun>,
    /// The parts of repositories that it needs, until they are among the changes.
    git_needs: Vec<GitNeed>,
}

/// One path, tree or thing that will be changed.
pub(super) struct PlannedChange {
    pub(super) target: ChangeTarget,
    /// The part of a command that does it.
    pub(super) by: Option<String>,
    /// The path or pattern itself, absolute.
    path: String,
    is_pattern: bool,
    /// It only removes a name of a file.
    pub(super) removes: bool,
    /// The root of a thing; `path` is how it is written.
    thing_root: Option<String>,
}

impl ToolPlan {
    pub(super) fn of(ctx: &Context, tool: &ToolUse) -> Self {
        let mut changes: Vec<PlannedChange> =
            tool.edits.iter().map(|path| PlannedChange::edit(ctx, path)).collect();
        let mut is_opaque = false;
        let mut runs = Vec::new();
        let (mut unread, mut git_needs) = (None, Vec::new());
        if let Some(command) = &tool.command {
            let reading = read(ctx, command);
            is_opaque = reading.is_opaque || reading.writes.len() > MOST_CHANGES;
            if reading.is_cut_short {
                unread = Some("the command is too long to be read to its end".to_string());
            } else if reading.writes.len() > MOST_CHANGES {
                unread = Some(format!("the command changes more than {MOST_CHANGES} paths"));
            }
            for written in reading.writes.into_iter().take(MOST_CHANGES) {
                match PlannedChange::write(ctx, written) {
                    Some(change) => changes.push(change),
                    None => is_opaque = true,
                }
            }
            (runs, git_needs) = (reading.runs, reading.git_needs);
        }
        Self { changes, is_opaque, unread, runs, git_needs }
    }

    /// Whether it needs parts of a repository that are not among its changes yet.
    pub(super) fn has_git_needs(&self) -> bool {
        !self.git_needs.is_empty()
    }

    /// Adds the parts of repositories that it needs to the changes. Looks at each repository.
    pub(super) fn add_git_needs(&mut self) {
        let needs = std::mem::take(&mut self.git_needs);
        self.changes.extend(needs.into_iter().filter_map(PlannedChange::need));
    }
}

/// The programs that a tool ran.
pub(super) fn runs(ctx: &Context, tool: &ToolUse) -> Vec<ProgramRun> {
    tool.command.as_deref().map(|command| read(ctx, command).runs).unwrap_or_default()
}

fn read(ctx: &Context, command: &str) -> CommandPrediction {
    shell::predict_command(command, &ctx.cwd.to_string_lossy(), &RealEnvironment { ctx })
}

impl PlannedChange {
    fn edit(ctx: &Context, path: &str) -> Self {
        // Some harnesses expand `~`. For the others this does no harm: nobody has reserved a directory of that name.
        let full = ctx.cwd.join(ctx.home.expand(path)).to_string_lossy().into_owned();
        Self {
            target: check::file(&ctx.cwd, &full),
            by: None,
            path: full,
            is_pattern: false,
            removes: false,
            thing_root: None,
        }
    }

    /// `None`: there is no repository, or no branch is checked out.
    fn need(need: GitNeed) -> Option<Self> {
        let GitNeed { part, dir, by } = need;
        let tree = WorkTree::containing(Path::new(paths::resolve(Path::new(&dir)).as_str()))?;
        let thing = match part {
            GitPart::Index => Thing::GitIndex,
            GitPart::Head => Thing::GitHead,
            GitPart::CurrentBranch => Thing::GitBranch(tree.current_branch()?),
            GitPart::Branch(name) => Thing::GitBranch(name),
        };
        let (path, root, target) = things::target_in(&thing, &tree)?;
        let thing_root = Some(root);
        Some(Self { target, by: Some(by), path, is_pattern: false, removes: false, thing_root })
    }

    /// Whether it is a thing and not a path.
    pub(super) fn is_thing(&self) -> bool {
        self.thing_root.is_some()
    }

    /// `None`: the pattern can't be resolved.
    fn write(ctx: &Context, written: PathWrite) -> Option<Self> {
        let removes = written.removes_a_name();
        let PathWrite { path, extent, is_pattern, by } = written;
        let target = match (is_pattern, extent) {
            (false, Extent::File) => check::file(&ctx.cwd, &path),
            (false, Extent::Tree) => ChangeTarget::tree(paths::spellings(&ctx.cwd, &path)),
            (true, extent) => {
                let slash = if extent == Extent::Tree && !path.ends_with('/') { "/" } else { "" };
                let read = Pattern::new(&format!("{path}{slash}"), &NormalPath::absolute("/")).ok()?;
                let led = read.with_head(paths::resolve(Path::new(read.head().as_str())));
                ChangeTarget::Area(if led == read { vec![read] } else { vec![read, led] })
            }
        };
        Some(Self { target, by: Some(by), path, is_pattern, removes, thing_root: None })
    }

    /// Whether it is a directory that contains `path`.
    pub(super) fn lies_above(&self, path: &NormalPath) -> bool {
        let own = NormalPath::absolute(&self.path);
        !self.is_pattern && !self.is_thing() && *path != own && path.is_within(&own)
    }

    /// The place that is changed, where links lead: the file, or the directory in which a pattern begins.
    pub(super) fn place(&self) -> PathBuf {
        let path = Path::new(&self.path);
        if self.is_pattern {
            let fixed = self.path.find(['*', '?', '[', '{', '\\']).unwrap_or(self.path.len());
            let end = self.path[..fixed].rfind('/').unwrap_or(0);
            return paths::follow(Path::new(&self.path[..end]));
        }
        match (path.parent(), path.file_name()) {
            // Removing a link does not change what it leads to.
            (Some(parent), Some(name)) if self.removes => paths::follow(parent).join(name),
            _ => paths::follow(path),
        }
    }

    /// The path as it is shown to people here.
    pub(super) fn shown(&self, place: &PatternBase) -> String {
        match self.is_thing() {
            true => escape_invisible(&self.path).into_owned(),
            false => escape_invisible(&place.shorten(&self.path)).into_owned(),
        }
    }

    /// What the agent waits for if this is refused.
    pub(super) fn wanted(&self, place: &PatternBase) -> WantedPath {
        if let Some(root) = self.thing_root.clone() {
            let (pattern, reach) = (self.path.clone(), ReservationReach::Thing);
            return WantedPath { pattern, root, is_literal: false, reach };
        }
        let pattern = place.shorten(&self.path);
        let literal = !self.is_pattern && has_wildcard(&pattern);
        WantedPath {
            pattern,
            root: place.root().to_string(),
            is_literal: literal,
            reach: ReservationReach::WorkTree,
        }
    }
}

/// A path or a thing that an agent wants to change.
pub(super) struct WantedPath {
    pub(super) pattern: String,
    /// The directory that the pattern starts from.
    pub(super) root: String,
    /// It is a literal path although it contains wildcard characters.
    pub(super) is_literal: bool,
    pub(super) reach: ReservationReach,
}

/// What the shell reader may ask about the file system.
struct RealEnvironment<'a> {
    ctx: &'a Context,
}

impl ShellEnvironment for RealEnvironment<'_> {
    fn is_dir(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn read(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        // Not a pipe, which might block.
        let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        let bytes = is_file.then(|| files::read_at_most(path, MAX_PATCH).ok()).flatten()?.content()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn work_tree(&self, dir: &str) -> Option<String> {
        Some(WorkTree::containing(Path::new(dir))?.root.to_string_lossy().into_owned())
    }

    fn home(&self) -> Option<String> {
        Some(self.ctx.home.home.to_string_lossy().into_owned())
    }

    fn variable(&self, name: &str) -> Option<String> {
        variable(name)
    }
}
