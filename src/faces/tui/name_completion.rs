//! Completes names of recipients that are typed as `@Name`.

use std::collections::BTreeSet;

use super::model::MeshSnapshot;
use crate::domain::BuiltInGroup;

/// Maximum number of names offered at once.
const OFFERED: usize = 6;

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
        let peers = world.peers.iter().map(|peer| (peer.name.clone(), true));
        let groups = BuiltInGroup::WORDS.into_iter().map(str::to_string).chain(world.groups.iter().cloned());
        let harnesses: BTreeSet<&str> = world.peers.iter().map(|peer| peer.harness.as_str()).collect();
        let of_harnesses = harnesses.into_iter().map(|harness| format!("harness:{harness}"));
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        let groups = groups.chain(of_harnesses).map(|name| (name, false));
        for (name, is_peer) in peers.chain(groups) {
            let lower = name.to_lowercase();
            if lower.starts_with(&begun) {
                first.push(name);
            } else if is_peer && lower.contains(&begun) {
                rest.push(name);
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
