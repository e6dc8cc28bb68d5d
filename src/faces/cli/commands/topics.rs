//! `msg topics`: shows what agents are working on, from their prompts and files.

mod domain_list;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::awareness::trajectory::{TopicTrend, Trend};
use crate::domain::{AgentName, escape_invisible};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::awareness::agent_topics::{self, AgentTopics};
use crate::ops::awareness::domains;
use crate::ops::{CommandError, Op, format_age};
use crate::store::iso;
use crate::sys::clock;

use domain_list::DomainList;

/// How many topics are shown of each trend.
const MOST_TOPICS: usize = 8;

/// Show what agents are working on: topics of their prompts, and files
///
/// Topics come from the last ten prompts of each agent in this repository; of the prompts themselves nothing is kept,
/// unless the setting `sharePrompts` is `text`. *Deepening*: in most prompts, and more in the later ones. *Emerging*:
/// only in the last three. *Fading*: not in the last three. *Stable*: recurs.
///
/// Domains are parts of the project that belong together. The setting `domains` names them; others are learned from the
/// directories to which the words of prompts and commits lead.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg topics
  msg topics GoldFalcon
  msg topics --domains
  msg topics --json | jq -r '.agents[] | \"\\(.name): \\(.changed[0])\"'")]
pub(in crate::faces::cli) struct TopicsArgs {
    /// Only this agent, wherever it works
    name: Option<String>,
    /// Show the domains of this repository, or those in which that agent works, and why
    #[arg(long)]
    domains: bool,
}

pub(super) fn run(op: &Op, args: TopicsArgs) -> Result<CommandOutput, CommandError> {
    let name = args.name.map(AgentName::new).transpose()?;
    if args.domains {
        return Ok(DomainList(domains::domains(op, name.as_ref())?).into());
    }
    let agents = agent_topics::topics(op, name.as_ref())?;
    Ok(TopicsReport { agents }.into())
}

struct TopicsReport {
    agents: Vec<AgentTopics>,
}

impl Report for TopicsReport {
    fn json(&self) -> Map<String, Value> {
        let topic = |found: &TopicTrend| json!({ "topic": found.topic.as_str(), "trend": found.trend.map(Trend::name), "prompts": found.prompts });
        let agent = |agent: &AgentTopics| {
            let with = |trend: Trend| -> Vec<&str> {
                let found = agent.topics.iter().filter(|found| found.trend == Some(trend));
                found.map(|found| found.topic.as_str()).collect()
            };
            let unchanged = agent.read.iter().filter(|file| !agent.changed.contains(file));
            json!({
                "name": agent.name.as_str(),
                "prompts": agent.prompts.len(),
                "lastPromptAt": agent.last_prompt.map(iso),
                "lastPrompt": agent.text,
                "topics": agent.topics.iter().map(topic).collect::<Vec<_>>(),
                "deepening": with(Trend::Deepening),
                "emerging": with(Trend::Emerging),
                "fading": with(Trend::Fading),
                "stable": with(Trend::Stable),
                "files": agent.changed.iter().chain(unchanged).collect::<Vec<_>>(),
                "changed": agent.changed,
                "read": agent.read,
            })
        };
        Map::from_iter([("agents".to_string(), self.agents.iter().map(agent).collect())])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            self.agents.iter().for_each(|agent| page.line(agent.name.as_str()));
            return;
        }
        if self.agents.is_empty() {
            page.nothing("No agent is in this repository.", "`msg agents` shows where they are.");
        }
        for (number, agent) in self.agents.iter().enumerate() {
            if number > 0 {
                page.line("");
            }
            write_agent(page, agent);
        }
    }
}

fn write_agent(page: &mut Page, agent: &AgentTopics) {
    let asked = match agent.last_prompt {
        Some(at) => format!("asked {} ago", format_age(at, clock::now())),
        None => "not asked anything yet".to_string(),
    };
    page.line(format!("{}  {}", style::bold(agent.name.as_str()), style::dim(&asked)));
    if let Some(text) = &agent.text {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        page.line(format!("  asked for   “{}”", escape_invisible(&line)));
    }
    for trend in
        [Some(Trend::Deepening), Some(Trend::Stable), Some(Trend::Emerging), None, Some(Trend::Fading)]
    {
        let found = agent.topics.iter().filter(|found| found.trend == trend).take(MOST_TOPICS);
        let words: Vec<String> =
            found.map(|found| escape_invisible(found.topic.as_str()).into_owned()).collect();
        if !words.is_empty() {
            page.line(format!("  {:<10}  {}", trend.map_or("about", Trend::name), words.join(", ")));
        }
    }
    for (verb, files) in [("changed", &agent.changed), ("read", &agent.read)] {
        for (number, file) in files.iter().enumerate() {
            let label = if number == 0 { verb } else { "" };
            page.line(format!("  {label:<10}  {}", escape_invisible(file)));
        }
    }
}
