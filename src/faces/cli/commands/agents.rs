//! `msg agents`: lists live or gone agents.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::agent_text::{self, AgentJson};
use crate::faces::cli::output::{CommandOutput, JsonMembers, Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::ops::{self, AgentFilter, AgentList, CommandError, FolderScope, GoneAgent, Op};
use crate::store::{GoneReason, iso};
use crate::sys::clock;
use crate::sys::environment::Home;

/// List the agents here and what they are doing
///
/// A star marks you. Presence is `active` (seen within 30 s), `idle` (within 5 min), `away`, `stuck`
/// (not seen for `stuckThreshold` seconds while it holds a task or a path), or `unknown` if this machine cannot check.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg agents
  msg agents --here            only those of this project
  msg agents --gone            those who left or ended, and the mail that waits for them
  msg agents --json | jq -r '.agents[].name'")]
pub(in crate::faces::cli) struct AgentsArgs {
    /// Agents that are gone, instead of those that are here
    #[arg(long)]
    gone: bool,
    /// Only agents of this project: in all work trees of this git repository; without git, in this folder, above or
    /// below it
    #[arg(long)]
    here: bool,
}

pub(super) fn run(op: &Op, args: AgentsArgs) -> Result<CommandOutput, CommandError> {
    let folder = if args.here { FolderScope::ThisProject } else { FolderScope::AllFolders };
    let listing = ops::agents(op, AgentFilter { lists_gone: args.gone, folder })?;
    for file in &listing.unreadable {
        op.warn(format!("`{}` can't be read: {} (run `msg doctor` for details)", file.path, file.reason));
    }
    Ok(AgentsReport { listing, gone: args.gone, home: op.home.clone() }.into())
}

struct AgentsReport {
    listing: AgentList,
    gone: bool,
    home: Home,
}

impl Report for AgentsReport {
    fn json(&self) -> Map<String, Value> {
        let unreadable = self.listing.unreadable.iter();
        let unreadable = unreadable.map(|file| json!({ "file": file.path, "reason": file.reason }));
        Map::from_iter([("unreadable".to_string(), unreadable.collect())])
    }

    fn write_json(&self, members: &mut JsonMembers) {
        if self.gone {
            members.write("agents", &self.listing.gone.iter().map(gone_json).collect::<Vec<_>>());
        } else {
            let agents = self.listing.agents.iter();
            let agents =
                agents.map(|profile| AgentJson::of(profile, self.listing.relation(&profile.agent.name)));
            members.write("agents", &agents.collect::<Vec<_>>());
        }
        for (name, value) in self.json() {
            members.write(&name, &value);
        }
    }

    fn text(&self, page: &mut Page) {
        let mut table = Table::default();
        if self.gone {
            let row = |gone: &GoneAgent| match page.is_quiet {
                true => vec![TableCell::plain(&gone.name)],
                false => gone_row(gone),
            };
            self.listing.gone.iter().for_each(|gone| table.row(row(gone)));
        } else {
            // Whoever is not linked sees nothing of machines.
            let has_remote = self.listing.agents.iter().any(|profile| profile.agent.is_remote());
            for profile in &self.listing.agents {
                let agent = &profile.agent;
                if page.is_quiet {
                    table.row(vec![TableCell::plain(agent.name.as_str())]);
                    continue;
                }
                let star = if self.listing.is_me(&agent.name) { "*" } else { "" };
                let mut row = vec![TableCell::styled(&format!("{}{star}", agent.name), style::bold)];
                if has_remote {
                    let machine = agent.machine.as_ref().map(|machine| machine.name.as_str());
                    row.push(TableCell::plain(machine.unwrap_or_default()));
                }
                row.extend([
                    agent_text::presence_cell(profile.presence),
                    TableCell::plain(agent_text::harness(profile)),
                    TableCell::plain(&agent_text::folder(profile, &self.home)),
                    TableCell::plain(&escape_invisible(agent.git_branch.as_deref().unwrap_or_default())),
                    TableCell::plain(&agent_text::notes(profile)),
                ]);
                table.row(row);
            }
        }
        let lines = table.lines();
        match (lines.is_empty(), self.gone) {
            (true, true) => page.nothing("Nobody is gone.", "`msg agents` shows who is here."),
            (true, false) => {
                page.nothing("Nobody is here.", "`msg join` joins you, `msg setup` your agents.");
            }
            (false, _) => {}
        }
        lines.into_iter().for_each(|line| page.line(line));
    }
}

pub(in crate::faces::cli) fn gone_json(gone: &GoneAgent) -> Value {
    json!({
        "name": gone.name,
        "presence": "gone",
        "why": word(gone.why),
        "at": iso(gone.at),
        "by": gone.by,
        "unread": gone.unread,
        "cwd": gone.cwd,
    })
}

fn gone_row(gone: &GoneAgent) -> Vec<TableCell> {
    let by = gone.by.as_deref().map_or(String::new(), |by| format!(" by {}", escape_invisible(by)));
    let ago = agent_text::duration(clock::now(), gone.at);
    let mail = if gone.unread > 0 { format!("{} unread", gone.unread) } else { String::new() };
    vec![
        TableCell::styled(&gone.name, style::bold),
        TableCell::plain(&format!("{}{by} {ago} ago", word(gone.why))),
        TableCell::plain(&mail),
    ]
}

fn word(why: GoneReason) -> &'static str {
    match why {
        GoneReason::Died => "ended",
        GoneReason::Left => "left",
        GoneReason::Evicted => "evicted",
        GoneReason::Lost => "lost mail",
    }
}
