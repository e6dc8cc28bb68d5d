//! `msg brief`: what somebody needs to go on with an agent's work, of one that is gone too.
//!
//! It is read from what is there: the registration or the grave, the feed, the mail, and git. Git knows what changed,
//! but not who changed it; the hooks of agents report that to the feed. What neither of them knows is said.

mod commits;
mod questions;
mod reports;
mod subject;
mod work;

use crate::domain::awareness::{Brief, BriefDetail, BriefTask, brief_lines};
use crate::domain::{AgentName, Harness, Reservation};
use crate::ops::agents::identity;
use crate::ops::agents::profile::claims_to_look_at;
use crate::ops::awareness::agent_topics;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::Mesh;
use crate::sys::clock;

use reports::FeedReports;
pub(in crate::ops) use subject::BriefSubject;

/// The brief of that agent, here or gone; without a name, the caller's own.
pub fn brief(op: &Op, name: Option<&AgentName>) -> Result<Brief, CommandError> {
    let Some(name) = name else {
        let (mesh, caller) = identity::caller(op)?;
        return of_subject(op, &mesh, &BriefSubject::caller(caller.agent));
    };
    let Some(mesh) = op.mesh()? else {
        let error = CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"));
        return Err(error.hint("nobody has joined this mesh yet: `msg join` joins it"));
    };
    let subject = subject::find(op, &mesh, name)?;
    of_subject(op, &mesh, &subject)
}

/// The text of a brief for somebody on this machine.
pub fn brief_text(ctx: &Context, brief: &Brief, detail: BriefDetail) -> Vec<String> {
    brief_lines(brief, detail, &|path| ctx.home.shorten(path))
}

/// Reads everything about one agent. Takes as long as git does, so no lock may be held.
pub(in crate::ops) fn of_subject(
    op: &Op,
    mesh: &Mesh,
    subject: &BriefSubject,
) -> Result<Brief, CommandError> {
    let agent = &subject.agent;
    let reports = FeedReports::read(mesh, subject)?;
    let counts = mesh.activity().counts(agent).ok().filter(|_| !subject.is_buried());
    let counts = counts.unwrap_or_else(|| agent.counts.clone());
    let edited = reports.edited(&counts.files_modified);
    let work = work::look(mesh, subject, &reports, &edited)?;
    let now = clock::now();
    let mut tasks: Vec<BriefTask> = claims_to_look_at(op, mesh)
        .of(agent)
        .into_iter()
        .map(|claim| BriefTask {
            id: claim.task,
            spec: Some(claim.spec),
            since: Some(claim.claimed_at),
            reason: claim.reason,
        })
        .collect();
    if tasks.is_empty() && subject.is_gone() {
        // The next command about tasks drops the claims of the dead.
        tasks = reports.unfinished_tasks();
    }
    let binds = |held: &&Reservation| subject.is_gone() || held.binds(now);
    Ok(Brief {
        name: agent.name.clone(),
        harness: Some(agent.harness_name()).filter(|_| agent.harness != Some(Harness::OTHER)),
        state: subject.state,
        joined_at: agent.joined_at,
        written_at: now,
        cwd: agent.cwd.clone(),
        root: work.root,
        main_root: work.main_root,
        branch: work.branch,
        joined_branch: agent.git_branch.clone(),
        spec: agent.spec.clone(),
        topics: agent_topics::of_agent(mesh, agent)?.topics,
        status: agent.status.clone(),
        activity: counts.activity.filter(|_| !subject.is_gone()),
        last_action: counts.last_tool_call,
        tasks,
        completed: reports.completed_tasks(),
        reservations: agent.reservations.iter().filter(binds).cloned().collect(),
        commits: work.commits,
        evidence: work.evidence,
        files: work.files,
        also_edited: work.also_edited,
        questions: questions::open_questions(op, mesh, subject)?,
        remarks: work.remarks,
    })
}
