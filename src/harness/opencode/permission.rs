//! OpenCode's permission rules that let its model run commands of `msg` without asking.
//!
//! OpenCode allows everything by default, so rules are needed only where it would ask. The last matching rule wins. A
//! redirection is matched as part of the command, so a rule after ours asks about redirections: without it, `msg
//! show ID > FILE` could write any file. What is not listed is asked about, as before.

use std::path::PathBuf;

use crate::domain::text_edit::EditError;
use crate::domain::text_edit::json::{Document, Json, JsonNode, Member, NodeKind};
use crate::domain::{ASKED_FLAG, UNASKED_COMMANDS, UNASKED_LINES};
use crate::harness::install::{FileLookup, PermissionRule, RecordedOriginal, member};

/// What earlier versions allowed: every command.
const ALL: &str = "msg *";
const REDIRECTED: &str = "msg *>*";

/// The permission to run `msg`; it is installed and removed together with that plugin.
#[derive(Debug)]
pub(super) struct Permission {
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
            RecordedOriginal::Known { .. } => !before.is_some_and(may_have_allowed),
        };
        put(document, is_ours, before)
    }

    fn take(
        &self,
        document: &mut Document,
        before: Option<&Document>,
        stays: &dyn Fn(&[String]) -> bool,
    ) -> Result<(), EditError> {
        take(document, before, stays)
    }

    fn denied(&self, document: &Document) -> Result<Option<String>, EditError> {
        denied(document)
    }

    fn goes_with_plugin(&self, view: FileLookup<'_>) -> bool {
        let (before, after) = view(&self.plugin);
        before != after
    }

    fn paths(&self) -> Vec<Vec<String>> {
        places().collect()
    }
}

/// Our rules, in their order.
fn rules() -> impl Iterator<Item = (String, &'static str)> {
    let (command, flag) = ASKED_FLAG;
    let allowed = UNASKED_COMMANDS.iter().map(|command| (format!("msg {command} *"), "allow"));
    let lines = UNASKED_LINES.iter().map(|line| (format!("msg {line}"), "allow"));
    allowed.chain(lines).chain([(format!("msg {command} *{flag}*"), "ask"), (REDIRECTED.to_string(), "ask")])
}

/// The members that our rules and those of earlier versions are.
pub(super) fn places() -> impl Iterator<Item = Vec<String>> {
    rules().map(|(name, _)| name).chain([ALL.to_string()]).map(|name| place(&name))
}

fn place(rule: &str) -> Vec<String> {
    member(&["permission", "bash", rule])
}

/// Allows our commands where OpenCode would ask. What is denied stays denied. `is_ours` says whether a permission for
/// every command is one that an earlier version put there.
fn put(document: &mut Document, is_ours: bool, before: Option<&Document>) -> Result<(), EditError> {
    let ours = || rules().map(|(name, value)| (name, Json::from(value)));
    let with_ask = || Json::Object([("*".to_string(), "ask".into())].into_iter().chain(ours()).collect());
    let (all, bash) = (member(&["permission"]), member(&["permission", "bash"]));
    match document.get(&all)?.map(|node| node.kind.clone()) {
        Some(NodeKind::Text(rule)) if rule == "ask" => {
            let bash = Json::Object(ours().collect());
            return document.set(&all, &Json::object([("*", "ask".into()), ("bash", bash)]));
        }
        Some(NodeKind::Object(_)) => {}
        _ => return Ok(()),
    }
    if is_ours && document.get(&place(ALL)).ok().flatten().and_then(JsonNode::text) == Some("allow") {
        restore(document, &place(ALL), before, &|path| path.len() < 3)?;
    }
    match document.get(&bash)?.map(|node| node.kind.clone()) {
        Some(NodeKind::Text(rule)) if rule == "ask" => document.set(&bash, &with_ask()),
        Some(NodeKind::Object(present)) => match last_fitting(&present) {
            Some((at, "ask")) if denial(&present).is_none() => {
                let is_users = |name: &str| {
                    let present = present.iter().find(|rule| rule.name == name);
                    let is_unknown = before.is_none() && !is_ours;
                    has(before, &place(name))
                        || present.is_some_and(|rule| is_unknown || rule.value.text() != Some("allow"))
                };
                put_rules(document, &present[at..], &is_users)
            }
            _ => Ok(()),
        },
        None if document.get(&member(&["permission", "*"]))?.and_then(JsonNode::text) == Some("ask") => {
            ours().try_for_each(|(name, value)| document.set(&place(&name), &value))
        }
        _ => Ok(()),
    }
}

/// Puts our rules after the one that asks, which `later` begins with, and those that ask after those that allow. A rule that the user has for one
/// of our commands stays; a rule about redirections keeps its value, but not its place.
fn put_rules(
    document: &mut Document,
    later: &[Member],
    is_users: &dyn Fn(&str) -> bool,
) -> Result<(), EditError> {
    let position = |name: &str| later.iter().position(|rule| rule.name == name);
    let wanted: Vec<(String, &str)> =
        rules().filter(|(name, value)| *value == "ask" || !is_users(name)).collect();
    let positions: Vec<Option<usize>> = wanted.iter().map(|(name, _)| position(name)).collect();
    if positions.iter().all(Option::is_some) && positions.is_sorted() {
        return Ok(());
    }
    for (name, value) in wanted {
        let at = place(&name);
        let kept = document.get(&at)?.and_then(JsonNode::text).filter(|_| value == "ask");
        let value = kept.unwrap_or(value).to_string();
        document.unset(&at, &|_| true)?;
        document.set(&at, &value.as_str().into())?;
    }
    Ok(())
}

/// The user's rule that keeps us from allowing our commands.
fn denied(document: &Document) -> Result<Option<String>, EditError> {
    let (all, bash) = (member(&["permission"]), member(&["permission", "bash"]));
    Ok(match document.get(&all)?.map(|node| &node.kind) {
        Some(NodeKind::Text(rule)) => (rule == "deny").then(|| "permission".to_string()),
        Some(NodeKind::Object(_)) => match document.get(&bash)?.map(|node| &node.kind) {
            Some(NodeKind::Text(rule)) => (rule == "deny").then(|| "permission.bash".to_string()),
            Some(NodeKind::Object(present)) => {
                denial(present).map(|rule| format!("permission.bash.\"{rule}\""))
            }
            _ => None,
        },
        _ => None,
    })
}

/// The rule that denies `msg`, or denies part of it and would have no effect after rules that allow it.
fn denial(present: &[Member]) -> Option<&str> {
    let denies = |rule: &&Member| rule.value.text() == Some("deny");
    let own = present.iter().find(|rule| rule.name == ALL).filter(denies);
    let denial = own.or_else(|| match last_fitting(present)? {
        (at, "deny") => Some(&present[at]),
        (at, "ask") => {
            // A rule that has the name of one of ours stays where it is.
            let is_kept = |rule: &&Member| rules().any(|(name, _)| name == rule.name);
            present[at..].iter().filter(denies).find(|rule| !is_kept(rule) && may_fit(&rule.name))
        }
        _ => None,
    });
    denial.map(|rule| rule.name.as_str())
}

/// The last rule that matches every call of `msg`: its index and its value.
fn last_fitting(present: &[Member]) -> Option<(usize, &str)> {
    let at = present.iter().rposition(|rule| ["*", ALL, "msg*"].contains(&rule.name.as_str()))?;
    Some((at, present[at].value.text()?))
}

/// Whether a rule may match some call of `msg`, judged by the text before its first wildcard.
fn may_fit(rule: &str) -> bool {
    let (start, call) = (rule.split(['*', '?']).next().unwrap_or_default(), "msg ");
    start.starts_with(call) || call.starts_with(start)
}

/// Whether the original file allowed every command, as far as its outline tells. An earlier version kept no values: then
/// `true`.
fn may_have_allowed(before: &Document) -> bool {
    let node = before.get(&place(ALL)).ok().flatten();
    node.is_some_and(|node| !matches!(node.text(), Some("ask" | "deny")))
}

fn has(before: Option<&Document>, place: &[String]) -> bool {
    before.is_some_and(|before| before.get(place).is_ok_and(|node| node.is_some()))
}

/// Undoes [`put`], and what earlier versions did. An object that was the single word `ask` before becomes that word
/// again.
fn take(
    document: &mut Document,
    before: Option<&Document>,
    stays: &dyn Fn(&[String]) -> bool,
) -> Result<(), EditError> {
    if before.is_some_and(may_have_allowed) {
        return Ok(());
    }
    let is_object = |document: &Document, path: &[String]| {
        Ok::<_, EditError>(document.get(path)?.is_some_and(|node| matches!(node.kind, NodeKind::Object(_))))
    };
    let (all, bash) = (member(&["permission"]), member(&["permission", "bash"]));
    if !is_object(document, &all)? || !is_object(document, &bash)? {
        return Ok(());
    }
    let ours: Vec<(String, &str)> = rules().chain([(ALL.to_string(), "allow")]).collect();
    let allows = |(name, value): &(String, &str)| {
        *value == "allow"
            && document.get(&place(name)).ok().flatten().and_then(JsonNode::text) == Some("allow")
    };
    if !ours.iter().any(allows) {
        return Ok(());
    }
    for (name, value) in ours.iter().rev() {
        let at = place(name);
        if document.get(&at)?.and_then(JsonNode::text) == Some(value) {
            restore(document, &at, before, stays)?;
        }
    }
    for place in [&bash, &all] {
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
