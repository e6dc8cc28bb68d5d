//! JSON, and JSON with comments.

use std::ops::Range;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::json_write::Style;
pub use super::json_write::{Json, quoted};
use super::{Refusal, Splice, bytes_of, spliced, text_of};

/// What besides plain JSON the reader of the file understands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dialect {
    Strict,
    Comments,
    CommentsAndTrailingCommas,
}

/// A value in the text, and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    range: Range<usize>,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Member>),
}

#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    /// Where the name starts and ends.
    start: usize,
    name_end: usize,
    pub value: Node,
}

/// A list of a settings file in which an entry of ours has its place.
#[derive(Clone, Copy)]
pub struct Slot<'a> {
    pub list: &'a [String],
    /// The list holds groups, and what is ours is in the list of that name in one of them.
    pub within: Option<&'a str>,
    pub is_ours: &'a dyn Fn(&Node) -> bool,
}

impl std::fmt::Debug for Slot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("list", &self.list).field("within", &self.within).finish_non_exhaustive()
    }
}

/// Where an entry is: the place in the list, and the place in the group.
pub type Place = (usize, usize);

/// A settings file whose outermost value is an object.
#[derive(Clone, Debug)]
pub struct Document {
    bom: bool,
    text: String,
    dialect: Dialect,
    root: Node,
    changed: bool,
}

impl Document {
    /// Nothing at all, and nothing but comments, is an empty object.
    pub fn parse(bytes: &[u8], dialect: Dialect) -> Result<Self, Refusal> {
        let (bom, text) = text_of(bytes)?;
        let (text, root) = match parse(text, dialect)? {
            Some(root) => (text.to_string(), root),
            None => {
                let gap = if text.trim().is_empty() { "" } else { text };
                let text = format!("{gap}{{}}{}", super::newline_of(text));
                let root = parse(&text, dialect)?.ok_or_else(|| Refusal::at(&text, 0, "it holds nothing"))?;
                (text, root)
            }
        };
        if !matches!(root.kind, Kind::Object(_)) {
            return Err(Refusal::at(&text, root.range.start, "it must hold an object"));
        }
        Ok(Self { bom, text, dialect, root, changed: false })
    }

    pub fn into_bytes(self) -> Vec<u8> {
        bytes_of(self.bom, self.text)
    }

    /// Was anything put in or taken out?
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Is it an empty object, without so much as a comment?
    pub fn is_bare(&self) -> bool {
        let inner = self.root.range.start + 1..self.root.range.end - 1;
        self.root.children().is_empty()
            && [&self.text[..self.root.range.start], &self.text[inner], &self.text[self.root.range.end..]]
                .iter()
                .all(|text| text.trim().is_empty())
    }

    /// The value that these names lead to. What is on the way must be an object, and no name may stand twice.
    pub fn get(&self, path: &[String]) -> Result<Option<&Node>, Refusal> {
        let mut here = &self.root;
        for (depth, name) in path.iter().enumerate() {
            let Kind::Object(members) = &here.kind else {
                return Err(self.misfit(here, &path[..depth], "an object"));
            };
            let mut of_name = members.iter().filter(|member| member.name == *name);
            let Some(member) = of_name.next() else { return Ok(None) };
            if let Some(again) = of_name.next() {
                let reason = format!("`{}` stands there twice", shown(&path[..=depth]));
                return Err(Refusal::at(&self.text, again.start, reason));
            }
            here = &member.value;
        }
        Ok(Some(here))
    }

    /// The list that these names lead to.
    pub fn list(&self, path: &[String]) -> Result<Option<&[Node]>, Refusal> {
        let Some(node) = self.get(path)? else { return Ok(None) };
        match &node.kind {
            Kind::List(items) => Ok(Some(items)),
            _ => Err(self.misfit(node, path, "a list")),
        }
    }

    /// Where entries of ours are.
    pub fn places(&self, slot: &Slot<'_>) -> Result<Vec<Place>, Refusal> {
        let mut places = Vec::new();
        for (outer, item) in self.list(slot.list)?.unwrap_or_default().iter().enumerate() {
            let inner = self.handlers(item, slot, outer)?.iter().enumerate();
            places.extend(inner.filter(|(_, node)| (slot.is_ours)(node)).map(|(inner, _)| (outer, inner)));
        }
        Ok(places)
    }

    /// Puts an entry where one of ours is already, or at the end. Others of ours go.
    pub fn put(&mut self, slot: &Slot<'_>, value: &Json) -> Result<(), Refusal> {
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
        // Whoever put others beside it has made the group theirs.
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

    /// Takes out all entries of ours, and what is empty then, unless it is to stay.
    pub fn take(&mut self, slot: &Slot<'_>, stays: &dyn Fn(&[String]) -> bool) -> Result<bool, Refusal> {
        let places = self.places(slot)?;
        for place in places.iter().rev() {
            self.remove_at(slot, *place)?;
        }
        if !places.is_empty() {
            self.prune(slot.list, stays)?;
        }
        Ok(!places.is_empty())
    }

    /// Gives the member that these names lead to a value, and makes it if need be.
    pub fn set(&mut self, path: &[String], value: &Json) -> Result<(), Refusal> {
        let splices = match self.get(path)? {
            Some(node) if node.is(value) => return Ok(()),
            Some(node) => vec![self.replacement(node, value)],
            None => self.new_member(path, value.clone())?,
        };
        self.apply(splices)
    }

    /// Takes a member out, and what is empty then, unless it is to stay.
    pub fn unset(&mut self, path: &[String], stays: &dyn Fn(&[String]) -> bool) -> Result<bool, Refusal> {
        if self.get(path)?.is_none() {
            return Ok(false);
        }
        self.remove_member(path)?;
        self.prune(&path[..path.len() - 1], stays)?;
        Ok(true)
    }

    /// What it says, however it is written.
    #[cfg(test)]
    pub(super) fn meaning(&self) -> String {
        fn of(node: &Node) -> String {
            match &node.kind {
                Kind::List(items) => format!("{:?}", items.iter().map(of).collect::<Vec<_>>()),
                Kind::Object(members) => {
                    let member = |member: &Member| (member.name.clone(), of(&member.value));
                    format!("{:?}", members.iter().map(member).collect::<Vec<_>>())
                }
                leaf => format!("{leaf:?}"),
            }
        }
        of(&self.root)
    }

    fn append(&mut self, list: &[String], value: &Json) -> Result<(), Refusal> {
        self.list(list)?;
        let splices = match self.get(list)? {
            Some(node) => self.insertion(node, None, value),
            None => self.new_member(list, Json::List(vec![value.clone()]))?,
        };
        self.apply(splices)
    }

    /// The first of these names that is missing, with the rest beneath it.
    fn new_member(&self, path: &[String], value: Json) -> Result<Vec<Splice>, Refusal> {
        for depth in (0..path.len()).rev() {
            let Some(parent) = self.get(&path[..depth])? else { continue };
            let value = value.beneath(&path[depth + 1..]);
            return Ok(self.insertion(parent, Some(&path[depth]), &value));
        }
        Ok(Vec::new())
    }

    fn remove_at(&mut self, slot: &Slot<'_>, (outer, inner): Place) -> Result<(), Refusal> {
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

    fn remove_member(&mut self, path: &[String]) -> Result<(), Refusal> {
        let Some((name, above)) = path.split_last() else { return Ok(()) };
        let Some(parent) = self.get(above)? else { return Ok(()) };
        let Kind::Object(members) = &parent.kind else { return Ok(()) };
        let Some(index) = members.iter().position(|member| member.name == *name) else { return Ok(()) };
        let splices = self.removal(parent, index);
        self.apply(splices)
    }

    /// Removes what is empty, from there upwards.
    fn prune(&mut self, path: &[String], stays: &dyn Fn(&[String]) -> bool) -> Result<(), Refusal> {
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

    /// Is there a comment in it?
    fn has_notes(&self, node: &Node) -> bool {
        let inner = self.text.get(node.range.start + 1..node.range.end.saturating_sub(1)).unwrap_or_default();
        !inner.trim().is_empty()
    }

    /// The handlers of a group; where there are no groups, the element itself.
    fn handlers<'n>(&self, item: &'n Node, slot: &Slot<'_>, index: usize) -> Result<&'n [Node], Refusal> {
        let Some(within) = slot.within else { return Ok(std::slice::from_ref(item)) };
        match item.member(within).map(|node| (node, &node.kind)) {
            None => Ok(&[]),
            Some((_, Kind::List(handlers))) => Ok(handlers),
            Some((node, _)) => {
                let mut path = slot.list.to_vec();
                path.extend([index.to_string(), within.to_string()]);
                Err(self.misfit(node, &path, "a list"))
            }
        }
    }

    fn misfit(&self, node: &Node, path: &[String], wanted: &str) -> Refusal {
        let found = node.kind.name();
        let reason = format!("`{}` is {found}, where {wanted} is expected", shown(path));
        Refusal::at(&self.text, node.range.start, reason)
    }

    fn apply(&mut self, splices: Vec<Splice>) -> Result<(), Refusal> {
        let text = spliced(&self.text, splices);
        let Some(root) = parse(&text, self.dialect)? else {
            return Err(Refusal::at(&text, 0, "it can't be changed safely"));
        };
        (self.text, self.root, self.changed) = (text, root, true);
        Ok(())
    }

    fn replacement(&self, node: &Node, value: &Json) -> Splice {
        let old = &self.text[node.range.clone()];
        let is_scalar = node.children().is_empty();
        let with = if old.contains('\n') || (is_scalar && self.text.trim_end().contains('\n')) {
            value.on_lines(&Style::of(&self.text), self.indent_at(node.range.start))
        } else {
            value.on_one_line(self.is_spaced(&node.range))
        };
        Splice { range: node.range.clone(), with }
    }

    /// A new last element.
    fn insertion(&self, container: &Node, name: Option<&str>, value: &Json) -> Vec<Splice> {
        let style = Style::of(&self.text);
        let inner = container.range.start + 1..container.range.end - 1;
        let children = container.children();
        let has_lines = self.text[inner.clone()].contains('\n');
        let is_root = container.range == self.root.range;
        let one_line =
            !has_lines && (!children.is_empty() || !(is_root || self.text.trim_end().contains('\n')));
        let spaced = self.is_spaced(&self.root.range);
        let own = self.indent_at(container.range.start);
        let indent = match children.first() {
            Some(first) if self.starts_line(first.start) => self.indent_at(first.start).to_string(),
            _ => format!("{own}{}", style.unit),
        };
        let colon = if one_line && !spaced { ":" } else { ": " };
        let value = if one_line { value.on_one_line(spaced) } else { value.on_lines(&style, &indent) };
        let entry = name.map_or(value.clone(), |name| format!("{}{colon}{value}", quoted(name)));
        let (newline, at) = (style.newline, |range: Range<usize>, with: String| Splice { range, with });
        let Some(last) = children.last() else {
            // Comments stay before it.
            let kept = self.text[inner.clone()].trim_end().len();
            let (gap, range) = (if kept == 0 { "" } else { " " }, inner.start + kept..inner.end);
            let with = if one_line {
                format!("{gap}{entry}")
            } else {
                format!("{newline}{indent}{entry}{newline}{own}")
            };
            return vec![at(range, with)];
        };
        let comma = self.comma_in(last.end..inner.end);
        let (before, after) = if comma.is_some() { ("", ",") } else { (",", "") };
        if one_line {
            let space = if spaced { " " } else { "" };
            let point = comma.map_or(last.end, |comma| comma + 1);
            return vec![at(point..point, format!("{before}{space}{entry}{after}"))];
        }
        let point = self.end_of_notes(comma.map_or(last.end, |comma| comma + 1)..inner.end);
        vec![
            at(last.end..last.end, before.to_string()),
            at(point..point, format!("{newline}{indent}{entry}{after}")),
        ]
    }

    /// An element with its comma, and its line if it has one to itself.
    fn removal(&self, container: &Node, index: usize) -> Vec<Splice> {
        let children = container.children();
        let Some(Range { start, end }) = children.get(index).cloned() else { return Vec::new() };
        let inner = container.range.start + 1..container.range.end - 1;
        let gone = |range: Range<usize>| Splice { range, with: String::new() };
        if children.len() == 1 {
            let (before, after) = (&self.text[inner.start..start], &self.text[end..inner.end]);
            let after_comma = after.trim_start().strip_prefix(',').unwrap_or(after);
            if before.trim().is_empty() && after_comma.trim().is_empty() {
                return vec![gone(inner)];
            }
        }
        let next = children.get(index + 1).map_or(inner.end, |next| next.start);
        let comma = self.comma_in(end..next);
        let mut splices = Vec::new();
        if comma.is_none()
            && let Some(previous) = index.checked_sub(1).and_then(|index| children.get(index))
            && let Some(comma) = self.comma_in(previous.end..start)
        {
            splices.push(gone(comma..comma + 1));
        }
        let bare_end = comma.map_or(end, |comma| comma + 1);
        let rest = &self.text[bare_end..];
        let until = bare_end + rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let rest_is_empty = self.text[until..].starts_with(['\n', '\r']);
        let line = self.text[..start].trim_end_matches([' ', '\t']);
        let above = line.strip_suffix('\n').map(|above| above.strip_suffix('\r').unwrap_or(above).len());
        splices.push(gone(match above {
            Some(above) if rest_is_empty => above..until,
            None if index + 1 == children.len() => line.len()..bare_end,
            _ => start..until,
        }));
        splices
    }

    /// Where a comma stands in what lies between two values.
    fn comma_in(&self, range: Range<usize>) -> Option<usize> {
        let mut at = range.start;
        while at < range.end {
            match self.text.as_bytes()[at] {
                b',' => return Some(at),
                b'/' => at = self.end_of_comment(at),
                _ => at += 1,
            }
        }
        None
    }

    /// The end of the last comment on this line, or where it starts if there is none.
    fn end_of_notes(&self, range: Range<usize>) -> usize {
        let (mut at, mut end) = (range.start, range.start);
        while at < range.end {
            match self.text.as_bytes()[at] {
                b' ' | b'\t' => at += 1,
                b'/' => {
                    at = self.end_of_comment(at);
                    end = at;
                }
                _ => break,
            }
        }
        end
    }

    fn end_of_comment(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let length = if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else {
            rest.find('\n').map(|end| rest[..end].trim_end_matches('\r').len())
        };
        at + length.unwrap_or(rest.len())
    }

    fn line_before(&self, at: usize) -> &str {
        let before = &self.text[..at];
        &before[before.rfind('\n').map_or(0, |newline| newline + 1)..]
    }

    fn starts_line(&self, at: usize) -> bool {
        self.line_before(at).trim_matches([' ', '\t']).is_empty()
    }

    /// The indentation of the line that this place is in.
    fn indent_at(&self, at: usize) -> &str {
        let line = self.line_before(at);
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Is there a space after colons and commas?
    fn is_spaced(&self, range: &Range<usize>) -> bool {
        let text = &self.text[range.clone()];
        !text.contains(':') && !text.contains(',') || text.contains(": ") || text.contains(", ")
    }
}

impl Node {
    pub fn member(&self, name: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Object(members) => {
                members.iter().rev().find(|member| member.name == name).map(|member| &member.value)
            }
            _ => None,
        }
    }

    pub fn item(&self, index: usize) -> Option<&Node> {
        match &self.kind {
            Kind::List(items) => items.get(index),
            _ => None,
        }
    }

    /// How many elements or members it has.
    pub fn length(&self) -> usize {
        self.children().len()
    }

    pub fn number(&self) -> Option<u64> {
        match &self.kind {
            Kind::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Does it say the same, however it is written?
    pub fn is(&self, value: &Json) -> bool {
        match (&self.kind, value) {
            (Kind::Bool(a), Json::Bool(b)) => a == b,
            (Kind::Number(a), Json::Number(b)) => *a == b.to_string(),
            (Kind::Text(a), Json::Text(b)) => a == b,
            (Kind::List(a), Json::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b)),
            (Kind::Object(a), Json::Object(b)) => {
                a.len() == b.len() && b.iter().all(|(name, b)| self.member(name).is_some_and(|a| a.is(b)))
            }
            _ => false,
        }
    }

    fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::List(items) => items.iter().map(|item| item.range.clone()).collect(),
            Kind::Object(members) => {
                members.iter().map(|member| member.start..member.value.range.end).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

fn shown(path: &[String]) -> String {
    path.join(".")
}

fn parse(text: &str, dialect: Dialect) -> Result<Option<Node>, Refusal> {
    let options = ParseOptions {
        allow_comments: dialect != Dialect::Strict,
        allow_trailing_commas: dialect == Dialect::CommentsAndTrailingCommas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| {
        let reason = error.kind().to_string();
        let lower = reason
            .chars()
            .take(1)
            .flat_map(char::to_lowercase)
            .chain(reason.chars().skip(1))
            .collect::<String>();
        Refusal::at(text, error.range().start, lower)
    })?;
    let root = parsed.value.map(|value| node(&value));
    root.as_ref().map_or(Ok(()), |root| check_strings(text, root))?;
    Ok(root)
}

/// The parser lets control characters in strings pass, which no reader of such files does.
fn check_strings(text: &str, node: &Node) -> Result<(), Refusal> {
    let check = |range: Range<usize>| match text[range.clone()].find(|c: char| c < ' ') {
        Some(at) => Err(Refusal::at(text, range.start + at, "control character in a string")),
        None => Ok(()),
    };
    match &node.kind {
        Kind::Text(_) => check(node.range.clone()),
        Kind::List(items) => items.iter().try_for_each(|item| check_strings(text, item)),
        Kind::Object(members) => members.iter().try_for_each(|member| {
            check(member.start..member.name_end)?;
            check_strings(text, &member.value)
        }),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => Ok(()),
    }
}

fn node(value: &Value<'_>) -> Node {
    let range = value.range();
    let kind = match value {
        Value::NullKeyword(_) => Kind::Null,
        Value::BooleanLit(literal) => Kind::Bool(literal.value),
        Value::NumberLit(literal) => Kind::Number(literal.value.to_string()),
        Value::StringLit(literal) => Kind::Text(literal.value.to_string()),
        Value::Array(array) => Kind::List(array.elements.iter().map(node).collect()),
        Value::Object(object) => {
            let member = |property: &jsonc_parser::ast::ObjectProp<'_>| Member {
                name: property.name.as_str().to_string(),
                start: property.range.start,
                name_end: property.name.range().end,
                value: node(&property.value),
            };
            Kind::Object(object.properties.iter().map(member).collect())
        }
    };
    Node { range: range.start..range.end, kind }
}
