//! The results of sending one message: one per copy.

use crate::domain::link::MachineName;
use crate::domain::{AgentName, MessageId};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::messages::recipients::{BroadcastSummary, ResolvedGroup, how_to_reach};
use crate::ops::wake::WakeRoute;
use crate::store::MessageStem;

/// A copy that was accepted.
#[derive(Clone, Debug)]
pub struct AcceptedCopy {
    pub to: AgentName,
    pub id: MessageId,
    pub stem: MessageStem,
    /// It is kept until the recipient comes back.
    pub is_held: bool,
    /// How it gets to the recipient's attention.
    pub route: WakeRoute,
    /// If the recipient is on another machine.
    pub elsewhere: Option<QueuedElsewhere>,
}

/// A copy that is on its way to another machine.
#[derive(Clone, Debug)]
pub struct QueuedElsewhere {
    pub machine: MachineName,
    /// Why it does not get there at present.
    pub why_it_waits: Option<String>,
}

impl AcceptedCopy {
    /// Where it is: a state of receipts.
    pub fn state(&self) -> &'static str {
        if self.elsewhere.is_some() { "queued" } else { "stored" }
    }

    /// The recipient and where it is, and what to say of how it gets there: `Anna on laptop (queued)`, if it is not
    /// here.
    pub fn to_elsewhere(&self) -> Option<(String, Option<&str>)> {
        let elsewhere = self.elsewhere.as_ref()?;
        Some((format!("{} on {} (queued)", self.to, elsewhere.machine), elsewhere.why_it_waits.as_deref()))
    }
}

/// A copy that was refused, and why.
#[derive(Clone, Debug)]
pub struct RefusedCopy {
    pub to: String,
    pub error: CommandError,
}

#[derive(Clone, Debug, Default)]
pub struct SendReport {
    pub sent: Vec<AcceptedCopy>,
    pub failed: Vec<RefusedCopy>,
    /// The groups among the recipients.
    pub groups: Vec<ResolvedGroup>,
    /// Of a broadcast only.
    pub broadcast: Option<BroadcastSummary>,
}

impl SendReport {
    /// What to say if nobody got it although nothing failed.
    pub fn nobody(&self) -> Option<String> {
        if !self.sent.is_empty() || !self.failed.is_empty() {
            return None;
        }
        Some(match self.broadcast {
            Some(BroadcastSummary { scope, elsewhere }) if elsewhere > 0 => {
                format!("nobody else is in this {scope}; {}", how_to_reach(elsewhere))
            }
            _ => "nobody else is here; `msg agents` shows who is".to_string(),
        })
    }

    /// The error to report: that of the only recipient, or a summary with each error once.
    pub fn error(&self) -> Option<CommandError> {
        match (self.failed.as_slice(), self.sent.len()) {
            ([], _) => None,
            ([only], 0) => Some(only.error.clone()),
            (failed, sent) => {
                let names: Vec<String> = failed.iter().map(|refused| refused.to.clone()).collect();
                let why = failed.iter().map(|refused| refused.error.message.clone());
                let why = why.collect::<Vec<_>>().join("; ");
                let text = format!("sent to {sent} of {}; not sent: {why}", sent + failed.len());
                let mut error =
                    CommandError::new(CommandErrorKind::NotAllSent, text).facts("notSentTo", names);
                for RefusedCopy { to, error: own } in failed {
                    for hint in &own.hints {
                        let hint = if failed.len() > 1 { format!("{to}: {hint}") } else { hint.clone() };
                        error = error.hint(hint);
                    }
                }
                Some(error)
            }
        }
    }
}
