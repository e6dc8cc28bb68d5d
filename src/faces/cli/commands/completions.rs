//! `msg completions`: prints shell completion scripts (not task completions).

use clap::Args;
use clap_complete::{Shell, generate};
use serde_json::{Map, Value, json};

use crate::faces::cli::grammar;
use crate::faces::cli::output::{CommandOutput, Page, Report};

/// Print completions for your shell
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg completions bash > ~/.local/share/bash-completion/completions/msg
  msg completions zsh > ~/.zfunc/_msg
  msg completions fish > ~/.config/fish/completions/msg.fish")]
pub(in crate::faces::cli) struct CompletionsArgs {
    shell: Shell,
}

pub(super) fn run(args: CompletionsArgs) -> CommandOutput {
    let mut script = Vec::new();
    generate(args.shell, &mut grammar(), "msg", &mut script);
    Script(String::from_utf8_lossy(&script).into_owned()).into()
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
