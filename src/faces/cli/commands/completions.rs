//! `msg completions`: prints shell completion scripts (not task completions).
//!
//! The scripts for bash, zsh and fish ask `msg` at each key, see [`crate::faces::cli::completing`]. The dynamic engine of
//! `clap_complete` is not used: its bash part expands what it gets as a glob, and patterns are words of peers.

use clap::Args;
use clap_complete::{Shell, generate};
use serde_json::{Map, Value, json};

use crate::faces::cli::grammar;
use crate::faces::cli::output::{CommandOutput, Page, Report};

/// Print completions for your shell
///
/// In bash, zsh and fish, what is there now is offered: names of agents, tasks, messages, reserved patterns, runs, settings
/// with their values, and more. Elvish and PowerShell know commands and options.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg completions bash > ~/.local/share/bash-completion/completions/msg
  msg completions zsh > ~/.zfunc/_msg
  msg completions fish > ~/.config/fish/completions/msg.fish")]
pub(in crate::faces::cli) struct CompletionsArgs {
    shell: Shell,
}

/// What the shell reads.
pub(in crate::faces::cli) fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => include_str!("completions/msg.bash").to_string(),
        Shell::Zsh => include_str!("completions/msg.zsh").to_string(),
        Shell::Fish => include_str!("completions/msg.fish").to_string(),
        _ => {
            let mut script = Vec::new();
            generate(shell, &mut grammar(), "msg", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    }
}

pub(super) fn run(args: CompletionsArgs) -> CommandOutput {
    Script(script(args.shell)).into()
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
