//! The type of the setting `groups`: names for several agents.

use super::super::recipient_group::{GroupError, MAX_GROUPS, NamedGroup, group_cycle};
use super::Settings;
use super::value_types::{Mismatch, RawValue, SettingType, SettingValue, expected, texts};

const SHAPE: &str = "{\"NAME\": [\"Robin\", \"@branch\"]}: names of agents, and groups with an `@`";

/// Groups in the order of the files. A group of a later file replaces the one of that name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct GroupMap(pub(super) Vec<NamedGroup>);

impl SettingType for GroupMap {
    fn check(raw: &RawValue, current: &Self) -> Result<Self, Mismatch> {
        let RawValue::Object(members) = raw else { return expected(SHAPE) };
        let mut groups = current.0.clone();
        for (name, value) in members {
            let RawValue::List(items) = value else { return expected(SHAPE) };
            let Some(items) = texts(items) else { return expected(SHAPE) };
            let group = NamedGroup::new(name, items).map_err(Mismatch::Groups)?;
            match groups.iter_mut().find(|known| known.is_called(name)) {
                Some(known) => *known = group,
                None => groups.push(group),
            }
        }
        if groups.len() > MAX_GROUPS {
            return Err(Mismatch::Groups(GroupError::TooMany(groups.len())));
        }
        match group_cycle(&groups) {
            Some(path) => Err(Mismatch::Groups(GroupError::Cycle(path))),
            None => Ok(Self(groups)),
        }
    }

    fn shown(&self) -> SettingValue {
        SettingValue::Groups(self.0.clone())
    }
}

impl Settings {
    /// The groups of the configuration.
    pub fn groups(&self) -> &[NamedGroup] {
        &self.groups.0
    }
}
