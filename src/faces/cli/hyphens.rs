//! Handles texts that begin with a hyphen, before the arguments are parsed.
//!
//! Where a TEXT is expected, a word is a flag only if it is exactly a flag of the program or of the command, with or
//! without `=VALUE`. Every other word is text: `-harness is broken`, `- a list item`. After `--` every word is text.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Args};

use super::commands::Command;
use super::global_args::GlobalArgs;

/// The value name that marks arguments which are free text.
const TEXT: &str = "TEXT";

/// Rewrites the arguments so that the parser reads every such text as text: the value of an option is joined to it by
/// `=`, and positional arguments are moved behind `--`. Arguments without such a text are returned unchanged.
pub(super) fn protect_hyphen_texts(words: Vec<OsString>) -> Vec<OsString> {
    if words.iter().skip(1).all(|word| !is_hyphenated(word) || is_plain_global(word)) {
        return words;
    }
    let Some(at) = command_at(&words) else { return words };
    let Some(own) = words[at].to_str().and_then(Command::grammar_of) else { return words };
    if !own.get_arguments().any(is_text) {
        return words;
    }
    // The command's own arguments come first: only they are positional.
    let grammar = Grammar(GlobalArgs::augment_args(own));
    let line = Line::read(&grammar, &words[at + 1..]);
    words.into_iter().take(at + 1).chain(line.words()).collect()
}

/// The index of the command's name.
pub(super) fn command_at(words: &[OsString]) -> Option<usize> {
    let globals = Grammar(GlobalArgs::augment_args(clap::Command::new("msg")));
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word == "--" {
            return None;
        }
        if !is_hyphenated(word) {
            return Some(at);
        }
        let takes_next = matches!(globals.flag(word), Some(Flag::Value { .. }));
        at += if takes_next { 2 } else { 1 };
    }
    None
}

/// Global flags that agents use all the time. A line with no other flags is left unchanged without building a grammar.
fn is_plain_global(word: &OsStr) -> bool {
    ["--as", "--mesh", "--json", "-q"].iter().any(|flag| word == *flag)
}

/// Whether the word begins with a hyphen. A single `-` means standard input.
fn is_hyphenated(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.len() > 1 && bytes[0] == b'-'
}

/// Whether the argument is a text.
pub(super) fn is_text(arg: &Arg) -> bool {
    arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == TEXT))
}

/// The flags and arguments of one command.
struct Grammar(clap::Command);

enum Flag {
    /// It has no value, or the value is attached.
    Alone,
    /// The next word is its value.
    Value { is_text: bool },
}

impl Grammar {
    /// Parses a word as a flag; `None` if it is not exactly one.
    fn flag(&self, word: &OsStr) -> Option<Flag> {
        let word = word.to_str()?;
        if matches!(word, "-h" | "--help") {
            return Some(Flag::Alone);
        }
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let is_it = |arg: &&Arg| match name.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            None => value.is_none() && arg.get_short().is_some_and(|short| name == format!("-{short}")),
        };
        let arg = self.0.get_arguments().find(is_it)?;
        if value.is_some() || !arg.get_action().takes_values() {
            return Some(Flag::Alone);
        }
        Some(Flag::Value { is_text: is_text(arg) })
    }

    /// Whether the positional argument at this index is a text.
    fn takes_text(&self, position: usize) -> bool {
        self.0.get_positionals().nth(position).is_some_and(is_text)
    }
}

/// The arguments of one command.
#[derive(Default)]
struct Line {
    /// The words before `--`, each with whether it is positional.
    head: Vec<(OsString, bool)>,
    /// The words from `--` on.
    tail: Vec<OsString>,
    /// A positional argument is a text that begins with a hyphen.
    has_hyphen: bool,
}

impl Line {
    fn read(grammar: &Grammar, words: &[OsString]) -> Self {
        let mut line = Self::default();
        let mut position = 0;
        let mut rest = words.iter().cloned();
        while let Some(word) = rest.next() {
            if word == "--" {
                line.tail = std::iter::once(word).chain(rest).collect();
                break;
            }
            match grammar.flag(&word) {
                Some(Flag::Alone) => line.head.push((word, false)),
                Some(Flag::Value { is_text }) => line.option(grammar, word, is_text, &mut rest),
                // Neither a flag nor a text: left to the parser, which reports it.
                None if is_hyphenated(&word) && !grammar.takes_text(position) => {
                    line.head.push((word, false));
                }
                None => {
                    line.has_hyphen |= is_hyphenated(&word);
                    line.head.push((word, true));
                    position += 1;
                }
            }
        }
        line
    }

    /// Adds an option and its value. If a flag follows in place of the value, the parser reports that the value is
    /// missing.
    fn option(
        &mut self,
        grammar: &Grammar,
        option: OsString,
        is_text: bool,
        rest: &mut (impl Iterator<Item = OsString> + Clone),
    ) {
        let Some(value) = rest.clone().next() else { return self.head.push((option, false)) };
        if value == "--" || grammar.flag(&value).is_some() {
            return self.head.push((option, false));
        }
        rest.next();
        if is_text && is_hyphenated(&value) && option.as_encoded_bytes().starts_with(b"--") {
            let mut joined = option;
            joined.push("=");
            joined.push(value);
            return self.head.push((joined, false));
        }
        self.head.extend([(option, false), (value, false)]);
    }

    fn words(self) -> Vec<OsString> {
        let Self { head, tail, has_hyphen } = self;
        if !has_hyphen {
            return head.into_iter().map(|(word, _)| word).chain(tail).collect();
        }
        let (positional, flags): (Vec<_>, Vec<_>) =
            head.into_iter().partition(|(_, is_positional)| *is_positional);
        let word = |(word, _)| word;
        let tail = tail.into_iter().skip(1);
        let flags = flags.into_iter().map(word).chain([OsString::from("--")]);
        flags.chain(positional.into_iter().map(word)).chain(tail).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::protect_hyphen_texts;

    fn settled(line: &[&str]) -> Vec<String> {
        let words = std::iter::once("msg").chain(line.iter().copied()).map(Into::into).collect();
        protect_hyphen_texts(words).into_iter().skip(1).map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn arguments_without_such_a_text_stay_as_they_are() {
        for line in [
            &["send", "Bo", "hi"][..],
            &["send", "Bo", "hi", "--as", "Al", "-q"],
            &["--as", "Al", "send", "--want-ack", "Bo", "-"],
            &["send", "Bo", "-h"],
            &["send", "Bo", "--thread=x", "--", "-h"],
            &["send", "Bo", "hi", "--wnat-ack"],
            &["complete", "T", "--notes", "--tick"],
            &["complete", "T", "--notes"],
            &["complete", "T", "--notes=- x"],
            &["agents", "--nosuch", "- x"],
            &["--as"],
            &["--", "send"],
        ] {
            assert_eq!(settled(line), line);
        }
    }

    #[test]
    fn texts_are_marked_as_such() {
        for (line, expected) in [
            (&["send", "Bo", "-harness is broken"][..], &["send", "--", "Bo", "-harness is broken"][..]),
            (&["send", "Bo", "- a", "--as", "Al"], &["send", "--as", "Al", "--", "Bo", "- a"]),
            (&["send", "--thread", "t", "Bo", "-qv"], &["send", "--thread", "t", "--", "Bo", "-qv"]),
            (&["--as", "send", "send", "Bo", "--x"], &["--as", "send", "send", "--", "Bo", "--x"]),
            (&["send", "Bo", "- a", "--", "-b"], &["send", "--", "Bo", "- a", "-b"]),
            (&["complete", "T", "--notes", "- x", "--tick"], &["complete", "T", "--notes=- x", "--tick"]),
            (&["complete", "T", "--notes", "-h is gone"], &["complete", "T", "--notes=-h is gone"]),
            (&["set-status", "--json", "-h is gone"], &["set-status", "--json", "--", "-h is gone"]),
        ] {
            assert_eq!(settled(line), expected);
        }
    }
}
