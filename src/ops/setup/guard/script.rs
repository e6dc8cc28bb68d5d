//! The text of the hook: a block between two marks, in POSIX shell.
//!
//! It has two shapes. [`GuardShape::Inserted`] goes to the top of a shell script that is there already. The block runs
//! the same file again, under the same name, and does nothing in that second run; so the rest of the script finds its
//! `$0`, its arguments and its environment unchanged, and may exit anywhere. [`GuardShape::Whole`] is a file of our own
//! that first runs the hook that it replaced, if there was one, through a link: a program, a script in another
//! language, a link, or a shell script that reads itself.
//!
//! One shape can't do both, because two kinds of shell scripts need opposite things from `$0`:
//! - A script that looks for its neighbours or its own name needs `$0` to be the path that git runs, directory and name
//!   alike. husky 9 runs `$(dirname "$(dirname "$0")")/$(basename "$0")`
//!   (`guard::places::a_directory_that_is_ignored`). So our text and the script share one file; a link in
//!   `pre-commit.ravenry/` has another directory, and `pre-commit.ravenry-kept` another name.
//! - A script that reads itself, such as `tail -n +4 "$0" | sh` or `exec python3 "$0"`, needs a file at `$0` that has
//!   its own lines and no others (`guard::others::scripts_that_read_themselves`). So our text must not be in that file,
//!   not even on lines that the shell would skip.
//!
//! Hence [`reads_itself`], which tells the second kind from the first.
//!
//! In both shapes the other hook runs first, because it may stage more files, and take long; then we check. Only a
//! clear refusal stops the commit: exit code 1, and the word that our answer begins with. Any other failure is
//! reported, and the commit goes on.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The directory next to the hook in which the previous hook has its own name.
pub(super) const KEPT: &str = "pre-commit.ravenry";
/// The previous hook, if it was a file.
pub(super) const KEPT_FILE: &str = "pre-commit.ravenry-kept";
/// The first line of a file that only we wrote.
pub(super) const SHEBANG: &str = "#!/bin/sh\n";

const BEGIN: &str = "# >>> ravenry guard >>>\n";
const BEGIN_WHOLE: &str = "# >>> ravenry guard, all of this file >>>\n";
const END: &str = "# <<< ravenry guard <<<\n";

/// Shells that can run our text.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "busybox"];

/// Commands that at most use a script's name.
const LOOKS: [&str; 9] = ["echo", "printf", "test", "[", "[[", "case", "basename", "realpath", "readlink"];
/// Words that may come before a command.
const PREFIXES: [&str; 10] = ["if", "elif", "then", "else", "while", "until", "do", "!", "{", "exec"];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum GuardShape {
    /// A block at the top of somebody else's script.
    Inserted,
    /// A file of our own, except for what people add to it.
    Whole,
}

/// How the hook calls `msg`.
#[derive(Debug)]
pub(super) struct GuardCommand {
    /// Whether this binary is the `msg` on the PATH.
    pub(super) is_on_path: bool,
    pub(super) program: PathBuf,
    /// `--mesh`, if the hook has to use only that mesh.
    pub(super) mesh: Option<String>,
}

/// The position of our block in a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct GuardBlock {
    pub(super) shape: GuardShape,
    pub(super) range: Range<usize>,
}

/// One of the two marks without the other.
#[derive(Debug)]
pub(super) struct UnpairedMark;

/// The content of a file that only we wrote.
pub(super) fn whole(call: &GuardCommand) -> Vec<u8> {
    [SHEBANG.as_bytes(), &block(GuardShape::Whole, call)].concat()
}

/// Another's script with our block in it.
pub(super) fn inserted(script: &[u8], call: &GuardCommand) -> Vec<u8> {
    let (before, after) = script.split_at(first_line(script));
    [before, &block(GuardShape::Inserted, call), after].concat()
}

/// The position of our block, if there is one.
pub(super) fn find(content: &[u8]) -> Result<Option<GuardBlock>, UnpairedMark> {
    let begins = [(BEGIN, GuardShape::Inserted), (BEGIN_WHOLE, GuardShape::Whole)];
    let begin = begins.iter().find_map(|(mark, shape)| Some((position(content, mark)?, *shape)));
    let end = position(content, END);
    match (begin, end) {
        (None, None) => Ok(None),
        (Some((begin, shape)), Some(end)) if begin < end => {
            Ok(Some(GuardBlock { shape, range: begin..end + END.len() }))
        }
        _ => Err(UnpairedMark),
    }
}

/// The content without our block.
pub(super) fn without(content: &[u8], found: &GuardBlock) -> Vec<u8> {
    [&content[..found.range.start], &content[found.range.end..]].concat()
}

/// The same content, with the block as it is written now.
pub(super) fn renewed(content: &[u8], found: &GuardBlock, call: &GuardCommand) -> Vec<u8> {
    let (before, after) = (&content[..found.range.start], &content[found.range.end..]);
    [before, &block(found.shape, call), after].concat()
}

/// Whether a POSIX shell runs the file. A text without `#!` counts, as it does for the kernel and git.
pub(super) fn is_shell(content: &[u8]) -> bool {
    let Some(rest) = content.strip_prefix(b"#!") else { return !content.contains(&0) };
    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return false };
    let Ok(line) = std::str::from_utf8(&rest[..end]) else { return false };
    let mut words = line.split_ascii_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let program = match words.next() {
        Some("env") => words.find(|word| !word.starts_with('-') && !word.contains('=')),
        program => program,
    };
    // For the kernel a carriage return is part of the interpreter's name, so nothing runs such a file.
    !line.ends_with('\r') && program.is_some_and(|program| SHELLS.contains(&program))
}

/// Whether a shell script passes itself to a program that reads or runs it: `$0` is a word of its own, as in `exec
/// python3 "$0"` or `tail -n +4 "$0"`, and the command does more than use the name ([`LOOKS`]). `false` for every
/// script that also depends on its directory: that one must stay where it is.
pub(super) fn reads_itself(script: &[u8]) -> bool {
    let script = String::from_utf8_lossy(script);
    let uses: Vec<Use> = own_names(&script).map(|(before, after)| Use::of(before, after)).collect();
    uses.contains(&Use::Itself) && !uses.contains(&Use::Beside) && !script.contains("BASH_SOURCE")
}

/// What a script does with its own name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Use {
    /// Reads or runs the file.
    Itself,
    /// Looks for files next to it.
    Beside,
    Name,
}

impl Use {
    fn of(before: &str, after: &str) -> Self {
        let (unquoted, after) = (before.strip_suffix('"'), after.strip_prefix('"').unwrap_or(after));
        let is_end = |char: char| char.is_whitespace() || ";|&()<>`".contains(char);
        let is_word = unquoted.unwrap_or(before).chars().next_back().is_none_or(is_end)
            && after.chars().next().is_none_or(is_end);
        let mut depth = 0;
        // A command substitution in the arguments is part of the command.
        let start = before.rfind(|char| match char {
            '\n' => true,
            ')' => {
                depth += 1;
                false
            }
            '(' if depth > 0 => {
                depth -= 1;
                false
            }
            char => depth == 0 && ";|&(`".contains(char),
        });
        let mut words = before[start.map_or(0, |at| at + 1)..].split_ascii_whitespace();
        let command = words.find(|word| !PREFIXES.contains(word)).unwrap_or_default();
        match command {
            "dirname" | "cd" => Self::Beside,
            command if LOOKS.contains(&command) => Self::Name,
            _ if is_word => Self::Itself,
            _ if after.starts_with(['.', '/', '%']) => Self::Beside,
            _ => Self::Name,
        }
    }
}

/// The text before and after each `$0` that the shell expands, except within a longer string.
fn own_names(script: &str) -> impl Iterator<Item = (&str, &str)> {
    let (mut quote, mut last, mut is_comment) = (None, '\n', false);
    script.char_indices().filter_map(move |(at, char)| {
        let before = std::mem::replace(&mut last, char);
        match (char, quote) {
            ('\n', _) => is_comment = false,
            _ if is_comment => {}
            // An escaped character has no meaning, and does not escape the next one.
            (_, None | Some('"')) if before == '\\' => last = ' ',
            ('#', None) => is_comment = before.is_whitespace(),
            ('\'' | '"', None) => quote = Some(char),
            (char, Some(open)) if char == open => quote = None,
            ('$', None) => return name_at(script, at),
            ('$', Some('"')) if before == '"' => return name_at(script, at),
            _ => {}
        }
        None
    })
}

fn name_at(script: &str, at: usize) -> Option<(&str, &str)> {
    let (before, rest) = script.split_at(at);
    let after = rest.strip_prefix("$0").or_else(|| rest.strip_prefix("${0}"));
    Some((before, after.or_else(|| rest.strip_prefix("${0"))?))
}

/// The end of the `#!` line, or 0.
fn first_line(script: &[u8]) -> usize {
    match script.starts_with(b"#!") {
        true => script.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1),
        false => 0,
    }
}

/// The start of the first line that equals the mark.
fn position(content: &[u8], mark: &str) -> Option<usize> {
    let mark = mark.as_bytes();
    let mut places = content.windows(mark.len()).enumerate();
    let is_line = |at: usize| at == 0 || content[at - 1] == b'\n';
    places.find(|(at, window)| *window == mark && is_line(*at)).map(|(at, _)| at)
}

fn block(shape: GuardShape, call: &GuardCommand) -> Vec<u8> {
    let template = match shape {
        GuardShape::Inserted => include_str!("inserted.sh"),
        GuardShape::Whole => include_str!("whole.sh").trim_start_matches(SHEBANG),
    };
    let mesh = call.mesh.iter().flat_map(|mesh| [b" --mesh ", &*quoted(mesh.as_ref())].concat()).collect();
    let by_name: &[u8] = if call.is_on_path { b"msg " } else { b"" };
    let programs = [by_name, &quoted(call.program.as_os_str())].concat();
    let indent = if shape == GuardShape::Inserted { "    " } else { "" };
    let look: String = include_str!("look.sh").lines().map(|line| format!("{indent}{line}\n")).collect();
    let look = fill(&look, &[("@PROGRAMS@", programs), ("@MESH@", mesh)]);
    fill(template, &[("@LOOK@", look)])
}

/// Replaces the names in the template by their values. Each name occurs once, in this order.
fn fill(template: &str, values: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut rest = template;
    let mut filled = Vec::new();
    for (name, value) in values {
        if let Some((before, after)) = rest.split_once(name) {
            filled.extend_from_slice(before.as_bytes());
            filled.extend_from_slice(value);
            rest = after;
        }
    }
    filled.extend_from_slice(rest.as_bytes());
    filled
}

/// The word, quoted for a shell.
fn quoted(word: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(program: &str) -> GuardCommand {
        GuardCommand { is_on_path: false, program: program.into(), mesh: Some("/the mesh".into()) }
    }

    #[test]
    fn what_is_put_in_comes_out() {
        let scripts: [&[u8]; 6] =
            [b"", b"echo hi", b"#!/bin/sh\n", b"#!/bin/sh\nexit 1", b"#!/usr/bin/env bash\n\n\xff\n", b"\n"];
        for script in scripts {
            let guarded = inserted(script, &call("/a"));
            let found = find(&guarded).unwrap().unwrap();
            assert_eq!(found.shape, GuardShape::Inserted);
            assert_eq!(without(&guarded, &found), script);
            let renewed = renewed(&guarded, &found, &call("/b"));
            assert_eq!(renewed, inserted(script, &call("/b")));
        }
        let whole = whole(&call("/a"));
        let found = find(&whole).unwrap().unwrap();
        assert_eq!((found.shape, &*without(&whole, &found)), (GuardShape::Whole, SHEBANG.as_bytes()));
    }

    #[test]
    fn marks_are_lines_and_come_in_pairs() {
        assert_eq!(find(b"echo '# >>> ravenry guard >>>\n'").unwrap(), None);
        let (torn, turned) = (BEGIN.to_string(), format!("{END}{BEGIN}"));
        assert!(find(torn.as_bytes()).is_err() && find(turned.as_bytes()).is_err());
    }

    #[test]
    fn what_a_shell_runs() {
        for script in ["#!/bin/sh\n", "#! /bin/bash -e\n", "#!/usr/bin/env -S zsh -f\n", "echo\n", ""] {
            assert!(is_shell(script.as_bytes()), "{script}");
        }
        let others = [
            "#!/usr/bin/python3\n",
            "#!/usr/bin/env node\n",
            "#!/bin/sh",
            "#!/bin/sh\r\n",
            "\x7fELF\0",
            "#!\n",
        ];
        for script in others {
            assert!(!is_shell(script.as_bytes()), "{script}");
        }
    }

    #[test]
    fn what_reads_itself() {
        let scripts = [
            "'''exec' python3 \"$0\" \"$@\"\n' '''\nimport sys\n",
            "'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")\"/'python' \"$0\" \"$@\"\n' '''\n",
            "\"exec\" \"python3\" \"$0\" \"$@\"\n",
            "exec perl -x -wS $0 ${1+\"$@\"}\n",
            "# it's one in Tcl \\\nexec tclsh \"$0\" \"$@\"\n",
            "tail -n +4 \"$0\" | sh\nexit\n",
            "echo \"I am $0\"; sh <(tail -n +4 \"${0}\")\n",
            "while read -r line; do echo \"$line\"; done <\"$0\"\n",
            "exec java \\\n  -jar \"$0\"",
            "\"$0\" again\n",
            "case $1 in\n  *) tail \"$0\" ;;\nesac\n",
            ": é; tail \"$0\"",
        ];
        for script in scripts {
            assert!(reads_itself(format!("#!/bin/sh\n{script}").as_bytes()), "{script}");
        }
        let others = [
            "",
            ". \"$(dirname \"$0\")/_/husky.sh\"\n",
            ". \"$(dirname -- \"$0\")/h\"\n",
            "HERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nexec sh \"$HERE/beside\" \"$@\"\n",
            "hook=`basename \"$0\"`\nexec run \"$hook\"\n",
            "cd \"${0%/*}\" && exec ./${0##*/}.local\n",
            "exec \"$0.legacy\" \"$@\"\n",
            "if [ -x \"$0.d/one\" ]; then \"$0\".d/one; fi\n",
            "git diff --cached | awk '{ print $0 }'\n",
            "awk '\n  # \"it\"\n  { print $0 }\n'\n",
            "echo it is \"$0\"; echo \"usage: $0 [-h]\"; printf '%s\\n' \"$0\"\n",
            "die \"usage: $0 now\"\n",
            "[ \"$(date; date)\" = \"$0\" ] && echo $(date) \"$0\"\n",
            "self=$0\nself=\"$0\"\n",
            "# tail \"$0\"\n: # tail \"$0\"\n",
            "echo \\$0 $01 \\\"; case \"$0\" in *) ;; esac\n",
            "run \"$(readlink -f \"$0\")\"\n",
            "dir=$(dirname \"$0\")\nsed -n 's/^#: //p' \"$0\"\n",
            "dir=$(dirname \"${BASH_SOURCE[0]}\")\nsed -n 's/^#: //p' \"$0\"\n",
        ];
        for script in others {
            assert!(!reads_itself(format!("#!/bin/sh\n{script}").as_bytes()), "{script}");
        }
    }

    #[test]
    fn one_word_for_a_shell() {
        let text = String::from_utf8(whole(&call("/it's $HOME/`x`/msg"))).unwrap();
        assert!(text.contains(r"for ravenry_msg in '/it'\''s $HOME/`x`/msg'; do"), "{text}");
        assert!(text.contains("guard check --color never --mesh '/the mesh' 2>&1"), "{text}");
        assert!(!text.contains('@') || text.contains("\"$@\""), "{text}");
    }
}
