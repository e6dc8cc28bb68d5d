//! `msg whoami`: shows the calling agent.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{RecordedProcess, escape_invisible};
use crate::faces::cli::agent_text;
use crate::faces::cli::global_args::Verbosity;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::harness::ancestry;
use crate::ops::{self, AgentProfile, AgentRelation, CommandError, Op};
use crate::sys::clock;
use crate::sys::environment::Home;
use crate::sys::process;

/// Show yourself, as others see you
///
/// With `-v` also how you were recognised, and which process you are tied to.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg whoami
  msg whoami -q          the name alone
  msg whoami -v          and how that is known")]
pub(in crate::faces::cli) struct WhoamiArgs {}

pub(super) fn run(op: &Op, _: WhoamiArgs, verbosity: Verbosity) -> Result<CommandOutput, CommandError> {
    let (profile, how) = ops::whoami(op)?;
    let host = (verbosity == Verbosity::Verbose).then(|| host(&profile));
    Ok(WhoamiReport { profile, how, host, mesh: op.location.to_string(), home: op.home.clone() }.into())
}

/// What is known of the registered process, and why it is that one.
fn host(profile: &AgentProfile) -> String {
    let recorded = &profile.agent.process;
    let is_this = |host: &ancestry::Host| *recorded == RecordedProcess::Pinned(host.process.clone());
    let found = ancestry::find_host(&ancestry::ancestors()).filter(is_this);
    let named = || ancestry::named_host(recorded.pid());
    let why = found.map(|host| host.why).or_else(|| named().map(|host| host.why));
    why.unwrap_or_else(|| {
        let seen = process::details(recorded.pid()).is_some();
        format!("process {} {}", recorded.pid(), if seen { "runs" } else { "can't be seen from here" })
    })
}

struct WhoamiReport {
    profile: AgentProfile,
    how: String,
    host: Option<String>,
    mesh: String,
    home: Home,
}

impl Report for WhoamiReport {
    fn json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("agent".to_string(), agent_text::json(&self.profile, AgentRelation::Caller));
        object.insert("how".to_string(), json!(self.how));
        object.insert("mesh".to_string(), json!(self.mesh));
        if let Some(host) = &self.host {
            object.insert("host".to_string(), json!(host));
        }
        object
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            page.line(self.profile.agent.name.as_str());
            return;
        }
        agent_text::text(page, &self.profile, &self.home, clock::now());
        if let Some(host) = &self.host {
            let mut row = |label: &str, value: &str| {
                page.line(format!("  {}  {}", style::dim(&format!("{label:<8}")), escape_invisible(value)));
            };
            row("known by", &self.how);
            row("host", host);
            row("session", self.profile.agent.session.as_str());
            row("mesh", &self.home.shorten(&self.mesh));
        }
    }
}
