//! The strict parser of `workers.toml`. It reports everything that is wrong with a file at once, each with its line and
//! column.

mod table_reader;
#[cfg(test)]
mod tests;

use toml_edit::{Document, Item, TableLike};

use super::profile::{ProfileOrigin, ProfileValue};
use super::profile_key::{ProfileKey, RestrictedKey};
use super::worktree_setup::{WorktreeKey, WorktreeValue};
use crate::domain::{Harness, TextPosition};
use table_reader::TableReader;

/// The longest name of a profile.
const MAX_NAME_LENGTH: usize = 64;

/// What one file says.
#[derive(Clone, Debug, Default)]
pub struct WorkersFile {
    pub profiles: Vec<ProfileTable>,
    pub worktree: Vec<WorktreeValue>,
    /// What is wrong with it, in the order of the file. What is right still counts.
    pub problems: Vec<WorkersFileProblem>,
}

/// A table of a file: what it says about one profile.
#[derive(Clone, Debug)]
pub struct ProfileTable {
    pub name: String,
    pub values: Vec<(ProfileValue, TextPosition)>,
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message} (line {}, column {})", .at.line, .at.column)]
pub struct WorkersFileProblem {
    pub at: TextPosition,
    pub message: String,
}

impl WorkersFile {
    /// Parses the content of a file that may be anything.
    pub fn from_bytes(bytes: &[u8], origin: ProfileOrigin, harnesses: &[Harness]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text, origin, harnesses),
            Err(error) => {
                let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let at = TextPosition::of(&valid, valid.len());
                let problem = WorkersFileProblem { at, message: "this is not UTF-8 text".to_string() };
                Self { problems: vec![problem], ..Self::default() }
            }
        }
    }

    /// Parses the text of a file. `harnesses` are those that may be named.
    pub fn parse(text: &str, origin: ProfileOrigin, harnesses: &[Harness]) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = match Document::parse(text) {
            Ok(document) => document,
            Err(error) => {
                let at = TextPosition::of(text, error.span().map_or(0, |span| span.start));
                let reason = error.message().lines().next().unwrap_or("this is not TOML").trim();
                let problem = WorkersFileProblem { at, message: reason.escape_debug().to_string() };
                return Self { problems: vec![problem], ..Self::default() };
            }
        };
        let mut reader = TableReader::new(text, origin, harnesses);
        let mut file = Self::default();
        for (name, item) in document.iter() {
            let at = reader.place_of_key(document.as_table(), name, item);
            let Some(table) = item.as_table_like() else {
                let what = item.type_name();
                let message =
                    format!("`{}` must be a table, not {}", name.escape_debug(), with_article(what));
                reader.problem(at, message);
                continue;
            };
            if name == WorktreeKey::TABLE {
                file.worktree = worktree(&mut reader, table);
            } else if let Some(message) = misnamed(name, harnesses) {
                reader.problem(at, message);
            } else {
                let values = profile(&mut reader, name, table);
                file.profiles.push(ProfileTable { name: name.to_string(), values });
            }
        }
        file.problems = reader.into_problems();
        file
    }

    /// The keys that count only after a person trusted the file, if it is a project's.
    pub fn restricted(&self) -> Vec<RestrictedKey> {
        let of_profile = |table: &ProfileTable| {
            let keys = table.values.iter().map(|(value, _)| value.key());
            let keys = keys.filter(|key| key.is_restricted()).map(ProfileKey::name);
            let key = |key| RestrictedKey { table: table.name.clone(), key };
            keys.map(key).collect::<Vec<_>>()
        };
        let worktree = self.worktree.iter().map(|value| value.key).filter(|key| key.is_restricted());
        let worktree = worktree.map(RestrictedKey::of_worktree);
        self.profiles.iter().flat_map(of_profile).chain(worktree).collect()
    }
}

/// Why this cannot be the name of a profile.
fn misnamed(name: &str, harnesses: &[Harness]) -> Option<String> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let shown = name.chars().take(MAX_NAME_LENGTH).collect::<String>().escape_debug().to_string();
    if !starts_well || !name.chars().all(is_letter) || name.len() > MAX_NAME_LENGTH {
        return Some(format!(
            "`{shown}` is not a name of a profile: use letters, digits, `-` and `_`, at most {MAX_NAME_LENGTH}"
        ));
    }
    let is_harness = harnesses.iter().any(|harness| harness.name() == name);
    is_harness.then(|| {
        format!(
            "a profile can't have the name of a harness: call it for example `my-{shown}` and set `harness`"
        )
    })
}

fn worktree(reader: &mut TableReader<'_>, table: &dyn TableLike) -> Vec<WorktreeValue> {
    let names: Vec<&str> = WorktreeKey::ALL.into_iter().map(WorktreeKey::name).collect();
    let mut values = Vec::new();
    for (name, item) in table.iter() {
        match WorktreeKey::named(name) {
            Some(key) => {
                let lines = match key.takes_patterns() {
                    true => reader.patterns(table, name, item),
                    false => reader.command_lines(table, name, item),
                };
                values.extend(lines.map(|lines| WorktreeValue { key, lines }));
            }
            None if ProfileKey::named(name).is_some() => {
                let at = reader.place_of_key(table, name, item);
                reader.problem(at, format!("`{name}` is a key of a profile, not of `[worktree]`"));
            }
            None => reader.unknown_key(table, name, item, &names),
        }
    }
    values
}

fn profile(
    reader: &mut TableReader<'_>,
    profile: &str,
    table: &dyn TableLike,
) -> Vec<(ProfileValue, TextPosition)> {
    let names: Vec<&str> = ProfileKey::ALL.iter().map(|key| key.name()).collect();
    let mut values: Vec<(ProfileValue, TextPosition)> = Vec::new();
    for (name, item) in table.iter() {
        let at = reader.place_of_key(table, name, item);
        match ProfileKey::named(name) {
            Some(key) => {
                if let Some(other) = rival(key).filter(|other| is_before(table, other.name(), name)) {
                    let message =
                        format!("`{name}` and `{}` replace each other: set only one of them", other.name());
                    reader.problem(at, message);
                    continue;
                }
                values.extend(reader.value(key, table, item).map(|value| (value, at)));
            }
            None if WorktreeKey::named(name).is_some() => {
                let message = format!("`{name}` is a key of `[worktree]`, not of the profile `{profile}`");
                reader.problem(at, message);
            }
            None => reader.unknown_key(table, name, item, &names),
        }
    }
    values
}

/// The key that can't be set beside this one.
fn rival(key: ProfileKey) -> Option<ProfileKey> {
    match key {
        ProfileKey::Harness => Some(ProfileKey::Command),
        ProfileKey::Command => Some(ProfileKey::Harness),
        ProfileKey::Instructions => Some(ProfileKey::InstructionsFile),
        ProfileKey::InstructionsFile => Some(ProfileKey::Instructions),
        _ => None,
    }
}

/// Whether the table has `first`, and has it before `second`.
fn is_before(table: &dyn TableLike, first: &str, second: &str) -> bool {
    let place = |name: &str| table.iter().position(|(key, _)| key == name);
    place(first).is_some_and(|first| place(second).is_some_and(|second| first < second))
}

/// `an array`, `a string`.
fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind}")
}

/// What a value is, for an error.
fn kind_of(item: &Item) -> String {
    with_article(item.type_name())
}
