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
        let WrittenLine { at, agent, name, deed } = WrittenLine::parse(line)?;
        let name = AgentName::new(name).ok()?;
        let deed = match deed {
            WrittenDeed::Prompted { topics } => prompted(words(topics))?,
            WrittenDeed::Changed { tree, files } => Deed::Changed { tree, files: unescaped(files)? },
            WrittenDeed::Read { tree, files } => Deed::Read { tree, files: unescaped(files)? },
        };
        Some(Self { stamp: TrackStamp { at, agent, name }, deed })
    }
}

/// A line of which only the stamp is taken apart. A forecast looks at every line, and needs little of most.
#[derive(Clone, Copy, Debug)]
pub struct WrittenLine<'a> {
    pub at: i64,
    pub agent: AgentId,
    /// Nobody has looked at it: it may not be valid.
    pub name: &'a str,
    pub deed: WrittenDeed<'a>,
}

/// What an agent did, as it is written: topics and files are [`words`].
#[derive(Clone, Copy, Debug)]
pub enum WrittenDeed<'a> {
    Prompted { topics: &'a str },
    Changed { tree: TreeId, files: &'a str },
    Read { tree: TreeId, files: &'a str },
}

impl<'a> WrittenLine<'a> {
    /// `None`: the line was cut short, or is not ours.
    pub fn parse(line: &'a str) -> Option<Self> {
        let (sum, rest) = line.split_once(' ')?;
        if u32::from_str_radix(sum, 16).ok()? != crc32fast::hash(rest.as_bytes()) {
            return None;
        }
        let (kind, rest) = rest.split_once(' ')?;
        let (at, rest) = rest.split_once(' ')?;
        let (agent, rest) = rest.split_once(':')?;
        let agent = AgentId(u64::from_str_radix(agent, 16).ok()?);
        // A prompt may have no topics.
        let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let in_tree = || {
            let (tree, files) = rest.split_once(' ')?;
            Some((TreeId(u32::from_str_radix(tree, 16).ok()?), files))
        };
        let deed = match kind {
            "p" => WrittenDeed::Prompted { topics: rest },
            "e" => in_tree().map(|(tree, files)| WrittenDeed::Changed { tree, files })?,
            "r" => in_tree().map(|(tree, files)| WrittenDeed::Read { tree, files })?,
            _ => return None,
        };
        Some(Self { at: at.parse().ok()?, agent, name, deed })
    }
}

/// The escaped words of a list.
pub fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(' ').filter(|word| !word.is_empty())
}

fn unescaped(list: &str) -> Option<Vec<Vec<u8>>> {
    words(list).map(unescape).collect()
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
