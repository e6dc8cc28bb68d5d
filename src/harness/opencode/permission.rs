//! OpenCode's permission rule that lets its model run `msg` without asking.
//!
//! OpenCode allows everything by default, so a rule is needed only where it would ask. The last matching rule wins. A
//! redirection is matched as part of the command, so a second rule after ours asks about redirections: without it, `msg
//! show ID > FILE` could write any file.

use std::path::PathBuf;

use crate::domain::text_edit::EditError;
use crate::domain::text_edit::json::{Document, Json, JsonNode, Member, NodeKind};
use crate::harness::install::{FileLookup, PermissionRule, RecordedOriginal};

/// The permission to run a command; it is installed and removed together with that plugin.
#[derive(Debug)]
pub(super) struct Permission {
    pub(super) command: &'static str,
    pub(super) plugin: PathBuf,
}

impl PermissionRule for Permission {
    fn put(
        &self,
        document: &mut Document,
        original: RecordedOriginal<'_>,
        before: Option<&Document>,
        view: FileLookup<'_>,
    ) -> Result<(), EditError> {
        let is_ours = match original {
            RecordedOriginal::Nothing => true,
            RecordedOriginal::Unknown => view(&self.plugin).0.is_some(),
            RecordedOriginal::Known { .. } => {
                !before.is_some_and(|before| may_have_allowed(before, self.command))
            }
        };
        put(document, self.command, is_ours)
    }

    fn take(
        &self,
        document: &mut Document,
        before: Option<&Document>,
        stays: &dyn Fn(&[String]) -> bool,
    ) -> Result<(), EditError> {
        take(document, self.command, before, stays)
    }

    fn denied(&self, document: &Document) -> Result<Option<String>, EditError> {
        denied(document, self.command)
    }

    fn goes_with_plugin(&self, view: FileLookup<'_>) -> bool {
        let (before, after) = view(&self.plugin);
        before != after
    }

    fn path(&self) -> Vec<String> {
        path(&["permission", "bash", &Names::of(self.command).pattern])
    }
}

/// Allows a command where OpenCode would ask. What is denied stays denied. `is_ours` says whether a permission that is
/// already there is one we put there: an earlier version did not ask about redirections.
fn put(document: &mut Document, command: &str, is_ours: bool) -> Result<(), EditError> {
    let Names { pattern, redirected } = Names::of(command);
    let rules = || [(pattern.as_str(), Json::from("allow")), (redirected.as_str(), Json::from("ask"))];
    let (all, bash) = (path(&["permission"]), path(&["permission", "bash"]));
    match document.get(&all)?.map(|node| node.kind.clone()) {
        Some(NodeKind::Text(rule)) if rule == "ask" => {
            let ours = Json::object(rules());
            return document.set(&all, &Json::object([("*", "ask".into()), ("bash", ours)]));
        }
        Some(NodeKind::Object(_)) => {}
        _ => return Ok(()),
    }
    match document.get(&bash)?.map(|node| node.kind.clone()) {
        Some(NodeKind::Text(rule)) if rule == "ask" => {
            let [allowed, asked] = rules();
            document.set(&bash, &Json::object([("*", "ask".into()), allowed, asked]))
        }
        Some(NodeKind::Object(present)) => match last_fitting(&present, command) {
            Some((at, "ask")) if denial(&present, command).is_none() => {
                let place = path(&["permission", "bash", &pattern]);
                if present[at].name != pattern {
                    document.unset(&place, &|_| true)?;
                }
                document.set(&place, &"allow".into())?;
                rule_redirections(document, command)
            }
            Some((at, "allow")) if is_ours && present[at].name == pattern => {
                rule_redirections(document, command)
            }
            _ => Ok(()),
        },
        None if document.get(&path(&["permission", "*"]))?.and_then(JsonNode::text) == Some("ask") => rules()
            .iter()
            .try_for_each(|(name, rule)| document.set(&path(&["permission", "bash", name]), rule)),
        _ => Ok(()),
    }
}

/// Puts the rule about redirections after the one that allows the command, keeping the value it already has, if any.
fn rule_redirections(document: &mut Document, command: &str) -> Result<(), EditError> {
    let Names { pattern, redirected } = Names::of(command);
    let place = path(&["permission", "bash", &redirected]);
    let names = document.get(&place[..2])?.map(JsonNode::names).unwrap_or_default();
    let position = |name: &str| names.iter().position(|other| other == name);
    if position(&redirected) > position(&pattern) {
        return Ok(());
    }
    let value = document.get(&place)?.and_then(JsonNode::text).unwrap_or("ask").to_string();
    document.unset(&place, &|_| true)?;
    document.set(&place, &value.as_str().into())
}

/// The user's rule that keeps us from allowing the command.
fn denied(document: &Document, command: &str) -> Result<Option<String>, EditError> {
    let (all, bash) = (path(&["permission"]), path(&["permission", "bash"]));
    Ok(match document.get(&all)?.map(|node| &node.kind) {
        Some(NodeKind::Text(rule)) => (rule == "deny").then(|| "permission".to_string()),
        Some(NodeKind::Object(_)) => match document.get(&bash)?.map(|node| &node.kind) {
            Some(NodeKind::Text(rule)) => (rule == "deny").then(|| "permission.bash".to_string()),
            Some(NodeKind::Object(present)) => {
                denial(present, command).map(|rule| format!("permission.bash.\"{rule}\""))
            }
            _ => None,
        },
        _ => None,
    })
}

/// The rule that denies the command, or denies part of it and would have no effect after a rule that allows it.
fn denial<'m>(present: &'m [Member], command: &str) -> Option<&'m str> {
    let Names { pattern, redirected } = Names::of(command);
    let denies = |rule: &&Member| rule.value.text() == Some("deny");
    let name = |rule: &'m Member| rule.name.as_str();
    let own = present.iter().find(|rule| rule.name == pattern).filter(denies).map(name);
    own.or_else(|| match last_fitting(present, command)? {
        (at, "deny") => Some(name(&present[at])),
        (at, "ask") if present[at].name != pattern => present[at..]
            .iter()
            .filter(denies)
            .find(|rule| rule.name != redirected && may_fit(&rule.name, command))
            .map(name),
        _ => None,
    })
}

/// The last rule that matches every call of the command: its index and its value.
fn last_fitting<'m>(present: &'m [Member], command: &str) -> Option<(usize, &'m str)> {
    let fits = |rule: &Member| {
        rule.name == "*" || rule.name == format!("{command} *") || rule.name == format!("{command}*")
    };
    let at = present.iter().rposition(fits)?;
    Some((at, present[at].value.text()?))
}

/// Whether a rule may match some call of the command, judged by the text before its first wildcard.
fn may_fit(rule: &str, command: &str) -> bool {
    let (start, call) = (rule.split(['*', '?']).next().unwrap_or_default(), format!("{command} "));
    start.starts_with(&call) || call.starts_with(start)
}

/// Whether the original file allowed the command, as far as its outline tells. An earlier version kept no values: then
/// `true`.
fn may_have_allowed(before: &Document, command: &str) -> bool {
    let place = path(&["permission", "bash", &Names::of(command).pattern]);
    before.get(&place).is_ok_and(|node| node.is_some_and(|node| !matches!(node.text(), Some("ask" | "deny"))))
}

/// Undoes [`put`]. An object that was the single word `ask` before becomes that word again.
fn take(
    document: &mut Document,
    command: &str,
    before: Option<&Document>,
    stays: &dyn Fn(&[String]) -> bool,
) -> Result<(), EditError> {
    if before.is_some_and(|before| may_have_allowed(before, command)) {
        return Ok(());
    }
    let Names { pattern, redirected } = Names::of(command);
    let ours = path(&["permission", "bash", &pattern]);
    let is_ours =
        document.get(&path(&["permission"]))?.is_some_and(|node| matches!(node.kind, NodeKind::Object(_)))
            && document.get(&ours[..2])?.is_some_and(|node| matches!(node.kind, NodeKind::Object(_)))
            && document.get(&ours)?.and_then(JsonNode::text) == Some("allow");
    if !is_ours {
        return Ok(());
    }
    let redirected = path(&["permission", "bash", &redirected]);
    if document.get(&redirected)?.and_then(JsonNode::text) == Some("ask") {
        restore(document, &redirected, before, stays)?;
    }
    restore(document, &ours, before, stays)?;
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

/// Sets a rule to its original value, or removes it if it had none.
fn restore(
    document: &mut Document,
    place: &[String],
    before: Option<&Document>,
    stays: &dyn Fn(&[String]) -> bool,
) -> Result<(), EditError> {
    let was = match before {
        Some(before) => before.get(place).ok().flatten().and_then(JsonNode::text),
        None => None,
    };
    match was {
        Some(was) if !was.is_empty() => document.set(place, &was.into()),
        _ if stays(place) => Ok(()),
        _ => document.unset(place, stays),
    }
}

/// The names of our two rules.
struct Names {
    pattern: String,
    redirected: String,
}

impl Names {
    fn of(command: &str) -> Self {
        Self { pattern: format!("{command} *"), redirected: format!("{command} *>*") }
    }
}

fn path(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_string()).collect()
}
