//! Edits of JSON files, with or without comments.
//!
//! `jsonc-parser` parses: it bounds nesting at 512 levels and reports where each value is. The edits are ours. Its
//! feature `cst` can edit as well (`CstObject::append`, `CstObjectProp::remove`), but it does not keep the rest of the
//! file byte for byte. Measured with 0.34.0:
//!
//! | file | edit | result |
//! | --- | --- | --- |
//! | `{"a":1}` | append a member, remove it again | `{⏎  "a":1⏎}`: a file of one line gets three |
//! | `{⏎⏎  "a": 1⏎⏎}` | append a member, remove it again | `{⏎  "a": 1⏎}`: blank lines at both ends are deleted |
//! | `"a": 1, // one⏎  "hooks": {} // two⏎` | remove `hooks` | `"a": 1 // one⏎`: the user's comment beside it is deleted |
//! | `{"a": 1, /* note */ "hooks": {}}` | remove `hooks` | `{"a": 1}`: the same |
//!
//! Its nodes also have no offsets, which a [`EditError`] needs for its line and column.

mod node;
mod splice;
mod write;

pub use node::{JsonNode, Member, NodeKind};
pub use write::{Json, quoted};

use super::{EditError, Splice, bytes_of, spliced, text_of};
use node::parse;

/// Extensions of JSON that the program that reads the file accepts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dialect {
    Strict,
    Comments,
    CommentsAndTrailingCommas,
}

/// A list in a settings file that may hold an entry of ours.
#[derive(Clone, Copy)]
pub struct EntrySlot<'a> {
    pub list: &'a [String],
    /// If set, the list holds groups, and our entry is in the list of that name in one of them.
    pub within: Option<&'a str>,
    pub is_ours: &'a dyn Fn(&JsonNode) -> bool,
}

impl std::fmt::Debug for EntrySlot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("list", &self.list).field("within", &self.within).finish_non_exhaustive()
    }
}

/// The position of an entry: its index in the list, and in the group.
pub type EntryPosition = (usize, usize);

/// A settings file whose outermost value is an object.
#[derive(Clone, Debug)]
pub struct Document {
    bom: bool,
    text: String,
    dialect: Dialect,
    root: JsonNode,
    changed: bool,
}

impl Document {
    /// Parses the file. An empty file, and one with only comments, is an empty object.
    pub fn parse(bytes: &[u8], dialect: Dialect) -> Result<Self, EditError> {
        let (bom, text) = text_of(bytes)?;
        let (text, root) = match parse(text, dialect)? {
            Some(root) => (text.to_string(), root),
            None => {
                let gap = if text.trim().is_empty() { "" } else { text };
                let text = format!("{gap}{{}}{}", super::newline_of(text));
                let root =
                    parse(&text, dialect)?.ok_or_else(|| EditError::at(&text, 0, "it holds nothing"))?;
                (text, root)
            }
        };
        if !matches!(root.kind, NodeKind::Object(_)) {
            return Err(EditError::at(&text, root.range.start, "it must hold an object"));
        }
        Ok(Self { bom, text, dialect, root, changed: false })
    }

    pub fn into_bytes(self) -> Vec<u8> {
        bytes_of(self.bom, self.text)
    }

    /// Whether anything was added or removed.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Whether it is an empty object without any comment.
    pub fn is_bare(&self) -> bool {
        let inner = self.root.range.start + 1..self.root.range.end - 1;
        self.root.children().is_empty()
            && [&self.text[..self.root.range.start], &self.text[inner], &self.text[self.root.range.end..]]
                .iter()
                .all(|text| text.trim().is_empty())
    }

    /// The value at this path. The values above it must be objects, and no name may occur twice.
    pub fn get(&self, path: &[String]) -> Result<Option<&JsonNode>, EditError> {
        let mut here = &self.root;
        for (depth, name) in path.iter().enumerate() {
            let NodeKind::Object(members) = &here.kind else {
                return Err(self.misfit(here, &path[..depth], "an object"));
            };
            let mut of_name = members.iter().filter(|member| member.name == *name);
            let Some(member) = of_name.next() else { return Ok(None) };
            if let Some(again) = of_name.next() {
                let reason = format!("`{}` occurs twice", shown(&path[..=depth]));
                return Err(EditError::at(&self.text, again.start, reason));
            }
            here = &member.value;
        }
        Ok(Some(here))
    }

    /// The list at this path.
    pub fn list(&self, path: &[String]) -> Result<Option<&[JsonNode]>, EditError> {
        let Some(node) = self.get(path)? else { return Ok(None) };
        match &node.kind {
            NodeKind::List(items) => Ok(Some(items)),
            _ => Err(self.misfit(node, path, "a list")),
        }
    }

    /// The positions of our entries.
    pub fn places(&self, slot: &EntrySlot<'_>) -> Result<Vec<EntryPosition>, EditError> {
        let mut places = Vec::new();
        for (outer, item) in self.list(slot.list)?.unwrap_or_default().iter().enumerate() {
            let inner = self.handlers(item, slot, outer)?.iter().enumerate();
            places.extend(inner.filter(|(_, node)| (slot.is_ours)(node)).map(|(inner, _)| (outer, inner)));
        }
        Ok(places)
    }

    /// Replaces our first entry, or appends one. Removes other entries of ours.
    pub fn put(&mut self, slot: &EntrySlot<'_>, value: &Json) -> Result<(), EditError> {
        let places = self.places(slot)?;
        let Some(((outer, inner), extra)) = places.split_first() else {
            return self.append(slot.list, value);
        };
        for place in extra.iter().rev() {
            self.remove_at(slot, *place)?;
        }
        let items = self.list(slot.list)?.unwrap_or_default();
        let Some(item) = items.get(*outer) else { return Ok(()) };
        let handlers = self.handlers(item, slot, *outer)?;
        // If others added entries to our group, only our entry in it is replaced.
        let (node, value) = match (slot.within, value) {
            (Some(within), Json::Object(members)) if handlers.len() > 1 => {
                let ours = members.iter().find(|(name, _)| name == within).map(|(_, value)| value);
                match (handlers.get(*inner), ours) {
                    (Some(node), Some(Json::List(ours))) if ours.len() == 1 => (node, &ours[0]),
                    _ => (item, value),
                }
            }
            _ => (item, value),
        };
        if node.is(value) {
            return Ok(());
        }
        let splice = self.replacement(node, value);
        self.apply(vec![splice])
    }

    /// Removes all our entries, and containers that are empty afterwards, except those that `stays` names.
    pub fn take(&mut self, slot: &EntrySlot<'_>, stays: &dyn Fn(&[String]) -> bool) -> Result<(), EditError> {
        let places = self.places(slot)?;
        for place in places.iter().rev() {
            self.remove_at(slot, *place)?;
        }
        if places.is_empty() { Ok(()) } else { self.prune(slot.list, stays) }
    }

    /// Sets the member at this path, and creates it if it is missing.
    pub fn set(&mut self, path: &[String], value: &Json) -> Result<(), EditError> {
        let splices = match self.get(path)? {
            Some(node) if node.is(value) => return Ok(()),
            Some(node) => vec![self.replacement(node, value)],
            None => self.new_member(path, value.clone())?,
        };
        self.apply(splices)
    }

    /// Removes a member, and containers that are empty afterwards, except those that `stays` names.
    pub fn unset(&mut self, path: &[String], stays: &dyn Fn(&[String]) -> bool) -> Result<(), EditError> {
        if self.get(path)?.is_none() {
            return Ok(());
        }
        self.remove_member(path)?;
        self.prune(&path[..path.len() - 1], stays)
    }

    /// The content, regardless of formatting.
    #[cfg(test)]
    pub(super) fn meaning(&self) -> String {
        fn of(node: &JsonNode) -> String {
            match &node.kind {
                NodeKind::List(items) => format!("{:?}", items.iter().map(of).collect::<Vec<_>>()),
                NodeKind::Object(members) => {
                    let member = |member: &Member| (member.name.clone(), of(&member.value));
                    format!("{:?}", members.iter().map(member).collect::<Vec<_>>())
                }
                leaf => format!("{leaf:?}"),
            }
        }
        of(&self.root)
    }

    fn append(&mut self, list: &[String], value: &Json) -> Result<(), EditError> {
        self.list(list)?;
        let splices = match self.get(list)? {
            Some(node) => self.insertion(node, None, value),
            None => self.new_member(list, Json::List(vec![value.clone()]))?,
        };
        self.apply(splices)
    }

    /// Inserts the missing part of the path, with the value at its end.
    fn new_member(&self, path: &[String], value: Json) -> Result<Vec<Splice>, EditError> {
        for depth in (0..path.len()).rev() {
            let Some(parent) = self.get(&path[..depth])? else { continue };
            let value = value.beneath(&path[depth + 1..]);
            return Ok(self.insertion(parent, Some(&path[depth]), &value));
        }
        Ok(Vec::new())
    }

    fn remove_at(&mut self, slot: &EntrySlot<'_>, (outer, inner): EntryPosition) -> Result<(), EditError> {
        let Some(list) = self.get(slot.list)? else { return Ok(()) };
        let Some(item) = self.list(slot.list)?.and_then(|items| items.get(outer)) else { return Ok(()) };
        let splices = match slot.within {
            Some(within) if self.handlers(item, slot, outer)?.len() > 1 => {
                item.member(within).map(|handlers| self.removal(handlers, inner)).unwrap_or_default()
            }
            _ => self.removal(list, outer),
        };
        self.apply(splices)
    }

    fn remove_member(&mut self, path: &[String]) -> Result<(), EditError> {
        let Some((name, above)) = path.split_last() else { return Ok(()) };
        let Some(parent) = self.get(above)? else { return Ok(()) };
        let NodeKind::Object(members) = &parent.kind else { return Ok(()) };
        let Some(index) = members.iter().position(|member| member.name == *name) else { return Ok(()) };
        let splices = self.removal(parent, index);
        self.apply(splices)
    }

    /// Removes empty containers, from this path upwards.
    fn prune(&mut self, path: &[String], stays: &dyn Fn(&[String]) -> bool) -> Result<(), EditError> {
        for depth in (1..=path.len()).rev() {
            let path = &path[..depth];
            let is_empty =
                self.get(path)?.is_some_and(|node| node.children().is_empty() && !self.has_notes(node));
            if !is_empty || stays(path) {
                break;
            }
            self.remove_member(path)?;
        }
        Ok(())
    }

    /// Whether it contains a comment.
    fn has_notes(&self, node: &JsonNode) -> bool {
        let inner = self.text.get(node.range.start + 1..node.range.end.saturating_sub(1)).unwrap_or_default();
        !inner.trim().is_empty()
    }

    /// The handlers of a group; if there are no groups, the element itself.
    fn handlers<'n>(
        &self,
        item: &'n JsonNode,
        slot: &EntrySlot<'_>,
        index: usize,
    ) -> Result<&'n [JsonNode], EditError> {
        let Some(within) = slot.within else { return Ok(std::slice::from_ref(item)) };
        match item.member(within).map(|node| (node, &node.kind)) {
            None => Ok(&[]),
            Some((_, NodeKind::List(handlers))) => Ok(handlers),
            Some((node, _)) => {
                let mut path = slot.list.to_vec();
                path.extend([index.to_string(), within.to_string()]);
                Err(self.misfit(node, &path, "a list"))
            }
        }
    }

    fn misfit(&self, node: &JsonNode, path: &[String], wanted: &str) -> EditError {
        let found = node.kind.name();
        let reason = format!("`{}` is {found}, where {wanted} is expected", shown(path));
        EditError::at(&self.text, node.range.start, reason)
    }

    fn apply(&mut self, splices: Vec<Splice>) -> Result<(), EditError> {
        let text = spliced(&self.text, splices);
        let Some(root) = parse(&text, self.dialect)? else {
            return Err(EditError::at(&text, 0, "it can't be changed safely"));
        };
        (self.text, self.root, self.changed) = (text, root, true);
        Ok(())
    }
}

fn shown(path: &[String]) -> String {
    path.join(".")
}
