//! Recipients typed as `@Name`: parses them, and completes names.

use super::model::MeshSnapshot;
use super::state::Recipients;

/// Maximum number of names offered at once.
const OFFERED: usize = 6;
pub(super) const ALL: &str = "all";

/// Names that complete what was typed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct NameCompletion {
    pub(super) names: Vec<String>,
    pub(super) chosen: usize,
}

impl NameCompletion {
    /// The names to offer when `before` is the text before the cursor.
    pub(super) fn of(before: &str, world: &MeshSnapshot) -> Option<Self> {
        let begun = before.strip_prefix('@')?;
        if begun.contains(char::is_whitespace) {
            return None;
        }
        let begun = begun.to_lowercase();
        let known = world.peers.iter().map(|peer| peer.name.as_str()).chain([ALL]);
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for name in known {
            let lower = name.to_lowercase();
            if lower.starts_with(&begun) {
                first.push(name.to_string());
            } else if lower.contains(&begun) {
                rest.push(name.to_string());
            }
        }
        first.append(&mut rest);
        first.truncate(OFFERED);
        (!first.is_empty()).then_some(Self { names: first, chosen: 0 })
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.names.get(self.chosen).map(String::as_str)
    }

    pub(super) fn step(&mut self, by: isize) {
        let last = self.names.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }
}

/// A text after `@` that is not a valid name.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be a name; to begin a text with `@`, put a word before it", crate::domain::visible(.0))]
pub(super) struct BadRecipient(String);

/// The recipients named at the start of a text, and the rest of the text.
pub(super) fn addressed<'t>(
    text: &'t str,
    world: &MeshSnapshot,
) -> Result<Option<(Recipients, &'t str)>, BadRecipient> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(mention) = rest.strip_prefix('@') {
        let end = mention.find(char::is_whitespace).unwrap_or(mention.len());
        let name = mention[..end].trim_end_matches([',', ':']);
        if name.eq_ignore_ascii_case(ALL) {
            return Ok(Some((Recipients::All, mention[end..].trim_start())));
        }
        // An agent that is not present may still be known, so only names that are not valid are rejected here.
        if crate::domain::AgentName::new(name).is_err() {
            return Err(BadRecipient(name.to_string()));
        }
        let known = world.peer(name).map_or(name, |peer| peer.name.as_str());
        names.push(known.to_string());
        rest = mention[end..].trim_start();
    }
    Ok((!names.is_empty()).then_some((Recipients::Named(names), rest)))
}
