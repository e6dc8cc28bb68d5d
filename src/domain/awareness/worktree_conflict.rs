//! A file that two agents changed in different work trees so that it can't be merged, as one line of a file:
//!
//! ```text
//! 9f86d081884c7d65:1c2d3e4f:10+5,20+1 a3c1f0de00884c7d:77aa00ff:10+3 src/auth/login.rs
//! ```
//!
//! Each side has its agent, its work tree and its lines (the first, and how many), or `removed`, or `whole` if the file
//! is not a text. A side ends with `!` as long as its agent was not told.

use super::counters::AgentId;
use super::track::{TreeId, escape, unescape};
use crate::domain::line_merge::LineRange;

const UNTOLD: &str = "!";

/// What one agent did to the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SideChange {
    /// It changed these lines, and the other agent changed the same.
    Lines(Vec<LineRange>),
    /// It changed the file, which is not a text.
    Whole,
    Removed,
}

impl SideChange {
    /// `lines 10–12, 20`, for people.
    pub fn describe(&self) -> String {
        let range = |lines: &LineRange| match lines.count {
            0 | 1 => lines.first.to_string(),
            count => format!("{}–{}", lines.first, lines.first + count - 1),
        };
        match self {
            Self::Lines(lines) => {
                format!("lines {}", lines.iter().map(range).collect::<Vec<_>>().join(", "))
            }
            Self::Whole => "changed".to_string(),
            Self::Removed => "removed".to_string(),
        }
    }
}

/// One agent's side of a conflict.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConflictSide {
    pub agent: AgentId,
    pub tree: TreeId,
    pub change: SideChange,
    /// The agent was told of the conflict.
    pub is_told: bool,
}

/// A file that can't be merged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WorktreeConflict {
    /// Ordered by agent.
    pub sides: [ConflictSide; 2],
    /// Relative to the roots of both work trees.
    pub path: Vec<u8>,
}

impl WorktreeConflict {
    pub fn new(sides: [ConflictSide; 2], path: Vec<u8>) -> Self {
        let [a, b] = sides;
        let sides = if a.agent <= b.agent { [a, b] } else { [b, a] };
        Self { sides, path }
    }

    /// Whether it is about the same agents and the same file. Its lines may have moved.
    pub fn is_same(&self, other: &Self) -> bool {
        let agents = |conflict: &Self| conflict.sides.each_ref().map(|side| side.agent);
        agents(self) == agents(other) && self.path == other.path
    }

    pub fn encode(&self) -> String {
        let [a, b] = self.sides.each_ref().map(|side| {
            let change = match &side.change {
                SideChange::Whole => "whole".to_string(),
                SideChange::Removed => "removed".to_string(),
                SideChange::Lines(lines) => {
                    let range = |lines: &LineRange| format!("{}+{}", lines.first, lines.count);
                    lines.iter().map(range).collect::<Vec<_>>().join(",")
                }
            };
            let mark = if side.is_told { "" } else { UNTOLD };
            format!("{:016x}:{:08x}:{change}{mark}", side.agent.0, side.tree.0)
        });
        format!("{a} {b} {}", escape(&self.path))
    }

    /// `None`: the line is not ours.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (a, b, path) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() {
            return None;
        }
        Some(Self::new([parse_side(a)?, parse_side(b)?], unescape(path)?))
    }
}

fn parse_side(word: &str) -> Option<ConflictSide> {
    let mut parts = word.splitn(3, ':');
    let agent = AgentId(u64::from_str_radix(parts.next()?, 16).ok()?);
    let tree = TreeId(u32::from_str_radix(parts.next()?, 16).ok()?);
    let range = |text: &str| {
        let (first, count) = text.split_once('+')?;
        Some(LineRange { first: first.parse().ok()?, count: count.parse().ok()? })
    };
    let change = parts.next()?;
    let (change, is_told) = change.strip_suffix(UNTOLD).map_or((change, true), |change| (change, false));
    let change = match change {
        "whole" => SideChange::Whole,
        "removed" => SideChange::Removed,
        lines => SideChange::Lines(lines.split(',').map(range).collect::<Option<_>>()?),
    };
    Some(ConflictSide { agent, tree, change, is_told })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let side =
            |agent, change, is_told| ConflictSide { agent: AgentId(agent), tree: TreeId(7), change, is_told };
        let lines = [(1, 0), (10, 5)].map(|(first, count)| LineRange { first, count });
        for (a, b) in [
            (SideChange::Lines(lines.to_vec()), SideChange::Lines(lines[..1].to_vec())),
            (SideChange::Whole, SideChange::Whole),
            (SideChange::Removed, SideChange::Lines(lines.to_vec())),
        ] {
            for is_told in [false, true] {
                let sides = [side(9, a.clone(), is_told), side(2, b.clone(), !is_told)];
                let conflict = WorktreeConflict::new(sides, b"a b/\xff%\n".to_vec());
                assert_eq!(conflict.sides[0].agent, AgentId(2), "ordered");
                let text = conflict.encode();
                assert_eq!(WorktreeConflict::parse(&text), Some(conflict), "{text}");
            }
        }
        for other in ["", "x y z", "1:2:whole 1:2:whole", "1:2:whole 1:2:3 a", "1:2:whole 1:2:whole a b"] {
            assert_eq!(WorktreeConflict::parse(other), None, "{other}");
        }
    }
}
