//! The programs that a command line runs, and what its outcome says about each of them.
//!
//! The exit code of a shell is that of its last command, so it says nothing about most parts of a line: `cargo test |
//! tail` succeeds whether or not the tests did.

use super::parser::syntax::{Chain, LogicalOperator, ShellNode, WordPart};

/// Commands that practically never fail: if a chain failed, it was not because of them.
const NEVER_FAIL: [&str; 13] =
    ["cd", "pushd", "export", "echo", "printf", "true", ":", "pwd", "set", "unset", "sleep", "date", "umask"];

/// One program that is run, if the command gets that far.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProgramRun {
    /// Without its directory.
    pub program: String,
    /// `None` for an argument that is known only at run time.
    pub arguments: Vec<Option<String>>,
    /// Its working directory, if known.
    pub dir: Option<String>,
    pub evidence: OutcomeEvidence,
}

/// What the outcome of the whole command line says about a part of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OutcomeEvidence {
    /// If the whole succeeded, this part did.
    pub shows_success: bool,
    /// If the whole failed, this part did.
    pub shows_failure: bool,
}

impl OutcomeEvidence {
    pub const ALL: Self = Self { shows_success: true, shows_failure: true };
    pub const NOTHING: Self = Self { shows_success: false, shows_failure: false };

    /// Narrows what is known about a pipeline to its last stage: another stage may be the one that failed.
    pub fn of_last_stage(self) -> Self {
        Self { shows_failure: false, ..self }
    }
}

impl ProgramRun {
    /// The argument at that position, if it exists and is known.
    pub fn argument(&self, place: usize) -> Option<&str> {
        self.arguments.get(place)?.as_deref()
    }
}

/// What the outcome says about each part of a chain, if it says `evidence` about the whole chain.
pub fn of_parts(chain: &Chain, evidence: OutcomeEvidence) -> Vec<OutcomeEvidence> {
    let count = chain.rest.len() + 1;
    if chain.rest.iter().any(|(join, _)| *join == LogicalOperator::Or) {
        return vec![OutcomeEvidence::NOTHING; count];
    }
    let nodes = || std::iter::once(&chain.first).chain(chain.rest.iter().map(|(_, node)| node));
    let unsure = nodes().filter(|node| !is_sure(node)).count();
    let of_part = |node: &ShellNode| OutcomeEvidence {
        shows_failure: evidence.shows_failure && unsure == 1 && !is_sure(node),
        ..evidence
    };
    match count {
        1 => vec![evidence],
        _ => nodes().map(of_part).collect(),
    }
}

fn is_sure(node: &ShellNode) -> bool {
    let ShellNode::Simple(simple) = node else { return false };
    match simple.words.first().map(Vec::as_slice) {
        // Assignments only.
        None => simple.redirects.is_empty(),
        Some([WordPart::Bare(name)]) => simple.redirects.is_empty() && NEVER_FAIL.contains(&name.as_str()),
        Some(_) => false,
    }
}
