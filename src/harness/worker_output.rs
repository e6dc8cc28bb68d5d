//! What the readers of several workers share: values of a JSON line, a few words about a tool call, and the kind of
//! failure that an error text or a status code means.

use std::path::Path;

use serde_json::Value;

use crate::domain::runs::{Cost, MicroUsd, Usage};
use crate::domain::screens::reads_as_command;

use super::worker::{
    UnsupportedOrder, WorkerEnd, WorkerEvent, WorkerExit, WorkerFailure, WorkerOrder, WorkerSession,
};

/// Longest text about what a worker does now, in characters.
const MAX_DOING: usize = 80;
/// Longest error text that is kept, in characters.
const MAX_ERROR: usize = 400;
/// Longest text that is passed as one argument. Linux allows 128 KiB.
const MAX_ARGUMENT: usize = 100_000;

/// What a worker does whose model did not answer.
pub(super) const RETRIES: &str = "asks its model again";
/// Tool calls that are remembered while they run.
const MAX_CALLS: usize = 64;

/// What a reader has gathered so far.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkerTally {
    pub end: WorkerEnd,
    has_session: bool,
    has_model: bool,
}

impl WorkerTally {
    /// The session, the first time.
    pub fn session(&mut self, id: Option<&str>) -> Option<WorkerEvent> {
        let id = id.filter(|_| !self.has_session).and_then(|id| crate::domain::SessionId::new(id).ok())?;
        self.has_session = true;
        Some(WorkerEvent::Session(id))
    }

    /// The model, the first time.
    pub fn model(&mut self, name: Option<&str>) -> Option<WorkerEvent> {
        let name = name.filter(|name| !self.has_model && !name.is_empty())?;
        self.has_model = true;
        Some(WorkerEvent::Model(brief(name, MAX_DOING)))
    }

    /// Adds what one answer of the model used.
    pub fn add(&mut self, usage: Usage, cost: Option<MicroUsd>) -> WorkerEvent {
        self.end.usage = self.end.usage.plus(usage);
        if let Some(cost) = cost {
            let before = self.end.cost.amount().unwrap_or_default();
            self.end.cost = Cost::Reported(before.saturating_add(cost));
        }
        WorkerEvent::Used(self.end.usage, self.end.cost)
    }

    /// A tool call was refused for want of an answer.
    pub fn denied(&mut self, what: String) -> WorkerEvent {
        self.end.denied = Some(what.clone());
        WorkerEvent::Denied(what)
    }

    /// A tool call had another result.
    pub fn answered(&mut self) {
        self.end.denied = None;
    }

    /// The worker said something. Only its last words are its result.
    pub fn said(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.end.result = Some(text.to_string());
        }
    }

    /// How it ended. What the stream did not explain, the end of standard error may.
    pub fn finish(mut self, exit: WorkerExit, errors: &str) -> WorkerEnd {
        if self.end.failure.is_none() && exit != WorkerExit::Code(0) {
            self.end.failure = Some(failure_in(exit, errors));
        }
        self.end
    }

    /// The same for a program that answers an option that it does not know with its help, which has these words.
    pub fn finish_or_help(self, exit: WorkerExit, errors: &str, help: &str) -> WorkerEnd {
        let is_help = exit != WorkerExit::Code(0) && self.end.failure.is_none() && errors.contains(help);
        let flag = is_help.then(|| refused_flag(errors).unwrap_or_else(|| "one of its options".to_string()));
        let mut end = self.finish(exit, errors);
        end.failure = flag.map(WorkerFailure::RefusedFlag).or(end.failure);
        end
    }
}

/// The latest tool calls, for the words about one that is refused.
#[derive(Clone, Debug, Default)]
pub(super) struct RememberedCalls(Vec<(String, String)>);

impl RememberedCalls {
    pub fn remember(&mut self, id: &str, words: &str) {
        self.0.truncate(MAX_CALLS - 1);
        self.0.insert(0, (id.to_string(), words.to_string()));
    }

    /// The words about the call with this id, which is then forgotten.
    pub fn take(&mut self, id: &str) -> Option<String> {
        let place = self.0.iter().position(|(known, _)| known == id)?;
        Some(self.0.remove(place).1)
    }
}

/// A line that is a JSON object.
pub(super) fn object(line: &str) -> Option<Value> {
    serde_json::from_str::<Value>(line).ok().filter(Value::is_object)
}

/// The text at this path of members.
pub(super) fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path)?.as_str()
}

/// The number at this path of members.
pub(super) fn number(value: &Value, path: &[&str]) -> Option<u64> {
    at(value, path)?.as_u64()
}

/// The amount in dollars at this path of members.
pub(super) fn dollars(value: &Value, path: &[&str]) -> Option<MicroUsd> {
    MicroUsd::from_dollars(at(value, path)?.as_f64()?)
}

pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// One line without control characters, of at most this length.
pub(super) fn brief(text: &str, length: usize) -> String {
    let mut letters = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let mut out: String = letters.by_ref().take(length).collect();
    if letters.next().is_some() {
        out.pop();
        out.push('…');
    }
    out
}

/// An error text, short enough for a message.
pub(super) fn error_text(text: &str) -> String {
    brief(text.trim(), MAX_ERROR)
}

/// What a worker does by a tool call, in a few words. Tools are known by what their input has, which is nearly the
/// same in all harnesses; `verb` says what the tool does to a path.
pub(super) fn doing(verb: ToolVerb, name: &str, input: &Value, root: &Path) -> String {
    let first = |names: &[&str]| names.iter().find_map(|name| text(input, &[name]));
    let words = match verb {
        ToolVerb::Edits | ToolVerb::Reads => {
            let path = first(&["file_path", "notebook_path", "filePath", "path", "absolute_path"]);
            path.map(|path| format!("{} {}", verb.word(), relative(path, root)))
        }
        ToolVerb::Runs => first(&["command", "cmd"]).map(|command| format!("runs {}", command.trim())),
        ToolVerb::Searches => first(&["pattern", "query"]).map(|what| format!("searches {what}")),
        ToolVerb::Uses => None,
    };
    brief(&words.unwrap_or_else(|| format!("uses {name}")), MAX_DOING)
}

/// What a tool does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ToolVerb {
    Edits,
    Reads,
    Runs,
    Searches,
    Uses,
}

impl ToolVerb {
    fn word(self) -> &'static str {
        match self {
            Self::Edits => "edits",
            Self::Reads => "reads",
            Self::Runs => "runs",
            Self::Searches => "searches",
            Self::Uses => "uses",
        }
    }
}

/// A path as it is in the tree that the worker works in.
pub(super) fn relative<'a>(path: &'a str, root: &Path) -> &'a str {
    let inside = Path::new(path).strip_prefix(root).ok().and_then(Path::to_str);
    inside.filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// The kind of failure that a status code of the model's server or an error text means.
pub(super) fn failure(status: Option<u64>, message: &str) -> WorkerFailure {
    let text = error_text(message);
    let has = |words: &[&str]| {
        let lower = message.to_lowercase();
        words.iter().any(|word| lower.contains(word))
    };
    let status = status.or_else(|| status_in(message));
    if matches!(status, Some(429 | 402)) || has(LIMITS) {
        WorkerFailure::Limited { until: None, text }
    } else if matches!(status, Some(401 | 403)) || has(LOGINS) {
        WorkerFailure::NotLoggedIn(text)
    } else if matches!(status, Some(500..=599)) || has(NO_ANSWERS) {
        WorkerFailure::NoAnswer(text)
    } else {
        WorkerFailure::Other(text)
    }
}

const LIMITS: &[&str] = &[
    "rate limit",
    "rate_limit",
    "usage limit",
    "hit your limit",
    "limit reached",
    "too many requests",
    "quota",
    "credit balance",
    "out of credits",
];
const LOGINS: &[&str] = &[
    "not logged in",
    "/login",
    "log in",
    "no api key",
    "api key not valid",
    "invalid api key",
    "incorrect api key",
    "authentication",
    "unauthorized",
    "missing environment variable",
    "auth method",
    "must specify the gemini_api_key",
    "no provider",
];
const NO_ANSWERS: &[&str] = &[
    "overloaded",
    "high demand",
    "connection",
    "econnrefused",
    "fetch failed",
    "network",
    "timed out",
    "unavailable",
    "disconnected",
    "internal server error",
];

/// A status code that begins an error text or follows `status`, `code` or `error`.
fn status_in(message: &str) -> Option<u64> {
    let mut before = "";
    for word in message.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
    {
        let is_announced = matches!(before.to_ascii_lowercase().as_str(), "" | "status" | "code" | "error");
        if is_announced && word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit()) {
            return word.parse().ok().filter(|code| (400..600).contains(code));
        }
        before = word;
    }
    None
}

/// Why a program ended that printed nothing that its reader understands.
fn failure_in(exit: WorkerExit, errors: &str) -> WorkerFailure {
    if let Some(flag) = refused_flag(errors) {
        return WorkerFailure::RefusedFlag(flag);
    }
    let last = last_error(errors);
    // What it said before has nothing to do with that.
    if let WorkerExit::Signal(_) = exit {
        let said = if last.is_empty() { last } else { format!("; before that it said: {last}") };
        return WorkerFailure::Other(format!("it was ended by {exit}{said}"));
    }
    if last.is_empty() {
        return WorkerFailure::Other(format!("it ended with {exit} and said nothing"));
    }
    match failure(None, errors) {
        WorkerFailure::Other(_) => WorkerFailure::Other(last),
        known => known,
    }
}

/// The line of standard error that says what went wrong: the first that begins with `error`, otherwise the last.
fn last_error(errors: &str) -> String {
    let mut lines = errors.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().find(|line| line.to_ascii_lowercase().starts_with("error"));
    error_text(first.or_else(|| lines.next_back()).unwrap_or_default())
}

/// The option that a program does not know, by what it says about it.
fn refused_flag(errors: &str) -> Option<String> {
    let starts = [
        "unexpected argument '",
        "unknown option '",
        "Unknown option: ",
        "Unknown argument: ",
        "Unknown arguments: ",
    ];
    let values = ["invalid value '", "Invalid values:", "Invalid command format"];
    errors.lines().find_map(|line| {
        let named = starts.iter().find_map(|start| Some(line.split_once(start)?.1));
        let named = named.map(|rest| rest.split(['\'', ',', ' ']).next().unwrap_or(rest));
        named.or_else(|| values.iter().any(|start| line.contains(start)).then_some(line)).map(error_text)
    })
}

/// Whether the version has the major and minor number of one that was recorded. Such versions print and show the same.
pub(super) fn is_recorded(version: &str, recorded: &[&str]) -> bool {
    let minor = |version: &str| {
        let mut parts = version.split('.');
        Some((parts.next()?.to_string(), parts.next()?.to_string()))
    };
    minor(version).is_some_and(|wanted| recorded.iter().any(|it| minor(it).as_ref() == Some(&wanted)))
}

/// Refuses what can't be an argument of a program.
pub(super) fn check_texts(order: &WorkerOrder<'_>) -> Result<(), UnsupportedOrder> {
    let refuse = |what: &str, why: &str| Err(UnsupportedOrder(format!("the {what} {why}")));
    let long = order.task.len() + order.instructions.map_or(0, str::len);
    if long > MAX_ARGUMENT {
        let why = format!(
            "and its instructions have {long} bytes, and at most {MAX_ARGUMENT} fit into an argument; put the details into a file and name it in the task"
        );
        return refuse("task", &why);
    }
    let texts = [Some(order.task), order.instructions, order.model];
    let mut all = texts.into_iter().flatten().chain(order.tools.iter().chain(order.args).map(String::as_str));
    if all.any(|text| text.contains('\0')) {
        return refuse("task", "contains a null character, which no argument can have");
    }
    Ok(())
}

/// The task, so that a harness that runs commands beginning with `/`, or reads files named after a leading `@`, takes
/// it as text.
pub(super) fn literal(task: &str) -> String {
    if reads_as_command(task) { format!("Task: {task}") } else { task.to_string() }
}

/// The instructions before the task, for harnesses to whose system text nothing can be added.
pub(super) fn with_instructions(order: &WorkerOrder<'_>) -> String {
    // A session that is continued has them.
    let instructions = order.instructions.filter(|_| matches!(order.session, WorkerSession::New(_)));
    match instructions {
        Some(instructions) => format!("{}\n\nTask: {}", literal(instructions), order.task),
        None => literal(order.task),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_texts_of_real_clients_have_a_kind() {
        let kind = |text: &str| match failure(None, text) {
            WorkerFailure::NotLoggedIn(_) => "login",
            WorkerFailure::Limited { .. } => "limit",
            WorkerFailure::NoAnswer(_) => "answer",
            WorkerFailure::RefusedFlag(_) | WorkerFailure::OverBudget(_) | WorkerFailure::Other(_) => "other",
        };
        for (text, expected) in [
            ("exceeded retry limit, last status: 429 Too Many Requests", "limit"),
            ("You’ve hit your usage limit. Upgrade to Pro", "limit"),
            ("Quota exceeded. Check your plan and billing details.", "limit"),
            ("We’re currently experiencing high demand, which may cause temporary errors.", "answer"),
            ("unexpected status 503 Service Unavailable: x, url: http://127.0.0.1:429/v1", "answer"),
            ("unexpected status 401 Unauthorized: Incorrect API key provided", "login"),
            ("Missing environment variable: `FAKE_KEY`.", "login"),
            ("429: {\"message\":\"slow down\"}", "limit"),
            ("500: {\"message\":\"boom\"}", "answer"),
            ("Connection error.", "answer"),
            ("No API key found for anthropic.", "login"),
            ("Last error: 500 boom", "answer"),
            ("[API Error: {\"error\":{\"code\":500,\"message\":\"boom\"}}]", "answer"),
            ("No conversation found with session ID: 429", "other"),
            ("the file has 500 lines", "other"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn a_refused_option_is_named() {
        for (errors, expected) in [
            ("WARNING: x\nerror: unexpected argument '--nope' found\n\n  tip: …", Some("--nope")),
            ("error: unknown option '--nope'", Some("--nope")),
            ("Error: Unknown option: --nope", Some("--nope")),
            ("Unknown argument: nope", Some("nope")),
            ("No conversation found", None),
        ] {
            assert_eq!(refused_flag(errors).as_deref(), expected);
        }
    }

    #[test]
    fn long_texts_are_cut_and_stay_one_line() {
        assert_eq!(brief("a\nb\u{1b}c", 10), "a b c");
        assert_eq!(brief("äöüß", 3), "äö…");
        assert_eq!(relative("/w/src/a.rs", Path::new("/w")), "src/a.rs");
        assert_eq!(relative("/x/a.rs", Path::new("/w")), "/x/a.rs");
    }

    #[test]
    fn a_patch_release_of_a_recorded_version_is_known() {
        assert!(is_recorded("2.1.999", &["2.1.325"]));
        assert!(!is_recorded("2.10.0", &["2.1.325"]));
        assert!(!is_recorded("2", &["2.1.325"]));
    }

    #[test]
    fn a_task_that_looks_like_a_command_is_text() {
        assert_eq!(literal("/help me"), "Task: /help me");
        assert_eq!(literal(" @file"), "Task:  @file");
        assert_eq!(literal("look at @file"), "look at @file");
    }
}
