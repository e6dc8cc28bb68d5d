//! Hook events and answers, independent of any harness.
//!
//! Each harness has its own format: the codecs in `harness` translate it to these values and back, so the hook
//! engine does not know any harness.

use super::SessionId;

/// One call of a hook.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HookEvent {
    /// The session it is about, if the harness reports it.
    pub session: Option<SessionId>,
    /// The session that started this one as a subagent: what applies to it applies to its subagents.
    pub parent: Option<SessionId>,
    /// It happens inside a subagent, whose context is not the agent's.
    pub in_subagent: bool,
    /// The harness's id of that subagent, if it reports one.
    pub subagent: Option<String>,
    /// Identifies the turn within the session, if the harness reports it.
    pub turn: Option<String>,
    /// A turn ended without output from the model, for example because its user interrupted it.
    pub is_silent: bool,
    /// At the end of a turn: what the model said last, if the harness reports it.
    pub last_words: Option<String>,
    /// As far as the harness reports it.
    pub permissions: PermissionMode,
    pub cwd: Option<String>,
    pub model: Option<String>,
    /// Tokens used since the last call, if the harness reports them.
    pub tokens: u64,
    pub moment: HookMoment,
}

/// Whether an agent asks its user for permission before it acts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PermissionMode {
    #[default]
    Asks,
    Bypasses,
    /// It only reads, and plans what to do.
    Plans,
}

/// How a session ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SessionEnd {
    /// Another session follows in the same process, for example after `/clear`.
    ProcessContinues,
    Final,
}

/// The moment at which a hook is called.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum HookMoment {
    SessionStarted,
    SessionEnded(SessionEnd),
    /// The user, or whatever the harness presents as the user, said this.
    PromptSubmitted {
        prompt: String,
    },
    /// About to use a tool.
    BeforeTool(ToolUse),
    /// A tool was used, successfully or not.
    AfterTool(ToolUse),
    /// About to ask the user for permission to use a tool.
    AskingLeave(ToolUse),
    /// About to stop and wait for the user.
    Stopping,
    /// The turn has ended because the model could not be asked.
    TurnFailed,
    /// A subagent starts, in a harness that does not say which of the events are its own.
    SubagentStarted,
    /// Such a subagent has ended.
    SubagentEnded,
    /// Nothing that matters to us.
    #[default]
    Other,
}

/// One use of a tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolUse {
    /// The harness's name for the tool.
    pub tool: String,
    /// Identifies the call within the session, if the harness reports it.
    pub call: Option<String>,
    /// Paths that the tool edits, as given.
    pub edits: Vec<String>,
    /// Paths that the tool shows to the model, as given.
    pub reads: Vec<String>,
    /// The command line that it passes to a shell.
    pub command: Option<String>,
    /// A hash of its arguments, if calling it again with the same ones leads nowhere.
    pub arguments: Option<String>,
    /// When permission is asked for: what it is to do, in the words of the harness.
    pub asked: Option<String>,
    /// Afterwards: files that the harness saw the command change, if it reports them.
    pub changed: Option<Vec<String>>,
    /// Afterwards: how long it ran, in milliseconds, if the harness reports it.
    pub duration_ms: Option<u64>,
    /// Afterwards: how it ended, if the harness reports it; for a shell tool, how the command line ended.
    pub outcome: Option<ToolOutcome>,
    /// Afterwards: the beginning and the end of what a command that failed said.
    pub output: Option<String>,
    /// Afterwards: its user has approved a plan by it, or answered a question.
    pub is_users_decision: bool,
    /// Afterwards: its user interrupted it, so that text in the answer may not reach the model.
    pub was_interrupted: bool,
}

/// How the use of a tool ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ToolOutcome {
    Succeeded,
    Failed,
}

/// The answer of a hook.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum HookAnswer {
    /// No output: everything proceeds as usual.
    #[default]
    Silence,
    /// The tool must not be used, for this reason.
    Deny(String),
    /// Permit the tool without asking the user.
    Allow,
    /// Give this text to the model and continue.
    Context(String),
    /// Do not stop; continue with this text.
    GoOn(String),
}
