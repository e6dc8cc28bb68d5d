//! Extracts from a tool's input which files it edits or reads and which command it runs, for all harnesses.

use std::path::Path;

use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::lenient_json::{self, Keep, Maybe};
use crate::domain::patch::apply_patch_paths;
use crate::domain::screens::HookStep;

/// The fields that say what a tool touches. Each codec decides which of them it uses.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolInput {
    pub file_path: Maybe<String>,
    pub notebook_path: Maybe<String>,
    #[serde(rename = "filePath")]
    pub file_path_camel: Maybe<String>,
    pub path: Maybe<String>,
    pub command: Maybe<ToolCommand>,
    /// Where the command runs.
    pub workdir: Maybe<String>,
    pub directory: Maybe<String>,
    pub dir_path: Maybe<String>,
    pub cwd: Maybe<String>,
    run_in_background: Maybe<bool>,
    pub is_background: Maybe<bool>,
    /// Patches.
    #[serde(rename = "patchText")]
    pub patch_text: Maybe<String>,
    pub input: Maybe<String>,
    /// Fields that only an edit has.
    content: Option<IgnoredAny>,
    old_string: Option<IgnoredAny>,
    new_string: Option<IgnoredAny>,
    edits: Option<IgnoredAny>,
    /// A hash of the whole input, as it came.
    #[serde(skip)]
    mark: Option<String>,
}

/// The input of a tool, with a hash of all of it. A payload may have none, or something that is not one.
#[derive(Debug, Default)]
pub struct ToolArguments(pub Option<ToolInput>);

/// Parts of the names of tools that ask how something goes on, or wait for it: they are meant to be called again with the
/// same arguments.
const POLLING: [&str; 9] =
    ["output", "wait", "poll", "sleep", "status", "progress", "read_bash", "read_agent", "write_stdin"];

/// The files and the command that a tool touches.
#[derive(Debug, Default)]
pub struct ToolTouches {
    pub edits: Vec<String>,
    pub reads: Vec<String>,
    pub command: Option<String>,
    /// Where the command runs, if not in the session's directory.
    pub directory: Option<String>,
    /// The command continues after the tool has returned.
    pub in_background: bool,
    /// Its result is what the user decided.
    pub is_users_decision: bool,
}

/// A command: a line for a shell, or a list of words.
#[derive(Debug)]
pub enum ToolCommand {
    Line(String),
    Words(Vec<String>),
}

impl ToolInput {
    /// Whether it has a field that only an edit has.
    pub fn writes(&self) -> bool {
        [self.content, self.old_string, self.new_string, self.edits].iter().any(Option::is_some)
    }

    /// Recognises a call of the same tool with the same arguments; `None` for a tool that is meant to be called so.
    pub fn mark(&self, tool: &str) -> Option<String> {
        let tool = tool.to_lowercase();
        self.mark.clone().filter(|_| !POLLING.iter().any(|part| tool.contains(part)))
    }
}

/// Its text is read first, and then what it says: a harness writes the same arguments in the same way.
impl<'de> Deserialize<'de> for ToolArguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let Maybe(input) = serde_json::from_str::<Maybe<ToolInput>>(raw.get()).map_err(D::Error::custom)?;
        let mark = Some(HookStep::arguments_mark(raw.get()));
        Ok(Self(input.map(|input| ToolInput { mark, ..input })))
    }
}

/// A string is parsed as an object if it is one in JSON, else it is the tool's `input`.
impl Keep for ToolInput {
    fn text(text: &str) -> Option<Self> {
        let object = text.trim_start().starts_with('{').then(|| lenient_json::object(text.as_bytes()).ok());
        Some(
            object
                .flatten()
                .unwrap_or_else(|| Self { input: Maybe(Some(text.to_string())), ..Self::default() }),
        )
    }

    fn object<'de, A: MapAccess<'de>>(object: A) -> Result<Option<Self>, A::Error> {
        lenient_json::fields(object).map(Some)
    }
}

impl ToolTouches {
    pub fn read(path: Maybe<String>) -> Self {
        Self { reads: Self::edit(path).edits, ..Self::default() }
    }

    /// An edit of this file; an empty path is ignored.
    pub fn edit(path: Maybe<String>) -> Self {
        Self { edits: path.0.into_iter().filter(|path| !path.is_empty()).collect(), ..Self::default() }
    }

    pub fn patch(text: Option<&str>) -> Self {
        Self { edits: text.map(apply_patch_paths).unwrap_or_default(), ..Self::default() }
    }

    pub fn run(command: Maybe<ToolCommand>, directory: Option<String>) -> Self {
        let directory = directory.filter(|directory| !directory.is_empty());
        Self { command: command.0.map(ToolCommand::line), directory, ..Self::default() }
    }

    /// Like [`Self::run`], for a tool that may run the command in the background.
    pub fn start(input: ToolInput) -> Self {
        let in_background = input.run_in_background.0 == Some(true);
        Self { in_background, ..Self::run(input.command, None) }
    }

    /// The directory that the command runs in, given the session's.
    pub fn cwd(&self, session: Option<String>) -> Option<String> {
        let Some(directory) = &self.directory else { return session };
        let base = session.unwrap_or_default();
        Some(Path::new(&base).join(directory).to_string_lossy().into_owned())
    }
}

impl ToolCommand {
    /// The line that a shell would get.
    pub fn line(self) -> String {
        match self {
            Self::Line(line) => line,
            Self::Words(words) => match words.as_slice() {
                [shell, flag, line, ..] if is_shell(shell) && takes_line(flag) => line.clone(),
                words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
            },
        }
    }

    /// The text, where it is a patch and not a command.
    pub fn text(self) -> String {
        match self {
            Self::Line(line) => line,
            Self::Words(words) => words.join("\n"),
        }
    }
}

impl Keep for ToolCommand {
    fn text(text: &str) -> Option<Self> {
        Some(Self::Line(text.to_string()))
    }

    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Option<Self>, A::Error> {
        Ok(Vec::list(list)?.map(Self::Words))
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    ["bash", "sh", "zsh", "dash", "ksh"].contains(&name)
}

/// `-c`, also at the end of several letters, as in `-lc`.
fn takes_line(flag: &str) -> bool {
    flag.strip_prefix('-').is_some_and(|letters| letters.ends_with('c') && !letters.starts_with('-'))
}

/// The word, quoted for a shell if necessary.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_line() {
        let line =
            |words: &[&str]| ToolCommand::Words(words.iter().map(|word| word.to_string()).collect()).line();
        assert_eq!(line(&["bash", "-lc", "echo hi > a b"]), "echo hi > a b");
        assert_eq!(line(&["/bin/sh", "-c", "rm \"$1\"", "sh", "x"]), "rm \"$1\"");
        assert_eq!(line(&["bash", "--rc", "x"]), "bash --rc x");
        assert_eq!(line(&["bash", "-c"]), "bash -c");
        assert_eq!(line(&["git", "commit", "-m", "it's", "", "$x"]), r"git commit -m 'it'\''s' '' '$x'");
        assert_eq!(line(&[]), "");
    }

    #[test]
    fn the_same_arguments_have_the_same_mark() {
        let mark = |tool: &str, json: &str| {
            let ToolArguments(input) = serde_json::from_str(json).unwrap();
            input.unwrap_or_default().mark(tool)
        };
        let read = r#"{"file_path":"/a","offset":1}"#;
        assert_eq!(mark("Read", read).unwrap().len(), 16);
        assert_eq!(mark("Read", read), mark("Read", read));
        assert_ne!(mark("Read", read), mark("Read", r#"{"file_path":"/a","offset":2}"#));
        let edit = |new: &str| mark("Edit", &format!(r#"{{"old_string":"a","new_string":"{new}"}}"#));
        assert_ne!(edit("b"), edit(" b"), "blanks are text");
        assert_eq!(mark("BashOutput", r#"{"bash_id":"1"}"#), None, "it is meant to be called again");
        assert_eq!(mark("Read", "7"), None);
    }

    #[test]
    fn an_edit_of_nothing_is_none() {
        let edits = |path: Option<&str>| ToolTouches::edit(Maybe(path.map(str::to_string))).edits;
        assert_eq!(edits(Some("a")), ["a"]);
        assert_eq!(edits(Some("")), [""; 0]);
        assert_eq!(edits(None), [""; 0]);
    }

    #[test]
    fn where_a_command_runs() {
        let cwd = |session: Option<&str>, directory: Option<&str>| {
            ToolTouches::run(Maybe(None), directory.map(str::to_string)).cwd(session.map(str::to_string))
        };
        assert_eq!(cwd(Some("/p"), None).as_deref(), Some("/p"));
        assert_eq!(cwd(Some("/p"), Some("")).as_deref(), Some("/p"));
        assert_eq!(cwd(Some("/p"), Some("a b")).as_deref(), Some("/p/a b"));
        assert_eq!(cwd(Some("/p"), Some("/q")).as_deref(), Some("/q"));
        assert_eq!(cwd(None, Some("a")).as_deref(), Some("a"));
        assert_eq!(cwd(None, None), None);
    }
}
