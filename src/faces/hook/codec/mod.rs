//! Codecs: one file per harness, which decodes its hook payloads and encodes our answers.
//!
//! A codec only translates. It knows the names of events, tools and fields, and which answers a harness accepts; what
//! follows from an event is decided by the engine in `ops::hook`, which knows no harness.

mod answer_format;
mod claude;
mod claude_payload;
mod codex;
mod copilot;
mod gemini;
mod lenient_json;
mod opencode;
mod pi;
mod tool_input;
mod tool_outcome;

#[cfg(test)]
mod tests;

use crate::domain::hook::{HookAnswer, HookEvent};
use crate::domain::{Harness, SessionId};
use answer_format::AnswerFormat;
use lenient_json::Maybe;

/// Decodes a payload into an event. `event` is the harness's name for it; the name in the payload is ignored. The error
/// says why the payload cannot be read; unknown fields are ignored, fields of an unexpected type count as missing, and
/// unknown events are `Moment::Other`.
pub fn decode(harness: Harness, event: &str, input: &[u8]) -> Result<HookEvent, String> {
    let codec = codec(harness).ok_or_else(|| format!("`{harness}` has no hooks"))?;
    codec.decode(event, input)
}

/// Encodes the answer in the harness's format; `None` if there is nothing to say, or if the harness does not accept
/// this answer at this event.
pub fn encode(harness: Harness, event: &str, answer: &HookAnswer) -> Option<String> {
    let codec = codec(harness)?;
    let can = codec.can(event);
    let tongue = codec.tongue(event);
    let said = match answer {
        HookAnswer::Deny(reason) if can.deny() => tongue.deny(event, reason),
        HookAnswer::Context(text) if can.context() => tongue.context(event, text),
        HookAnswer::Allow if can == AcceptedAnswers::Allow => tongue.allow()?,
        HookAnswer::GoOn(text) if can.go_on() => tongue.go_on(event, text),
        HookAnswer::Silence
        | HookAnswer::Deny(_)
        | HookAnswer::Allow
        | HookAnswer::Context(_)
        | HookAnswer::GoOn(_) => {
            return None;
        }
    };
    Some(said.to_string())
}

/// Maximum number of characters for the model at this event; `None` if it accepts none.
pub fn room(harness: Harness, event: &str) -> Option<usize> {
    let codec = codec(harness)?;
    let can = codec.can(event);
    (can.context() || can.go_on()).then(|| codec.room())
}

/// Whether text given at this event stays in the conversation even if the user interrupts the turn before the model
/// answers.
pub fn keeps(harness: Harness, event: &str) -> bool {
    codec(harness).is_some_and(|codec| codec.keeps(event))
}

/// Whether the text that makes the agent continue is shown as its user's prompt.
pub fn speaks_as_user(harness: Harness) -> bool {
    codec(harness).is_some_and(Codec::speaks_as_user)
}

/// The hook format of one harness.
trait Codec {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String>;

    /// The answers that the harness accepts at an event.
    fn can(&self, event: &str) -> AcceptedAnswers;

    /// Maximum number of characters that reach the model unabridged.
    fn room(&self) -> usize {
        8_000
    }

    /// Whether text given at an event stays in the conversation even if the user interrupts the turn before the model
    /// answers. `false` where that was not observed: then mail may be delivered twice.
    fn keeps(&self, _event: &str) -> bool {
        false
    }

    /// Whether the text that makes the agent continue is shown as its user's prompt.
    fn speaks_as_user(&self) -> bool {
        false
    }

    /// The answer format at an event.
    fn tongue(&self, event: &str) -> AnswerFormat;
}

/// The answers that a harness accepts at an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AcceptedAnswers {
    Nothing,
    Allow,
    Deny,
    DenyOrContext,
    Context,
    ContextOrGoOn,
    GoOn,
}

impl AcceptedAnswers {
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

/// The session id, if it is valid.
fn session(id: Maybe<String>) -> Option<SessionId> {
    SessionId::new(id.0?).ok()
}
