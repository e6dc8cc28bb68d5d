//! `msg brief`: what somebody needs to go on with an agent's work.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::AgentName;
use crate::domain::awareness::trajectory::Trend;
use crate::domain::awareness::{Brief, BriefDetail, BriefState, ChangeMaker, CommitEvidence};
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::faces::json::own_reservation;
use crate::ops::awareness::brief::{brief, brief_text};
use crate::ops::{CommandError, Op};
use crate::store::iso;

/// Show what somebody needs to go on with an agent's work
///
/// Its project and branch, the files changed since it joined (committed, uncommitted, untracked), its task, what it
/// holds, open questions and its status; of an agent that is gone too. At most 300 words, in which every file is named
/// if it can be done. Git tells what changed, and the agents' hooks who changed it; what is not known is said.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg brief
  msg brief GoldFalcon
  msg brief GoldFalcon --full
  msg brief GoldFalcon --json")]
pub(in crate::faces::cli) struct BriefArgs {
    /// An agent, here or gone; without it, you
    name: Option<String>,
    /// Show everything, with each file on its own line
    #[arg(long)]
    full: bool,
}

pub(super) fn run(op: &Op, args: BriefArgs) -> Result<CommandOutput, CommandError> {
    let name = args.name.map(AgentName::new).transpose()?;
    let brief = brief(op, name.as_ref())?;
    let detail = if args.full { BriefDetail::Full } else { BriefDetail::Short };
    let lines = brief_text(op, &brief, detail);
    Ok(BriefReport { brief, lines }.into())
}

struct BriefReport {
    brief: Brief,
    lines: Vec<String>,
}

impl Report for BriefReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("brief".to_string(), brief_json(&self.brief))])
    }

    fn text(&self, page: &mut Page) {
        self.lines.iter().for_each(|line| page.line(line));
    }
}

/// Everything, however long.
fn brief_json(brief: &Brief) -> Value {
    let (presence, gone) = match brief.state {
        BriefState::Here(presence) => (presence.name(), None),
        BriefState::Gone { how, at } => ("gone", Some(json!({ "why": how.name(), "at": iso(at) }))),
    };
    json!({
        "name": brief.name.as_str(),
        "harness": brief.harness,
        "presence": presence,
        "gone": gone,
        "joinedAt": iso(brief.joined_at),
        "cwd": brief.cwd,
        "root": brief.root,
        "mainRoot": brief.main_root,
        "branch": brief.branch,
        "joinedBranch": brief.joined_branch,
        "spec": brief.spec,
        "topics": brief.topics.iter().map(|found| json!({
            "topic": found.topic.as_str(),
            "trend": found.trend.map(Trend::name),
        })).collect::<Vec<_>>(),
        "statusMessage": brief.status,
        "activity": brief.activity,
        "lastToolCall": brief.last_action,
        "tasks": brief.tasks.iter().map(|task| json!({
            "task": task.id,
            "spec": task.spec,
            "claimedAt": task.since.map(iso),
            "reason": task.reason,
        })).collect::<Vec<_>>(),
        "completed": brief.completed,
        "reservations": brief.reservations.iter().map(own_reservation).collect::<Vec<_>>(),
        "commits": brief.commits.iter().map(|made| json!({
            "id": made.id,
            "at": iso(made.at),
            "subject": made.subject,
            "branch": made.branch,
            "by": makers(brief, &made.maker),
            "files": made.files,
        })).collect::<Vec<_>>(),
        "commitsFrom": match brief.evidence {
            CommitEvidence::HeadLog => Some("log"),
            CommitEvidence::Dates => Some("dates"),
            CommitEvidence::None => None,
        },
        "uncommitted": brief.files.iter().map(|file| json!({
            "path": file.path,
            "change": file.change.name(),
            "by": makers(brief, &file.maker),
        })).collect::<Vec<_>>(),
        "alsoEdited": brief.also_edited,
        "questions": brief.questions.iter().map(|asked| json!({
            "id": asked.id,
            "from": asked.from,
            "to": asked.to,
            "at": iso(asked.at),
            "text": asked.text,
        })).collect::<Vec<_>>(),
        "remarks": brief.remarks,
    })
}

/// The names of those who made a change, as hooks reported; empty if that is not known.
fn makers(brief: &Brief, maker: &ChangeMaker) -> Vec<String> {
    match maker {
        ChangeMaker::Own => vec![brief.name.to_string()],
        ChangeMaker::Others(names) => names.clone(),
        ChangeMaker::Unknown => Vec::new(),
    }
}
