//! What a message is for: a question, a blocked agent, work to be done, or only a label.

use jiff::SignedDuration;

use super::Importance;

/// The kind of a message. A message need not have one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MessageKind {
    Question,
    /// The sender cannot go on without an answer.
    Block,
    Delegate,
    Handoff,
    Claim,
    /// The sender no longer needs something. Old news of that kind would mislead.
    Release,
    Ack,
    Info,
}

impl MessageKind {
    pub const ALL: [Self; 8] = [
        Self::Question,
        Self::Block,
        Self::Delegate,
        Self::Handoff,
        Self::Claim,
        Self::Release,
        Self::Ack,
        Self::Info,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Block => "block",
            Self::Delegate => "delegate",
            Self::Handoff => "handoff",
            Self::Claim => "claim",
            Self::Release => "release",
            Self::Ack => "ack",
            Self::Info => "info",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == text)
    }

    /// Whether the recipient owes an answer.
    pub fn wants_answer(self) -> bool {
        matches!(self, Self::Question | Self::Block)
    }

    /// Whether the sender is told if nobody reads it for [`Self::UNREAD_TOO_LONG`].
    pub fn is_reported_unread(self) -> bool {
        matches!(self, Self::Question | Self::Delegate)
    }

    pub const UNREAD_TOO_LONG: SignedDuration = SignedDuration::from_mins(15);

    /// How long it stays valid unread, unless its sender says otherwise. `None`: for ever.
    pub fn default_ttl(self) -> Option<SignedDuration> {
        (self == Self::Release).then_some(SignedDuration::from_mins(5))
    }

    /// How important it is, unless its sender says otherwise.
    pub fn default_importance(self) -> Importance {
        if self == Self::Block { Importance::Urgent } else { Importance::Normal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in MessageKind::ALL {
            assert_eq!(MessageKind::parse(kind.name()), Some(kind));
        }
        for bad in ["", "Question", "questions", "reply"] {
            assert_eq!(MessageKind::parse(bad), None, "{bad:?}");
        }
    }
}
