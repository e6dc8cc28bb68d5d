//! What a harness tells at a hook, and what it can be answered, in our own words.
//!
//! Every harness says this in its own way: the codecs in `faces::hook` turn it into these values and back, and the
//! engine knows no harness.

use super::SessionId;

/// One call of a hook.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HookEvent {
    /// The session that it is about, where the harness tells.
    pub session: Option<SessionId>,
    /// The session that started this one as a subagent: what holds for it holds for its subagents.
    pub parent: Option<SessionId>,
    /// It happens inside a subagent, whose context is not the agent's.
    pub in_subagent: bool,
    /// What tells this turn from other turns of the session, where the harness tells.
    pub turn: Option<String>,
    /// A turn ends in which the model said nothing, as when its user interrupted it.
    pub is_silent: bool,
    /// It acts without asking its user for leave, as far as the harness tells.
    pub is_unasked: bool,
    pub cwd: Option<String>,
    pub model: Option<String>,
    /// How many tokens were used since the last call, where the harness tells.
    pub tokens: u64,
    pub moment: Moment,
}

/// At what moment a hook is called.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Moment {
    SessionStarted,
    /// `goes_on`: another session follows in the same process, as after `/clear`.
    SessionEnded {
        goes_on: bool,
    },
    /// The user, or whatever the harness shows as the user, said this.
    PromptSubmitted {
        prompt: String,
    },
    /// About to use a tool.
    BeforeTool(ToolUse),
    /// A tool was used, with or without success.
    AfterTool(ToolUse),
    /// About to ask the user whether it may use a tool.
    AskingLeave(ToolUse),
    /// About to stop and wait for the user.
    Stopping,
    /// Nothing that we care about.
    #[default]
    Other,
}

/// One use of a tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolUse {
    /// As the harness calls the tool.
    pub tool: String,
    /// What tells this call from others of the session, where the harness tells.
    pub call: Option<String>,
    /// Paths that the tool edits, as they were given.
    pub edits: Vec<String>,
    /// Paths that the tool shows to the model, as they were given.
    pub reads: Vec<String>,
    /// The command line that it gives to a shell.
    pub command: Option<String>,
    /// After it: files that the harness saw changed by the command, where it tells.
    pub changed: Option<Vec<String>>,
    /// After it: how long it ran, where the harness tells.
    pub duration_ms: Option<u64>,
    /// After it: how it ended, where the harness tells; of a shell, how the command line did.
    pub outcome: Option<Outcome>,
    /// After it: its user interrupted it, so that what is said now may not reach the model.
    pub was_interrupted: bool,
}

/// How the use of a tool ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    Succeeded,
    Failed,
}

/// What a hook answers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Answer {
    /// Nothing: everything goes its way.
    #[default]
    Silence,
    /// The tool must not be used, for this reason.
    Deny(String),
    /// The user need not be asked.
    Allow,
    /// Let the model know this, and go on.
    Context(String),
    /// Don't stop: there is this to be done.
    GoOn(String),
}
