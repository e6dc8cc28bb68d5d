//! One line of a repository's track: what a hook saw an agent do.
//!
//! ```text
//! 6c1f09aa p 1794700676113 9f86d081884c7d65:Robin login form src/auth/login.rs       a prompt, by its topics
//! 0b3e7712 e 1794700690870 9f86d081884c7d65:Robin 1c2d3e4f src/auth/login.rs        files that were changed, and the work tree
//! 5a77c0de r 1794700688012 9f86d081884c7d65:Robin 1c2d3e4f src/auth/mod.rs          files that were read
//! ```
//!
//! The first word is a checksum of the rest: a line that was cut short, or that somebody else wrote, is left out. In
//! paths and texts, everything but printable ASCII is escaped as in an address: `%20`.

use super::counters::AgentId;
use super::topics::Topic;
use crate::domain::AgentName;

/// Who did something, and when.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TrackStamp {
    /// In milliseconds since 1970.
    pub at: i64,
    pub agent: AgentId,
    /// The agent's name at that time.
    pub name: AgentName,
}

/// A work tree of the repository: a part of the hash of its root.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TreeId(pub u32);

/// What an agent did.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Deed {
    /// It was given a prompt with these topics; the text only if its user shares it.
    Prompted { topics: Vec<Topic>, text: Option<String> },
    /// It changed these files, which are relative to the root of the work tree.
    Changed { tree: TreeId, files: Vec<Vec<u8>> },
    /// It read these files.
    Read { tree: TreeId, files: Vec<Vec<u8>> },
}

/// What a line is read for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineUse {
    Everything,
    /// A forecast. What was read says nothing about it.
    Forecast,
    /// The same, and the line is counted: so are its topics, and they are left out.
    CountedForecast,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TrackLine {
    pub stamp: TrackStamp,
    pub deed: Deed,
}

impl TrackLine {
    pub fn encode(&self) -> String {
        let TrackStamp { at, agent, name } = &self.stamp;
        let stamp = |kind: char| format!("{kind} {at} {:016x}:{name}", agent.0);
        let in_tree = |kind, tree: TreeId, files: &[Vec<u8>]| {
            let files: Vec<String> = files.iter().map(|file| escape(file)).collect();
            format!("{} {:08x} {}", stamp(kind), tree.0, files.join(" "))
        };
        let line = match &self.deed {
            Deed::Prompted { topics, text } => {
                let text = text.iter().map(|text| format!("={}", escape(text.as_bytes())));
                let words = topics.iter().map(|topic| escape(topic.as_str().as_bytes())).chain(text);
                words.fold(stamp('p'), |line, word| format!("{line} {word}"))
            }
            Deed::Changed { tree, files } => in_tree('e', *tree, files),
            Deed::Read { tree, files } => in_tree('r', *tree, files),
        };
        format!("{:08x} {line}", crc32fast::hash(line.as_bytes()))
    }

    /// `None`: the line was cut short, or is not ours.
    pub fn parse(line: &str) -> Option<Self> {
        Self::parse_for(line, LineUse::Everything)
    }

    /// The same, without what is of no use. A line that is of no use at all is `None`, too.
    pub fn parse_for(line: &str, line_use: LineUse) -> Option<Self> {
        let (sum, rest) = line.split_once(' ')?;
        if line_use != LineUse::Everything && rest.starts_with("r ") {
            return None;
        }
        if u32::from_str_radix(sum, 16).ok()? != crc32fast::hash(rest.as_bytes()) {
            return None;
        }
        let mut words = rest.split(' ');
        let kind = words.next()?;
        let at = words.next()?.parse().ok()?;
        let (agent, name) = words.next()?.split_once(':')?;
        let agent = AgentId(u64::from_str_radix(agent, 16).ok()?);
        let name = AgentName::new(name).ok()?;
        let deed = match kind {
            "p" if line_use == LineUse::CountedForecast => Deed::Prompted { topics: Vec::new(), text: None },
            "p" => prompted(words)?,
            "e" | "r" => {
                let tree = TreeId(u32::from_str_radix(words.next()?, 16).ok()?);
                let files = words.map(unescape).collect::<Option<_>>()?;
                if kind == "e" { Deed::Changed { tree, files } } else { Deed::Read { tree, files } }
            }
            _ => return None,
        };
        Some(Self { stamp: TrackStamp { at, agent, name }, deed })
    }
}

fn prompted<'a>(words: impl Iterator<Item = &'a str>) -> Option<Deed> {
    let (mut topics, mut text) = (Vec::new(), None);
    for word in words {
        match word.strip_prefix('=') {
            Some(shared) => text = Some(String::from_utf8(unescape(shared)?).ok()?),
            None => topics.push(Topic::new(&String::from_utf8(unescape(word)?).ok()?)),
        }
    }
    Some(Deed::Prompted { topics, text })
}

/// Escapes everything but printable ASCII, `%` and `=`: `%20`.
pub fn escape(bytes: &[u8]) -> String {
    let mut escaped = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'%' | b'=' => escaped.push_str(&format!("%{byte:02x}")),
            0x21..=0x7e => escaped.push(char::from(*byte)),
            _ => escaped.push_str(&format!("%{byte:02x}")),
        }
    }
    escaped
}

/// `None`: it is not escaped text.
pub fn unescape(word: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut parts = word.split('%');
    bytes.extend(parts.next()?.bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(part[2..].bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(deed: Deed) -> TrackLine {
        TrackLine {
            stamp: TrackStamp {
                at: 1_794_700_676_113,
                agent: AgentId(0x9f86),
                name: AgentName::new("Robin").unwrap(),
            },
            deed,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let topic = |text: &str| Topic::new(text);
        for deed in [
            Deed::Prompted { topics: Vec::new(), text: None },
            Deed::Prompted {
                topics: vec![topic("login"), topic("登录")],
                text: Some("a = b\n%".to_string()),
            },
            Deed::Changed { tree: TreeId(7), files: vec![b"src/a b.rs".to_vec(), b"\xff\n%20=".to_vec()] },
            Deed::Read { tree: TreeId(u32::MAX), files: vec![b"x".to_vec()] },
        ] {
            let line = line(deed);
            let text = line.encode();
            assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text}");
            assert_eq!(TrackLine::parse(&text), Some(line), "{text}");
        }
    }

    #[test]
    fn what_a_forecast_has_no_use_for_is_left_out() {
        let prompt = line(Deed::Prompted { topics: vec![Topic::new("login")], text: None });
        let bare = line(Deed::Prompted { topics: Vec::new(), text: None });
        let changed = line(Deed::Changed { tree: TreeId(7), files: vec![b"x".to_vec()] });
        let read = line(Deed::Read { tree: TreeId(7), files: vec![b"x".to_vec()] });
        let parse = |line: &TrackLine, line_use| TrackLine::parse_for(&line.encode(), line_use);
        assert_eq!(parse(&prompt, LineUse::Forecast), Some(prompt.clone()));
        assert_eq!(parse(&prompt, LineUse::CountedForecast), Some(bare));
        for line_use in [LineUse::Forecast, LineUse::CountedForecast] {
            assert_eq!(parse(&changed, line_use), Some(changed.clone()));
            assert_eq!(parse(&read, line_use), None);
        }
    }

    #[test]
    fn a_line_that_was_cut_short_is_none() {
        let text =
            line(Deed::Changed { tree: TreeId(7), files: vec![b"src/auth/login.rs".to_vec()] }).encode();
        for end in 0..text.len() {
            assert_eq!(TrackLine::parse(&text[..end]), None, "{}", &text[..end]);
        }
        for other in ["", "{}", "00000000 ", "x p 1 2", &text.replace("auth", "outh")] {
            assert_eq!(TrackLine::parse(other), None, "{other}");
        }
    }
}
