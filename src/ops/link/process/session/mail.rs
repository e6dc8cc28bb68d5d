//! Mail both ways. Nothing is taken or sent without the lease: another machine may have this name then.

use super::problems::Part;
use super::{FULL, Linked, SLICE};
use crate::ops::link::process::Link;
use crate::ops::link::process::mail::MailReceiver;
use crate::ops::link::process::receipts::{self, Slice};
use crate::ops::link::process::send_error::SendError;
use crate::ops::link::process::sending;
use crate::sys::nats::NatsError;

impl Link<'_> {
    pub(super) async fn send_mail(&mut self, linked: &mut Linked) {
        let now = tokio::time::Instant::now();
        if linked.full_until.is_some_and(|until| now < until) {
            return;
        }
        let sent = self.send_all(linked).await;
        linked.has_more_to_send = matches!(&sent, Ok(slices) if slices.contains(&Slice::More));
        linked.full_until = match &sent {
            Err(SendError::Server(NatsError::StreamFull { .. } | NatsError::DiskFull { .. })) => {
                Some(now + FULL)
            }
            _ => None,
        };
        self.note_part(linked, Part::Mail, sent.map(drop));
        // Somebody may look at how much is left.
        if self.mesh.remote().queued_count().is_ok_and(|queued| queued != self.state.queued) {
            self.set_stage(self.state.stage, self.state.problem.clone());
        }
    }

    async fn send_all(&self, linked: &Linked) -> Result<[Slice; 2], SendError> {
        let queued = sending::send_queued(self.op, self.mesh, &linked.nats, &linked.table, SLICE).await?;
        Ok([queued, receipts::send_receipts(self.mesh, &linked.nats, SLICE).await?])
    }

    /// Takes what has come. Before all records are known, nobody can say who its senders are.
    pub(super) async fn deliver_mail(&mut self, linked: &mut Linked) {
        if linked.mail.is_empty() || linked.can_decide().is_none() {
            return;
        }
        let Linked { nats, table, mail, .. } = linked;
        MailReceiver { op: self.op, mesh: self.mesh, nats, table }.receive(mail, SLICE).await;
        // Receipts are due, and perhaps something of a run.
        linked.is_dirty = true;
        linked.runs.is_open = true;
    }
}
