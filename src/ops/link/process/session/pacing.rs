//! How long the loop rests, and what it says of the agents here meanwhile.

use std::time::Duration;

use super::{COMPARE, Linked};
use crate::domain::Agent;
use crate::ops::error::CommandError;
use crate::ops::link::process::runs;
use crate::store::Mesh;

impl Linked {
    /// How long nothing happens by itself.
    pub(super) fn pause(&self) -> Duration {
        let end = self.grants.next_end().map(|end| end.saturating_duration_since(std::time::Instant::now()));
        if (self.has_more_to_send || !self.mail.is_empty()) && self.can_decide().is_some() {
            return Duration::ZERO;
        }
        let most = match self.waiting.is_empty() {
            true if self.runs.is_open => runs::LOOK,
            true => COMPARE,
            false => Duration::from_millis(100),
        };
        let presence = self.presence.pause(self.speakers()).min(most);
        end.unwrap_or(presence).min(presence).max(Duration::from_millis(10))
    }

    /// The agents here, if this machine may say how they do: others could have its name otherwise.
    pub(super) fn speakers(&self) -> Option<&[Agent]> {
        self.can_decide().map(|_| &*self.local.agents)
    }

    /// Says what the agents here do, and writes down what was heard of others, as far as it is time.
    pub(super) async fn share_presence(&mut self, mesh: &Mesh) -> Result<(), CommandError> {
        let may_speak = self.can_decide().is_some();
        let Self { presence, table, nats, local, .. } = self;
        presence.share(mesh, table, nats, may_speak.then_some(&*local.agents)).await
    }
}
