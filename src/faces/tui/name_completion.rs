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
        let begins = |name: &String| name.to_lowercase().starts_with(&begun);
        let contains = |name: &String| name.to_lowercase().contains(&begun);
        let (mut offered, rest): (Vec<String>, Vec<String>) =
            world.peers.iter().map(|peer| peer.name.clone()).partition(begins);
        let groups: Vec<String> = groups(world).filter(begins).collect();
        // Many agents leave room for groups.
        offered.truncate(OFFERED.saturating_sub(groups.len()).max(OFFERED / 2));
        offered.extend(groups.into_iter().chain(rest.into_iter().filter(contains)));
        offered.truncate(OFFERED);
        (!offered.is_empty()).then_some(Self { names: offered, chosen: 0 })
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.names.get(self.chosen).map(String::as_str)
    }

    pub(super) fn step(&mut self, by: isize) {
        let last = self.names.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }
}

/// The groups that a message can be for: the built-in ones, the configured ones, and one for each harness.
fn groups(world: &MeshSnapshot) -> impl Iterator<Item = String> {
    let harnesses: BTreeSet<&str> = world.peers.iter().map(|peer| peer.harness.as_str()).collect();
    let built_in = BuiltInGroup::WORDS.into_iter().map(str::to_string);
    let of_harnesses = harnesses.into_iter().map(|harness| format!("harness:{harness}"));
    built_in.chain(world.groups.iter().cloned()).chain(of_harnesses)
}
