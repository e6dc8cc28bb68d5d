//! What the harnesses say at a hook and how they want to be answered: a file for each.
//!
//! A codec only translates. It knows the names of events, tools and fields, and where a harness listens; what follows
//! from an event is for the engine, which knows no harness.

mod claude;
mod codex;
mod copilot;
mod ending;
mod gemini;
mod lenient;
mod opencode;
mod payload;
mod pi;
mod tool;
mod words;

#[cfg(test)]
mod tests;

use crate::domain::hook::{Answer, HookEvent};
use crate::domain::{Harness, SessionId};
use lenient::Maybe;
use words::Tongue;

/// Turns what the harness says into an event. `event` is the harness's own name for it; what the payload itself calls
/// it is ignored. The error says why it can't be read; unknown fields are ignored, fields of another type than
/// expected count as missing, and unknown events are `Moment::Other`.
pub fn decode(harness: Harness, event: &str, input: &[u8]) -> Result<HookEvent, String> {
    let codec = codec(harness).ok_or_else(|| format!("`{harness}` has no hooks"))?;
    codec.decode(event, input)
}

/// Says the answer in the harness's own words; `None` where there is nothing to say, or where the harness can't be
/// told that at this event.
pub fn encode(harness: Harness, event: &str, answer: &Answer) -> Option<String> {
    let codec = codec(harness)?;
    let can = codec.can(event);
    let tongue = codec.tongue(event);
    let said = match answer {
        Answer::Deny(reason) if can.deny() => tongue.deny(event, reason),
        Answer::Context(text) if can.context() => tongue.context(event, text),
        Answer::Allow if can == Can::Allow => tongue.allow()?,
        Answer::GoOn(text) if can.go_on() => tongue.go_on(event, text),
        Answer::Silence | Answer::Deny(_) | Answer::Allow | Answer::Context(_) | Answer::GoOn(_) => {
            return None;
        }
    };
    Some(said.to_string())
}

/// How many characters the model can be given at this event; `None` if it can't be given any.
pub fn room(harness: Harness, event: &str) -> Option<usize> {
    let codec = codec(harness)?;
    let can = codec.can(event);
    (can.context() || can.go_on()).then(|| codec.room())
}

/// Does what is said at this event stay in the conversation, also when the user interrupts the turn before the model says
/// anything?
pub fn keeps(harness: Harness, event: &str) -> bool {
    codec(harness).is_some_and(|codec| codec.keeps(event))
}

/// Is what makes the agent go on shown as its user's prompt?
pub fn speaks_as_user(harness: Harness) -> bool {
    codec(harness).is_some_and(Codec::speaks_as_user)
}

/// One harness's way of speaking.
trait Codec {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String>;

    /// What can be answered at an event.
    fn can(&self, event: &str) -> Can;

    /// How many characters reach the model whole.
    fn room(&self) -> usize {
        8_000
    }

    /// Whether what is said at an event stays in the conversation, also when the user interrupts the turn before the model
    /// says anything. `false` where that was not seen: then mail may be given twice.
    fn keeps(&self, _event: &str) -> bool {
        false
    }

    /// Whether what makes it go on is shown as its user's prompt.
    fn speaks_as_user(&self) -> bool {
        false
    }

    /// In whose words it is answered.
    fn tongue(&self, event: &str) -> Tongue;
}

/// What a harness takes for an answer at an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Can {
    Nothing,
    Allow,
    Deny,
    DenyOrContext,
    Context,
    ContextOrGoOn,
    GoOn,
}

impl Can {
    fn deny(self) -> bool {
        matches!(self, Self::Deny | Self::DenyOrContext)
    }

    fn context(self) -> bool {
        matches!(self, Self::Context | Self::DenyOrContext | Self::ContextOrGoOn)
    }

    fn go_on(self) -> bool {
        matches!(self, Self::GoOn | Self::ContextOrGoOn)
    }
}

fn codec(harness: Harness) -> Option<&'static dyn Codec> {
    match harness {
        Harness::Claude => Some(&claude::Claude),
        Harness::Codex => Some(&codex::Codex),
        Harness::Gemini => Some(&gemini::Gemini),
        Harness::Opencode => Some(&opencode::Opencode),
        Harness::Pi => Some(&pi::Pi),
        Harness::Copilot => Some(&copilot::Copilot),
        Harness::Terminal | Harness::Other => None,
    }
}

/// A session id, if it can be one.
fn session(id: Maybe<String>) -> Option<SessionId> {
    SessionId::new(id.0?).ok()
}
