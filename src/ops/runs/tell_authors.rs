//! Telling whoever did the work that `msg crew review` is about what its reviewer thinks of it.
//!
//! It is the reviewer's supervisor that tells, so that whoever asked for the review may be killed meanwhile. It writes down
//! whom it told.

use std::sync::Arc;

use crate::domain::runs::{ReviewOutcome, Run, RunId, RunParent, RunReview};
use crate::domain::{Agent, AgentName, Notice, PeerText, SessionId};
use crate::store::{Census, Mesh, ReviewedWork};

use super::review_outcome::review_outcome;
use super::supervisor::Supervisor;
use super::telling::{live, parent, run_words, tell_end, tell_review};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::runner::carry_out;

impl Supervisor<'_> {
    /// Tells the parent of the end, and of a review those whose work it is about.
    pub(super) fn tell_of_end(&self) -> Result<(), CommandError> {
        let Some(work) = &self.order.reviewed else {
            let told = tell_end(self.op, self.mesh, &self.run);
            carry_out(self.op);
            return told;
        };
        let told = tell_authors(self.op, self.mesh, &self.run, work);
        let missed = carry_out(self.op);
        let told = told?.into_iter().filter(|name| !missed.contains(name)).collect::<Vec<_>>();
        Ok(self.mesh.runs().put_told(&self.run.id, &told)?)
    }
}

/// Tells the authors the verdict, if there is one. The parent of the review is told of its end, unless it is one of them.
/// Returns the authors.
fn tell_authors(
    op: &Op,
    mesh: &Mesh,
    run: &Run,
    work: &ReviewedWork,
) -> Result<Vec<AgentName>, CommandError> {
    let outcome = review_outcome(mesh, run)?;
    if !matches!(outcome, ReviewOutcome::Given(_)) {
        tell_end(op, mesh, run)?;
        return Ok(Vec::new());
    }
    let review = RunReview { profile: run.profile.clone(), run: Some(run.id.clone()), outcome };
    let authors = authors(mesh, work)?;
    let notice = notice(mesh, work, &review)?;
    for author in &authors {
        let failure = format!("{} was not told of the review in run {}", author.name, run.id);
        op.notify(Arc::clone(author), notice.clone(), failure);
    }
    let asked = parent(mesh, &run.parent)?;
    if !asked.is_some_and(|asked| authors.iter().any(|author| author.session == asked.session)) {
        tell_end(op, mesh, run)?;
    }
    Ok(authors.iter().map(|author| author.name.clone()).collect())
}

/// The live agents whose work it is, each once: of a run its worker, and if that is gone, whoever asked for the run.
fn authors(mesh: &Mesh, work: &ReviewedWork) -> Result<Vec<Arc<Agent>>, CommandError> {
    let census = mesh.registry().census()?;
    let mut authors: Vec<Arc<Agent>> = Vec::new();
    let sessions = work.by_sessions.iter().map(|session| of_session(&census, session));
    let runs = work.by_runs.iter().map(|id| of_run(mesh, &census, id));
    for author in sessions.chain(runs) {
        let Some(author) = author? else { continue };
        if !authors.iter().any(|known| known.session == author.session) {
            authors.push(author);
        }
    }
    Ok(authors)
}

fn of_session(census: &Census, session: &str) -> Result<Option<Arc<Agent>>, CommandError> {
    let session = Some(SessionId::new(session)?);
    Ok(live(census, &RunParent { session, ..RunParent::default() }))
}

fn of_run(mesh: &Mesh, census: &Census, id: &str) -> Result<Option<Arc<Agent>>, CommandError> {
    let Some(run) = run_named(mesh, id)? else { return Ok(None) };
    // A name may be another agent's by now.
    let worker = run.session.as_ref().and_then(|session| {
        live(census, &RunParent { session: Some(session.clone()), ..RunParent::default() })
    });
    match worker {
        Some(worker) => Ok(Some(worker)),
        None => parent(mesh, &run.parent),
    }
}

fn run_named(mesh: &Mesh, id: &str) -> Result<Option<Run>, CommandError> {
    // One that can't be an id was written by a later version.
    let Ok(id) = RunId::new(id) else { return Ok(None) };
    Ok(mesh.runs().get(&id)?)
}

fn notice(mesh: &Mesh, work: &ReviewedWork, review: &RunReview) -> Result<Notice, CommandError> {
    let run = work.run.as_deref().map(|id| run_named(mesh, id)).transpose()?.flatten();
    let notice = match &run {
        Some(run) => run_words(run).say(" was reviewed."),
        None => Notice::new()
            .say("The commits of ")
            .code(&PeerText::new(&work.named))
            .say(" in this repository were reviewed."),
    };
    Ok(tell_review(notice, review))
}
