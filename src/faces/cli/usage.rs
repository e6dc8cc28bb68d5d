//! Explains usage errors, and prints help and version.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::ParseIntError;
use std::process::ExitCode;

use clap::Args;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::{Map, Value, json};

use crate::domain::suggestions;
use crate::ops::{CommandError, CommandErrorKind};

use super::commands::Command;
use super::global_args::GlobalArgs;
use super::hyphens;
use super::output::{Page, Report, Ui};

/// Rewrites `msg help COMMAND` to `msg COMMAND --help`, so that global options work there too.
pub(super) fn help_as_flag(mut words: Vec<OsString>) -> Vec<OsString> {
    if !words.iter().any(|word| word == "help") {
        return words;
    }
    let is_help = |at: &usize| words.get(*at).is_some_and(|word| word == "help");
    if let Some(at) = hyphens::command_at(&words).filter(is_help) {
        let asked = words.split_off(at);
        words.extend(asked.into_iter().filter(|word| word != "help" && word != "--"));
        words.push("--help".into());
    }
    words
}

/// Prints what the parser returned: help and version are answers, everything else is an error.
pub(super) fn answer(error: &clap::Error, words: &[OsString], ui: &Ui) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp => ui.finish(Ok(Told::Help(error.render()).into()), &[]),
        ErrorKind::DisplayVersion => ui.finish(Ok(Told::Version.into()), &[]),
        _ => ui.finish(Err(explain(error, &CommandUsage::of(words))), &[]),
    }
}

enum Told {
    Help(StyledStr),
    Version,
}

impl Report for Told {
    fn json(&self) -> Map<String, Value> {
        let (name, text) = match self {
            Self::Help(text) => ("help", text.to_string()),
            Self::Version => ("version", env!("CARGO_PKG_VERSION").to_string()),
        };
        Map::from_iter([(name.to_string(), json!(text))])
    }

    fn text(&self, page: &mut Page) {
        match self {
            Self::Help(text) => page.line(text.ansi().to_string().trim_end_matches('\n')),
            Self::Version => page.line(concat!("msg ", env!("CARGO_PKG_VERSION"))),
        }
    }
}

/// The command that the error is about.
struct CommandUsage {
    /// `msg config set`
    name: String,
    examples: Vec<String>,
    /// One of its arguments is a text, which may have been typed without quotes.
    takes_text: bool,
    commands: Vec<String>,
    /// The words after `--`.
    texts: Vec<String>,
    /// The option that was probably meant by a word that was taken for a text.
    meant: Option<String>,
}

impl CommandUsage {
    fn of(words: &[OsString]) -> Self {
        let found = hyphens::command_at(words).and_then(|at| {
            let command = Command::grammar_of(words[at].to_str()?)?;
            Some((at, command))
        });
        let Some((at, command)) = found else {
            return Self {
                name: "msg".into(),
                examples: Vec::new(),
                takes_text: false,
                commands: Vec::new(),
                texts: Vec::new(),
                meant: None,
            };
        };
        let texts: Vec<String> = words[at..]
            .iter()
            .skip_while(|word| *word != "--")
            .skip(1)
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let meant = meant(&words[at + 1..], &command);
        let mut name = format!("msg {}", command.get_name());
        let inner = words[at + 1..].iter().find_map(|word| command.find_subcommand(word.to_str()?));
        let commands = match inner {
            Some(inner) => {
                name.push_str(&format!(" {}", inner.get_name()));
                Vec::new()
            }
            None => command.get_subcommands().map(|inner| inner.get_name().to_string()).collect(),
        };
        let examples = inner.and_then(clap::Command::get_after_help).or_else(|| command.get_after_help());
        let examples = examples.map(ToString::to_string).unwrap_or_default();
        let examples: Vec<String> =
            examples.lines().filter_map(|line| line.strip_prefix("  ")).map(String::from).collect();
        let own: Vec<String> = examples.iter().filter(|line| line.starts_with(&name)).cloned().collect();
        let takes_text = command.get_positionals().any(hyphens::is_text);
        Self {
            name,
            examples: if own.is_empty() { examples } else { own },
            takes_text,
            commands,
            texts,
            meant,
        }
    }

    fn is_program(&self) -> bool {
        self.name == "msg"
    }
}

/// Rephrases the parser's error.
fn explain(error: &clap::Error, place: &CommandUsage) -> CommandError {
    let context = |kind| strings(error.get(kind));
    let first = |kind| context(kind).into_iter().next().unwrap_or_default();
    let name = &place.name;
    let usage = |text: String| CommandError::new(CommandErrorKind::Usage, text);
    let invalid = |text: String| CommandError::new(CommandErrorKind::InvalidValue, text);
    let named = bare(&first(ContextKind::InvalidArg));
    let explained = match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let missing: Vec<String> = context(ContextKind::InvalidArg).iter().map(|arg| bare(arg)).collect();
            with_examples(usage(format!("`{name}` needs {}", missing.join(" and "))), place)
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let text = format!("`{name}` needs one of: {}", place.commands.join(", "));
            with_examples(usage(text), place)
        }
        ErrorKind::UnknownArgument => unknown_argument(&first(ContextKind::InvalidArg), place),
        ErrorKind::InvalidSubcommand => {
            let typed = first(ContextKind::InvalidSubcommand);
            usage(match place.is_program() {
                true => format!("there is no command `{typed}`"),
                false => format!("`{name}` has no command `{typed}`"),
            })
        }
        ErrorKind::InvalidValue if first(ContextKind::InvalidValue).is_empty() => {
            usage(format!("{named} needs a value"))
        }
        ErrorKind::InvalidValue => {
            let error = invalid(format!("invalid value `{}` for {named}", first(ContextKind::InvalidValue)));
            error.hint(format!("expected one of: {}", context(ContextKind::ValidValue).join(", ")))
        }
        ErrorKind::ValueValidation => {
            let typed = first(ContextKind::InvalidValue);
            invalid(format!("invalid value `{typed}` for {named}: {}", reason(error)))
        }
        ErrorKind::ArgumentConflict => {
            let other = bare(&first(ContextKind::PriorArg));
            with_examples(usage(format!("{named} and {other} can't be used together")), place)
        }
        ErrorKind::InvalidUtf8 => usage("an argument is not valid UTF-8".to_string()),
        _ => usage(first_line(error)),
    };
    let suggested =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
            .into_iter()
            .flat_map(context)
            .map(|suggestion| format!("did you mean `{}`?", suggestion.trim()));
    let explained = suggested.fold(explained, CommandError::hint);
    explained.hint(match place.is_program() {
        true => "run `msg help` for the list of commands".to_string(),
        false => format!("run `{name} --help` for all options"),
    })
}

fn unknown_argument(typed: &str, place: &CommandUsage) -> CommandError {
    if typed.starts_with('-') && place.texts.iter().any(|word| word == typed) {
        let text = format!("unexpected argument `{typed}`: after `--` every word is text");
        return with_examples(
            CommandError::new(CommandErrorKind::Usage, text).hint("put options before `--`"),
            place,
        );
    }
    if typed.starts_with('-') {
        return CommandError::new(
            CommandErrorKind::Usage,
            format!("`{}` has no option `{typed}`", place.name),
        );
    }
    let error = CommandError::new(CommandErrorKind::Usage, format!("unexpected argument `{typed}`"));
    if let Some(meant) = &place.meant {
        return with_examples(error.hint(format!("did you mean `{meant}`?")), place);
    }
    match place.takes_text {
        true => with_examples(error.hint("put the text in quotes"), place),
        false => with_examples(error, place),
    }
}

/// The option closest to a word that looks like an option but is not one.
fn meant(words: &[OsString], command: &clap::Command) -> Option<String> {
    let grammar = GlobalArgs::augment_args(command.clone());
    let options: Vec<String> =
        grammar.get_arguments().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}")).collect();
    let is_like_one = |word: &&str| word.len() > 2 && word.starts_with("--") && !word.contains([' ', '=']);
    let mut odd = words.iter().filter_map(|word| word.to_str()).filter(is_like_one);
    let odd = odd.find(|word| options.iter().all(|option| option != word))?;
    suggestions(odd, options.iter().map(String::as_str)).first().map(|option| (*option).to_string())
}

fn with_examples(error: CommandError, place: &CommandUsage) -> CommandError {
    if place.examples.is_empty() { error } else { error.facts("examples", place.examples.clone()) }
}

fn strings(value: Option<&ContextValue>) -> Vec<String> {
    match value {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// `--limit <N>` as `--limit`, `<TASK|--next>` as TASK or --next, `[TEXT]` as TEXT.
fn bare(argument: &str) -> String {
    if argument.starts_with('-') {
        return format!("`{}`", argument.split([' ', '=']).next().unwrap_or_default());
    }
    let name = argument.trim_end_matches("...");
    // Only the parser's own pair: the name may have brackets in it, as `<TO[,TO…]>` has.
    let inside = |(open, close)| name.strip_prefix(open)?.strip_suffix(close);
    [('<', '>'), ('[', ']')].into_iter().find_map(inside).unwrap_or(name).replace('|', " or ")
}

fn reason(error: &clap::Error) -> String {
    match error.source() {
        Some(source) if source.is::<ParseIntError>() => "expected a number".to_string(),
        Some(source) => source.to_string(),
        None => first_line(error),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string()
}

#[cfg(test)]
mod tests {
    use super::{bare, help_as_flag};

    #[test]
    fn help_is_a_flag_of_the_command() {
        for (line, expected) in [
            ("msg help", "msg --help"),
            ("msg --json help", "msg --json --help"),
            ("msg help send --color always", "msg send --color always --help"),
            ("msg help config set", "msg config set --help"),
            ("msg help help", "msg --help"),
            ("msg send help", "msg send help"),
        ] {
            let words = line.split(' ').map(Into::into).collect();
            let asked: Vec<String> =
                help_as_flag(words).into_iter().map(|word| word.into_string().unwrap()).collect();
            assert_eq!(asked.join(" "), expected);
        }
    }

    #[test]
    fn arguments_are_named_as_in_the_help() {
        assert_eq!(bare("--limit <N>"), "`--limit`");
        assert_eq!(bare("<ID>..."), "ID");
        assert_eq!(bare("<TASK|--next>"), "TASK or --next");
        assert_eq!(bare("[TEXT]"), "TEXT");
        assert_eq!(bare("<TO[,TO…]>"), "TO[,TO…]");
    }
}
