//! Which git commands a worker in a work tree of its own may run: those that read, and those that change only that
//! work tree, its index, its `HEAD` and branches that are its own. All else changes what the work trees of a repository
//! share, and is refused. So is what is not known here: it may be an alias.
//!
//! New branches and tags are allowed. Without force git does not change those that exist, so the flags decide, and only
//! the flags listed here are allowed: git takes shortened ones too.

/// Commands that only read.
const READS: &str = "status diff log show rev-parse rev-list ls-files ls-tree ls-remote blame annotate grep describe \
    shortlog cat-file diff-tree diff-index diff-files name-rev merge-base for-each-ref show-ref show-branch var version \
    help check-ignore check-attr check-mailmap check-ref-format cherry count-objects range-diff verify-commit verify-tag \
    verify-pack whatchanged interpret-trailers request-pull merge-tree stripspace patch-id archive format-patch bundle \
    fmt-merge-msg get-tar-commit-id difftool";
/// Commands that change only the work tree, its index and the branch that is checked out in it, or add objects.
const OWN: &str = "add stage commit restore rm mv clean apply am reset revert cherry-pick merge bisect mergetool \
    merge-file merge-index merge-one-file checkout-index update-index read-tree hash-object write-tree commit-tree mktree \
    clone";

/// What git does with words after the name of a command.
#[derive(Debug, Default)]
struct GitWords<'a> {
    /// `-x` or `--name`, without values.
    flags: Vec<String>,
    /// `None` for what is known only at run time.
    operands: Vec<Option<&'a str>>,
    has_dashes: bool,
}

impl<'a> GitWords<'a> {
    /// `short` and `long` take a value, which may be the next word.
    fn of(words: &[Option<&'a str>], (short, long): (&str, &str)) -> Self {
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                Some("--") => {
                    read.has_dashes = true;
                    read.operands.extend(words.by_ref());
                }
                Some(flag) if flag.starts_with("--") => {
                    let (name, has_value) =
                        flag.split_once('=').map_or((flag, false), |(name, _)| (name, true));
                    if !has_value && has_word(long, &name[2..]) {
                        words.next();
                    }
                    read.flags.push(name.to_string());
                }
                Some(flag) if flag.len() > 1 && flag.starts_with('-') => {
                    let mut letters = flag[1..].chars();
                    while let Some(letter) = letters.next() {
                        read.flags.push(format!("-{letter}"));
                        if short.contains(letter) {
                            if letters.as_str().is_empty() {
                                words.next();
                            }
                            break;
                        }
                    }
                }
                operand => read.operands.push(operand),
            }
        }
        read
    }

    fn has(&self, flags: &str) -> bool {
        self.flags.iter().any(|flag| has_word(flags, flag))
    }

    /// Whether it has no other flags than these.
    fn has_only(&self, flags: &str) -> bool {
        let is_number =
            |flag: &str| flag.len() == 2 && flag.ends_with(|letter: char| letter.is_ascii_digit());
        self.flags.iter().all(|flag| has_word(flags, flag) || is_number(flag))
    }

    /// Whether a flag is one of these, or short for one.
    fn may_mean(&self, flags: &str) -> bool {
        let is_meant = |flag: &str, full: &str| flag == full || flag.len() > 2 && full.starts_with(flag);
        let mut flags = flags.split_ascii_whitespace();
        flags.any(|full| self.flags.iter().any(|flag| is_meant(flag, full)))
    }

    fn first(&self) -> Option<&'a str> {
        self.operands.first().copied().flatten()
    }
}

fn has_word(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Whether the command only reads, wherever it is.
pub(super) fn is_reading(command: &str) -> bool {
    has_word(READS, command)
}

/// Why a git command is refused; `None` if it is allowed. `is_of_others` tells whether a branch exists that is not the
/// worker's.
pub(super) fn refusal(
    command: &str,
    words: &[Option<&str>],
    is_of_others: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    if is_reading(command) || has_word(OWN, command) {
        return None;
    }
    const BRANCH: &str = "would change a branch, which all work trees share: make one with a new name, or commit in the work tree of \
         this run";
    let (is_allowed, why) = match command {
        "branch" => {
            let allowed = "-a -r -v -q -i -t -l --list --all --remotes --verbose --quiet --show-current --contains \
                --no-contains --merged --no-merged --sort --format --points-at --column --no-column --color --no-color \
                --abbrev --no-abbrev --ignore-case --omit-empty --track --no-track --create-reflog";
            let values = ("", "contains no-contains merged no-merged sort format points-at");
            (GitWords::of(words, values).has_only(allowed), BRANCH)
        }
        "tag" => {
            let allowed = "-l -n -a -s -m -F -u -e -i -v --list --annotate --sign --message --file --local-user --edit \
                --contains --no-contains --merged --no-merged --sort --format --points-at --column --no-column \
                --ignore-case --create-reflog --cleanup --verify --no-sign";
            let values = (
                "mFu",
                "message file local-user contains no-contains merged no-merged sort format points-at",
            );
            let why = "would change a tag, which all work trees share: make one with a new name";
            (GitWords::of(words, values).has_only(allowed), why)
        }
        "checkout" | "switch" => (may_check_out(command, words, is_of_others), BRANCH),
        "rebase" => {
            let read = GitWords::of(words, ("sXxC", "onto strategy strategy-option exec whitespace"));
            // `git rebase UPSTREAM BRANCH` checks out the branch and moves it.
            let moved = if read.has("--root") { read.operands.first() } else { read.operands.get(1) };
            let is_own = moved.is_none_or(|name| name.is_some_and(|name| !is_of_others(name)));
            (is_own && !read.may_mean("--update-refs"), BRANCH)
        }
        "fetch" | "pull" => {
            let read = GitWords::of(
                words,
                (
                    "josX",
                    "jobs depth deepen shallow-since shallow-exclude upload-pack server-option strategy",
                ),
            );
            let is_plain = |word: &Option<&str>| word.is_some_and(|word| !word.contains([':', '+']));
            let is_forced = read.has("-f -p -P -u")
                || read.may_mean("--force --prune --prune-tags --update-head-ok --refmap");
            let why = "would change refs, which all work trees share: fetch without force, without pruning and without \
                       a target, in the work tree of this run";
            (read.operands.iter().skip(1).all(is_plain) && !is_forced, why)
        }
        "config" => {
            let why = "would change the configuration, which all work trees share: use `git -c NAME=VALUE` in the work \
                       tree of this run";
            (reads_configuration(words), why)
        }
        "remote" => {
            let read = GitWords::of(words, ("", ""));
            let reads = read.operands.is_empty() || matches!(read.first(), Some("show" | "get-url"));
            let why = "would change the remotes, which all work trees share: name the address itself, in the work tree \
                       of this run";
            (reads, why)
        }
        "stash" => {
            let read = matches!(GitWords::of(words, ("", "")).first(), Some("list" | "show"));
            let why = "would use the stash, which all work trees share: commit to keep something, in the work tree of \
                       this run";
            (read, why)
        }
        "worktree" => {
            let why = "would change the work trees of the repository: stay in the work tree of this run";
            (GitWords::of(words, ("", "")).first() == Some("list"), why)
        }
        "symbolic-ref" => {
            let read = GitWords::of(words, ("m", ""));
            (read.operands.len() == 1 && read.has_only("-q --quiet --short --recurse --no-recurse"), BRANCH)
        }
        "reflog" => {
            let first = GitWords::of(words, ("n", "")).operands.first().copied();
            let reads = first
                .is_none_or(|first| first.is_some_and(|first| !has_word("expire delete drop write", first)));
            (reads, "would change the reflogs: leave them, in the work tree of this run")
        }
        "notes" | "submodule" | "replace" => {
            let read = GitWords::of(words, ("", ""));
            let reads = match read.operands.first() {
                None => !read.has("-d -e -f --delete --edit --graft --convert-graft-file"),
                Some(first) => {
                    command != "replace"
                        && first.is_some_and(|first| has_word("list show status summary", first))
                }
            };
            let why =
                "would change what all work trees of the repository share: stay in the work tree of this run";
            (reads, why)
        }
        "init" => {
            let read = GitWords::of(words, ("b", "template initial-branch object-format ref-format"));
            let is_elsewhere = matches!(read.operands.as_slice(), [Some(place)] if !is_here(place));
            let why =
                "would set up the repository again: name another directory, not the work tree of this run";
            (is_elsewhere && !read.may_mean("--separate-git-dir"), why)
        }
        "push" => {
            let why = "would change branches that others share: leave that to who started the run, and commit in the \
                       work tree of this run";
            (false, why)
        }
        "update-ref" => {
            let why = "would change a ref, which all work trees share: commit in the work tree of this run";
            (false, why)
        }
        command if has_word(SHARED, command) => {
            let why =
                "would change what all work trees of the repository share: stay in the work tree of this run";
            (false, why)
        }
        _ => {
            let why = "is not known to change nothing but the work tree of this run, and it may be an alias: write the \
                       command of git itself, in the work tree of this run";
            (false, why)
        }
    };
    (!is_allowed).then_some(why)
}

/// Commands that change what the work trees share, for their sentence: what is not listed anywhere is refused too.
const SHARED: &str = "gc prune repack pack-refs maintenance filter-branch fast-import sparse-checkout prune-packed \
    pack-objects unpack-objects commit-graph multi-pack-index rerere fsck refs send-pack receive-pack";

fn is_here(place: &str) -> bool {
    matches!(place.trim_end_matches('/'), "" | ".")
}

/// Whether the work tree gets no branch that somebody else has, and no existing branch is set.
fn may_check_out(command: &str, words: &[Option<&str>], is_of_others: impl Fn(&str) -> bool) -> bool {
    let (allowed, values, new) = match command {
        "checkout" => (
            "-b -q -f -p -t -l -m -d --detach --quiet --force --ours --theirs --merge --patch --track --no-track \
             --guess --no-guess --orphan --conflict --progress --no-progress --overlay --no-overlay \
             --pathspec-from-file --pathspec-file-nul --recurse-submodules --no-recurse-submodules",
            ("b", "orphan conflict pathspec-from-file"),
            "-b --orphan -t --track",
        ),
        _ => (
            "-c -d -q -f -t -m --create --detach --quiet --force --discard-changes --track --no-track --guess \
             --no-guess --orphan --merge --conflict --progress --no-progress --recurse-submodules \
             --no-recurse-submodules",
            ("c", "create orphan conflict"),
            "-c --create --orphan -t --track",
        ),
    };
    let read = GitWords::of(words, values);
    if !read.has_only(allowed) {
        return false;
    }
    // A new branch, none, or files: with `--` or several words they are files.
    if read.has(new) || read.has("-d --detach -p --patch") || read.has_dashes || read.operands.len() != 1 {
        return true;
    }
    read.first().is_some_and(|name| !is_of_others(name))
}

/// Whether a `git config` only reads.
fn reads_configuration(words: &[Option<&str>]) -> bool {
    let read = GitWords::of(words, ("f", "file blob type default url value get-color get-colorbool"));
    // What it writes into a file is checked like any other file.
    if read.has("-f --file") {
        return true;
    }
    let allowed = "--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool -l --list --global --system \
        --local --worktree --blob --type --bool --int --bool-or-int --path --expiry-date --no-type -z --null --name-only \
        --show-origin --show-scope --show-names --includes --no-includes --default --url --value --all --regexp \
        --fixed-value";
    let gets = "--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool -l --list";
    let is_change = |first: &str| has_word("set unset edit rename-section remove-section", first);
    read.has_only(allowed)
        && match read.operands.as_slice() {
            _ if read.has(gets) => true,
            [] => true,
            [Some("get" | "list"), ..] => true,
            [Some(name)] => !is_change(name),
            [None] => true,
            _ => false,
        }
}
