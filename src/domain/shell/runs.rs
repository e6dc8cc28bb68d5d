//! Which programs a command line runs, and what its outcome says about each of them.
//!
//! A shell ends as the last of its commands did, so of most parts of a line the outcome of the whole says nothing:
//! `cargo test | tail` succeeds whether or not the tests did.

use super::field::Field;
use super::reader::{Reader, State};
use super::syntax::{Chain, Join, Node, Piece};

/// No more programs than this are told.
const MOST_RUNS: usize = 100;

/// What can't fail, for all practical purposes: if something beside it failed, it was not this.
const SURE: [&str; 13] =
    ["cd", "pushd", "export", "echo", "printf", "true", ":", "pwd", "set", "unset", "sleep", "date", "umask"];

/// One program that is run, if the command gets that far.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Run {
    /// Without the directory that it lies in.
    pub program: String,
    /// `None` where one is known only when it runs.
    pub arguments: Vec<Option<String>>,
    /// Where it runs, if that is known.
    pub dir: Option<String>,
    pub tells: Tells,
}

/// What the outcome of the whole says about a part of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tells {
    /// If the whole succeeded, this did.
    pub success: bool,
    /// If the whole failed, this did.
    pub failure: bool,
}

impl Tells {
    pub const ALL: Self = Self { success: true, failure: true };
    pub const NOTHING: Self = Self { success: false, failure: false };

    /// Of the last part of a pipe, if it says that much of the pipe. Another part may be what failed.
    pub fn of_last_stage(self) -> Self {
        Self { failure: false, ..self }
    }
}

impl Run {
    /// The argument in that place, if it is there and known.
    pub fn argument(&self, place: usize) -> Option<&str> {
        self.arguments.get(place)?.as_deref()
    }
}

impl Reader<'_> {
    /// Does one thing of which the outcome of the whole says that much.
    pub fn telling<T>(&mut self, tells: Tells, what: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.tells, tells);
        let result = what(self);
        self.tells = before;
        result
    }

    /// Notes that a program is run.
    pub fn note_run(&mut self, state: &State, name: &Field, arguments: &[Field]) {
        if !name.is_known() || self.runs.len() >= MOST_RUNS {
            return;
        }
        let text = |field: &Field| (field.is_known() && field.pattern.is_none()).then(|| field.text.clone());
        let program = name.text.rsplit('/').next().unwrap_or(&name.text).to_string();
        let dir = state.dir.clone().filter(|_| state.instead.is_empty());
        let mut tells = self.tells;
        // Whether it was run at all depends on whether there is such a place.
        tells.failure &= dir.as_deref().is_some_and(|dir| self.made.contains(dir) || self.world.is_dir(dir));
        self.runs.push(Run { program, arguments: arguments.iter().map(text).collect(), dir, tells });
    }
}

/// What the outcome of a chain, of which that much is said, says about each of its parts.
pub fn of_parts(chain: &Chain, tells: Tells) -> Vec<Tells> {
    let count = chain.rest.len() + 1;
    if chain.rest.iter().any(|(join, _)| *join == Join::Or) {
        return vec![Tells::NOTHING; count];
    }
    let nodes = || std::iter::once(&chain.first).chain(chain.rest.iter().map(|(_, node)| node));
    let unsure = nodes().filter(|node| !is_sure(node)).count();
    let of_part = |node: &Node| Tells { failure: tells.failure && unsure == 1 && !is_sure(node), ..tells };
    match count {
        1 => vec![tells],
        _ => nodes().map(of_part).collect(),
    }
}

fn is_sure(node: &Node) -> bool {
    let Node::Simple(simple) = node else { return false };
    match simple.words.first().map(Vec::as_slice) {
        // Assignments alone.
        None => simple.redirects.is_empty(),
        Some([Piece::Bare(name)]) => simple.redirects.is_empty() && SURE.contains(&name.as_str()),
        Some(_) => false,
    }
}
