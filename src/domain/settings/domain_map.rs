//! The type of the setting `domains`: parts of a project, by name.

use super::super::awareness::work_domain::{ConfiguredDomain, DomainError, MAX_DOMAINS};
use super::value_types::{Mismatch, RawValue, SettingType, SettingValue, expected, texts};

const SHAPE: &str = "{\"NAME\": {\"words\": [words], \"paths\": [patterns]}}";

/// Domains in the order of the files. A domain of a later file replaces the one of that name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DomainMap(pub(super) Vec<ConfiguredDomain>);

impl SettingType for DomainMap {
    fn check(raw: &RawValue, current: &Self) -> Result<Self, Mismatch> {
        let RawValue::Object(members) = raw else { return expected(SHAPE) };
        if members.len() > MAX_DOMAINS {
            return Err(Mismatch::Domains(DomainError::TooMany(members.len())));
        }
        let mut domains = current.0.clone();
        for (name, value) in members {
            let (words, paths) = lists(value)?;
            let domain = ConfiguredDomain::new(name, words, paths).map_err(Mismatch::Domains)?;
            match domains.iter_mut().find(|known| known.name == domain.name) {
                Some(known) => *known = domain,
                None => domains.push(domain),
            }
        }
        Ok(Self(domains))
    }

    fn shown(&self) -> SettingValue {
        SettingValue::Domains(self.0.clone())
    }
}

/// The words and the paths of a domain. Either may be missing.
fn lists(value: &RawValue) -> Result<(Vec<String>, Vec<String>), Mismatch> {
    let RawValue::Object(members) = value else { return expected(SHAPE) };
    let (mut words, mut paths) = (Vec::new(), Vec::new());
    for (name, value) in members {
        let RawValue::List(items) = value else { return expected(SHAPE) };
        let Some(items) = texts(items) else { return expected(SHAPE) };
        match name.as_str() {
            "words" => words = items,
            "paths" => paths = items,
            _ => return expected(SHAPE),
        }
    }
    Ok((words, paths))
}
