//! The profiles that come with the program.

use super::profile::ProfileOrigin;
use super::workers_file::WorkersFile;

const SHIPPED: &str = include_str!("shipped.toml");

/// How a reviewer answers: a JSON object, the last in its output.
pub const VERDICT_FORMAT: &str =
    r#"{"verdict": "ship"|"rework"|"replan", "findings": [{"file", "line", "text"}]}"#;

/// The profiles that come with the program. They name no harness.
pub fn shipped_profiles() -> WorkersFile {
    WorkersFile::parse(SHIPPED, ProfileOrigin::Shipped, &[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::workers::{Instructions, ProfileKey, ProfileValue};

    #[test]
    fn the_shipped_profiles_are_right() {
        let file = shipped_profiles();
        assert_eq!(file.problems, []);
        let names: Vec<&str> = file.profiles.iter().map(|table| table.name.as_str()).collect();
        assert_eq!(names, ["scout", "planner", "builder", "reviewer", "documenter"]);
        for table in &file.profiles {
            let has = |key| table.values.iter().any(|(value, _)| value.key() == key);
            assert!(has(ProfileKey::Instructions) && has(ProfileKey::Timeout), "{}", table.name);
            // They must work with any harness.
            assert!(!has(ProfileKey::Harness) && !has(ProfileKey::Model), "{}", table.name);
            let is_readonly = table.values.iter().any(|(value, _)| *value == ProfileValue::Readonly(true));
            assert_eq!(is_readonly, ["scout", "planner", "reviewer"].contains(&table.name.as_str()));
        }
        let told = file.profiles.iter().flat_map(|table| &table.values).find_map(|(value, _)| match value {
            ProfileValue::Instructions(Instructions::Text(text)) if text.contains("verdict") => Some(text),
            _ => None,
        });
        assert!(told.unwrap().contains(VERDICT_FORMAT));
    }
}
