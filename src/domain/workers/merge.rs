//! Merges the layers of `workers.toml` key by key: shipped, then the user's, then the project's.

use std::collections::BTreeMap;

use super::profile::{Profile, ProfileOrigin, ProfileValue};
use super::profile_key::{ProfileKey, RestrictedKey};
use super::workers_file::{ProfileTable, WorkersFile};
use super::worktree_setup::WorktreeSetup;
use crate::domain::TextPosition;

/// Whether the restricted keys of a layer count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RestrictedKeys {
    Count,
    /// Nobody trusted the file.
    Withheld,
}

/// One file, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct WorkersLayer<'a> {
    pub origin: ProfileOrigin,
    pub file: &'a WorkersFile,
    pub restricted: RestrictedKeys,
}

/// What all layers together say.
#[derive(Clone, Debug, Default)]
pub struct MergedWorkers {
    /// In the order in which they are first described.
    pub profiles: Vec<Profile>,
    pub worktree: WorktreeSetup,
    /// Keys of `[worktree]` that do not count because nobody trusted the file.
    pub untrusted_worktree: Vec<RestrictedKey>,
    /// What can only be seen when all files are known, and where.
    pub problems: Vec<(ProfileOrigin, TextPosition, String)>,
}

type Values = BTreeMap<ProfileKey, (ProfileValue, ProfileOrigin)>;

/// Merges them; later layers override earlier ones.
pub fn merge_workers(layers: &[WorkersLayer<'_>]) -> MergedWorkers {
    let mut merged = MergedWorkers::default();
    let mut values: Vec<Values> = Vec::new();
    for layer in layers {
        for table in &layer.file.profiles {
            let known = merged.profiles.iter().position(|profile| profile.name == table.name);
            let index = known.unwrap_or_else(|| {
                merged.profiles.push(Profile { name: table.name.clone(), ..Profile::default() });
                values.push(Values::new());
                values.len() - 1
            });
            add(layer, table, &mut merged.profiles[index], &mut values[index]);
        }
        for value in &layer.file.worktree {
            if value.key.is_restricted() && layer.restricted == RestrictedKeys::Withheld {
                merged.untrusted_worktree.push(RestrictedKey::of_worktree(value.key));
            } else {
                merged.worktree.set(value);
            }
        }
    }
    for (profile, values) in merged.profiles.iter_mut().zip(&values) {
        values.values().for_each(|(value, _)| profile.set(value));
        profile.origins = values.iter().map(|(key, (_, origin))| (*key, *origin)).collect();
    }
    merged.problems = unknown_reviewers(layers, &merged.profiles);
    merged
}

fn add(layer: &WorkersLayer<'_>, table: &ProfileTable, profile: &mut Profile, values: &mut Values) {
    profile.described_in.push(layer.origin);
    let counts =
        |value: &&ProfileValue| !value.key().is_restricted() || layer.restricted == RestrictedKeys::Count;
    let all = || table.values.iter().map(|(value, _)| value);
    let withheld = all().filter(|value| !counts(value)).map(ProfileValue::key);
    profile.untrusted.extend(withheld);
    for value in all().filter(counts) {
        dropped_by(value.key()).iter().for_each(|key| drop(values.remove(key)));
    }
    for value in all().filter(counts) {
        values.insert(value.key(), (value.clone(), layer.origin));
    }
}

/// The inherited keys that have no meaning any more once this key is set.
fn dropped_by(key: ProfileKey) -> &'static [ProfileKey] {
    use ProfileKey::{Args, Command, Harness, Instructions, InstructionsFile, Model, Tools};
    match key {
        Harness | Command => &[Harness, Command, Model, Args, Tools],
        Instructions | InstructionsFile => &[Instructions, InstructionsFile],
        _ => &[],
    }
}

/// Reviewers that are not profiles.
fn unknown_reviewers(
    layers: &[WorkersLayer<'_>],
    profiles: &[Profile],
) -> Vec<(ProfileOrigin, TextPosition, String)> {
    let names = || profiles.iter().map(|profile| profile.name.as_str());
    let mut problems = Vec::new();
    for layer in layers {
        for (value, at) in layer.file.profiles.iter().flat_map(|table| &table.values) {
            if let ProfileValue::Review(name) = value
                && !names().any(|known| known == name)
            {
                let message = format!("`review` names `{name}`, which is not a profile");
                let near = crate::domain::suggestions(name, names());
                let near = near.first().map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                problems.push((layer.origin, *at, message + &near));
            }
        }
    }
    problems
}
