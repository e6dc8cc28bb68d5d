//! Codecs: each decodes the hook payloads of one harness and encodes our answers. What they share is here.
//!
//! A codec only translates. It knows the names of events, tools and fields, and which answers a harness accepts; what
//! follows from an event is decided by the engine in `ops::hook`, which knows no harness.

pub(super) mod answers;
pub(super) mod claude_payload;
mod decode_error;
pub(super) mod lenient_json;
pub(super) mod plugin_answers;
pub(super) mod tool_input;
pub(super) mod tool_outcome;

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::domain::hook::{HookAnswer, HookEvent};
use crate::domain::{Harness, SessionId};
use lenient_json::Maybe;

pub use decode_error::DecodeError;

/// Decodes a payload into an event. `event` is the harness's name for it; the name in the payload is ignored. Unknown
/// fields are ignored, fields of an unexpected type count as missing, and unknown events are `HookMoment::Other`.
pub fn decode(harness: Harness, event: &str, input: &[u8]) -> Result<HookEvent, DecodeError> {
    let codec = codec(harness).ok_or(DecodeError::NoHooks(harness))?;
    codec.decode(event, input)
}

/// Encodes the answer in the harness's format; `None` if there is nothing to say, or if the harness does not accept
/// this answer at this event.
pub fn encode(harness: Harness, event: &str, answer: &HookAnswer) -> Option<String> {
    let codec = codec(harness)?;
    let accepted = codec.accepts(event);
    let said = match answer {
        HookAnswer::Deny(reason) if accepted.deny() => codec.deny(event, reason),
        HookAnswer::Context(text) if accepted.context() => codec.context(event, text),
        HookAnswer::Allow if accepted.allow() => codec.allow()?,
        HookAnswer::GoOn(text) if accepted.go_on() => codec.go_on(event, text),
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
pub fn max_answer_chars(harness: Harness, event: &str) -> Option<usize> {
    let codec = codec(harness)?;
    let accepted = codec.accepts(event);
    (accepted.context() || accepted.go_on()).then(|| codec.max_answer_chars())
}

/// Whether text given at this event stays in the conversation even if the user interrupts the turn before the model
/// answers.
pub fn keeps_text_after_interrupt(harness: Harness, event: &str) -> bool {
    codec(harness).is_some_and(|codec| codec.keeps_text_after_interrupt(event))
}

/// Whether the text that makes the agent continue is shown as its user's prompt.
pub fn continues_as_user_prompt(harness: Harness) -> bool {
    codec(harness).is_some_and(HookCodec::continues_as_user_prompt)
}

/// Whether the model can be told something only at a prompt, not at the start of its session.
pub fn informs_only_at_prompt(harness: Harness) -> bool {
    codec(harness).is_some_and(HookCodec::informs_only_at_prompt)
}

/// Whether the harness does not report the end of a turn that went on at a stop.
pub fn hides_end_of_continued_turn(harness: Harness) -> bool {
    codec(harness).is_some_and(HookCodec::hides_end_of_continued_turn)
}

/// The hook format of one harness. By default answers have Claude Code's format.
pub trait HookCodec: Sync {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, DecodeError>;

    /// The answers that the harness accepts at an event.
    fn accepts(&self, event: &str) -> AcceptedAnswers;

    /// Maximum number of characters that reach the model unabridged.
    fn max_answer_chars(&self) -> usize {
        8_000
    }

    /// Whether text given at an event stays in the conversation even if the user interrupts the turn before the model
    /// answers. `false` where that was not observed: then mail may be delivered twice.
    fn keeps_text_after_interrupt(&self, _event: &str) -> bool {
        false
    }

    /// Whether the text that makes the agent continue is shown as its user's prompt.
    fn continues_as_user_prompt(&self) -> bool {
        false
    }

    /// Whether the model can be told something only at a prompt, not at the start of its session.
    fn informs_only_at_prompt(&self) -> bool {
        false
    }

    /// Whether it does not report the end of a turn that went on at a stop.
    fn hides_end_of_continued_turn(&self) -> bool {
        false
    }

    /// The tool must not be used.
    fn deny(&self, event: &str, reason: &str) -> Value {
        answers::deny(event, reason)
    }

    /// The tool may be used without asking; `None` if the format has no such answer.
    fn allow(&self) -> Option<Value> {
        None
    }

    /// Text for the model.
    fn context(&self, event: &str, text: &str) -> Value {
        answers::context(event, text)
    }

    /// The model must not stop; the text is why.
    fn go_on(&self, _event: &str, text: &str) -> Value {
        answers::block(text)
    }
}

/// The answers that a harness accepts at an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AcceptedAnswers {
    Nothing,
    Allow,
    AllowOrDeny,
    Deny,
    DenyOrContext,
    Context,
    ContextOrGoOn,
    GoOn,
}

impl AcceptedAnswers {
    fn allow(self) -> bool {
        matches!(self, Self::Allow | Self::AllowOrDeny)
    }

    fn deny(self) -> bool {
        matches!(self, Self::Deny | Self::DenyOrContext | Self::AllowOrDeny)
    }

    fn context(self) -> bool {
        matches!(self, Self::Context | Self::DenyOrContext | Self::ContextOrGoOn)
    }

    fn go_on(self) -> bool {
        matches!(self, Self::GoOn | Self::ContextOrGoOn)
    }
}

fn codec(harness: Harness) -> Option<&'static dyn HookCodec> {
    super::support(harness).map(|it| it.codec())
}

/// The session id, if it is valid.
pub(super) fn session(id: Maybe<String>) -> Option<SessionId> {
    SessionId::new(id.0?).ok()
}
