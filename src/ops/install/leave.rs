//! OpenCode's permissions. It lets everything through unless it is told otherwise, so only where it would ask is there
//! something to say. The last rule that fits counts.

use crate::domain::edit::Refusal;
use crate::domain::edit::json::{Document, Json, Kind, Node};

/// Lets a command run where OpenCode would ask. What is denied stays so.
pub(super) fn put(document: &mut Document, command: &str) -> Result<(), Refusal> {
    let pattern = format!("{command} *");
    let (all, bash) = (path(&["permission"]), path(&["permission", "bash"]));
    match document.get(&all)?.map(|node| node.kind.clone()) {
        Some(Kind::Text(rule)) if rule == "ask" => {
            let ours = Json::object([(pattern.as_str(), "allow".into())]);
            return document.set(&all, &Json::object([("*", "ask".into()), ("bash", ours)]));
        }
        Some(Kind::Object(_)) => {}
        _ => return Ok(()),
    }
    match document.get(&bash)?.map(|node| node.kind.clone()) {
        Some(Kind::Text(rule)) if rule == "ask" => {
            document.set(&bash, &Json::object([("*", "ask".into()), (pattern.as_str(), "allow".into())]))
        }
        Some(Kind::Object(rules)) => {
            let fits = |name: &str| {
                name == "*" || name == pattern || name == command || name == format!("{command}*")
            };
            let last = rules.iter().rev().find(|rule| fits(&rule.name)).and_then(|rule| rule.value.text());
            if last == Some("ask") {
                document.set(&path(&["permission", "bash", &pattern]), &"allow".into())
            } else {
                Ok(())
            }
        }
        None if document.get(&path(&["permission", "*"]))?.and_then(Node::text) == Some("ask") => {
            document.set(&path(&["permission", "bash", &pattern]), &"allow".into())
        }
        _ => Ok(()),
    }
}

/// Takes that back, and makes one word again of what was one word.
pub(super) fn take(
    document: &mut Document,
    command: &str,
    before: Option<&Document>,
    stays: &dyn Fn(&[String]) -> bool,
) -> Result<(), Refusal> {
    let ours = path(&["permission", "bash", &format!("{command} *")]);
    if before.is_some_and(|before| before.get(&ours).is_ok_and(|node| node.is_some())) {
        return Ok(());
    }
    let is_ours =
        document.get(&path(&["permission"]))?.is_some_and(|node| matches!(node.kind, Kind::Object(_)))
            && document.get(&ours[..2])?.is_some_and(|node| matches!(node.kind, Kind::Object(_)))
            && document.get(&ours)?.and_then(Node::text) == Some("allow");
    if !is_ours {
        return Ok(());
    }
    document.unset(&ours, stays)?;
    for depth in [2, 1] {
        let place = &ours[..depth];
        let was_text = before.is_some_and(|before| {
            before.get(place).is_ok_and(|node| node.is_some_and(|node| node.text().is_some()))
        });
        let left = Json::object([("*", "ask".into())]);
        if was_text && document.get(place)?.is_some_and(|node| node.is(&left)) {
            document.set(place, &"ask".into())?;
        }
    }
    Ok(())
}

fn path(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_string()).collect()
}
