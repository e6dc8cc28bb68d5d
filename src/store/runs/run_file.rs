//! The format of `run.json`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::crew_keys::CrewKeys;
use super::pane_keys::{DialogKeys, PaneKeys};
use super::questions::QuestionKeys;
use super::review_keys::ReviewKeys;
use crate::domain::link::{MachineName, RemoteAsker};
use crate::domain::runs::{
    Cost, EarlierRun, Grant, GrantShare, Granter, MicroUsd, Run, RunClaim, RunId, RunParent, RunState, Usage,
};
use crate::domain::{AgentName, SessionId};
use crate::store::wire::process::{ProcessKey, recorded};
use crate::store::wire::{pretty, time};

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct RunKeys {
    id: String,
    state: String,
    pid: i64,
    process: Option<ProcessKey>,
    task: String,
    profile: String,
    harness: Option<String>,
    version: Option<String>,
    model: Option<String>,
    agent: Option<String>,
    parent: Option<String>,
    parent_session: Option<String>,
    parent_run: Option<String>,
    #[serde(default)]
    parent_run_proven: bool,
    #[serde(default)]
    depth: usize,
    root: String,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    branch: Option<String>,
    #[serde(default)]
    changed: Option<Vec<String>>,
    #[serde(default)]
    saved: Vec<String>,
    #[serde(default)]
    outside: Vec<String>,
    #[serde(default)]
    question: Option<QuestionKeys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tmux: Option<PaneKeys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dialog: Option<DialogKeys>,
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retries: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resumes: Option<String>,
    #[serde(with = "time")]
    queued_at: Timestamp,
    #[serde(with = "time::option", default)]
    started_at: Option<Timestamp>,
    #[serde(with = "time::option", default)]
    ended_at: Option<Timestamp>,
    doing: Option<String>,
    result: Option<String>,
    reason: Option<String>,
    #[serde(default)]
    usage: UsageKeys,
    cost_micros: Option<u64>,
    cost_is: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    granted_micros: Option<ShareKeys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    granted_tokens: Option<ShareKeys>,
    #[serde(with = "time::option", default)]
    until: Option<Timestamp>,
    slot: Option<u32>,
    #[serde(default)]
    prompt: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reserve: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimKeys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    review: Option<ReviewKeys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reviews: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crew: Option<CrewKeys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked_by: Option<AskerKeys>,
}

/// Who asked for it on another machine.
#[derive(Deserialize, Serialize)]
struct AskerKeys {
    machine: String,
    agent: Option<String>,
    id: String,
}

#[derive(Deserialize, Serialize)]
struct ClaimKeys {
    spec: String,
    task: String,
    number: Option<u64>,
}

/// What was granted, and by which run or which budget, or out of both.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShareKeys {
    amount: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<String>,
}

impl ShareKeys {
    fn of(share: &GrantShare) -> Self {
        let (run, budget) = match &share.by {
            Some(Granter::Run(id)) => (Some(id.to_string()), share.also.clone()),
            Some(Granter::Budget(id)) => (None, Some(id.clone())),
            None => (None, None),
        };
        Self { amount: share.amount, run, budget }
    }

    fn share(self) -> Result<GrantShare, RunFileError> {
        let (by, also) = match self.run.as_deref().map(RunId::new).transpose()? {
            Some(run) => (Some(Granter::Run(run)), self.budget),
            None => (self.budget.map(Granter::Budget), None),
        };
        Ok(GrantShare { amount: self.amount, by, also })
    }
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct UsageKeys {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    turns: Option<u64>,
}

/// The content of the file.
pub(super) fn bytes(run: &Run) -> Vec<u8> {
    let Usage { input, output, cache_read, cache_write, turns } = run.usage;
    pretty(&RunKeys {
        id: run.id.to_string(),
        state: run.state.name().to_string(),
        pid: run.owner.pid().get().into(),
        process: ProcessKey::of(&run.owner),
        task: run.task.clone(),
        profile: run.profile.clone(),
        harness: run.harness.clone(),
        version: run.version.clone(),
        model: run.model.clone(),
        agent: run.agent.as_ref().map(ToString::to_string),
        parent: run.parent.agent.as_ref().map(ToString::to_string),
        parent_session: run.parent.session.as_ref().map(ToString::to_string),
        parent_run: run.parent.run.as_ref().map(ToString::to_string),
        parent_run_proven: run.parent.is_run_proven,
        depth: run.depth,
        root: run.root.clone(),
        project: run.project.clone(),
        branch: run.branch.clone(),
        changed: run.changed.clone(),
        saved: run.saved.clone(),
        outside: run.outside.clone(),
        question: run.question.as_ref().map(QuestionKeys::of),
        tmux: run.pane.as_ref().map(PaneKeys::of),
        dialog: run.dialog.as_ref().map(DialogKeys::of),
        session: run.session.as_ref().map(ToString::to_string),
        retries: match &run.earlier {
            Some(EarlierRun::Retried(id)) => Some(id.to_string()),
            _ => None,
        },
        resumes: match &run.earlier {
            Some(EarlierRun::Resumed(id)) => Some(id.to_string()),
            _ => None,
        },
        queued_at: run.queued_at,
        started_at: run.started_at,
        ended_at: run.ended_at,
        doing: run.doing.clone(),
        result: run.result.clone(),
        reason: run.reason.clone(),
        usage: UsageKeys { input, output, cache_read, cache_write, turns },
        cost_micros: run.cost.amount().map(MicroUsd::micros),
        cost_is: Some(run.cost.name().to_string()),
        granted_micros: run.grant.usd.as_ref().map(ShareKeys::of),
        granted_tokens: run.grant.tokens.as_ref().map(ShareKeys::of),
        until: run.until,
        slot: run.slot,
        prompt: run.prompt.clone(),
        reserve: run.reserve.clone(),
        claim: run.claim.clone().map(|RunClaim { spec, task, number }| ClaimKeys { spec, task, number }),
        review: run.review.as_ref().map(ReviewKeys::of),
        reviews: run.reviews.as_ref().map(ToString::to_string),
        crew: run.crew.as_ref().map(CrewKeys::of),
        asked_by: run.asked_by.as_ref().map(|asker| AskerKeys {
            machine: asker.machine.to_string(),
            agent: asker.agent.as_ref().map(ToString::to_string),
            id: asker.id.to_string(),
        }),
    })
}

/// Why a file is not the record of a run.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunFileError {
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Id(#[from] crate::domain::runs::RunIdError),
    #[error("`{}` is no state of a run", .0.escape_debug())]
    State(String),
    #[error("{0}")]
    Pid(#[from] crate::domain::process::PidError),
    #[error("{0}")]
    Name(#[from] crate::domain::NameError),
    #[error("{0}")]
    Session(#[from] crate::domain::SessionIdError),
    #[error("{0}")]
    Machine(#[from] crate::domain::link::MachineNameError),
}

/// The run that the file describes.
pub(super) fn parse(content: &[u8]) -> Result<Run, RunFileError> {
    let keys: RunKeys = serde_json::from_slice(content)?;
    let UsageKeys { input, output, cache_read, cache_write, turns } = keys.usage;
    let session = |id: Option<String>| id.map(SessionId::new).transpose();
    let agent = |name: Option<String>| name.map(AgentName::new).transpose();
    let amount = keys.cost_micros.map(MicroUsd::from_micros);
    Ok(Run {
        id: RunId::new(&keys.id)?,
        state: RunState::of_record(&keys.state).ok_or(RunFileError::State(keys.state))?,
        owner: recorded(keys.pid, keys.process, None)?,
        task: keys.task,
        profile: keys.profile,
        harness: keys.harness,
        version: keys.version,
        model: keys.model,
        agent: agent(keys.agent)?,
        parent: RunParent {
            agent: agent(keys.parent)?,
            session: session(keys.parent_session)?,
            run: keys.parent_run.as_deref().map(RunId::new).transpose()?,
            is_run_proven: keys.parent_run_proven,
        },
        depth: keys.depth,
        root: keys.root,
        project: keys.project,
        branch: keys.branch,
        changed: keys.changed,
        saved: keys.saved,
        outside: keys.outside,
        question: keys.question.map(QuestionKeys::question),
        pane: keys.tmux.map(PaneKeys::pane).transpose()?,
        dialog: keys.dialog.map(DialogKeys::dialog),
        session: session(keys.session)?,
        earlier: match (keys.retries.as_deref(), keys.resumes.as_deref()) {
            (_, Some(id)) => Some(EarlierRun::Resumed(RunId::new(id)?)),
            (Some(id), None) => Some(EarlierRun::Retried(RunId::new(id)?)),
            (None, None) => None,
        },
        queued_at: keys.queued_at,
        started_at: keys.started_at,
        ended_at: keys.ended_at,
        doing: keys.doing,
        result: keys.result,
        reason: keys.reason,
        usage: Usage { input, output, cache_read, cache_write, turns },
        cost: match (keys.cost_is.as_deref(), amount) {
            (Some("computed"), Some(amount)) => Cost::Computed(amount),
            (_, Some(amount)) => Cost::Reported(amount),
            (_, None) => Cost::Unknown,
        },
        grant: Grant {
            usd: keys.granted_micros.map(ShareKeys::share).transpose()?,
            tokens: keys.granted_tokens.map(ShareKeys::share).transpose()?,
        },
        until: keys.until,
        slot: keys.slot,
        prompt: keys.prompt,
        reserve: keys.reserve,
        claim: keys.claim.map(|ClaimKeys { spec, task, number }| RunClaim { spec, task, number }),
        review: keys.review.map(ReviewKeys::review).transpose()?,
        reviews: keys.reviews.as_deref().map(RunId::new).transpose()?,
        crew: keys.crew.map(CrewKeys::part),
        asked_by: match keys.asked_by {
            Some(AskerKeys { machine, agent: name, id }) => Some(RemoteAsker {
                machine: MachineName::new(machine)?,
                agent: agent(name)?,
                id: RunId::new(&id)?,
            }),
            None => None,
        },
        elsewhere: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::runs::{
        CrewEnd, CrewPart, CrewTest, ProvenTree, Review, ReviewFinding, ReviewOutcome, ReviewVerdict,
        RunDialog, RunPane, RunReview,
    };
    use crate::sys::process;

    #[test]
    fn a_record_reads_back_as_it_was() {
        let test = CrewTest {
            command: "make".to_string(),
            how: "exit code 2".to_string(),
            exit_code: Some(2),
            tail: "no\n".to_string(),
        };
        let run = Run {
            state: RunState::Running,
            owner: crate::domain::RecordedProcess::Pinned(process::identify(process::own_pid()).unwrap()),
            task: "line one\nline \"two\" 🐦".to_string(),
            profile: "scout".to_string(),
            harness: Some("x".to_string()),
            agent: Some(AgentName::new("SwiftRaven").unwrap()),
            parent: RunParent {
                run: Some(RunId::from_random(8)),
                is_run_proven: true,
                ..RunParent::default()
            },
            depth: 1,
            root: "/a b".to_string(),
            project: Some("/a".to_string()),
            branch: Some("ravenry/run-7".to_string()),
            changed: Some(vec!["src/a.rs".to_string()]),
            saved: vec![".env (a secret)".to_string()],
            outside: vec!["src/b.rs".to_string()],
            pane: Some(RunPane {
                socket: "/tmp/s".to_string(),
                id: "%7".to_string(),
                place: "shop:1.0".to_string(),
                keeper: crate::domain::RecordedProcess::Pinned(
                    process::identify(process::own_pid()).unwrap(),
                ),
                is_ready: true,
                prompts: 2,
                turns: 1,
            }),
            dialog: Some(RunDialog {
                id: "0a1b2c3d".to_string(),
                kind: "trust".to_string(),
                question: "Trust it?".to_string(),
                about: vec!["/a b".to_string()],
                choices: vec!["1. Yes".to_string()],
                since: Timestamp::from_millisecond(1_794_700_676_114).unwrap(),
            }),
            session: Some(SessionId::new("s").unwrap()),
            earlier: Some(EarlierRun::Resumed(RunId::from_random(9))),
            queued_at: Timestamp::from_millisecond(1_794_700_676_113).unwrap(),
            usage: Usage { input: Some(0), ..Usage::default() },
            cost: Cost::Computed(MicroUsd::from_micros(7)),
            grant: Grant {
                usd: Some(GrantShare {
                    amount: 9,
                    by: Some(Granter::Run(RunId::from_random(8))),
                    also: Some("a".to_string()),
                }),
                tokens: Some(GrantShare {
                    amount: 3,
                    by: Some(Granter::Budget("b".to_string())),
                    also: None,
                }),
            },
            slot: Some(0),
            prompt: "0".to_string(),
            reserve: vec!["src/*.rs".to_string()],
            claim: Some(RunClaim { spec: "/s.md".to_string(), task: "T-1".to_string(), number: Some(3) }),
            review: Some(RunReview {
                profile: "reviewer".to_string(),
                run: Some(RunId::from_random(10)),
                outcome: ReviewOutcome::Given(Review {
                    verdict: ReviewVerdict::Rework,
                    findings: vec![ReviewFinding {
                        file: Some("a".to_string()),
                        line: None,
                        text: "b".to_string(),
                    }],
                }),
            }),
            reviews: Some(RunId::from_random(11)),
            crew: Some(CrewPart {
                crew: "plan".to_string(),
                is_worked: true,
                proven: Some(ProvenTree { tree: "4b825dc".to_string(), test: test.clone() }),
                end: Some(CrewEnd::RedTogether(test)),
            }),
            asked_by: Some(RemoteAsker {
                machine: MachineName::new("laptop").unwrap(),
                agent: Some(AgentName::new("Anna").unwrap()),
                id: RunId::from_random(12),
            }),
            ..Run::queued(RunId::from_random(7))
        };
        let read = parse(&bytes(&run)).unwrap();
        assert_eq!(format!("{read:?}"), format!("{run:?}"));
    }
}
