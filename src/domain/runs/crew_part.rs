//! What a run is for a crew: whose task it does, and what became of its work.

/// The part of a run that is about its crew.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CrewPart {
    /// The crew, by the end of its branch's name.
    pub crew: String,
    /// Whether its worker is done, and only what comes after is missing.
    pub is_worked: bool,
    /// What was proven of the commit that it was about to make. Whoever dies right after that does not take it along.
    pub proven: Option<ProvenTree>,
    /// What became of its work; `None`: it has not come so far.
    pub end: Option<CrewEnd>,
}

/// A merged tree on which all commands passed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProvenTree {
    pub tree: String,
    pub test: CrewTest,
}

/// What became of the work of a run for a crew.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CrewEnd {
    /// It is on the crew's branch, as this commit; `None`: the branch had all of it already.
    Merged { commit: Option<String>, proof: Option<CrewTest> },
    /// The commands that prove the task failed in its own worktree.
    Unproven(CrewTest),
    /// It changed nothing, and neither a command nor a reviewer says that this is right.
    Nothing,
    /// The reviewer did not let it pass; the verdict is in the run.
    NotShipped,
    /// It conflicts with what others put on the branch, in these files.
    Conflict(Vec<String>),
    /// It was right apart, and the commands failed together with what others put on the branch.
    RedTogether(CrewTest),
    /// The task was given to somebody else meanwhile.
    GivenAway(String),
    /// Something else kept it from the branch.
    Stuck(String),
}

/// How the commands that prove a task ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CrewTest {
    /// The command that failed; if none did, all of them, one a line.
    pub command: String,
    /// How it ended: `exit code 1`.
    pub how: String,
    pub exit_code: Option<i32>,
    /// The end of its output.
    pub tail: String,
}

impl CrewEnd {
    /// In a word or two.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Merged { .. } => "merged",
            Self::Unproven(_) => "unproven",
            Self::Nothing => "nothing",
            Self::NotShipped => "not shipped",
            Self::Conflict(_) => "conflict",
            Self::RedTogether(_) => "red together",
            Self::GivenAway(_) => "given away",
            Self::Stuck(_) => "stuck",
        }
    }
}
