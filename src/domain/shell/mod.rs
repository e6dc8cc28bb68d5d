//! Predicts which paths a command line writes and which programs it runs, without running it.
//!
//! The text is parsed by the shell grammar (`parse`, `words`, `redirects`) and then followed as a shell would run it
//! (`reader`, `state`, `expand`): changes of directory, variables, branches and loops. One table (`programs`) says
//! what each program does with its arguments.
//!
//! A reported path is really written if the command gets that far. Anything that cannot be predicted, because it
//! depends on an unknown program or on text known only at run time, makes the reading [`opaque`](Reading::opaque).

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

/// What the reader may query about the file system and the environment.
pub trait World {
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
pub struct Written {
    /// Absolute, but not normalised: it may contain `.`, `..` and `//`.
    pub path: String,
    pub extent: Extent,
    /// `path` is a glob in `globset` syntax, in which `*` does not match `/`.
    pub is_pattern: bool,
    /// What writes it, for messages: `sed -i`, `>`, `rm -r`.
    pub by: String,
}

impl Written {
    /// Whether it only removes a name of a file.
    pub fn removes_a_name(&self) -> bool {
        matches!(self.by.split(' ').next(), Some("rm" | "unlink"))
    }
}

/// The prediction for one command.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Reading {
    /// Each path once, in the order of their first write. A path that is both removed and written counts as written.
    pub writes: Vec<Written>,
    /// Something in it may write paths that cannot be predicted.
    pub opaque: bool,
    /// It is so long, or does so much, that a part was not read. It is also opaque then.
    pub is_cut_short: bool,
    /// The programs that it runs, in order, as far as they are known.
    pub runs: Vec<Run>,
}

/// Maximum length of a command that is read, in bytes.
pub const MAX_COMMAND: usize = 1024 * 1024;

/// Predicts what `command` writes if a shell runs it in the directory `cwd`.
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
