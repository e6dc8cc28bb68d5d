//! Where the cursor is in the grammar: at a command's name, at an option, at the value of one, or at an argument.

use clap::{Arg, ArgAction, Args};

use crate::faces::cli::commands::Command;
use crate::faces::cli::global_args::GlobalArgs;

/// What may stand at the cursor.
#[derive(Debug)]
pub(super) struct CompletionPlace {
    /// The names of the command and of its subcommand, as the grammar spells them.
    pub(super) command: Vec<String>,
    /// Its grammar; that of the whole program if there is no command yet, or none of that name.
    pub(super) grammar: clap::Command,
    pub(super) wanted: ExpectedWord,
    /// What is typed of it.
    pub(super) typed: String,
    /// What stands before it in the same word: `--kind=`, or `Alice,` in a list.
    pub(super) attached: String,
    /// The words of the line that are neither options nor their values, without the names of commands.
    pub(super) arguments: Vec<String>,
    /// The options of the line, with their values if those are words of their own or attached.
    pub(super) options: Vec<(String, Option<String>)>,
    /// `--mesh` and `--as`.
    pub(super) mesh: Option<String>,
    pub(super) acting_as: Option<String>,
}

#[derive(Debug)]
pub(super) enum ExpectedWord {
    /// The name of a command, for `msg` itself.
    Command,
    /// An option of the command.
    Option,
    /// A value for this argument, whose id is given.
    Value(Box<Arg>),
    /// A subcommand, or a value for the argument if there is one.
    Next(Option<Box<Arg>>),
}

impl CompletionPlace {
    pub(super) fn find(before: &[String], typed: &str) -> Self {
        let globals = GlobalArgs::augment_args(clap::Command::new("msg"));
        let mut place = Self {
            command: Vec::new(),
            grammar: globals,
            wanted: ExpectedWord::Command,
            typed: typed.to_string(),
            attached: String::new(),
            arguments: Vec::new(),
            options: Vec::new(),
            mesh: None,
            acting_as: None,
        };
        // The option whose value comes next, and whether options have ended.
        let (mut pending, mut has_ended): (Option<Arg>, bool) = (None, false);
        for word in before.iter().skip(1) {
            if let Some(arg) = pending.take() {
                place.note_option(&arg, Some(word.clone()));
            } else if has_ended || !is_hyphenated(word) {
                place.note_argument(word);
            } else if word == "--" {
                has_ended = true;
            } else {
                pending = place.option(word);
            }
        }
        place.wanted = match pending {
            Some(arg) => ExpectedWord::Value(Box::new(arg)),
            None if !has_ended && typed.starts_with('-') => place.at_option(),
            None if place.command.is_empty() => ExpectedWord::Command,
            None => ExpectedWord::Next(place.next_argument().map(Box::new)),
        };
        place.split_list();
        place
    }

    /// Whether one of these options is on the line; its value.
    pub(super) fn value_of(&self, option: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|(name, _)| name == option);
        found.and_then(|(_, value)| value.as_deref())
    }

    pub(super) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|(name, _)| name == option)
    }

    fn note_argument(&mut self, word: &str) {
        if self.command.is_empty() {
            if let Some(grammar) = Command::grammar_of(word) {
                self.command.push(grammar.get_name().to_string());
                self.grammar = GlobalArgs::augment_args(grammar);
            } else {
                self.command.push(word.to_string());
            }
            return;
        }
        // A subcommand comes before all arguments.
        let inner = self.grammar.find_subcommand(word).filter(|_| self.arguments.is_empty()).cloned();
        match inner {
            Some(inner) => {
                self.command.push(inner.get_name().to_string());
                self.grammar = GlobalArgs::augment_args(inner);
            }
            None => self.arguments.push(word.to_string()),
        }
    }

    fn note_option(&mut self, arg: &Arg, value: Option<String>) {
        match arg.get_long() {
            Some("mesh") => self.mesh.clone_from(&value),
            Some("as") => self.acting_as.clone_from(&value),
            _ => {}
        }
        self.options.push((arg.get_id().to_string(), value));
    }

    /// Notes an option. The argument is returned if its value is the next word.
    fn option(&mut self, word: &str) -> Option<Arg> {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let arg = match name.strip_prefix("--") {
            Some(long) => self.grammar.get_arguments().find(|arg| arg.get_long() == Some(long))?.clone(),
            // The last of `-qn`; after a letter with a value, the rest is the value.
            None => {
                let mut letters = name.chars().skip(1);
                let arg = letters.find_map(|letter| {
                    let arg = self.grammar.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
                    arg.get_action().takes_values().then(|| arg.clone())
                })?;
                if letters.next().is_some() {
                    return None;
                }
                arg
            }
        };
        if value.is_none() && arg.get_action().takes_values() && !arg.is_require_equals_set() {
            return Some(arg);
        }
        self.note_option(&arg, value.map(str::to_string));
        None
    }

    /// At a word that begins with a hyphen.
    fn at_option(&mut self) -> ExpectedWord {
        let Some((name, value)) = self.typed.split_once('=') else { return ExpectedWord::Option };
        let is_it = |arg: &&Arg| arg.get_long().is_some_and(|long| name.strip_prefix("--") == Some(long));
        let found = self.grammar.get_arguments().find(is_it).filter(|arg| arg.get_action().takes_values());
        let Some(arg) = found.cloned() else { return ExpectedWord::Option };
        (self.attached, self.typed) = (format!("{name}="), value.to_string());
        ExpectedWord::Value(Box::new(arg))
    }

    /// The argument that the next word is for.
    fn next_argument(&self) -> Option<Arg> {
        let positionals: Vec<&Arg> =
            self.grammar.get_positionals().filter(|arg| !arg.is_hide_set()).collect();
        let last = positionals.last().filter(|arg| {
            matches!(arg.get_action(), ArgAction::Append)
                || arg.get_num_args().is_some_and(|n| n.max_values() > 1)
        });
        positionals.get(self.arguments.len()).or(last).map(|arg| (*arg).clone())
    }

    /// In a list with commas, the last part is completed.
    fn split_list(&mut self) {
        let arg = match &self.wanted {
            ExpectedWord::Value(arg) | ExpectedWord::Next(Some(arg)) => arg,
            _ => return,
        };
        let is_list = arg.get_value_delimiter() == Some(',')
            || arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains(",")));
        if is_list && let Some(at) = self.typed.rfind(',') {
            self.attached.push_str(&self.typed[..=at]);
            self.typed.drain(..=at);
        }
    }
}

/// Whether it begins as an option does. A single `-` means standard input.
fn is_hyphenated(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}
