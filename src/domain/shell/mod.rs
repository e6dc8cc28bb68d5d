//! Which paths a command line writes, told before it runs; and which programs it runs.
//!
//! The text is parsed by the grammar of the shell (`parse`, `words`, `redirects`), then followed the way a shell would
//! run it (`reader`, `state`, `expand`), without running anything: directories that it changes into, variables that it
//! sets, branches and loops. What the programs do with their arguments stands in one table (`programs`).
//!
//! A path that is told is really written if the command gets that far. What can't be told beforehand, because it
//! depends on a program that we don't know or on text that comes up only when it runs, makes the reading
//! [`opaque`](Reading::opaque).

mod brace;
mod builtins;
mod copies;
mod editors;
mod expand;
mod field;
mod finders;
mod flow;
mod git;
mod links;
mod options;
mod parse;
mod patches;
mod plain;
mod programs;
mod reader;
mod redirects;
mod runs;
mod scripts;
mod state;
mod syntax;
#[cfg(test)]
mod tests;
mod transfers;
mod words;
mod wrappers;

pub use plain::plain_words;
pub use runs::{Run, Tells};

/// What the reader of commands may ask about the file system and the environment.
pub trait World {
    /// `path` is absolute.
    fn is_dir(&self, path: &str) -> bool;
    /// The text of a file, such as a patch. How much of it is read is for the implementor to bound.
    fn read(&self, path: &str) -> Option<String>;
    /// The root of the git work tree that `dir` lies in.
    fn work_tree(&self, dir: &str) -> Option<String>;
    fn home(&self) -> Option<String>;
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
}

/// How much of a path is written.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Extent {
    File,
    /// It and all beneath it.
    Tree,
}

/// One path that a command writes, creates, moves or removes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Written {
    /// Absolute; `.`, `..` and `//` stand in it as they were written.
    pub path: String,
    pub extent: Extent,
    /// `path` is a glob in the syntax of `globset`, in which `*` doesn't match a `/`.
    pub is_pattern: bool,
    /// A few words for a message: `sed -i`, `>`, `rm -r`.
    pub by: String,
}

impl Written {
    /// Does this only take away a name of a file?
    pub fn removes_a_name(&self) -> bool {
        matches!(self.by.split(' ').next(), Some("rm" | "unlink"))
    }
}

/// What is known about a command before it runs.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Reading {
    /// Each path once, in the order in which they are first written. What is removed and written is written.
    pub writes: Vec<Written>,
    /// There is something in it whose writes can't be known beforehand.
    pub opaque: bool,
    /// It is so long, or does so much, that a part of it was not read. Then it is opaque too.
    pub is_cut_short: bool,
    /// The programs that it runs, in that order, as far as they are known.
    pub runs: Vec<Run>,
}

/// More than this of a command is not looked at.
pub const MAX_COMMAND: usize = 1024 * 1024;

/// What `command` writes if a shell runs it in the directory `cwd`.
pub fn read_command(command: &str, cwd: &str, world: &dyn World) -> Reading {
    let mut end = command.len().min(MAX_COMMAND);
    while !command.is_char_boundary(end) {
        end -= 1;
    }
    let mut reading = reader::Reader::read(&command[..end], cwd, world);
    if end < command.len() {
        (reading.opaque, reading.is_cut_short) = (true, true);
    }
    reading
}
