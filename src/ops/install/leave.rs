//! OpenCode's permissions. It lets everything through unless it is told otherwise, so only where it would ask is there
//! something to say. The last rule that fits counts. It takes a redirection for a part of the command, so a second rule
//! asks about those: without it, `msg show ID > FILE` would write any file.

use crate::domain::edit::Refusal;
use crate::domain::edit::json::{Document, Json, Kind, Node};

/// Lets a command run where OpenCode would ask. What is denied stays so.
pub(super) fn put(document: &mut Document, command: &str) -> Result<(), Refusal> {
    let (pattern, redirected) = (format!("{command} *"), format!("{command} *>*"));
    let rules = || [(pattern.as_str(), Json::from("allow")), (redirected.as_str(), Json::from("ask"))];
    let (all, bash) = (path(&["permission"]), path(&["permission", "bash"]));
    match document.get(&all)?.map(|node| node.kind.clone()) {
        Some(Kind::Text(rule)) if rule == "ask" => {
            let ours = Json::object(rules());
            return document.set(&all, &Json::object([("*", "ask".into()), ("bash", ours)]));
        }
        Some(Kind::Object(_)) => {}
        _ => return Ok(()),
    }
    match document.get(&bash)?.map(|node| node.kind.clone()) {
        Some(Kind::Text(rule)) if rule == "ask" => {
            let [allowed, asked] = rules();
            document.set(&bash, &Json::object([("*", "ask".into()), allowed, asked]))
        }
        Some(Kind::Object(present)) => {
            let fits = |name: &str| {
                name == "*" || name == pattern || name == command || name == format!("{command}*")
            };
            let last = present.iter().rev().find(|rule| fits(&rule.name)).and_then(|rule| rule.value.text());
            if last == Some("ask") { add(document, rules()) } else { Ok(()) }
        }
        None if document.get(&path(&["permission", "*"]))?.and_then(Node::text) == Some("ask") => {
            add(document, rules())
        }
        _ => Ok(()),
    }
}

fn add(document: &mut Document, rules: [(&str, Json); 2]) -> Result<(), Refusal> {
    rules.iter().try_for_each(|(name, rule)| document.set(&path(&["permission", "bash", name]), rule))
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
    let redirected = path(&["permission", "bash", &format!("{command} *>*")]);
    if document.get(&redirected)?.and_then(Node::text) == Some("ask") && !stays(&redirected) {
        document.unset(&redirected, stays)?;
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
