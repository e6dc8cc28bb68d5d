//! What commands ask while the link is connected, and the orderly end.

use std::time::Duration;

use super::{Linked, TOO_EARLY};
use crate::domain::link::LeaseEpoch;
use crate::ops::link::ask;
use crate::ops::link::process::decide::Arbiter;
use crate::ops::link::process::local::LocalState;
use crate::ops::link::process::reconcile::{Grants, Reconciler};
use crate::ops::link::process::serve::Asked;
use crate::ops::link::process::table::machine_key;
use crate::ops::link::process::{Link, problem, runs};
use crate::store::LinkConfig;
use crate::store::link_protocol::{LinkAnswer, LinkRequest};
use crate::sys::nats::NatsError;
use crate::sys::test_switches;

/// How long an orderly end takes at most.
const GOODBYE: Duration = Duration::from_secs(2);

impl Link<'_> {
    /// Answers those who came too early, as soon as that is possible, or when they have waited long enough.
    pub(super) async fn answer_waiting(&mut self, linked: &mut Linked) {
        let can_decide = linked.can_decide().is_some();
        let is_due = |(_, since): &(Asked, tokio::time::Instant)| can_decide || since.elapsed() >= TOO_EARLY;
        let (due, waiting) = std::mem::take(&mut linked.waiting).into_iter().partition(is_due);
        linked.waiting = waiting;
        for (asked, _) in due {
            self.was_asked_to_end(linked, asked).await;
        }
    }

    /// Answers a command. Returns whether it asked for the end.
    pub(super) async fn was_asked_to_end(&mut self, linked: &mut Linked, asked: Asked) -> bool {
        let Asked { request, answer, since } = asked;
        let is_for_link = matches!(request, LinkRequest::Poke | LinkRequest::Stop);
        if !is_for_link && since.elapsed() >= ask::decision_limit() {
            // Nobody waits for it any more. What is decided now would be a surprise.
            return false;
        }
        linked.is_dirty = true;
        let epoch = linked.can_decide();
        let decided = match (&request, &epoch) {
            (LinkRequest::Poke, _) => LinkAnswer::Done,
            (LinkRequest::Stop, _) => {
                drop(answer.send(LinkAnswer::Done));
                return true;
            }
            (_, None) => LinkAnswer::Unreachable { problem: self.problem_now() },
            (request, Some(epoch)) => match self.decide(linked, epoch, request).await {
                Ok(answer) => answer,
                Err(error @ NatsError::Unknown { .. }) => {
                    LinkAnswer::Unknown { problem: problem::of(&error, &self.config) }
                }
                Err(error) => LinkAnswer::Unreachable { problem: problem::of(&error, &self.config) },
            },
        };
        // It is granted only if the same lease was held all the time: what names an earlier one is free for others.
        let is_held = linked.epoch() == epoch;
        let decided = match decided {
            LinkAnswer::Granted { .. } if !is_held => LinkAnswer::Unknown { problem: self.problem_now() },
            decided => decided,
        };
        // Whoever is refused looks at the mirror next: it must not say that the thing is free. Nor must it say of a task
        // that was just reopened that it is done.
        let is_looked_at = matches!(decided, LinkAnswer::Taken { .. } | LinkAnswer::Finished { .. })
            || matches!(request, LinkRequest::ReopenTask { .. });
        if is_looked_at
            && linked.table.is_mirror_behind
            && let Err(error) = self.write_mirror(linked)
        {
            self.op.warn(format!("what other machines do could not be written down: {error}"));
        }
        if matches!(decided, LinkAnswer::Granted { .. }) {
            match &request {
                LinkRequest::TakeName { agent } => linked.grants.add_name(agent),
                LinkRequest::TakeTask { key, .. }
                | LinkRequest::ConfirmTask { key, .. }
                | LinkRequest::CompleteTask { key, .. }
                | LinkRequest::ReopenTask { key, .. } => linked.grants.add_task(key),
                LinkRequest::TakePaths { agent, repository, reservations } => {
                    linked.grants.add_paths(agent, repository, reservations);
                }
                _ => {}
            }
        }
        drop(answer.send(decided));
        false
    }

    async fn decide(
        &self,
        linked: &mut Linked,
        epoch: &LeaseEpoch,
        request: &LinkRequest,
    ) -> Result<LinkAnswer, NatsError> {
        if let LinkRequest::AskRun { id } = request {
            linked.runs.is_open = true;
            return runs::ask(self.mesh, &linked.nats, &linked.table, id).await;
        }
        decide(linked, epoch, request).await
    }

    /// Gives everything back at an orderly end.
    pub(super) async fn say_goodbye(&mut self, linked: &mut Linked) {
        if linked.epoch().is_none() || !linked.nats.is_connected() {
            return;
        }
        // It may be linked as another machine, or with another mesh, from now on.
        let is_same = |config: &LinkConfig| {
            (&config.machine, &config.address) == (&self.config.machine, &self.config.address)
        };
        let config = self.mesh.link().config();
        let is_over = config.is_ok_and(|config| !config.as_ref().is_some_and(is_same));
        // Its agents go on: the next link process has the same lease if it comes before that is over, and nobody takes what
        // they work on because this one was replaced.
        if !is_over && (!linked.is_local_known || !linked.local.agents.is_empty()) {
            return;
        }
        let epoch = linked.epoch();
        let goodbye = async {
            if let Some(epoch) = epoch.filter(|_| is_over) {
                // Not only for now: the others are to forget this machine's agents.
                let Linked { nats, table, told, .. } = &mut *linked;
                let mut grants = Grants::default();
                let mut reconciler =
                    Reconciler { op: self.op, nats, table, epoch: &epoch, grants: &mut grants, told };
                let nothing =
                    LocalState { knows_all_agents: true, knows_all_tasks: true, ..LocalState::default() };
                drop(reconciler.run(&nothing).await);
            }
            let key = machine_key(&linked.table.me);
            // With the lease everything that names it is free.
            if let Ok(Some(record)) = linked.nats.get(&key).await {
                drop(linked.nats.delete(&key, record.revision).await);
            }
        };
        drop(tokio::time::timeout(test_switches::or_long(GOODBYE), goodbye).await);
        self.state.epoch = None;
    }
}

async fn decide(
    linked: &mut Linked,
    epoch: &LeaseEpoch,
    request: &LinkRequest,
) -> Result<LinkAnswer, NatsError> {
    let mut arbiter = Arbiter { nats: &linked.nats, table: &mut linked.table, epoch };
    match request {
        LinkRequest::Poke | LinkRequest::Stop | LinkRequest::AskRun { .. } => Ok(LinkAnswer::Done),
        LinkRequest::TakeName { agent } => arbiter.take_name(agent).await,
        LinkRequest::TakeTask { agent, key, reason } => arbiter.take_task(agent, key, reason.as_ref()).await,
        LinkRequest::ConfirmTask { agent, key, reason } => {
            arbiter.confirm_task(agent, key, reason.as_ref()).await
        }
        LinkRequest::CompleteTask { agent, key, notes } => {
            arbiter.complete_task(agent, key, notes.as_ref()).await
        }
        LinkRequest::ReopenTask { agent, key, reason } => arbiter.reopen_task(agent, key, reason).await,
        LinkRequest::TakePaths { agent, repository, reservations } => {
            arbiter.take_paths(agent, repository, reservations).await
        }
    }
}
