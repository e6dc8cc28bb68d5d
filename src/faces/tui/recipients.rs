//! Who a message is for: parses recipients that are typed as `@Name`.

use crate::domain::BuiltInGroup;

use super::model::MeshSnapshot;

/// What is typed to address everybody.
pub(super) const ALL: &str = "all";

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Recipients {
    /// Agents; groups with their `@`.
    Named(Vec<String>),
    All,
}

/// A text after `@` that is not a valid name.
#[derive(Debug, thiserror::Error)]
#[error("`{}` cannot be a name; to begin a text with `@`, put a word before it", crate::domain::escape_invisible(.0))]
pub(super) struct BadRecipient(String);

/// Whether `@name` addresses a group.
pub(super) fn is_group(name: &str, world: &MeshSnapshot) -> bool {
    BuiltInGroup::parse(name).is_some() || world.groups.iter().any(|group| group.eq_ignore_ascii_case(name))
}

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
        if is_group(name, world) {
            names.push(format!("@{name}"));
            rest = mention[end..].trim_start();
            continue;
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
