//! What we add to one file: entries of a settings file, a section of another format, a line, or the whole file. Pure
//! functions add and remove it.
//!
//! Nothing here touches a file: content comes in, content goes out.

use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;

use crate::domain::Harness;
use crate::domain::text_edit::json::{Dialect, Document};
use crate::domain::text_edit::{EditError, lines};
use crate::harness::{HookLine, MsgProgram};

use super::original::{FileLookup, RecordedOriginal};
use super::settings_entry::{SettingsFileEntry, shown_by, status_line, take_strays};

/// A file, and our part of it.
#[derive(Clone, Debug)]
pub struct InstallTarget {
    pub path: PathBuf,
    pub part: InstalledPart,
}

impl InstallTarget {
    pub fn new(path: PathBuf, part: InstalledPart) -> Self {
        Self { path, part }
    }
}

#[derive(Clone, Debug)]
pub enum InstalledPart {
    /// Entries in a settings file.
    Entries { harness: Harness, dialect: Dialect, entries: Vec<SettingsFileEntry> },
    /// A part that is none of the others.
    Custom(Rc<dyn CustomPart>),
    /// A file that is ours alone, recognised by its first line, or by the second if it begins with front matter.
    Own(String),
    /// A line in a file of lines.
    Line(String),
}

/// A part of a form of its own.
pub trait CustomPart: fmt::Debug {
    /// The content with our part in it.
    fn put(&self, bytes: &[u8], view: FileLookup<'_>) -> Result<Vec<u8>, EditError>;

    /// The content without our part; `None` if the file should be removed.
    fn take(
        &self,
        bytes: &[u8],
        original: RecordedOriginal<'_>,
        view: FileLookup<'_>,
    ) -> Result<Option<Vec<u8>>, EditError>;

    /// Our hooks in the file.
    fn lines(&self, _bytes: &[u8]) -> Result<Vec<HookLine>, EditError> {
        Ok(Vec::new())
    }

    /// The program that our MCP server calls, if it is in the file.
    fn server(&self, _bytes: &[u8]) -> Result<Option<MsgProgram>, EditError> {
        Ok(None)
    }

    /// Whether anything of ours is in the file, as far as that can be known without a record.
    fn is_in(&self, bytes: &[u8]) -> Result<bool, EditError>;

    /// Whether a file that can't be parsed seems to contain something of ours.
    fn is_mentioned(&self, text: &str) -> bool;

    /// Entries of anybody because of which the harness ignores our part of the file, and what is wrong with each.
    fn faults(&self, _bytes: &[u8]) -> Result<Vec<String>, EditError> {
        Ok(Vec::new())
    }

    /// What it means for the user that our part of this file is outdated, if that is something special.
    fn outdated(&self, _file: &str) -> Option<String> {
        None
    }
}

/// Whether there is something at that path.
fn has(document: Option<&Document>, path: &[String]) -> bool {
    document.is_some_and(|document| document.get(path).is_ok_and(|node| node.is_some()))
}

impl InstalledPart {
    /// The content with our part in it.
    pub fn put(
        &self,
        current: Option<&[u8]>,
        original: RecordedOriginal<'_>,
        view: FileLookup<'_>,
    ) -> Result<Vec<u8>, EditError> {
        let bytes = current.unwrap_or_default();
        match self {
            Self::Entries { harness, dialect, entries } => {
                let mut document = Document::parse(bytes, *dialect)?;
                let before = original.document(*dialect);
                let was_there = |path: &[String]| has(before.as_ref(), path);
                // Without a record, a permission is ours only next to a hook of ours.
                let is_known =
                    !matches!(original, RecordedOriginal::Unknown) || !self.lines(bytes)?.is_empty();
                for entry in entries {
                    match entry {
                        SettingsFileEntry::FormerItem { .. } if is_known => {
                            entry.take(&mut document, *harness, before.as_ref(), &was_there)?;
                        }
                        SettingsFileEntry::Permission(rule) => {
                            rule.put(&mut document, original, before.as_ref(), view)?;
                        }
                        entry => entry.put(&mut document, *harness, &was_there)?,
                    }
                }
                take_strays(&mut document, *harness, entries, &|_| false)?;
                Ok(if document.is_changed() { document.into_bytes() } else { bytes.to_vec() })
            }
            Self::Custom(part) => part.put(bytes, view),
            Self::Own(content) => match current {
                Some(bytes) if !is_own(bytes, content) => Err(not_ours()),
                _ => Ok(content.clone().into_bytes()),
            },
            Self::Line(line) => lines::put(bytes, line),
        }
    }

    /// Whether our status line is wanted but the user has their own.
    pub fn has_rival(&self, bytes: &[u8]) -> Result<bool, EditError> {
        let Self::Entries { dialect, entries, .. } = self else { return Ok(false) };
        if !entries.iter().any(|entry| matches!(entry, SettingsFileEntry::StatusLine { is_wanted: true, .. }))
        {
            return Ok(false);
        }
        let document = Document::parse(bytes, *dialect)?;
        Ok(document.get(&status_line())?.is_some_and(|node| shown_by(node).is_none()))
    }

    /// The content without our part; `None` if the file should be removed.
    pub fn take(
        &self,
        bytes: &[u8],
        original: RecordedOriginal<'_>,
        view: FileLookup<'_>,
    ) -> Result<Option<Vec<u8>>, EditError> {
        match self {
            Self::Entries { harness, dialect, entries } => {
                let mut document = Document::parse(bytes, *dialect)?;
                let before = original.document(*dialect);
                let was_there = |path: &[String]| has(before.as_ref(), path);
                let (hooks, rest): (Vec<&SettingsFileEntry>, Vec<&SettingsFileEntry>) =
                    entries.iter().rev().partition(|entry| {
                        matches!(entry, SettingsFileEntry::Hook(_) | SettingsFileEntry::Server(_))
                    });
                for entry in hooks {
                    entry.take(&mut document, *harness, before.as_ref(), &was_there)?;
                }
                take_strays(&mut document, *harness, entries, &was_there)?;
                // The rest may be the user's own, unless we know that we were installed.
                let is_known = !matches!(original, RecordedOriginal::Unknown) || document.is_changed();
                for entry in rest.into_iter().filter(|entry| is_known || entry.goes_with_plugin(view)) {
                    entry.take(&mut document, *harness, before.as_ref(), &was_there)?;
                }
                if !document.is_changed() {
                    return Ok(Some(bytes.to_vec()));
                }
                if let RecordedOriginal::Known { outline, .. } = original
                    && document.is_bare()
                    && outline.trim_ascii().is_empty()
                {
                    return Ok(Some(outline.as_bytes().to_vec()));
                }
                let is_bare = matches!(original, RecordedOriginal::Nothing) && document.is_bare();
                Ok((!is_bare).then(|| document.into_bytes()))
            }
            Self::Custom(part) => part.take(bytes, original, view),
            Self::Own(content) => Ok((!is_own(bytes, content)).then(|| bytes.to_vec())),
            Self::Line(line) => Ok(original.left_lines(lines::take(bytes, line)?)),
        }
    }

    /// Whether several harnesses may have something of ours in the same file.
    pub fn is_shared(&self) -> bool {
        matches!(self, Self::Line(_))
    }

    /// The same part without permissions.
    pub fn without_permissions(&self) -> Self {
        let Self::Entries { harness, dialect, entries } = self else { return self.clone() };
        let rest = entries
            .iter()
            .filter(|entry| !matches!(entry, SettingsFileEntry::Permission(_)))
            .cloned()
            .collect();
        Self::Entries { harness: *harness, dialect: *dialect, entries: rest }
    }

    /// The user's rule that keeps us from adding a permission.
    pub fn denied(&self, bytes: &[u8]) -> Option<String> {
        let Self::Entries { dialect, entries, .. } = self else { return None };
        let document = Document::parse(bytes, *dialect).ok()?;
        entries.iter().find_map(|entry| match entry {
            SettingsFileEntry::Permission(rule) => rule.denied(&document).ok()?,
            _ => None,
        })
    }

    /// Our hooks in the file.
    pub fn lines(&self, bytes: &[u8]) -> Result<Vec<HookLine>, EditError> {
        if let Self::Custom(part) = self {
            return part.lines(bytes);
        }
        let Self::Entries { harness, dialect, entries } = self else { return Ok(Vec::new()) };
        let document = Document::parse(bytes, *dialect)?;
        let mut found = Vec::new();
        for entry in entries {
            match entry {
                SettingsFileEntry::Hook(hook) => {
                    found.extend(hook.found(&document, *harness)?.into_iter().map(|(_, line)| line));
                }
                SettingsFileEntry::StatusLine { .. } => {
                    found.extend(document.get(&status_line())?.and_then(shown_by));
                }
                SettingsFileEntry::Item { .. }
                | SettingsFileEntry::FormerItem { .. }
                | SettingsFileEntry::Member { .. }
                | SettingsFileEntry::Server(_)
                | SettingsFileEntry::Permission(_) => {}
            }
        }
        Ok(found)
    }

    /// The program that our MCP server calls, if it is in the file.
    pub fn server(&self, bytes: &[u8]) -> Result<Option<MsgProgram>, EditError> {
        match self {
            Self::Entries { dialect, entries, .. } => {
                let document = Document::parse(bytes, *dialect)?;
                for entry in entries {
                    if let SettingsFileEntry::Server(server) = entry
                        && let Some(program) = server.found(&document)?
                    {
                        return Ok(Some(program));
                    }
                }
                Ok(None)
            }
            Self::Custom(part) => part.server(bytes),
            Self::Own(_) | Self::Line(_) => Ok(None),
        }
    }

    /// The program that our plugin calls.
    pub fn called(&self, bytes: &[u8]) -> Option<MsgProgram> {
        let Self::Own(content) = self else { return None };
        if !is_own(bytes, content) {
            return None;
        }
        let text = String::from_utf8_lossy(bytes).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix("const MSG = "))?;
        match serde_json::from_str::<String>(line.trim_end_matches(';')).ok()?.as_str() {
            "msg" => Some(MsgProgram::OnPath),
            path => Some(MsgProgram::At(path.to_string())),
        }
    }

    /// The programs that our rule lets out of a sandbox.
    pub fn allowed(&self, bytes: &[u8]) -> Vec<String> {
        let Self::Own(content) = self else { return Vec::new() };
        let text = String::from_utf8_lossy(bytes);
        let list = text.lines().find_map(|line| line.trim_start().strip_prefix("paths = "));
        let list = list.filter(|_| is_own(bytes, content)).map(|list| list.trim_end_matches(','));
        list.and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default()
    }

    /// Entries of anybody because of which the harness ignores our part of the file, and what is wrong with each.
    pub fn faults(&self, bytes: &[u8]) -> Result<Vec<String>, EditError> {
        if let Self::Custom(part) = self { part.faults(bytes) } else { Ok(Vec::new()) }
    }

    /// What it means for the user that our part of this file is outdated, if that is something special.
    pub fn outdated(&self, file: &str) -> Option<String> {
        if let Self::Custom(part) = self { part.outdated(file) } else { None }
    }

    /// Whether anything of ours is in the file, as far as that can be known without a record.
    pub fn is_in(&self, bytes: &[u8]) -> Result<bool, EditError> {
        match self {
            Self::Entries { .. } => Ok(!self.lines(bytes)?.is_empty() || self.server(bytes)?.is_some()),
            Self::Own(content) => Ok(is_own(bytes, content)),
            Self::Custom(part) => part.is_in(bytes),
            Self::Line(_) => Ok(false),
        }
    }

    /// Whether a file that can't be parsed seems to contain something of ours. If not, it is no obstacle to
    /// `uninstall`.
    pub fn is_mentioned(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        match self {
            Self::Entries { harness, .. } => {
                text.contains(&format!("hook {harness} ")) || text.contains("\"ravenry\"")
            }
            Self::Custom(part) => part.is_mentioned(&text),
            Self::Own(_) => false,
            Self::Line(line) => text.contains(line.as_str()),
        }
    }
}

fn is_own(bytes: &[u8], content: &str) -> bool {
    // Every file with front matter begins with the same line.
    let mark = |bytes: &[u8]| {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        lines.find(|line| *line != b"---").unwrap_or_default().to_vec()
    };
    mark(bytes) == mark(content.as_bytes())
}

fn not_ours() -> EditError {
    EditError { reason: "msg did not write it".to_string(), line: 1, column: 1 }
}
