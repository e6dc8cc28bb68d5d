//! One entry of a JSON settings file: a hook, a list item, a member, the status line, the MCP server or a permission.

use std::fmt;
use std::rc::Rc;

use crate::domain::Harness;
use crate::domain::text_edit::EditError;
use crate::domain::text_edit::json::{Document, EntryPosition, EntrySlot, Json, JsonNode};
use crate::harness::{HookLine, HookPurpose};

use super::original::{FileLookup, RecordedOriginal};
use super::server_entry::ServerEntry;

/// One entry in a settings file.
#[derive(Clone, Debug)]
pub enum SettingsFileEntry {
    /// A hook, recognised by its command line.
    Hook(Hook),
    /// A text in a list.
    Item {
        list: Vec<String>,
        text: String,
    },
    /// A text that an earlier version put into a list, and that goes.
    FormerItem {
        list: Vec<String>,
        text: String,
    },
    /// A member that must exist; it gets this value only if it has none.
    Member {
        path: Vec<String>,
        value: Json,
    },
    /// The command of the status line, if it is wanted. Ours is kept up to date if it is already there.
    StatusLine {
        value: Json,
        is_wanted: bool,
    },
    /// Our MCP server, recognised by its command.
    Server(ServerEntry),
    Permission(Rc<dyn PermissionRule>),
}

/// What a hook of ours is for. The list of an event may hold one of each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HookRole {
    /// It reports the event.
    Reporter,
    Waiter,
}

/// A hook in the list of its event.
#[derive(Clone, Debug)]
pub struct Hook {
    pub list: Vec<String>,
    /// If set, the list holds groups, and each group holds its hooks in the list of this name.
    pub within: Option<&'static str>,
    /// The member that holds the command line.
    pub field: &'static str,
    pub role: HookRole,
    pub value: Json,
}

/// A harness's own form of permission to run `msg` without asking.
pub trait PermissionRule: fmt::Debug {
    /// Adds it where the harness would ask. `before` is the outline of the original file.
    fn put(
        &self,
        document: &mut Document,
        original: RecordedOriginal<'_>,
        before: Option<&Document>,
        view: FileLookup<'_>,
    ) -> Result<(), EditError>;

    fn take(
        &self,
        document: &mut Document,
        before: Option<&Document>,
        stays: &dyn Fn(&[String]) -> bool,
    ) -> Result<(), EditError>;

    /// The user's rule that keeps us from adding it.
    fn denied(&self, document: &Document) -> Result<Option<String>, EditError>;

    /// Whether the plugin that it belongs to is being added or removed.
    fn goes_with_plugin(&self, view: FileLookup<'_>) -> bool;

    /// The members that it sets.
    fn paths(&self) -> Vec<Vec<String>>;
}

impl SettingsFileEntry {
    pub(super) fn put(
        &self,
        document: &mut Document,
        harness: Harness,
        stays: &dyn Fn(&[String]) -> bool,
    ) -> Result<(), EditError> {
        match self {
            Self::Hook(hook) => hook.slot(harness, |slot| document.put(slot, &hook.value)),
            Self::Item { list, text } => {
                let is_it = |node: &JsonNode| node.text() == Some(text);
                let slot = EntrySlot { list, within: None, is_ours: &is_it };
                if document.places(&slot)?.is_empty() {
                    document.put(&slot, &Json::from(text.as_str()))
                } else {
                    Ok(())
                }
            }
            Self::Member { path, value } => match document.get(path)? {
                Some(_) => Ok(()),
                None => document.set(path, value),
            },
            Self::StatusLine { value, is_wanted: wanted } => match document.get(&status_line())? {
                None if !wanted => Ok(()),
                Some(node) if shown_by(node).is_none() => Ok(()),
                None | Some(_) => document.set(&status_line(), value),
            },
            Self::Server(server) => server.put(document, stays),
            // `InstalledPart::put` does it, because it depends on what was there before.
            Self::Permission(_) | Self::FormerItem { .. } => Ok(()),
        }
    }

    /// Whether the plugin that it belongs to is being added or removed.
    pub(super) fn goes_with_plugin(&self, view: FileLookup<'_>) -> bool {
        matches!(self, Self::Permission(rule) if rule.goes_with_plugin(view))
    }

    pub(super) fn take(
        &self,
        document: &mut Document,
        harness: Harness,
        before: Option<&Document>,
        stays: &dyn Fn(&[String]) -> bool,
    ) -> Result<(), EditError> {
        match self {
            Self::Hook(hook) => hook.slot(harness, |slot| document.take(slot, stays)),
            Self::Item { list, text } | Self::FormerItem { list, text } => {
                let is_it = |node: &JsonNode| node.text() == Some(text);
                let slot = EntrySlot { list, within: None, is_ours: &is_it };
                let was_there = match before {
                    Some(before) => !before.places(&slot)?.is_empty(),
                    None => false,
                };
                if was_there { Ok(()) } else { document.take(&slot, stays) }
            }
            Self::Member { path, value } => {
                let is_ours = document.get(path)?.is_some_and(|node| node.is(value)) && !stays(path);
                if is_ours { document.unset(path, stays) } else { Ok(()) }
            }
            Self::StatusLine { .. } => {
                let is_ours = document.get(&status_line())?.and_then(shown_by).is_some();
                if is_ours && !stays(&status_line()) { document.unset(&status_line(), stays) } else { Ok(()) }
            }
            Self::Server(server) => server.take(document, stays),
            Self::Permission(rule) => rule.take(document, before, stays),
        }
    }
}

impl Hook {
    /// Our hooks in the list: their positions and their command lines.
    pub fn found(
        &self,
        document: &Document,
        harness: Harness,
    ) -> Result<Vec<(EntryPosition, HookLine)>, EditError> {
        let places = self.slot(harness, |slot| document.places(slot))?;
        let items = document.list(&self.list)?.unwrap_or_default();
        let line = |(outer, inner): EntryPosition| {
            let item = items.get(outer)?;
            let handler = match self.within {
                Some(within) => item.member(within)?.item(inner)?,
                None => item,
            };
            Some(((outer, inner), HookLine::parse(handler.member(self.field)?.text()?)?))
        };
        Ok(places.into_iter().filter_map(line).collect())
    }

    pub fn slot<R>(&self, harness: Harness, run: impl FnOnce(&EntrySlot<'_>) -> R) -> R {
        let is_ours = |node: &JsonNode| {
            let line = node.member(self.field).and_then(JsonNode::text).and_then(HookLine::parse);
            line.is_some_and(|line| {
                let is_same = match line.purpose {
                    HookPurpose::ReportEvent(_) => self.role == HookRole::Reporter,
                    HookPurpose::WaitForMail => self.role == HookRole::Waiter,
                    HookPurpose::StatusLine => false,
                };
                line.harness == harness && is_same
            })
        };
        run(&EntrySlot { list: &self.list, within: self.within, is_ours: &is_ours })
    }
}

/// Removes our hooks from events that this version doesn't use: another version did.
pub(super) fn take_strays(
    document: &mut Document,
    harness: Harness,
    entries: &[SettingsFileEntry],
    stays: &dyn Fn(&[String]) -> bool,
) -> Result<(), EditError> {
    let hooks: Vec<&Hook> = entries
        .iter()
        .filter_map(|entry| if let SettingsFileEntry::Hook(hook) = entry { Some(hook) } else { None })
        .collect();
    let Some((first, above)) =
        hooks.first().and_then(|hook| Some((*hook, hook.list.split_last()?.1.to_vec())))
    else {
        return Ok(());
    };
    let events = document.get(&above)?.map(JsonNode::names).unwrap_or_default();
    for event in events.into_iter().filter(|event| hooks.iter().all(|hook| hook.list.last() != Some(event))) {
        let list = above.iter().cloned().chain([event]).collect();
        let stray = Hook { list, ..first.clone() };
        // A list of another shape contains nothing of ours.
        if stray.slot(harness, |slot| document.places(slot)).is_ok_and(|places| !places.is_empty()) {
            stray.slot(harness, |slot| document.take(slot, stays))?;
        }
    }
    Ok(())
}

pub(super) fn status_line() -> [String; 1] {
    ["statusLine".to_string()]
}

/// Our command line in the status line, if it is ours.
pub(super) fn shown_by(node: &JsonNode) -> Option<HookLine> {
    let line = HookLine::parse(node.member("command")?.text()?)?;
    (line.purpose == HookPurpose::StatusLine).then_some(line)
}
