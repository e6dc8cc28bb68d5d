//! Effects of git commands on the work tree.

use super::copies;
use super::git_needs::{GitNeed, GitPart, checked_out, parts};
use super::options::{ProgramOptions, ValueFlags};
use super::patches::write_all;
use super::wrappers::change_dir;
use crate::domain::patch::diff_paths;
use crate::domain::shell::Extent;
use crate::domain::shell::field::{Field, escape};
use crate::domain::shell::interpreter::{ProgramCall, ShellInterpreter, ShellState};

/// Commands that do not change the work tree.
const READS: &str = "status diff log show add fetch branch tag rev-parse rev-list ls-files ls-tree \
    ls-remote blame annotate grep remote describe shortlog reflog cat-file diff-tree \
    diff-index diff-files name-rev merge-base for-each-ref symbolic-ref show-ref show-branch var \
    version help check-ignore check-attr cherry count-objects fsck gc hash-object init notes \
    range-diff replace update-index update-ref verify-commit verify-tag whatchanged write-tree \
    commit-tree mktree mktag interpret-trailers stage maintenance prune repack request-pull \
    send-email --version --help";

struct Git<'r, 'w, 'a> {
    interpreter: &'r mut ShellInterpreter<'w>,
    state: ShellState,
    command: &'a str,
    by: String,
}

pub fn git(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let takes = ValueFlags {
        short: "Cc",
        long: "git-dir work-tree namespace super-prefix config-env attr-source",
        attached: "",
    };
    if !state.instead.is_empty() {
        interpreter.everywhere(state, |interpreter, state| {
            git(interpreter, state, call);
        });
        return None;
    }
    let (global, at) = ProgramOptions::leading(call.arguments, takes);
    let mut own = state.clone();
    for dir in global.values("-C") {
        change_dir(&mut own, Some(dir));
    }
    let repository_dir = own.dir.clone().filter(|_| !names_repository(interpreter, state, &global));
    change_dir(&mut own, global.value("--work-tree"));
    let (command, arguments) = call.arguments[at..].split_first()?;
    if command.text == "rev-parse" && matches!(arguments, [only] if only.text == "--show-toplevel") {
        return interpreter.world.work_tree(own.dir.as_deref()?);
    }
    let by = format!("git {}", command.text);
    let mut git = Git { interpreter, state: own, command: &command.text, by };
    if let Some(dir) = repository_dir {
        git.note_needs(&dir, arguments);
    }
    git.run(arguments);
    None
}

/// Whether the repository or its index is named, so that it is not the one of the directory.
fn names_repository(interpreter: &ShellInterpreter<'_>, state: &ShellState, global: &ProgramOptions) -> bool {
    // `unset` leaves an empty value.
    let is_set = |name: &str| match state.variables.get(name) {
        Some(Some(value)) => !value.text.is_empty(),
        Some(None) => true,
        None => interpreter.world.variable(name).is_some(),
    };
    global.has("--git-dir --work-tree --bare") || ["GIT_DIR", "GIT_INDEX_FILE"].into_iter().any(is_set)
}

/// The flags of the command that take a value.
fn takes(command: &str) -> ValueFlags {
    let (short, long) = match command {
        "checkout" => ("bB", "orphan conflict pathspec-from-file"),
        "switch" => ("cC", "create force-create orphan conflict"),
        "restore" => ("s", "source conflict pathspec-from-file"),
        "clean" => ("e", "exclude"),
        "stash" => ("m", "message pathspec-from-file"),
        "apply" | "am" => ("pC", "directory include exclude whitespace build-fake-ancestor patch-format"),
        "worktree" => ("bB", "reason"),
        "clone" => (
            "bocjCu",
            "branch origin config depth jobs reference template separate-git-dir filter upload-pack",
        ),
        "archive" => ("o", "output format prefix remote exec"),
        "format-patch" => ("o", "output-directory subject-prefix start-number to cc in-reply-to"),
        "config" => ("f", "file blob type default value comment url"),
        "reset" | "rm" => ("", "pathspec-from-file"),
        _ => ("", "output"),
    };
    ValueFlags { short, attached: "", long }
}

impl Git<'_, '_, '_> {
    fn run(mut self, arguments: &[Field]) {
        let options = ProgramOptions::parse(arguments, takes(self.command));
        if options.has("--help") {
            return;
        }
        if options.has("--pathspec-from-file") {
            self.interpreter.set_opaque();
            return;
        }
        match self.command {
            "checkout" => self.checkout(&options),
            "switch" => self.switch(&options),
            "restore" if !options.has("-S --staged") || options.has("-W --worktree") => {
                self.write_paths(&options.operands);
            }
            "reset" if options.has("--hard --merge --keep") => self.write_work_tree(),
            "restore" | "reset" => {}
            "clean" if !options.has("-n --dry-run") && options.has("-f --force -i --interactive") => {
                self.clean(&options);
            }
            "clean" => {}
            "stash" => self.stash(&options),
            "mv" if !options.has("-n --dry-run") => {
                copies::mv(self.interpreter, &mut self.state, &options, &self.by);
            }
            "rm" if !options.has("--cached -n --dry-run") => self.write_paths(&options.operands),
            "mv" | "rm" => {}
            "apply" => self.apply(&options),
            "am" => self.am(&options),
            "worktree" => self.worktree(&options),
            "clone" => self.clone_repository(&options),
            "bundle" => {
                if let [command, file, ..] = options.operands.as_slice()
                    && command.text == "create"
                {
                    self.interpreter.write(&self.state, file, Extent::File, &self.by);
                }
            }
            "archive" | "format-patch" => self.export(&options),
            "config" => self.config(&options),
            // Their hooks may change files.
            "commit" | "push" => self.interpreter.set_opaque(),
            command if READS.split_ascii_whitespace().any(|name| name == command) => {
                for file in options.values("--output") {
                    self.interpreter.write(&self.state, file, Extent::File, &self.by);
                }
            }
            _ => self.interpreter.set_opaque(),
        }
    }

    /// Notes which parts of the repository the command changes.
    fn note_needs(&mut self, dir: &str, arguments: &[Field]) {
        let parts = parts(self.command, arguments, |field| self.is_path(field));
        let root = self.root(dir);
        for part in &parts {
            // After a checkout in the same command line, another branch is the current one.
            let part = match (part, self.interpreter.checked_out.get(&root)) {
                (GitPart::CurrentBranch, Some(Some(name))) => GitPart::Branch(name.clone()),
                (GitPart::CurrentBranch, Some(None)) => continue,
                (part, _) => part.clone(),
            };
            let need = GitNeed { part, dir: dir.to_string(), by: self.by.clone() };
            self.interpreter.note_git_need(need);
        }
        let has_branch = parts.iter().any(|part| matches!(part, GitPart::Branch(_)));
        let checks_out = match self.command {
            "checkout" | "switch" => true,
            "rebase" | "stash" => has_branch,
            _ => false,
        };
        if checks_out && parts.contains(&GitPart::Head) {
            let name = checked_out(self.command, arguments, &parts);
            self.interpreter.checked_out.insert(root, name);
        }
    }

    fn write_work_tree(&mut self) {
        let root = self.state.dir.as_deref().map(|dir| self.root(dir));
        match root {
            Some(root) => self.interpreter.write(&self.state, &Field::literal(root), Extent::Tree, &self.by),
            None => self.interpreter.set_opaque(),
        }
    }

    fn root(&self, dir: &str) -> String {
        self.interpreter.world.work_tree(dir).unwrap_or_else(|| dir.to_string())
    }

    fn checkout(&mut self, options: &ProgramOptions) {
        if options.has("-p --patch") {
            self.interpreter.set_opaque();
            return;
        }
        if options.has("-b -B --orphan") {
            self.start_from(options.operands.first());
            return;
        }
        let operands = options.operands.as_slice();
        match (options.before_dashes, operands) {
            (Some(before), _) if before < operands.len() => self.write_paths(&operands[before..]),
            // `git checkout` alone only reports differences.
            (_, []) if !options.has("-f --force") => {}
            // They resolve a conflict, so the operands are paths.
            (None, _) if options.has("--ours --theirs") => self.write_paths(operands),
            (None, [first, ..]) if self.is_path(first) => self.write_paths(operands),
            (None, [_, paths @ ..]) if !paths.is_empty() => self.write_paths(paths),
            _ => self.write_work_tree(),
        }
    }

    fn switch(&mut self, options: &ProgramOptions) {
        match options.has("-c -C --create --force-create --orphan") {
            true if options.has("--orphan") => self.write_work_tree(),
            true => self.start_from(options.operands.first()),
            false => self.write_work_tree(),
        }
    }

    /// Starting a new branch changes files only if it starts elsewhere.
    fn start_from(&mut self, start: Option<&Field>) {
        if start.is_some_and(|start| !matches!(start.text.as_str(), "HEAD" | "@")) {
            self.write_work_tree();
        }
    }

    /// Whether it is more likely a path than the name of a branch.
    fn is_path(&self, field: &Field) -> bool {
        let text = field.text.as_str();
        let looks_so = matches!(text, "." | "..") || text.starts_with(['/', ':']) || text.starts_with("./");
        looks_so
            || text.starts_with("../")
            || field.pattern.is_some()
            || self.interpreter.is_dir(&self.state, field)
            || self.interpreter.is_file(&self.state, field)
    }

    fn write_paths(&mut self, paths: &[Field]) {
        for path in paths {
            let text = path.text.as_str();
            if text.starts_with(':') {
                // `:/`, `:(top)`, `:!x`
                self.write_work_tree();
            } else if path.pattern.is_none() && text.contains(['*', '?', '[']) {
                self.interpreter.write(&self.state, &pathspec(text), Extent::File, &self.by);
            } else {
                let base = text.rsplit('/').next().unwrap_or_default();
                let may_be_dir = !base.get(1..).is_some_and(|rest| rest.contains('.'));
                let is_tree = may_be_dir || self.interpreter.is_dir(&self.state, path);
                let extent = if is_tree && path.pattern.is_none() { Extent::Tree } else { Extent::File };
                self.interpreter.write(&self.state, path, extent, &self.by);
            }
        }
    }

    fn clean(&mut self, options: &ProgramOptions) {
        let here = [Field::literal(".")];
        let paths = if options.operands.is_empty() { &here[..] } else { &options.operands };
        for path in paths {
            self.interpreter.write(&self.state, path, Extent::Tree, &self.by);
        }
    }

    fn stash(&mut self, options: &ProgramOptions) {
        let (first, rest) = match options.operands.split_first() {
            // `git stash -- path`
            Some(_) if options.before_dashes == Some(0) => ("push", options.operands.as_slice()),
            Some((first, rest)) => (first.text.as_str(), rest),
            None => ("push", [].as_slice()),
        };
        match first {
            "list" | "show" | "drop" | "clear" | "create" | "store" => {}
            "push" if !rest.is_empty() => self.write_paths(rest),
            "push" | "save" | "pop" | "apply" | "branch" => self.write_work_tree(),
            _ => self.interpreter.set_opaque(),
        }
    }

    fn apply(&mut self, options: &ProgramOptions) {
        let only_tells = options.has("--check --stat --numstat --summary --cached --index-info");
        if only_tells && !options.has("--apply") {
            return;
        }
        self.write_patches(options);
    }

    fn am(&mut self, options: &ProgramOptions) {
        if options.has("--abort --continue --skip --quit --resolved -r --retry --show-current-patch") {
            self.interpreter.set_opaque();
            return;
        }
        self.write_patches(options);
    }

    /// Notes writes to the files named in the patches, which are relative to the root of the work tree.
    fn write_patches(&mut self, options: &ProgramOptions) {
        let Some(dir) = self.state.dir.clone() else {
            self.interpreter.set_opaque();
            return;
        };
        let mut root = ShellState { dir: Some(self.root(&dir)), ..self.state.clone() };
        change_dir(&mut root, options.value("--directory"));
        let strip = options.value("-p").map_or(Ok(1), |strip| strip.text.parse());
        let texts: Vec<Option<String>> = match options.operands.as_slice() {
            [] => vec![self.interpreter.stdin(&self.state)],
            [only] if only.text == "-" => vec![self.interpreter.stdin(&self.state)],
            files => files.iter().map(|file| self.interpreter.content(&self.state, file)).collect(),
        };
        for text in texts {
            match (text, &strip) {
                (Some(text), Ok(strip)) => {
                    write_all(self.interpreter, &root, diff_paths(&text, *strip), &self.by);
                }
                _ => self.interpreter.write(&root, &Field::literal("."), Extent::Tree, &self.by),
            }
        }
    }

    fn worktree(&mut self, options: &ProgramOptions) {
        match options.operands.as_slice() {
            [command, path, ..] if matches!(command.text.as_str(), "add" | "remove") => {
                let by = format!("{} {}", self.by, command.text);
                self.interpreter.write(&self.state, path, Extent::Tree, &by);
                if command.text == "add" {
                    self.interpreter.make(&self.state, path);
                }
            }
            [command, ..]
                if matches!(command.text.as_str(), "list" | "prune" | "lock" | "unlock" | "repair") => {}
            _ => self.interpreter.set_opaque(),
        }
    }

    fn clone_repository(&mut self, options: &ProgramOptions) {
        let dir = match options.operands.as_slice() {
            [_, dir, ..] => Some(dir.clone()),
            [url] => {
                let base = url.text.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
                url.is_known().then(|| Field::literal(base.trim_end_matches(".git")))
            }
            [] => None,
        };
        match dir {
            Some(dir) => {
                self.interpreter.write(&self.state, &dir, Extent::Tree, &self.by);
                self.interpreter.make(&self.state, &dir);
            }
            None => self.interpreter.set_opaque(),
        }
    }

    /// Only `--file` writes in the work tree; the repository's own configuration is elsewhere.
    fn config(&mut self, options: &ProgramOptions) {
        const READS: &str =
            "--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool -l --list";
        const WRITES: &str =
            "--add --replace-all --unset --unset-all --rename-section --remove-section -e --edit";
        let writes = match options.operands.first().map(|first| first.text.as_str()) {
            _ if options.has(READS) => false,
            _ if options.has(WRITES) => true,
            Some("get" | "list") => false,
            Some("set" | "unset" | "rename-section" | "remove-section" | "edit") => true,
            _ => options.operands.len() > 1,
        };
        for file in options.values("-f --file").filter(|_| writes) {
            self.interpreter.write(&self.state, file, Extent::File, &self.by);
        }
    }

    fn export(&mut self, options: &ProgramOptions) {
        let extent = if self.command == "archive" { Extent::File } else { Extent::Tree };
        match options.value("-o --output --output-directory") {
            Some(target) => self.interpreter.write(&self.state, target, extent, &self.by),
            // It chooses the file names itself.
            None if self.command == "format-patch" && !options.has("--stdout") => {
                self.interpreter.set_opaque();
            }
            None => {}
        }
    }
}

/// A pathspec that git expands itself: `*` also matches `/` in it.
fn pathspec(text: &str) -> Field {
    let first = text.find(['*', '?', '[']).unwrap_or(0);
    let dir = text[..first].rfind('/').map_or("", |end| &text[..=end]);
    let base = text.rsplit('/').next().unwrap_or_default().replace("**", "*");
    Field { text: text.to_string(), pattern: Some(format!("{}**/{base}", escape(dir))), ..Field::default() }
}
