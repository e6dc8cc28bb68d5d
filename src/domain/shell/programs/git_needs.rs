//! Which parts of a repository a git command changes: the index, `HEAD` and branches.
//!
//! Commands that only read need nothing, and neither does `push`, which changes no local branch. What is not known here,
//! such as an alias, is left out.

use super::options::{ProgramOptions, ValueFlags};
use crate::domain::shell::field::Field;

/// A part of a repository that a command changes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum GitPart {
    /// What is staged.
    Index,
    /// What is checked out.
    Head,
    /// The branch that is checked out when the command runs.
    CurrentBranch,
    /// The branch of that name.
    Branch(String),
}

/// A part that a command line needs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GitNeed {
    pub part: GitPart,
    /// The directory that git runs in: absolute, but not normalised.
    pub dir: String,
    /// What needs it, for messages: `git commit`.
    pub by: String,
}

use GitPart::{Branch, CurrentBranch, Head, Index};

/// The parts that `git COMMAND ARGUMENTS` changes. `is_path` tells whether an operand is more likely a path than a name.
pub fn parts(command: &str, arguments: &[Field], is_path: impl Fn(&Field) -> bool) -> Vec<GitPart> {
    let options = ProgramOptions::parse(arguments, takes(command));
    let operands = options.operands.as_slice();
    let first = operands.first().and_then(name);
    if options.has("--help -h") {
        return Vec::new();
    }
    match command {
        "add" | "stage" | "rm" | "mv" | "read-tree" if options.has("-n --dry-run") => Vec::new(),
        // What is known of files is renewed; nothing is staged.
        "add" | "update-index" if options.has("--refresh --really-refresh") => Vec::new(),
        "merge" | "rebase" | "cherry-pick" | "revert" | "am" if options.has("--quit --edit-todo") => {
            Vec::new()
        }
        // The branch stays where it is.
        "merge" | "rebase" if options.has("--abort") => vec![Index, Head],
        "add" | "stage" | "rm" | "mv" | "read-tree" | "update-index" => vec![Index],
        "commit" if options.has("--dry-run --short --porcelain --long") => Vec::new(),
        "pull" if options.has("--dry-run") => Vec::new(),
        "am" | "rebase" if options.has("--show-current-patch") => Vec::new(),
        "cherry-pick" | "revert" if options.has("-n --no-commit") => vec![Index],
        "merge" if options.has("--squash") => vec![Index],
        "rebase" => match rebased(&options).and_then(name) {
            // It checks out this branch first.
            Some(branch) => vec![Index, Head, Branch(branch)],
            None => vec![Index, Head, CurrentBranch],
        },
        "commit" | "merge" | "pull" | "am" | "cherry-pick" | "revert" => vec![Index, Head, CurrentBranch],
        "bisect" => match first.as_deref() {
            None | Some("log" | "view" | "visualize" | "terms" | "help") => Vec::new(),
            Some(_) => vec![Index, Head],
        },
        "stash" => stash(&options),
        "reset" => reset(&options, is_path),
        "restore" if options.has("-S --staged") => vec![Index],
        "apply" if options.has("--check --stat --numstat --summary") && !options.has("--apply") => Vec::new(),
        "apply" if options.has("--index --cached -3 --3way -N --intent-to-add") => vec![Index],
        "checkout" => checkout(&options, is_path),
        "switch" => switch(&options),
        "branch" => branch(&options),
        "update-ref" if !options.has("--stdin") => match operands.first().map(|first| first.text.as_str()) {
            Some("HEAD") if options.has("--no-deref") => vec![Head],
            Some("HEAD") => vec![CurrentBranch],
            reference => reference.and_then(local_branch).into_iter().collect(),
        },
        "symbolic-ref" if operands.len() > 1 || options.has("-d --delete") => {
            if first.as_deref() == Some("HEAD") { vec![Head] } else { Vec::new() }
        }
        "fetch" => operands.iter().skip(1).filter_map(name).filter_map(|spec| fetched(&spec)).collect(),
        "worktree" if first.as_deref() == Some("add") => {
            options.value("-b -B").and_then(name).map(Branch).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The branch that `checkout` or `switch` leads to, if its name is known. A tag or a commit counts as a branch that
/// nobody has.
pub fn checked_out(command: &str, arguments: &[Field], parts: &[GitPart]) -> Option<String> {
    let options = ProgramOptions::parse(arguments, takes(command));
    let new = parts.iter().find_map(|part| if let Branch(name) = part { Some(name.clone()) } else { None });
    let named = || options.operands.first().and_then(name).filter(|name| name != "-");
    if options.has("-d --detach") { None } else { new.or_else(named) }
}

/// The flags of the command that take a value.
fn takes(command: &str) -> ValueFlags {
    let (short, long) = match command {
        "checkout" => ("bB", "orphan conflict pathspec-from-file"),
        "switch" => ("cC", "create force-create orphan conflict"),
        "branch" => ("u", "set-upstream-to sort format points-at"),
        "rebase" => ("sXxC", "onto strategy strategy-option exec whitespace empty"),
        "commit" => (
            "mFcCt",
            "message file author date reuse-message reedit-message fixup squash template cleanup trailer \
             pathspec-from-file",
        ),
        "merge" | "pull" => ("mFsX", "message file strategy strategy-option into-name cleanup"),
        "cherry-pick" | "revert" => ("msX", "mainline strategy strategy-option cleanup"),
        "stash" => ("m", "message pathspec-from-file"),
        "restore" => ("s", "source conflict pathspec-from-file"),
        "apply" => ("pC", "directory include exclude whitespace build-fake-ancestor"),
        "fetch" => ("jo", "depth deepen shallow-since shallow-exclude jobs upload-pack server-option refmap"),
        "update-ref" | "symbolic-ref" => ("m", ""),
        "worktree" => ("bB", "reason"),
        "reset" | "rm" => ("", "pathspec-from-file"),
        _ => ("", ""),
    };
    ValueFlags { short, attached: "", long }
}

/// The text of an operand, if it is known.
fn name(field: &Field) -> Option<String> {
    let is_name = field.is_known() && field.pattern.is_none() && !field.text.is_empty();
    is_name.then(|| field.text.strip_prefix("refs/heads/").unwrap_or(&field.text).to_string())
}

/// Whether operands are paths for certain.
fn has_paths_after_dashes(options: &ProgramOptions) -> bool {
    options.before_dashes.is_some_and(|before| before < options.operands.len())
}

fn is_head(field: &Field) -> bool {
    matches!(field.text.as_str(), "HEAD" | "@")
}

/// The branch that a rebase checks out: `git rebase UPSTREAM BRANCH`, `git rebase --root BRANCH`.
fn rebased(options: &ProgramOptions) -> Option<&Field> {
    let place = if options.has("--root") { 0 } else { 1 };
    options.operands.get(place)
}

fn stash(options: &ProgramOptions) -> Vec<GitPart> {
    let first = options.operands.first().filter(|_| options.before_dashes != Some(0));
    match first.map(|first| first.text.as_str()) {
        Some("list" | "show" | "create" | "store" | "drop" | "clear") => Vec::new(),
        Some("branch") => {
            let branch = options.operands.get(1).and_then(name).map(Branch);
            [Index, Head].into_iter().chain(branch).collect()
        }
        _ => vec![Index],
    }
}

fn reset(options: &ProgramOptions, is_path: impl Fn(&Field) -> bool) -> Vec<GitPart> {
    let operands = options.operands.as_slice();
    let resets_files = options.has("--hard --merge --keep");
    match operands {
        _ if has_paths_after_dashes(options) || options.has("-p --patch --pathspec-from-file") => vec![Index],
        [_, _, ..] => vec![Index],
        // They end a merge that is in progress.
        [] if resets_files => vec![Index, Head],
        [only] if is_head(only) && resets_files => vec![Index, Head],
        [] => vec![Index],
        [only] if is_head(only) || is_path(only) => vec![Index],
        [_] if options.has("--soft") => vec![Head, CurrentBranch],
        [_] => vec![Index, Head, CurrentBranch],
    }
}

fn checkout(options: &ProgramOptions, is_path: impl Fn(&Field) -> bool) -> Vec<GitPart> {
    let operands = options.operands.as_slice();
    if options.has("-b -B --orphan") {
        return started(options.value("-b -B --orphan"), operands.first());
    }
    match (options.before_dashes, operands) {
        _ if options.has("-p --patch") => vec![Index],
        // The index changes only if the files come from a commit.
        (Some(0), [_, ..]) => Vec::new(),
        (Some(before), _) if before < operands.len() => vec![Index],
        (_, []) if options.has("--detach -d") => vec![Head],
        (_, []) if options.has("-f --force") => vec![Index],
        (_, []) => Vec::new(),
        (None, _) if options.has("--ours --theirs") => Vec::new(),
        (None, [first, ..]) if is_path(first) => Vec::new(),
        (None, [_, paths @ ..]) if !paths.is_empty() => vec![Index],
        _ => vec![Index, Head],
    }
}

fn switch(options: &ProgramOptions) -> Vec<GitPart> {
    const NEW: &str = "-c -C --create --force-create --orphan";
    match options.operands.as_slice() {
        operands if options.has(NEW) => started(options.value(NEW), operands.first()),
        [] if options.has("-d --detach") => vec![Head],
        [] => Vec::new(),
        _ => vec![Index, Head],
    }
}

/// Starting a branch changes files only if it starts elsewhere.
fn started(branch: Option<&Field>, start: Option<&Field>) -> Vec<GitPart> {
    let index = start.is_some_and(|start| !is_head(start)).then_some(Index);
    index.into_iter().chain([Head]).chain(branch.and_then(name).map(Branch)).collect()
}

fn branch(options: &ProgramOptions) -> Vec<GitPart> {
    const READS: &str = "-l --list -a --all -r --remotes --contains --no-contains --merged --no-merged --points-at \
        --show-current";
    const SETTINGS: &str = "-u --set-upstream-to --unset-upstream --edit-description";
    let names = || options.operands.iter().filter_map(name).map(Branch);
    if options.has(READS) || options.has(SETTINGS) {
        return Vec::new();
    }
    match options.operands.as_slice() {
        _ if options.has("-d -D --delete") => names().collect(),
        // The branch that is checked out gets another name.
        [_] if options.has("-m -M --move") => [Head, CurrentBranch].into_iter().chain(names()).collect(),
        _ if options.has("-m -M --move") => names().collect(),
        _ if options.has("-c -C --copy") => names().next_back().into_iter().collect(),
        _ => names().next().into_iter().collect(),
    }
}

fn local_branch(reference: &str) -> Option<GitPart> {
    reference.strip_prefix("refs/heads/").map(|name| Branch(name.to_string()))
}

/// The local branch that `git fetch REMOTE FROM:TO` updates.
fn fetched(spec: &str) -> Option<GitPart> {
    let (_, to) = spec.split_once(':')?;
    match to {
        "" => None,
        to if to.starts_with("refs/") => local_branch(to),
        to if to.starts_with("heads/") => local_branch(&format!("refs/{to}")),
        to => Some(Branch(to.to_string())),
    }
}
