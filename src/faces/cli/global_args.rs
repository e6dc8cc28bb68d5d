//! The flags of every command, and what can be seen of them before the arguments are parsed.

use std::ffi::OsString;

use clap::{ArgAction, Args, ValueEnum};

/// How much is printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verbosity {
    Normal,
    Verbose,
}

/// Flags of every command, allowed anywhere on the line.
#[derive(Args, Debug)]
pub(super) struct GlobalArgs {
    /// The directory that agents share
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(super) mesh: Option<String>,
    /// Act as this agent
    #[arg(long = "as", global = true, value_name = "NAME", help_heading = "Global options")]
    pub(super) acting_as: Option<String>,
    /// Answer with one JSON object
    #[arg(long, global = true, help_heading = "Global options")]
    pub(super) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global options")]
    pub(super) color: ColorWhen,
    /// Print only the bare answer: a name, an id, a path
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(super) quiet: bool,
    /// Print more (join, whoami, config, doctor)
    #[arg(short, long, global = true, action = ArgAction::SetTrue, help_heading = "Global options")]
    pub(super) verbose: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum ColorWhen {
    #[default]
    Auto,
    Always,
    Never,
}

/// The wanted output format, as far as it can be seen before the arguments are parsed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutputFormat {
    pub(super) wants_json: bool,
    pub(super) color: ColorWhen,
}

impl OutputFormat {
    pub(super) fn of(words: &[OsString]) -> Self {
        let mut manner = Self::default();
        let words = words.iter().skip(1).take_while(|word| *word != "--");
        let mut words = words.map(|word| word.to_str().unwrap_or_default()).peekable();
        while let Some(word) = words.next() {
            let color = match word {
                "--json" => {
                    manner.wants_json = true;
                    continue;
                }
                "--color" => words.peek().copied(),
                word => word.strip_prefix("--color="),
            };
            manner.color =
                color.and_then(|when| ColorWhen::from_str(when, false).ok()).unwrap_or(manner.color);
        }
        manner
    }
}

#[cfg(test)]
mod tests {
    use super::{ColorWhen, OutputFormat};

    #[test]
    fn the_manner_is_seen_before_the_arguments_are_parsed() {
        let manner = |line: &str| {
            let words: Vec<_> = line.split(' ').map(Into::into).collect();
            let OutputFormat { wants_json: json, color } = OutputFormat::of(&words);
            (json, matches!(color, ColorWhen::Always))
        };
        assert_eq!(manner("msg help --json --color always"), (true, true));
        assert_eq!(manner("msg --color=always x"), (false, true));
        assert_eq!(manner("msg --color x -- --json --color always"), (false, false));
    }
}
