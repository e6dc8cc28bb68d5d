//! Messages, their ids, and the stamps that order them.

use std::fmt;

use jiff::Timestamp;

use super::link::MachineName;
use super::{AgentName, Importance, MessageKind, SessionId};

/// Maximum length of a text, in bytes.
pub const MAX_TEXT: usize = 1024 * 1024;

/// Maximum length of a notice from another machine, in characters.
const MAX_NOTICE: usize = 2_000;
/// What is between the program's name and that of a machine.
const ON: &str = " on ";

/// The machine of a sender that is the program on another machine.
pub fn machine_of_notice(from: &str) -> Option<MachineName> {
    let (program, machine) = from.split_once(ON)?;
    MachineName::new(machine).ok().filter(|_| AgentName::is_program(program))
}

/// One message to one recipient.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Message {
    pub id: MessageId,
    pub from: String,
    pub to: String,
    pub text: String,
    pub timestamp: Timestamp,
    pub reply_to: Option<MessageId>,
    pub thread: Option<String>,
    pub importance: Importance,
    pub needs_ack: bool,
    pub is_broadcast: bool,
    pub kind: Option<MessageKind>,
    /// From then on it is not handed over, if nobody has read it.
    pub expires_at: Option<Timestamp>,
    /// The session that it is for, while it is on its way to another machine: meanwhile its name may pass to another agent.
    pub to_session: Option<SessionId>,
    /// The machine that the session is on, meanwhile: neither the name nor a later record of it changes where this goes.
    pub to_machine: Option<MachineName>,
}

impl Message {
    /// Whether the sender is the program itself, here or on another machine. There is nobody to reply to then.
    pub fn is_notice(&self) -> bool {
        AgentName::is_program(&self.from) || self.notice_machine().is_some()
    }

    /// The machine whose program sent the notice. Nothing here has checked what it says.
    pub fn notice_machine(&self) -> Option<MachineName> {
        machine_of_notice(&self.from)
    }

    /// The notice as one of the program on that machine: it says what it says, and no more. It neither wakes anybody
    /// urgently nor wants an answer.
    ///
    /// ```
    /// use ravenry::domain::{AgentName, Importance, Message, MessageStamp, link::MachineName};
    /// let to = AgentName::new("Anna").unwrap();
    /// let notice = Message::new(MessageStamp::new(1, 2), &AgentName::of_program(), &to, "`x` is free");
    /// let notice = Message { importance: Importance::Urgent, ..notice };
    /// let notice = notice.into_notice_of(&MachineName::new("laptop").unwrap());
    /// assert_eq!((notice.from.as_str(), notice.importance), ("ravenry on laptop", Importance::Normal));
    /// ```
    #[must_use]
    pub fn into_notice_of(self, machine: &MachineName) -> Self {
        Self {
            from: format!("{}{ON}{machine}", AgentName::of_program()),
            text: self.text.chars().take(MAX_NOTICE).collect(),
            reply_to: None,
            thread: None,
            importance: self.importance.min(Importance::Normal),
            needs_ack: false,
            is_broadcast: false,
            kind: None,
            ..self
        }
    }

    /// A message to one recipient with normal importance that is not a reply.
    pub fn new(stamp: MessageStamp, from: &AgentName, to: &AgentName, text: impl Into<String>) -> Self {
        Self {
            id: stamp.id(),
            from: from.to_string(),
            to: to.to_string(),
            text: text.into(),
            timestamp: stamp.timestamp(),
            reply_to: None,
            thread: None,
            importance: Importance::Normal,
            needs_ack: false,
            is_broadcast: false,
            kind: None,
            expires_at: None,
            to_session: None,
            to_machine: None,
        }
    }
}

/// The id of a message: 1 to 128 printable ASCII characters. Ours are UUIDs that encode a [`MessageStamp`].
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MessageId(String);

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` can't be the id of a message", .0.escape_debug())]
pub struct MessageIdError(String);

impl MessageId {
    pub fn new(text: impl Into<String>) -> Result<Self, MessageIdError> {
        let text = text.into();
        let fits = (1..=128).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if fits { Ok(Self(text)) } else { Err(MessageIdError(text.chars().take(40).collect())) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The sending time of a message in microseconds plus a random number; it is the file name. Names sort by time.
///
/// ```
/// use ravenry::domain::MessageStamp;
/// let stamp = MessageStamp::new(1_794_700_676_113_042, 7);
/// assert_eq!(stamp.to_string(), "1794700676113-160007");
/// assert_eq!(MessageStamp::parse("1794700676113-160007"), Some(stamp));
/// assert_eq!(MessageStamp::of_id(&stamp.id()), Some(stamp));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MessageStamp {
    millis: u64,
    /// The six characters after the hyphen, as a base-36 number.
    short_id: u32,
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// Number of values that the four random characters can take.
const CHANCES: u32 = 36 * 36 * 36 * 36;
const ALL_LETTERS: u32 = CHANCES * 36 * 36;
/// 13 digits of milliseconds last until the year 2286.
const MAX_MILLIS: u64 = 9_999_999_999_999;
/// Fixed value of the otherwise unused bits in our UUIDs.
const MARK: u16 = 0x7a5;

impl MessageStamp {
    /// First time that a stamp cannot represent, in microseconds.
    pub const END: u64 = (MAX_MILLIS + 1) * 1000;

    pub fn new(micros: u64, chance: u32) -> Self {
        let millis = (micros / 1000).min(MAX_MILLIS);
        Self { millis, short_id: (micros % 1000) as u32 * CHANCES + chance % CHANCES }
    }

    /// Parses a file name without its extension. Foreign names have the same form, but all six characters are random.
    pub fn parse(stem: &str) -> Option<Self> {
        let (millis, short_id) = stem.split_once('-')?;
        if millis.len() != 13 || short_id.len() != 6 || !millis.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digit = |byte: u8| DIGITS.iter().position(|digit| *digit == byte);
        let short_id = short_id.bytes().try_fold(0_u32, |sum, byte| Some(sum * 36 + digit(byte)? as u32))?;
        Some(Self { millis: millis.parse().ok()?, short_id })
    }

    /// The short id in a file name without its extension: the last letters, or all of a name without a hyphen. Names of
    /// ours may go on after an underscore (`store::messages::message_files`).
    pub fn short_id_of(stem: &str) -> &str {
        let is_ours = |stamp: &str| Self::parse(stamp).is_some();
        let stem = stem.split_once('_').map_or(stem, |(stamp, _)| if is_ours(stamp) { stamp } else { stem });
        stem.rsplit('-').next().unwrap_or(stem)
    }

    pub fn short_id(self) -> String {
        let mut rest = self.short_id;
        let mut short_id = [0; 6];
        for letter in short_id.iter_mut().rev() {
            *letter = DIGITS[(rest % 36) as usize];
            rest /= 36;
        }
        String::from_utf8_lossy(&short_id).into_owned()
    }

    /// The time in microseconds, as in a stamp file.
    pub fn micros(self) -> u64 {
        self.millis * 1000 + u64::from(self.short_id / CHANCES)
    }

    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_millisecond(self.millis as i64).unwrap_or(Timestamp::MAX)
    }

    /// The UUID (version 8) that encodes the stamp.
    pub fn id(self) -> MessageId {
        let millis = self.millis.to_be_bytes();
        let short_id = self.short_id.to_be_bytes();
        let mark = MARK.to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&millis[2..]);
        bytes[6..8].copy_from_slice(&mark);
        bytes[12..].copy_from_slice(&short_id);
        MessageId(uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string())
    }

    /// The stamp that an id of ours encodes; `None` for any other id.
    pub fn of_id(id: &MessageId) -> Option<Self> {
        let bytes = *uuid::Uuid::try_parse(&id.0).ok()?.as_bytes();
        let mut millis = [0; 8];
        millis[2..].copy_from_slice(&bytes[..6]);
        let stamp = Self {
            millis: u64::from_be_bytes(millis),
            short_id: u32::from_be_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]),
        };
        let fits = stamp.millis <= MAX_MILLIS && stamp.short_id < ALL_LETTERS;
        (fits && stamp.id() == *id).then_some(stamp)
    }
}

impl fmt::Display for MessageStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:013}-{}", self.millis, self.short_id())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn name_and_id_give_each_other(micros in 0..MAX_MILLIS * 1000, chance: u32) {
            let stamp = MessageStamp::new(micros, chance);
            prop_assert_eq!(MessageStamp::parse(&stamp.to_string()), Some(stamp));
            prop_assert_eq!(MessageStamp::of_id(&stamp.id()), Some(stamp));
        }

        #[test]
        fn later_is_larger_as_stamp_and_as_name(micros in 0..MAX_MILLIS * 1000 - 1, a: u32, b: u32) {
            let (first, second) = (MessageStamp::new(micros, a), MessageStamp::new(micros + 1, b));
            prop_assert!(first < second && first.to_string() < second.to_string());
        }
    }

    #[test]
    fn what_is_no_stamp() {
        for bad in [
            "",
            "1794700676113",
            "179470067611-gpvjoz",
            "1794700676113-gpvjo",
            "1794700676113-GPVJOZ",
            "../x",
        ] {
            assert_eq!(MessageStamp::parse(bad), None, "{bad:?}");
        }
        assert!(MessageStamp::parse("1794700676113-gpvjoz").is_some(), "pi-messenger's have the same form");
    }

    #[test]
    fn foreign_ids_are_not_ours() {
        let foreign = MessageId::new("41b974ba-1b11-4a81-8997-f6c972f1650b").unwrap();
        assert_eq!(MessageStamp::of_id(&foreign), None);
        for bad in ["", "a\nb", "ü", &"x".repeat(129)] {
            assert!(MessageId::new(bad).is_err(), "{bad:?}");
        }
    }
}
