//! Where a message can be, by the names of its files.
//!
//! As in Maildir, the name is the record: surfacing and acking a message are one rename each.
//!
//! ```text
//! inbox/<To>/<stem>.json                               stored
//! inbox/<To>/.<stem>.<process>                         in the hands of that process
//! inbox/<To>/.<stem>.parked                            could not be handed over, time and again
//! seen/<To>/<stem>,<ms>,<via>[,<ms acked>].json        surfaced
//! sent/<From>/<stem>,<To>[,<rung>].json                what was sent, and how its recipient was told
//! ```

use std::fmt;

use jiff::Timestamp;

use crate::domain::{AgentName, MessageId, Stamp};

/// A message's file name without its extension. Ours tell when they were sent; foreign ones are whatever they are, as
/// long as they can be part of another name.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Stem(String);

impl Stem {
    pub(super) fn of_file(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".json")?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        ((1..=80).contains(&stem.len()) && stem.bytes().all(plain)).then(|| Self(stem.to_string()))
    }

    pub(super) fn of_stamp(stamp: Stamp) -> Self {
        Self(stamp.to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn stamp(&self) -> Option<Stamp> {
        Stamp::parse(&self.0)
    }

    /// What people call the message by: its last letters.
    pub fn letters(&self) -> &str {
        self.0.rsplit('-').next().unwrap_or(&self.0)
    }

    /// Does `text` mean this message, as far as its name tells: the letters, or the start of our id?
    pub(super) fn is_meant_by(&self, text: &str) -> bool {
        self.letters() == text || self.stamp().is_some_and(|stamp| is_prefix(text, &stamp.id()))
    }

    /// `.<stem>.<process>`
    pub(super) fn taken_by(&self, mark: &str) -> String {
        format!(".{}.{mark}", self.0)
    }

    pub(super) fn parked(&self) -> String {
        format!(".{}.parked", self.0)
    }

    pub(super) fn file(&self) -> String {
        format!("{}.json", self.0)
    }
}

impl fmt::Display for Stem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// At least four characters, so that a word is not taken for an id by chance.
pub(super) fn is_prefix(text: &str, id: &MessageId) -> bool {
    text.len() >= 4 && id.as_str().starts_with(text)
}

/// What a dot-file in an inbox is.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Hidden {
    Parked(Stem),
    /// In the hands of the process that the mark names.
    Taken(Stem, String),
}

impl Hidden {
    pub(super) fn of_file(name: &str) -> Option<Self> {
        let (stem, rest) = name.strip_prefix('.')?.split_once('.')?;
        let stem = Stem::of_file(&format!("{stem}.json"))?;
        Some(if rest == "parked" { Self::Parked(stem) } else { Self::Taken(stem, rest.to_string()) })
    }
}

/// By what a message was handed over: `read`, `watch`, `hook claude PostToolUse`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Via(String);

impl Via {
    pub fn new(text: &str) -> Self {
        let word = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '+' };
        Self(text.chars().take(60).map(word).collect())
    }

    pub fn text(&self) -> String {
        self.0.replace('+', " ")
    }
}

/// A record in `seen/`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Seen {
    pub stem: Stem,
    pub at: Timestamp,
    pub via: Via,
    pub acked: Option<Timestamp>,
}

impl Seen {
    pub(super) fn of_file(name: &str) -> Option<Self> {
        let mut words = name.strip_suffix(".json")?.split(',');
        let stem = Stem::of_file(&format!("{}.json", words.next()?))?;
        let time = |word: &str| Timestamp::from_millisecond(word.parse().ok()?).ok();
        let at = time(words.next()?)?;
        let via = Via(words.next()?.to_string());
        let acked = words.next().map(time);
        if acked == Some(None) || words.next().is_some() {
            return None;
        }
        Some(Self { stem, at, via, acked: acked.flatten() })
    }

    pub(super) fn file(&self) -> String {
        let acked = self.acked.map_or(String::new(), |at| format!(",{}", at.as_millisecond()));
        format!("{},{},{}{acked}.json", self.stem, self.at.as_millisecond(), self.via.0)
    }
}

/// A record in `sent/`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sent {
    pub stem: Stem,
    pub to: AgentName,
    /// How it was to get to the recipient's attention, in a word.
    pub rung: Option<String>,
}

impl Sent {
    pub(super) fn of_file(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".json")?.split(',');
        let (stem, to, rung) = (parts.next()?, parts.next()?, parts.next().map(str::to_string));
        let is_word = |text: &String| text.bytes().all(|byte| byte.is_ascii_lowercase());
        if parts.next().is_some() || !rung.iter().all(is_word) {
            return None;
        }
        Some(Self { stem: Stem::of_file(&format!("{stem}.json"))?, to: AgentName::new(to).ok()?, rung })
    }

    pub(super) fn file(&self) -> String {
        let rung = self.rung.as_deref().map_or(String::new(), |rung| format!(",{rung}"));
        format!("{},{}{rung}.json", self.stem, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_records_give_each_other() {
        let stem = Stem::of_file("1794700676113-gpvjoz.json").unwrap();
        let at = Timestamp::from_millisecond(1_794_700_676_200).unwrap();
        for acked in [None, Some(at)] {
            let seen = Seen { stem: stem.clone(), at, via: Via::new("hook claude PostToolUse"), acked };
            assert_eq!(Seen::of_file(&seen.file()), Some(seen));
        }
        assert_eq!(Via::new("hook claude PostToolUse").text(), "hook claude PostToolUse");
        for rung in [None, Some("rewake".to_string())] {
            let sent = Sent { stem: stem.clone(), to: AgentName::new("SwiftRaven").unwrap(), rung };
            assert_eq!(Sent::of_file(&sent.file()), Some(sent));
        }
        assert_eq!(Sent::of_file("1794700676113-gpvjoz,SwiftRaven,a,b.json"), None);
        assert_eq!(Hidden::of_file(&stem.parked()), Some(Hidden::Parked(stem.clone())));
        let taken = Hidden::Taken(stem.clone(), "1.2.b.n.m".to_string());
        assert_eq!(Hidden::of_file(&stem.taken_by("1.2.b.n.m")), Some(taken));
        assert!(!stem.taken_by("1.2.b.n.m").ends_with(".json"), "pi-messenger reads every *.json, dots too");
    }

    #[test]
    fn foreign_names_stay_in_their_place() {
        for bad in [".json", "a,b.json", "a/b.json", "..json", "a.b.json", "x", "ü.json"] {
            assert_eq!(Stem::of_file(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_people_call_a_message() {
        let stamp = Stamp::new(1_794_700_676_113_042, 7);
        let stem = Stem::of_stamp(stamp);
        let id = stamp.id();
        for text in ["160007", id.as_str(), &id.as_str()[..8]] {
            assert!(stem.is_meant_by(text), "{text}");
        }
        for text in ["16000", "", "x", &id.as_str()[..3]] {
            assert!(!stem.is_meant_by(text), "{text}");
        }
    }
}
