//! Predicts which paths a command line writes, which programs it runs and which parts of git repositories they change,
//! without running it.
//!
//! The text is parsed by the shell grammar (`parser`) and then followed as a shell would run it (`interpreter`,
//! `state`, `expand`): changes of directory, variables, branches and loops. One table (`programs`) says what each
//! program does with its arguments.
//!
//! A reported path is really written if the command gets that far. Anything that cannot be predicted, because it
//! depends on an unknown program or on text known only at run time, sets
//! [`CommandPrediction::is_opaque`].
//!
//! # Why the parser is ours
//!
//! A hook must answer for any command line, hostile ones included: a stack overflow ends it with a signal, and a slow
//! answer stops the agent. `parser` looks at each byte a bounded number of times, nests at most 50 levels
//! (`parser::lists::MAX_DEPTH`), and keeps what precedes a fault, because a shell runs that too. `tests/robust.rs` and
//! `cargo bench -- readers` check it with the commands of `tests/nasty.rs`; BENCHMARKS.md has the slowest of 1 MiB.
//!
//! Other parsers, looked at in November 2026. Measured: the 213 commands of `tests/nasty.rs`, 16 KiB each, each parsed
//! once by a process of its own with a stack of 8 MiB and a limit of 2 s, on a busy machine.
//!
//! | parser | licence | crates it adds | result |
//! | --- | --- | --- | --- |
//! | brush-parser 0.4.0, release build | MIT | 27 | 7 commands overflow the stack, 7 take over 2 s. 2,000 nested `if`, `{` or `case` overflow it. Time is exponential in a row of `(`: 17 take 0.14 s, 21 take 1.4 s, 25 take over 10 s |
//! | tree-sitter-bash 0.25.1 with tree-sitter 0.25.10, unoptimised build | MIT | 8, and a C compiler for 9.9 MB of generated C | no overflow, 20,000 levels are fine; 13 commands take over 2 s. Time is quadratic in a row of `)`: 4 KiB take 0.5 s, 16 KiB take 5.9 s |
//! | yash-syntax 0.25.0 | GPL-3.0-or-later, which `deny.toml` does not allow | | not measured: it needs Rust 1.96; no limit of depth found in its source |
//!
//! They only parse: what follows a command (`interpreter`, `state`, `expand`) and the tables of programs would stay
//! ours.

mod brace;
mod builtins;
mod control_flow;
mod expand;
mod field;
mod interpreter;
mod links;
mod parser;
mod programs;
mod recorded_writes;
mod runs;
mod state;
#[cfg(test)]
mod tests;

pub use parser::single_call::plain_words;
pub use programs::git_needs::{GitNeed, GitPart};
pub use runs::{OutcomeEvidence, ProgramRun};

/// What the interpreter may query about the file system and the environment.
pub trait ShellEnvironment {
    /// `path` is absolute.
    fn is_dir(&self, path: &str) -> bool;
    /// The text of a file, such as a patch. The implementor limits how much is read.
    fn read(&self, path: &str) -> Option<String>;
    /// The root of the git work tree that contains `dir`.
    fn work_tree(&self, dir: &str) -> Option<String>;
    fn home(&self) -> Option<String>;
    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;
}

/// How much of a path is written.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Extent {
    File,
    /// The path and everything below it.
    Tree,
}

/// One path that a command writes, creates, moves or removes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathWrite {
    /// Absolute, but not normalised: it may contain `.`, `..` and `//`.
    pub path: String,
    pub extent: Extent,
    /// `path` is a glob in `globset` syntax, in which `*` does not match `/`.
    pub is_pattern: bool,
    /// What writes it, for messages: `sed -i`, `>`, `rm -r`.
    pub by: String,
}

impl PathWrite {
    /// Whether it only removes a name of a file.
    pub fn removes_a_name(&self) -> bool {
        matches!(self.by.split(' ').next(), Some("rm" | "unlink"))
    }
}

/// The prediction for one command.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CommandPrediction {
    /// Each path once, in the order of their first write. A path that is both removed and written counts as written.
    pub writes: Vec<PathWrite>,
    /// Something in it may write paths that cannot be predicted.
    pub is_opaque: bool,
    /// It is so long, or does so much, that a part was not read. It is also opaque then.
    pub is_cut_short: bool,
    /// The programs that it runs, in order, as far as they are known.
    pub runs: Vec<ProgramRun>,
    /// The parts of repositories that its git commands change, each once, as far as they are known.
    pub git_needs: Vec<GitNeed>,
}

/// Maximum length of a command that is read, in bytes.
pub const MAX_COMMAND: usize = 1024 * 1024;

/// Predicts what `command` writes if a shell runs it in the directory `cwd`.
pub fn predict_command(command: &str, cwd: &str, world: &dyn ShellEnvironment) -> CommandPrediction {
    let mut end = command.len().min(MAX_COMMAND);
    while !command.is_char_boundary(end) {
        end -= 1;
    }
    let mut reading = interpreter::ShellInterpreter::read(&command[..end], cwd, world);
    if end < command.len() {
        (reading.is_opaque, reading.is_cut_short) = (true, true);
    }
    reading
}
