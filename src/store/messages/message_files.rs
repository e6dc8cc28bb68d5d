//! Builds and parses the file names of messages, which encode their state: unread, taken, offered, seen or sent.
//!
//! As in Maildir, the name is the record: surfacing or acking a message is one rename.
//!
//! ```text
//! <stem> = <ms>-<letters>[_[q|b|d][<ms>]]              sent then, what kind it is, when it expires
//!
//! inbox/<To>/<stem>.json                               stored
//! inbox/<To>/.<stem>.<process>                         taken by that process
//! inbox/<To>/.<stem>.<process>,<ms>,<via>,<turn>       offered to the model of that process (see `offers`)
//! inbox/<To>/.<stem>.parked                            parked: repeatedly could not be handed over
//! seen/<To>/<stem>,<ms>,<via>[~|=][,<ms acked>].json   surfaced; never handed over if via is `expired`; `~`: its
//!                                                      reader was reminded to answer, `=`: it was answered
//! sent/<From>/<stem>,<To>[,<route>][=].json             sent, and how the recipient was notified; `=`, after a comma if
//!                                                      there is no route: it is settled whether it is unread for too
//!                                                      long
//! ```

use std::fmt;

use jiff::Timestamp;

use crate::domain::{AgentName, Message, MessageId, MessageKind, MessageStamp};

/// A message's file name without its extension. Ours contain the time of sending; foreign ones are arbitrary, as long
/// as they can be part of another file name.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MessageStem(String);

impl MessageStem {
    pub(in crate::store) fn of_file(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".json")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        ((1..=80).contains(&stem.len()) && stem.bytes().all(plain)).then(|| Self(stem.to_string()))
    }

    /// The name repeats what has to be known of a message without reading it: the kind, if it puts somebody under an
    /// obligation, and when it expires.
    pub(in crate::store) fn of_message(stamp: MessageStamp, message: &Message) -> Self {
        let letter = message.kind.and_then(letter).map_or(String::new(), String::from);
        let expiry = message.expires_at.map_or(String::new(), |at| at.as_millisecond().to_string());
        match letter.is_empty() && expiry.is_empty() {
            true => Self(stamp.to_string()),
            false => Self(format!("{stamp}_{letter}{expiry}")),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn stamp(&self) -> Option<MessageStamp> {
        MessageStamp::parse(self.0.split_once('_').map_or(&*self.0, |(stamp, _)| stamp))
    }

    /// The kind of the message, if it puts somebody under an obligation.
    pub fn kind(&self) -> Option<MessageKind> {
        let first = self.marks()?.chars().next()?;
        MessageKind::ALL.into_iter().find(|kind| letter(*kind) == Some(first))
    }

    /// Whether the recipient owes an answer to it.
    pub fn wants_answer(&self) -> bool {
        self.kind().is_some_and(MessageKind::wants_answer)
    }

    pub fn expires_at(&self) -> Option<Timestamp> {
        let marks = self.marks()?;
        let millis = marks.strip_prefix(|first: char| first.is_ascii_lowercase()).unwrap_or(marks);
        Timestamp::from_millisecond(millis.parse().ok()?).ok()
    }

    /// Whether it must not be handed over any more.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at().is_some_and(|at| at <= now)
    }

    /// The part after the stamp.
    fn marks(&self) -> Option<&str> {
        let (stamp, marks) = self.0.split_once('_')?;
        MessageStamp::parse(stamp).map(|_| marks)
    }

    /// The short id that people use for the message: its last letters.
    pub fn short_id(&self) -> &str {
        MessageStamp::short_id_of(&self.0)
    }

    /// Whether `text` refers to this message, as far as the file name shows: the letters, or a prefix of them or of our
    /// id.
    pub(in crate::store) fn is_meant_by(&self, text: &str) -> bool {
        self.short_id().eq_ignore_ascii_case(text)
            || is_prefix(text, self.short_id())
            || self.stamp().is_some_and(|stamp| is_prefix(text, stamp.id().as_str()))
    }

    /// Whether `text` is its six letters, its whole id, or either of the first message of its thread, which may be gone.
    pub(in crate::store) fn is_named(&self, thread: &str, text: &str) -> bool {
        let first = MessageId::new(thread).ok().and_then(|id| MessageStamp::of_id(&id));
        let is_it = |stamp: MessageStamp| {
            stamp.short_id().eq_ignore_ascii_case(text) || stamp.id().as_str().eq_ignore_ascii_case(text)
        };
        self.short_id().eq_ignore_ascii_case(text)
            || self.stamp().is_some_and(is_it)
            || first.is_some_and(is_it)
    }

    /// `.<stem>.<process>`
    pub(in crate::store) fn taken_by(&self, mark: &str) -> String {
        format!(".{}.{mark}", self.0)
    }

    pub(in crate::store) fn parked(&self) -> String {
        format!(".{}.parked", self.0)
    }

    pub(in crate::store) fn file(&self) -> String {
        format!("{}.json", self.0)
    }
}

impl fmt::Display for MessageStem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How names of files say that a message is of that kind; only if somebody has to find it without reading.
fn letter(kind: MessageKind) -> Option<char> {
    match kind {
        MessageKind::Question => Some('q'),
        MessageKind::Block => Some('b'),
        MessageKind::Delegate => Some('d'),
        MessageKind::Handoff
        | MessageKind::Claim
        | MessageKind::Release
        | MessageKind::Ack
        | MessageKind::Info => None,
    }
}

/// Whether `text` is a prefix of `id`, of at least four characters, so that a word does not match by chance. Ignores
/// case.
pub(in crate::store) fn is_prefix(text: &str, id: &str) -> bool {
    text.len() >= 4 && id.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text))
}

/// The meaning of a dot-file in an inbox.
#[derive(Debug, Eq, PartialEq)]
pub(in crate::store) enum DotFile {
    Parked(MessageStem),
    /// Taken by, or offered to, the process that the mark names.
    Taken(MessageStem, String),
}

impl DotFile {
    pub(in crate::store) fn of_file(name: &str) -> Option<Self> {
        let (stem, rest) = name.strip_prefix('.')?.split_once('.')?;
        let stem = MessageStem::of_file(&format!("{stem}.json"))?;
        // The part after a comma is for `Offer`.
        let mark = rest.split(',').next().unwrap_or(rest);
        Some(if rest == "parked" { Self::Parked(stem) } else { Self::Taken(stem, mark.to_string()) })
    }
}

/// The via of a message that was never handed over, because it expired.
const EXPIRED: &str = "expired";

/// How a message was handed over: `read`, `watch`, `hook HARNESS EVENT`. A trailing dot means that the sender
/// asked for no ack, so the search for owed acks need not read the message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Via(String);

impl Via {
    pub fn new(text: &str) -> Self {
        let word = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '+' };
        let text: String = text.chars().take(60).map(word).collect();
        Self(text.trim_end_matches('.').to_string())
    }

    /// The same, for a message whose sender asked for no ack.
    pub(in crate::store) fn without_ack(&self) -> Self {
        Self(format!("{}.", self.0.trim_end_matches('.')))
    }

    /// Not handed over at all: its time was over.
    pub(in crate::store) fn expired() -> Self {
        Self::new(EXPIRED).without_ack()
    }

    pub fn text(&self) -> String {
        self.0.trim_end_matches('.').replace('+', " ")
    }
}

/// A message that a hook gave to a model, until something shows that the model has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Offer {
    pub stem: MessageStem,
    /// The mark of the harness's process.
    pub(in crate::store) mark: String,
    pub at: Timestamp,
    pub via: Via,
    pub kept: OfferRetention,
}

/// Whether the harness keeps an offered message in the conversation when another prompt comes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum OfferRetention {
    /// It is kept, whatever the user does.
    Always,
    /// It is kept if the prompt belongs to the same turn. Holds a part of the turn's hash.
    InTurn(String),
    /// It is not known to be kept.
    Never,
}

impl OfferRetention {
    pub fn in_turn(turn: Option<&str>) -> Self {
        let hash =
            |turn: &str| uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, turn.as_bytes()).simple().to_string();
        turn.map_or(Self::Never, |turn| Self::InTurn(hash(turn)[..12].to_string()))
    }

    fn word(&self) -> &str {
        match self {
            Self::Always => "kept",
            Self::InTurn(hash) => hash,
            Self::Never => "-",
        }
    }
}

impl Offer {
    pub(in crate::store) fn of_file(name: &str) -> Option<Self> {
        let Some(DotFile::Taken(stem, mark)) = DotFile::of_file(name) else { return None };
        let mut words = name.split(',').skip(1);
        let at = Timestamp::from_millisecond(words.next()?.parse().ok()?).ok()?;
        let via = Via(words.next()?.to_string());
        let kept = match words.next()? {
            "kept" => OfferRetention::Always,
            "-" => OfferRetention::Never,
            hash => OfferRetention::InTurn(hash.to_string()),
        };
        words.next().is_none().then_some(Self { stem, mark, at, via, kept })
    }

    pub(in crate::store) fn file(&self) -> String {
        let taken = self.stem.taken_by(&self.mark);
        format!("{taken},{},{},{}", self.at.as_millisecond(), self.via.0, self.kept.word())
    }
}

/// What became of the answer that a message wants.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AnswerMark {
    #[default]
    None,
    /// Its reader was reminded, which happens once.
    Reminded,
    Given,
}

impl AnswerMark {
    const ALL: [Self; 3] = [Self::None, Self::Reminded, Self::Given];

    /// The end of the via. No via has these characters.
    fn word(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Reminded => "~",
            Self::Given => "=",
        }
    }
}

/// A record in `seen/`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SeenRecord {
    pub stem: MessageStem,
    pub at: Timestamp,
    pub via: Via,
    pub answer: AnswerMark,
    pub acked: Option<Timestamp>,
}

impl SeenRecord {
    /// `false`: it is acked, or no ack was asked for. `true`: the message itself has to be read.
    pub(in crate::store) fn may_owe_ack(&self) -> bool {
        self.acked.is_none() && !self.via.0.ends_with('.')
    }

    /// Whether its reader owes an answer.
    pub fn owes_answer(&self) -> bool {
        self.stem.wants_answer() && self.answer != AnswerMark::Given && !self.is_expired()
    }

    /// Whether it expired before anybody read it.
    pub fn is_expired(&self) -> bool {
        self.via.text() == EXPIRED
    }

    /// Whether nothing more is expected to become of the message: it is acked, needs no ack, or has expired.
    pub fn is_final(&self) -> bool {
        !self.may_owe_ack() || self.is_expired()
    }

    pub(in crate::store) fn of_file(name: &str) -> Option<Self> {
        let mut words = name.strip_suffix(".json")?.split(',');
        let stem = MessageStem::of_file(&format!("{}.json", words.next()?))?;
        let time = |word: &str| Timestamp::from_millisecond(word.parse().ok()?).ok();
        let at = time(words.next()?)?;
        let via = words.next()?;
        let marked = |mark: &AnswerMark| *mark != AnswerMark::None && via.ends_with(mark.word());
        let answer = AnswerMark::ALL.into_iter().find(marked).unwrap_or_default();
        let via = Via(via.strip_suffix(answer.word()).unwrap_or(via).to_string());
        let acked = words.next().map(time);
        if acked == Some(None) || words.next().is_some() {
            return None;
        }
        Some(Self { stem, at, via, answer, acked: acked.flatten() })
    }

    pub(in crate::store) fn file(&self) -> String {
        let acked = self.acked.map_or(String::new(), |at| format!(",{}", at.as_millisecond()));
        let (at, via, answer) = (self.at.as_millisecond(), &self.via.0, self.answer.word());
        format!("{},{at},{via}{answer}{acked}.json", self.stem)
    }
}

/// The end of the record of a message of which it is settled whether it is unread for too long. No route has it.
const SETTLED: char = '=';

/// A record in `sent/`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SentRecord {
    pub stem: MessageStem,
    pub to: AgentName,
    /// How the recipient was to be notified, as one word.
    pub route: Option<String>,
    /// Whether its sender was told that nobody reads it, or need not be.
    pub is_report_settled: bool,
}

impl SentRecord {
    pub(in crate::store) fn new(stem: &MessageStem, to: &AgentName) -> Self {
        Self { stem: stem.clone(), to: to.clone(), route: None, is_report_settled: false }
    }

    /// Whether its sender is still to be told if nobody reads it. The age is a matter of time, and not of the record.
    pub(in crate::store) fn may_be_reported(&self) -> bool {
        self.stem.kind().is_some_and(MessageKind::is_reported_unread) && !self.is_report_settled
    }

    /// The record of a message that is not reported any more.
    pub(in crate::store) fn settled(&self) -> Self {
        Self { is_report_settled: true, ..self.clone() }
    }

    pub(in crate::store) fn of_file(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".json")?.split(',');
        let (stem, to, last) = (parts.next()?, parts.next()?, parts.next());
        let settled = last.and_then(|last| last.strip_suffix(SETTLED));
        let route = match settled {
            Some("") => None,
            _ => settled.or(last).map(str::to_string),
        };
        let is_word = |text: &String| text.bytes().all(|byte| byte.is_ascii_lowercase());
        if parts.next().is_some() || !route.iter().all(is_word) {
            return None;
        }
        Some(Self {
            stem: MessageStem::of_file(&format!("{stem}.json"))?,
            to: AgentName::new(to).ok()?,
            route,
            is_report_settled: settled.is_some(),
        })
    }

    pub(in crate::store) fn file(&self) -> String {
        let mut last = self.route.clone().unwrap_or_default();
        last.extend(self.is_report_settled.then_some(SETTLED));
        let comma = if last.is_empty() { "" } else { "," };
        format!("{},{}{comma}{last}.json", self.stem, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_records_give_each_other() {
        let stem = MessageStem::of_file("1794700676113-gpvjoz.json").unwrap();
        let at = Timestamp::from_millisecond(1_794_700_676_200).unwrap();
        for acked in [None, Some(at)] {
            for answer in AnswerMark::ALL {
                let via = Via::new("hook other PostToolUse");
                let seen = SeenRecord { stem: stem.clone(), at, via: via.clone(), answer, acked };
                assert_eq!(SeenRecord::of_file(&seen.file()), Some(seen.clone()));
                let unasked = SeenRecord { via: via.without_ack(), ..seen };
                assert_eq!(SeenRecord::of_file(&unasked.file()), Some(unasked));
            }
        }
        assert_eq!(Via::new("hook other PostToolUse").text(), "hook other PostToolUse");
        let unasked = Via::new("read").without_ack();
        let answer = AnswerMark::None;
        let seen = SeenRecord { stem: stem.clone(), at, via: unasked.clone(), answer, acked: None };
        assert_eq!(SeenRecord::of_file(&seen.file()), Some(seen.clone()));
        assert_eq!((unasked.text().as_str(), seen.may_owe_ack()), ("read", false));
        assert!(
            SeenRecord { via: Via::new("read"), ..seen }.may_owe_ack(),
            "of older records only the message tells"
        );
        for route in [None, Some("rewake".to_string())] {
            let sent = SentRecord { route, ..SentRecord::new(&stem, &AgentName::new("SwiftRaven").unwrap()) };
            for sent in [sent.settled(), sent] {
                assert_eq!(SentRecord::of_file(&sent.file()), Some(sent));
            }
        }
        assert_eq!(SentRecord::of_file("1794700676113-gpvjoz,SwiftRaven,a,b.json"), None);
        assert_eq!(DotFile::of_file(&stem.parked()), Some(DotFile::Parked(stem.clone())));
        let taken = DotFile::Taken(stem.clone(), "1.2.b.n.m".to_string());
        assert_eq!(DotFile::of_file(&stem.taken_by("1.2.b.n.m")), Some(taken));
        assert!(!stem.taken_by("1.2.b.n.m").ends_with(".json"), "pi-messenger reads every *.json, dots too");
        for kept in [
            OfferRetention::Always,
            OfferRetention::Never,
            OfferRetention::in_turn(Some("7")),
            OfferRetention::in_turn(None),
        ] {
            let via = Via::new("hook terminal tool.execute.after");
            let offer = Offer { stem: stem.clone(), mark: "1.2.b.n.m".to_string(), at, via, kept };
            let taken = DotFile::Taken(stem.clone(), offer.mark.clone());
            assert_eq!(DotFile::of_file(&offer.file()), Some(taken));
            assert_eq!(Offer::of_file(&offer.file()), Some(offer));
        }
        assert_eq!(Offer::of_file(&stem.taken_by("1.2.b.n.m")), None);
    }

    #[test]
    fn a_name_says_kind_and_expiry() {
        let stamp = MessageStamp::new(1_794_700_676_113_042, 7);
        let name = |text: &str| AgentName::new(text).unwrap();
        let at = Timestamp::from_millisecond(1_794_700_976_113).unwrap();
        for (kind, expires_at, stem) in [
            (None, None, "1794700676113-160007"),
            (Some(MessageKind::Info), None, "1794700676113-160007"),
            (Some(MessageKind::Question), None, "1794700676113-160007_q"),
            (Some(MessageKind::Release), Some(at), "1794700676113-160007_1794700976113"),
            (Some(MessageKind::Delegate), Some(at), "1794700676113-160007_d1794700976113"),
        ] {
            let message = Message { kind, expires_at, ..Message::new(stamp, &name("A"), &name("B"), "x") };
            let named = MessageStem::of_message(stamp, &message);
            assert_eq!((named.as_str(), named.short_id()), (stem, "160007"));
            assert_eq!((named.stamp(), named.expires_at()), (Some(stamp), expires_at));
            assert_eq!(named.kind(), kind.filter(|kind| letter(*kind).is_some()));
            assert_eq!(MessageStem::of_file(&named.file()), Some(named.clone()));
            assert!(named.is_meant_by("160007") && named.is_meant_by(stamp.id().as_str()));
            assert_eq!(named.is_expired(at), expires_at.is_some());
            assert!(!named.is_expired(at - jiff::SignedDuration::from_millis(1)));
        }
        for odd in ["note_q", "1794700676113-160007_", "1794700676113-160007_z7x", "_q1794700976113"] {
            let stem = MessageStem::of_file(&format!("{odd}.json")).unwrap();
            assert_eq!((stem.kind(), stem.expires_at()), (None, None), "{odd}");
        }
    }

    #[test]
    fn foreign_names_stay_in_their_place() {
        for bad in [".json", "a,b.json", "a/b.json", "..json", "a.b.json", "x", "ü.json"] {
            assert_eq!(MessageStem::of_file(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_people_call_a_message() {
        let stamp = MessageStamp::new(1_794_700_676_113_042, 7);
        let stem = MessageStem(stamp.to_string());
        let id = stamp.id();
        for text in ["160007", "16000", "1600", id.as_str(), &id.as_str()[..8], &id.as_str().to_uppercase()] {
            assert!(stem.is_meant_by(text), "{text}");
        }
        for text in ["160", "60007", "1600070", "", "x", &id.as_str()[..3]] {
            assert!(!stem.is_meant_by(text), "{text}");
        }
    }
}
