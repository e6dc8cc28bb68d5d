//! Reads the values of a table and notes what is wrong with them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use toml_edit::{Item, TableLike, Value};

use super::{WorkersFileProblem, kind_of, with_article};
use crate::domain::runs::MicroUsd;
use crate::domain::workers::budget::Budget;
use crate::domain::workers::profile::{
    DialogAnswer, Instructions, Isolation, ProfileOrigin, ProfileValue, Triage,
};
use crate::domain::workers::profile_key::ProfileKey;
use crate::domain::{Harness, TextPosition, duration_from_text, suggestions};

/// The most retries of a failed run.
const MAX_RETRIES: i64 = 10;
/// Variables that begin like this are set by us.
const OWN_VARIABLES: [&str; 2] = ["MSG_", "RAVENRY_"];

/// Reads values, and collects what is wrong.
pub(super) struct TableReader<'a> {
    text: &'a str,
    origin: ProfileOrigin,
    harnesses: &'a [Harness],
    problems: Vec<WorkersFileProblem>,
}

/// Whether a text may have line ends.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Lines {
    One,
    Many,
}

impl<'a> TableReader<'a> {
    pub(super) fn new(text: &'a str, origin: ProfileOrigin, harnesses: &'a [Harness]) -> Self {
        Self { text, origin, harnesses, problems: Vec::new() }
    }

    /// What is wrong, in the order of the file.
    pub(super) fn into_problems(mut self) -> Vec<WorkersFileProblem> {
        self.problems.sort_by_key(|problem| problem.at);
        self.problems
    }

    pub(super) fn problem(&mut self, at: TextPosition, message: String) {
        self.problems.push(WorkersFileProblem { at, message });
    }

    /// Where a key is; where its value is if that is not known.
    pub(super) fn place_of_key(&self, table: &dyn TableLike, name: &str, item: &Item) -> TextPosition {
        let span = table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
        TextPosition::of(self.text, span.map_or(0, |span| span.start))
    }

    fn place(&self, span: Option<Range<usize>>, or: TextPosition) -> TextPosition {
        span.map_or(or, |span| TextPosition::of(self.text, span.start))
    }

    pub(super) fn unknown_key(&mut self, table: &dyn TableLike, name: &str, item: &Item, known: &[&str]) {
        let at = self.place_of_key(table, name, item);
        let near = suggestions(name, known.iter().copied());
        let near = match near.first() {
            Some(near) => format!("; did you mean `{near}`?"),
            None => format!("; the keys are {}", known.join(", ")),
        };
        self.problem(at, format!("there is no key `{}`{near}", name.escape_debug()));
    }

    /// The value of a key of a profile; `None` if it is wrong.
    pub(super) fn value(
        &mut self,
        key: ProfileKey,
        table: &dyn TableLike,
        item: &Item,
    ) -> Option<ProfileValue> {
        let name = key.name();
        let at = self.place(item.span(), self.place_of_key(table, name, item));
        match key {
            ProfileKey::Harness => self.harness(item, at),
            ProfileKey::Command => self.command(item, at),
            ProfileKey::Model => self.text(name, item, at, Lines::One).map(ProfileValue::Model),
            ProfileKey::Instructions => {
                let text = self.text(name, item, at, Lines::Many)?;
                Some(ProfileValue::Instructions(Instructions::Text(text)))
            }
            ProfileKey::InstructionsFile => self.instructions_file(item, at),
            ProfileKey::Readonly => match item.as_bool() {
                Some(is_readonly) => Some(ProfileValue::Readonly(is_readonly)),
                None => self.wrong_kind(name, "true or false", item, at),
            },
            ProfileKey::Tools => self.texts(name, item, at, Lines::One).map(ProfileValue::Tools),
            ProfileKey::Args => self.arguments(name, item, at).map(ProfileValue::Args),
            ProfileKey::Timeout => self.timeout(item, at),
            ProfileKey::Budget => self.budget(item, at).map(ProfileValue::Budget),
            ProfileKey::Isolation => {
                let found = Isolation::ALL.into_iter().find(|kind| item.as_str() == Some(kind.name()));
                match found {
                    Some(isolation) => Some(ProfileValue::Isolation(isolation)),
                    None => self.not_one_of(name, "`\"none\"` or `\"worktree\"`", at),
                }
            }
            ProfileKey::Retries => {
                match item.as_integer().filter(|number| (0..=MAX_RETRIES).contains(number)) {
                    Some(number) => Some(ProfileValue::Retries(u32::try_from(number).unwrap_or(0))),
                    None => self.not_one_of(name, &format!("a number from 0 to {MAX_RETRIES}"), at),
                }
            }
            ProfileKey::Env => self.env(item, at).map(ProfileValue::Env),
            ProfileKey::Triage => self.triage(item, at).map(ProfileValue::Triage),
            ProfileKey::Review => self.text(name, item, at, Lines::One).map(ProfileValue::Review),
        }
    }

    /// Patterns of paths: one text or several.
    pub(super) fn patterns(&mut self, table: &dyn TableLike, name: &str, item: &Item) -> Option<Vec<String>> {
        let at = self.place(item.span(), self.place_of_key(table, name, item));
        let patterns = self.one_or_more(name, item, at)?;
        let outside = patterns.iter().find(|pattern| leads_out(pattern));
        if let Some(pattern) = outside {
            let pattern = pattern.escape_debug();
            self.problem(
                at,
                format!("`{name}` has `{pattern}`: patterns are relative to the root, without `..`"),
            );
            return None;
        }
        Some(patterns)
    }

    /// Shell command lines: one text or several.
    pub(super) fn command_lines(
        &mut self,
        table: &dyn TableLike,
        name: &str,
        item: &Item,
    ) -> Option<Vec<String>> {
        let at = self.place(item.span(), self.place_of_key(table, name, item));
        self.one_or_more(name, item, at)
    }

    fn one_or_more(&mut self, name: &str, item: &Item, at: TextPosition) -> Option<Vec<String>> {
        if item.is_str() {
            return self.text(name, item, at, Lines::Many).map(|text| vec![text]);
        }
        match item.as_array() {
            Some(_) => self.texts(name, item, at, Lines::Many),
            None => self.wrong_kind(name, "a string or an array of strings", item, at),
        }
    }

    fn harness(&mut self, item: &Item, at: TextPosition) -> Option<ProfileValue> {
        let name = self.text("harness", item, at, Lines::One)?;
        if let Some(harness) = self.harnesses.iter().find(|harness| harness.name() == name) {
            return Some(ProfileValue::Harness(*harness));
        }
        let known: Vec<&str> = self.harnesses.iter().map(|harness| harness.name()).collect();
        let list = known.join(", ");
        self.problem(at, format!("`{}` is not a supported harness: use one of {list}", name.escape_debug()));
        None
    }

    fn command(&mut self, item: &Item, at: TextPosition) -> Option<ProfileValue> {
        if item.as_array().is_some_and(toml_edit::Array::is_empty) {
            self.problem(at, "`command` is empty: it needs at least a program".to_string());
            return None;
        }
        let argv = self.arguments("command", item, at)?;
        if argv.first().is_some_and(|program| program.trim().is_empty()) {
            self.problem(at, "`command` must begin with a program".to_string());
            return None;
        }
        Some(ProfileValue::Command(argv))
    }

    fn instructions_file(&mut self, item: &Item, at: TextPosition) -> Option<ProfileValue> {
        let path = self.text("instructions_file", item, at, Lines::One)?;
        // Whoever sends instructions to a model must not be able to send a private file by a clone.
        if self.origin == ProfileOrigin::Project && leads_out(&path) {
            let path = path.escape_debug();
            let message = format!(
                "`instructions_file` is `{path}`: a project's must be a path inside it, without `..`"
            );
            self.problem(at, message);
            return None;
        }
        Some(ProfileValue::Instructions(Instructions::File(path)))
    }

    fn timeout(&mut self, item: &Item, at: TextPosition) -> Option<ProfileValue> {
        let seconds = |number: i64| u64::try_from(number).ok().map(Duration::from_secs);
        let length = match (item.as_integer(), item.as_str()) {
            (Some(number), _) => seconds(number),
            (None, Some(text)) => duration_from_text(text),
            (None, None) => None,
        };
        match length.filter(|length| *length >= Duration::from_secs(1)) {
            Some(length) => Some(ProfileValue::Timeout(length)),
            None => self.not_one_of(
                "timeout",
                "a duration of at least 1 s, such as `\"90s\"`, `\"10m\"` or `\"2h\"`",
                at,
            ),
        }
    }

    fn budget(&mut self, item: &Item, at: TextPosition) -> Option<Budget> {
        if let Some(text) = item.as_str() {
            return match Budget::parse(text) {
                Ok(budget) => Some(budget),
                Err(error) => {
                    self.problem(at, format!("`budget`: {error}"));
                    None
                }
            };
        }
        let Some(table) = item.as_table_like() else {
            return self.wrong_kind("budget", "a table such as `{ usd = 2.50, tokens = 200000 }`", item, at);
        };
        let mut budget = Budget::default();
        let before = self.problems.len();
        for (name, item) in table.iter() {
            let at = self.place(item.span(), self.place_of_key(table, name, item));
            match name {
                "usd" => budget.usd = self.usd(item, at),
                "tokens" => {
                    let tokens = item.as_integer().and_then(|number| u64::try_from(number).ok());
                    budget.tokens = match tokens.filter(|tokens| *tokens > 0) {
                        Some(tokens) => Some(tokens),
                        None => self.not_one_of("tokens", "a whole number of tokens, more than 0", at),
                    };
                }
                _ => self.unknown_key(table, name, item, &["usd", "tokens"]),
            }
        }
        if self.problems.len() == before && budget.is_unlimited() {
            self.problem(at, "`budget` is empty: set `usd`, `tokens` or both".to_string());
        }
        (self.problems.len() == before).then_some(budget)
    }

    /// The digits of the file itself are read, so that no amount is rounded.
    fn usd(&mut self, item: &Item, at: TextPosition) -> Option<MicroUsd> {
        let digits = match item.as_value() {
            Some(Value::Float(_) | Value::Integer(_)) => {
                item.span().and_then(|span| self.text.get(span)).map(|digits| digits.replace('_', ""))
            }
            _ => None,
        };
        match digits.map(|digits| Budget::parse_usd(digits.trim_start_matches('+'))) {
            Some(Ok(usd)) => Some(usd),
            _ => self.not_one_of(
                "usd",
                "an amount such as 2.50, more than 0, with at most 6 decimal places",
                at,
            ),
        }
    }

    fn env(&mut self, item: &Item, at: TextPosition) -> Option<BTreeMap<String, String>> {
        let Some(table) = item.as_table_like() else {
            return self.wrong_kind("env", "a table such as `{ NAME = \"value\" }`", item, at);
        };
        let mut env = BTreeMap::new();
        let before = self.problems.len();
        for (name, item) in table.iter() {
            let key = self.place_of_key(table, name, item);
            let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let is_name = name.chars().all(is_letter) && !name.starts_with(|c: char| c.is_ascii_digit());
            if name.is_empty() || !is_name {
                self.problem(key, format!("`{}` can't be the name of a variable", name.escape_debug()));
            } else if OWN_VARIABLES.iter().any(|own| name.starts_with(own)) {
                self.problem(key, format!("`{name}` is a variable that msg sets itself"));
            } else if let Some(value) = item.as_str() {
                if self.is_clean("env", value, self.place(item.span(), key), Lines::Many) {
                    env.insert(name.to_string(), value.to_string());
                }
            } else {
                let at = self.place(item.span(), key);
                self.problem(at, format!("`env.{name}` must be a string, not {}", kind_of(item)));
            }
        }
        (self.problems.len() == before).then_some(env)
    }

    fn triage(&mut self, item: &Item, at: TextPosition) -> Option<Triage> {
        const FORMS: &str = "`\"report\"`, or `{ answer = [{ dialog = \"TEXT\", choice = \"CHOICE\" }] }` with the dialogs to answer";
        if item.as_str() == Some("report") {
            return Some(Triage::Report);
        }
        let answer =
            item.as_table_like().filter(|table| table.len() == 1).and_then(|table| table.get("answer"));
        let Some(list) = answer.and_then(Item::as_array).filter(|list| !list.is_empty()) else {
            return self.not_one_of("triage", FORMS, at);
        };
        let mut answers = Vec::new();
        for value in list {
            let at = self.place(value.span(), at);
            let text =
                |key: &str| value.as_inline_table().and_then(|table| table.get(key)).and_then(Value::as_str);
            let is_whole = value.as_inline_table().is_some_and(|table| table.len() == 2);
            match (text("dialog").filter(|text| !text.trim().is_empty()), text("choice")) {
                (Some(dialog), Some(choice)) if is_whole && !choice.trim().is_empty() => {
                    let is_clean = self.is_clean("triage", dialog, at, Lines::One)
                        && self.is_clean("triage", choice, at, Lines::One);
                    if !is_clean {
                        return None;
                    }
                    answers.push(DialogAnswer { dialog: dialog.to_string(), choice: choice.to_string() });
                }
                _ => return self.not_one_of("triage", FORMS, at),
            }
        }
        Some(Triage::Answer(answers))
    }

    /// A text that is not empty.
    fn text(&mut self, name: &str, item: &Item, at: TextPosition, lines: Lines) -> Option<String> {
        let Some(text) = item.as_str() else { return self.wrong_kind(name, "a string", item, at) };
        if text.trim().is_empty() {
            self.problem(at, format!("`{name}` is empty"));
            return None;
        }
        self.is_clean(name, text, at, lines).then(|| text.to_string())
    }

    /// Texts that are not empty.
    fn texts(&mut self, name: &str, item: &Item, at: TextPosition, lines: Lines) -> Option<Vec<String>> {
        let texts = self.strings(name, item, at, lines)?;
        if texts.iter().any(|text| text.trim().is_empty()) {
            self.problem(at, format!("`{name}` has an empty string"));
            return None;
        }
        Some(texts)
    }

    /// Arguments of a program, which may be empty.
    fn arguments(&mut self, name: &str, item: &Item, at: TextPosition) -> Option<Vec<String>> {
        self.strings(name, item, at, Lines::Many)
    }

    fn strings(&mut self, name: &str, item: &Item, at: TextPosition, lines: Lines) -> Option<Vec<String>> {
        let Some(list) = item.as_array() else {
            return self.wrong_kind(name, "an array of strings", item, at);
        };
        let before = self.problems.len();
        let mut texts = Vec::new();
        for value in list {
            let at = self.place(value.span(), at);
            match value.as_str() {
                Some(text) => {
                    if self.is_clean(name, text, at, lines) {
                        texts.push(text.to_string());
                    }
                }
                None => {
                    let kind = with_article(value.type_name());
                    self.problem(at, format!("`{name}` must be an array of strings, and this is {kind}"));
                }
            }
        }
        (self.problems.len() == before).then_some(texts)
    }

    /// Whether it has no control characters. They can't be passed to programs, or a terminal would obey them.
    fn is_clean(&mut self, name: &str, text: &str, at: TextPosition, lines: Lines) -> bool {
        let is_allowed = |c: char| lines == Lines::Many && matches!(c, '\n' | '\t');
        match text.chars().find(|c| c.is_control() && !is_allowed(*c)) {
            Some(c) => {
                self.problem(at, format!("`{name}` has the control character `{}`", c.escape_default()));
                false
            }
            None => true,
        }
    }

    fn wrong_kind<T>(&mut self, name: &str, wanted: &str, item: &Item, at: TextPosition) -> Option<T> {
        self.problem(at, format!("`{name}` must be {wanted}, not {}", kind_of(item)));
        None
    }

    fn not_one_of<T>(&mut self, name: &str, wanted: &str, at: TextPosition) -> Option<T> {
        self.problem(at, format!("`{name}` must be {wanted}"));
        None
    }
}

/// Whether a path may lead out of the directory that it is relative to.
fn leads_out(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..")
}
