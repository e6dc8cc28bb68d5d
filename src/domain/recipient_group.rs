//! Groups of agents that a message can be sent to: `@all`, `@spec`, `@branch`, `@harness:NAME`, and configured ones.

use std::fmt;

use super::AgentName;

/// How many groups may be configured, and how many members one may have.
pub(super) const MAX_GROUPS: usize = 100;
pub(super) const MAX_MEMBERS: usize = 100;

/// A group that needs no configuration.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum BuiltInGroup {
    /// Everyone whom a broadcast reaches.
    All,
    /// Those who work with the sender's spec.
    Spec,
    /// Those on the sender's branch of the project.
    Branch,
    /// Those whom a broadcast reaches and who run in the harness of that name.
    Harness(String),
}

impl BuiltInGroup {
    /// The names without the one that takes a harness.
    pub const WORDS: [&str; 3] = ["all", "spec", "branch"];
    const HARNESS: &str = "harness";

    /// The group that a recipient without its `@` is, in upper or lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let folded = text.to_ascii_lowercase();
        match (folded.as_str(), folded.split_once(':')) {
            ("all", _) => Some(Self::All),
            ("spec", _) => Some(Self::Spec),
            ("branch", _) => Some(Self::Branch),
            (_, Some((Self::HARNESS, name))) => Some(Self::Harness(name.to_string())),
            _ => None,
        }
    }
}

impl fmt::Display for BuiltInGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("@all"),
            Self::Spec => f.write_str("@spec"),
            Self::Branch => f.write_str("@branch"),
            Self::Harness(name) => write!(f, "@{}:{name}", Self::HARNESS),
        }
    }
}

/// Why something cannot be a group of the configuration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum GroupError {
    #[error("`{}` can't be the name of a group: a name like those of agents, but not `all`, `spec`, `branch` or `harness`", .0.escape_debug())]
    Name(String),
    #[error("`{}` in the group `{group}` is neither the name of an agent nor a group such as `@all`", .member.escape_debug())]
    Member { group: String, member: String },
    #[error("the group `{name}` has {len} members; {MAX_MEMBERS} is the most")]
    TooLong { name: String, len: usize },
    #[error("there are {0} groups; {MAX_GROUPS} is the most")]
    TooMany(usize),
    #[error("a group can't contain itself: {}", .0.join(" → "))]
    Cycle(Vec<String>),
}

/// A group of the configuration. Its members are agents, or groups with an `@`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NamedGroup {
    pub name: String,
    pub members: Vec<String>,
}

impl NamedGroup {
    pub(super) fn new(name: &str, members: Vec<String>) -> Result<Self, GroupError> {
        let is_kept = name.eq_ignore_ascii_case(BuiltInGroup::HARNESS) || BuiltInGroup::parse(name).is_some();
        if is_kept || AgentName::new(name).is_err() {
            return Err(GroupError::Name(name.to_string()));
        }
        let name = name.to_string();
        if members.len() > MAX_MEMBERS {
            return Err(GroupError::TooLong { name, len: members.len() });
        }
        match members.iter().find(|member| !is_member(member)) {
            Some(wrong) => Err(GroupError::Member { group: name, member: wrong.clone() }),
            None => Ok(Self { name, members }),
        }
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// Whether this may be an agent, or a group. Only what begins with an `@` is a group.
fn is_member(text: &str) -> bool {
    let Some(mention) = text.strip_prefix('@') else { return AgentName::new(text).is_ok() };
    match BuiltInGroup::parse(mention) {
        Some(BuiltInGroup::Harness(harness)) => AgentName::new(harness).is_ok(),
        Some(_) => true,
        None => AgentName::new(mention).is_ok(),
    }
}

/// The group that such a recipient with an `@` is, if one of that name is configured.
pub fn find_group<'g>(groups: &'g [NamedGroup], mention: &str) -> Option<&'g NamedGroup> {
    let name = mention.strip_prefix('@')?;
    groups.iter().find(|group| group.is_called(name))
}

/// The groups from one that contains itself back to it.
pub(super) fn group_cycle(groups: &[NamedGroup]) -> Option<Vec<String>> {
    let mut checked = Vec::new();
    groups.iter().find_map(|group| cycle_from(groups, group, &mut Vec::new(), &mut checked))
}

fn cycle_from<'g>(
    groups: &'g [NamedGroup],
    group: &'g NamedGroup,
    path: &mut Vec<&'g str>,
    checked: &mut Vec<&'g str>,
) -> Option<Vec<String>> {
    if checked.contains(&group.name.as_str()) {
        return None;
    }
    if let Some(start) = path.iter().position(|above| *above == group.name) {
        let names = path[start..].iter().copied().chain([group.name.as_str()]);
        return Some(names.map(|name| format!("@{name}")).collect());
    }
    path.push(&group.name);
    let inner = group.members.iter().filter_map(|member| find_group(groups, member));
    let found = inner.into_iter().find_map(|inner| cycle_from(groups, inner, path, checked));
    path.pop();
    checked.push(&group.name);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, members: &[&str]) -> NamedGroup {
        NamedGroup::new(name, members.iter().map(|member| member.to_string()).collect()).unwrap()
    }

    #[test]
    fn built_in_groups() {
        assert_eq!(BuiltInGroup::parse("ALL"), Some(BuiltInGroup::All));
        let shell = BuiltInGroup::parse("Harness:Shell").unwrap();
        assert_eq!(
            (&shell, shell.to_string().as_str()),
            (&BuiltInGroup::Harness("shell".into()), "@harness:shell")
        );
        for name in ["", "harness", "@all", "all:x", "specs", "branch:main"] {
            assert_eq!(BuiltInGroup::parse(name), None, "{name}");
        }
    }

    #[test]
    fn what_can_be_a_group() {
        group("backend", &["Robin", "@Wren", "@harness:shell", "@all", "@frontend", "spec"]);
        group("nobody", &[]);
        for name in ["", "all", "Spec", "branch", "harness", "harness:shell", "@backend", "a b", "ravenry"] {
            assert!(NamedGroup::new(name, Vec::new()).is_err(), "{name}");
        }
        for member in ["", "@", "all", "harness:shell", "@harness:", "@harness:a b", "@@x", "a,b", "../x"] {
            assert!(NamedGroup::new("x", vec![member.to_string()]).is_err(), "{member}");
        }
        assert!(NamedGroup::new("x", vec!["a".to_string(); MAX_MEMBERS + 1]).is_err());
    }

    #[test]
    fn cycles_are_found_and_named() {
        let found = |groups: &[NamedGroup]| group_cycle(groups).map(|path| path.join(" "));
        let diamond =
            [group("a", &["@b", "@c"]), group("b", &["@d"]), group("c", &["@D"]), group("d", &["a", "@x"])];
        assert_eq!(found(&diamond), None, "an agent may be called like a group");
        assert_eq!(found(&[group("a", &["@A"])]).as_deref(), Some("@a @a"));
        let three =
            [group("x", &["@a"]), group("a", &["Robin", "@b"]), group("b", &["@c"]), group("c", &["@a"])];
        assert_eq!(found(&three).as_deref(), Some("@a @b @c @a"));
    }

    /// Each level contains the next one many times.
    #[test]
    fn looking_for_cycles_takes_no_longer_than_there_are_groups() {
        let next = |number: usize| vec![format!("@g{}", number + 1); MAX_MEMBERS];
        let many =
            (0..MAX_GROUPS).map(|number| NamedGroup { name: format!("g{number}"), members: next(number) });
        assert_eq!(group_cycle(&many.collect::<Vec<_>>()), None);
    }
}
