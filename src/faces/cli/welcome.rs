//! `msg` without a command: says what this is and how to begin, or, once joined, the situation and what to do next.

use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::harness::texts;
use crate::ops::setup::install;
use crate::ops::{self, AgentFilter, AgentList, AgentProfile, CommandError, Context, GlobalOptions};

use super::output::{CommandOutput, Page, Report, style};
use super::table::{Table, TableCell};

/// Maximum number of other agents that are named; the rest are counted.
const NAMED: usize = 6;

/// Looks around. What is wrong with settings or mesh is told, and no reason not to say how to begin. Returns warnings
/// too.
pub(super) fn run(globals: GlobalOptions) -> Result<(CommandOutput, Vec<String>), CommandError> {
    let (ctx, errors) = Context::tolerant(globals)?;
    let mesh = ctx.location.to_string();
    let setup = Setup::of(&install::installed(&ctx), ctx.settings.joins_sessions());
    let (listing, mut warnings) = ops::run(ctx, |op| ops::agents(op, AgentFilter::default())).into_parts();
    let mut tell =
        |error: CommandError| warnings.push(format!("{}; run `msg doctor` for details", error.message));
    errors.into_iter().for_each(&mut tell);
    let listing = listing.unwrap_or_else(|error| {
        tell(error);
        AgentList::default()
    });
    Ok((Welcome { listing, mesh, setup }.into(), warnings))
}

struct Welcome {
    listing: AgentList,
    mesh: String,
    setup: Setup,
}

/// How far the harnesses are set up.
enum Setup {
    Nothing,
    /// Installed, but sessions don't join by themselves.
    Installed(String),
    Done,
}

impl Setup {
    fn of(installed: &[String], joins: bool) -> Self {
        match installed {
            [] => Self::Nothing,
            _ if joins => Self::Done,
            names => Self::Installed(names.join(", ")),
        }
    }

    /// The next step, if there is one, and what it does.
    fn next(&self) -> Option<(String, String)> {
        match self {
            Self::Nothing => {
                let what = format!("let {} use it, and join", texts::titles());
                Some(("msg setup".to_string(), what))
            }
            Self::Installed(names) => {
                let what = format!("let sessions of {names} join by themselves: they are set up, but do not");
                Some(("msg config set autoRegister true".to_string(), what))
            }
            Self::Done => None,
        }
    }
}

impl Welcome {
    fn me(&self) -> Option<&AgentProfile> {
        self.listing.agents.iter().find(|profile| self.listing.is_me(&profile.agent.name))
    }

    fn others(&self) -> Vec<&str> {
        let names = self.listing.agents.iter().map(|profile| &profile.agent.name);
        names.filter(|name| !self.listing.is_me(name)).map(|name| name.as_str()).collect()
    }

    /// For example `2 others are here: GoldFalcon and SwiftRaven.`
    fn company(&self) -> String {
        let (others, kind) = (self.others(), if self.me().is_some() { "other agent" } else { "agent" });
        let named = others.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = others.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        match others.len() {
            0 => "Nobody else is here.".to_string(),
            1 => format!("One {kind} is here: {named}."),
            many => format!("{many} {kind}s are here: {named}{rest}."),
        }
    }

    /// What to type next, and what it does.
    fn next(&self) -> Vec<(String, String)> {
        let step = |command: &str, what: &str| (command.to_string(), what.to_string());
        let mut next = Vec::new();
        let Some(me) = self.me() else {
            next.extend(self.setup.next());
            next.push(step("msg join", "take part yourself; agents run the same command"));
            next.push(step("msg tui", "all of it on one screen, and talking from there"));
            return next;
        };
        if me.unread > 0 {
            next.push(step("msg read", "take your mail"));
        }
        match (me.claims.first(), &me.agent.spec) {
            (Some(claim), _) => {
                next.push(step(&format!("msg complete {}", claim.task), "say that your task is done"));
            }
            (None, Some(_)) => next.push(step("msg claim --next", "take the next task of your spec")),
            (None, None) => {}
        }
        match self.others().first() {
            Some(other) => next.push(step(&format!("msg send {other} \"…\""), "say something")),
            None => next.extend(self.setup.next()),
        }
        next.push(step("msg tui", "all of it on one screen"));
        next
    }
}

impl Report for Welcome {
    fn json(&self) -> Map<String, Value> {
        let me = self.me();
        Map::from_iter([
            ("agent".to_string(), json!(me.map(|me| me.agent.name.as_str()))),
            ("others".to_string(), json!(self.others())),
            ("unread".to_string(), json!(me.map_or(0, |me| me.unread))),
            ("mesh".to_string(), json!(self.mesh)),
            ("next".to_string(), self.next().into_iter().map(|(command, _)| json!(command)).collect()),
        ])
    }

    fn text(&self, page: &mut Page) {
        match self.me() {
            Some(me) => {
                let name = style::bold(me.agent.name.as_str());
                page.line(format!("You are {name}. {}", self.company()));
                let mail = match me.unread {
                    0 => None,
                    1 => Some("You have one unread message.".to_string()),
                    unread => Some(format!("You have {unread} unread messages.")),
                };
                let task = me
                    .claims
                    .first()
                    .map(|claim| format!("You work on {}.", escape_invisible(&claim.task.to_string())));
                let said: Vec<String> = mail.into_iter().chain(task).collect();
                if !said.is_empty() {
                    page.line(said.join(" "));
                }
            }
            None => {
                page.line(
                    "Run several coding agents on one repository without collisions: they see each other,",
                );
                page.line("exchange messages, reserve files and share tasks. `msg` is the command for them and for you.");
                if !self.others().is_empty() {
                    page.line("");
                    page.line(format!("{} You have not joined.", self.company()));
                }
            }
        }
        page.line("");
        let mut table = Table::default();
        for (command, what) in self.next() {
            table.row(vec![
                TableCell::styled(&format!("  {}", escape_invisible(&command)), style::good),
                TableCell::plain(&escape_invisible(&what)),
            ]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
        page.line("");
        page.line(match self.me() {
            Some(_) => "`msg help` lists all commands; each has `--help` with examples.",
            None => "`msg demo` shows it, `msg help` lists all commands; each has `--help` with examples.",
        });
    }
}
