//! `msg completions`: prints shell completion scripts (not task completions).

mod live_script;

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::ops::{self, CommandError, LiveValue, Op};

/// Print completions for your shell
///
/// In bash, fish and zsh, names of agents, patterns that others have reserved and ids of predictions and runs are completed, too.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg completions bash > ~/.local/share/bash-completion/completions/msg
  msg completions zsh > ~/.zfunc/_msg
  msg completions fish > ~/.config/fish/completions/msg.fish")]
pub(in crate::faces::cli) struct CompletionsArgs {
    #[arg(required_unless_present = "values")]
    shell: Option<Shell>,
    /// Print what there is now, one per line: for the scripts
    #[arg(long, value_name = "KIND", hide = true, conflicts_with = "shell")]
    values: Option<ValueKind>,
}

/// What the scripts ask for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ValueKind {
    Agents,
    Reservations,
    Predictions,
    Runs,
}

impl CompletionsArgs {
    /// Whether it needs the mesh.
    pub(super) fn asks_for_values(&self) -> bool {
        self.values.is_some()
    }
}

/// What the shell reads.
pub(in crate::faces::cli) fn script(shell: Shell) -> String {
    live_script::script(shell)
}

pub(super) fn run(args: CompletionsArgs) -> CommandOutput {
    Script(args.shell.map(script).unwrap_or_default()).into()
}

pub(super) fn run_values(op: &Op, args: CompletionsArgs) -> Result<CommandOutput, CommandError> {
    let kind = match args.values {
        Some(ValueKind::Agents) | None => LiveValue::Agents,
        Some(ValueKind::Reservations) => LiveValue::Reservations,
        Some(ValueKind::Predictions) => LiveValue::Predictions,
        Some(ValueKind::Runs) => LiveValue::Runs,
    };
    Ok(Values(ops::live_values(op, kind)?).into())
}

struct Script(String);

impl Report for Script {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("script".to_string(), json!(self.0))])
    }

    fn text(&self, page: &mut Page) {
        page.line(self.0.trim_end());
    }
}

struct Values(Vec<String>);

impl Report for Values {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("values".to_string(), json!(self.0))])
    }

    fn text(&self, page: &mut Page) {
        // What can't be typed is not offered.
        let typed = self.0.iter().filter(|value| escape_invisible(value) == value.as_str());
        typed.for_each(|value| page.line(value));
    }
}
