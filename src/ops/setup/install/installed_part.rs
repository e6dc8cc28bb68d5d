//! Our part of a harness's settings file: pure functions that add it to the content and remove it again.
//!
//! Nothing here touches a file: content comes in, content goes out.

use std::path::{Path, PathBuf};

use crate::domain::Harness;
use crate::domain::text_edit::json::{Dialect, Document, EntryPosition, EntrySlot, Json, JsonNode};
use crate::domain::text_edit::{EditError, lines};
use crate::harness::{HookLine, HookPurpose, MsgProgram};
use crate::store::{KnownFile, OriginalFile, hash};

use crate::ops::setup::install::codex_trust::Trust;
use crate::ops::setup::install::mcp_entry::{self, ServerEntry};
use crate::ops::setup::install::{opencode_permission, tmux_status};

/// A file, and our part of it.
#[derive(Clone, Debug)]
pub(super) struct InstallTarget {
    pub(super) path: PathBuf,
    pub(super) part: InstalledPart,
}

impl InstallTarget {
    pub(super) fn new(path: PathBuf, part: InstalledPart) -> Self {
        Self { path, part }
    }
}

#[derive(Clone, Debug)]
pub(super) enum InstalledPart {
    /// Entries in a settings file.
    Entries { harness: Harness, dialect: Dialect, entries: Vec<SettingsFileEntry> },
    /// Codex's trust in the hooks of another file.
    Trust(Trust),
    /// A file that is ours alone, recognised by its first line.
    Own(String),
    /// A line in a file of lines.
    Line(String),
    /// Our line in tmux's configuration.
    Tmux(String),
}

/// One entry in a settings file.
#[derive(Clone, Debug)]
pub(super) enum SettingsFileEntry {
    /// A hook, recognised by its command line.
    Hook(Hook),
    /// A text in a list.
    Item { list: Vec<String>, text: String },
    /// A member that must exist; it gets this value only if it has none.
    Member { path: Vec<String>, value: Json },
    /// The command of Claude Code's status line, if it is wanted. Ours is kept up to date if it is already there.
    StatusLine { value: Json, wanted: bool },
    /// Our MCP server, recognised by its command.
    Server(ServerEntry),
    /// OpenCode's permission to run a command without asking; it is installed and removed together with that plugin.
    Leave { command: &'static str, plugin: PathBuf },
}

/// A hook in the list of its event.
#[derive(Clone, Debug)]
pub(super) struct Hook {
    pub(super) list: Vec<String>,
    /// If set, the list holds groups, and each group holds its hooks in the list of this name.
    pub(super) within: Option<&'static str>,
    /// The member that holds the command line.
    pub(super) field: &'static str,
    /// It is a waiter; the list may hold another hook of ours.
    pub(super) waits: bool,
    pub(super) value: Json,
}

/// Looks up a file's content before and after the change, by its path.
pub(super) type FileLookup<'a> = &'a dyn Fn(&Path) -> (Option<Vec<u8>>, Option<Vec<u8>>);

/// The file before us: unknown, absent, or a file of which a hash and an outline are kept.
#[derive(Clone, Copy, Debug)]
pub(super) enum Original<'a> {
    Unknown,
    Nothing,
    Known(&'a KnownFile),
}

impl<'a> Original<'a> {
    /// Reads it from a record.
    pub(super) fn of(kept: Option<&'a OriginalFile>) -> Self {
        match kept {
            Some(OriginalFile::Nothing) => Self::Nothing,
            Some(OriginalFile::Known(known)) => Self::Known(known),
            Some(OriginalFile::Copy(_)) | None => Self::Unknown,
        }
    }

    /// The outline of a settings file that existed.
    fn outline(self, dialect: Dialect) -> Option<Document> {
        let Self::Known(known) = self else { return None };
        Document::parse(known.outline.as_bytes(), dialect).ok()
    }
}

/// Whether there is something at that path.
fn has(document: Option<&Document>, path: &[String]) -> bool {
    document.is_some_and(|document| document.get(path).is_ok_and(|node| node.is_some()))
}

impl InstalledPart {
    /// The content with our part in it.
    pub(super) fn put(
        &self,
        current: Option<&[u8]>,
        original: Original<'_>,
        view: FileLookup<'_>,
    ) -> Result<Vec<u8>, EditError> {
        let bytes = current.unwrap_or_default();
        match self {
            Self::Entries { harness, dialect, entries } => {
                let mut document = Document::parse(bytes, *dialect)?;
                let before = original.outline(*dialect);
                let was_there = |path: &[String]| has(before.as_ref(), path);
                for entry in entries {
                    match entry {
                        SettingsFileEntry::Leave { command, plugin } => {
                            let is_ours = match original {
                                Original::Nothing => true,
                                Original::Unknown => view(plugin).0.is_some(),
                                Original::Known(_) => !before.as_ref().is_some_and(|before| {
                                    opencode_permission::may_have_allowed(before, command)
                                }),
                            };
                            opencode_permission::put(&mut document, command, is_ours)?;
                        }
                        entry => entry.put(&mut document, *harness, &was_there)?,
                    }
                }
                take_strays(&mut document, *harness, entries, &|_| false)?;
                Ok(if document.is_changed() { document.into_bytes() } else { bytes.to_vec() })
            }
            Self::Trust(trust) => trust.put(bytes, view),
            Self::Own(content) => match current {
                Some(bytes) if !is_own(bytes, content) => Err(not_ours()),
                _ => Ok(content.clone().into_bytes()),
            },
            Self::Line(line) => lines::put(bytes, line),
            Self::Tmux(line) => tmux_status::put(bytes, line),
        }
    }

    /// Whether our status line is wanted but the user has their own.
    pub(super) fn has_rival(&self, bytes: &[u8]) -> Result<bool, EditError> {
        let Self::Entries { dialect, entries, .. } = self else { return Ok(false) };
        if !entries.iter().any(|entry| matches!(entry, SettingsFileEntry::StatusLine { wanted: true, .. })) {
            return Ok(false);
        }
        let document = Document::parse(bytes, *dialect)?;
        Ok(document.get(&status_line())?.is_some_and(|node| shown_by(node).is_none()))
    }

    /// The content without our part; `None` if the file should be removed.
    pub(super) fn take(
        &self,
        bytes: &[u8],
        original: Original<'_>,
        view: FileLookup<'_>,
    ) -> Result<Option<Vec<u8>>, EditError> {
        match self {
            Self::Entries { harness, dialect, entries } => {
                let mut document = Document::parse(bytes, *dialect)?;
                let before = original.outline(*dialect);
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
                let is_known = !matches!(original, Original::Unknown) || document.is_changed();
                for entry in rest.into_iter().filter(|entry| is_known || entry.goes_with_plugin(view)) {
                    entry.take(&mut document, *harness, before.as_ref(), &was_there)?;
                }
                if !document.is_changed() {
                    return Ok(Some(bytes.to_vec()));
                }
                if let Original::Known(known) = original
                    && document.is_bare()
                    && known.outline.trim_ascii().is_empty()
                {
                    return Ok(Some(known.outline.clone().into_bytes()));
                }
                let is_bare = matches!(original, Original::Nothing) && document.is_bare();
                Ok((!is_bare).then(|| document.into_bytes()))
            }
            Self::Trust(trust) => {
                let before =
                    if let Original::Known(known) = original { Some(known.outline.as_bytes()) } else { None };
                leftover(trust.take(bytes, before, view)?, original)
            }
            Self::Own(content) => Ok((!is_own(bytes, content)).then(|| bytes.to_vec())),
            Self::Line(line) => without(lines::take(bytes, line)?, original),
            Self::Tmux(_) => without(tmux_status::take(bytes)?, original),
        }
    }

    /// Whether several harnesses may have something of ours in the same file.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Line(_))
    }

    /// The same part without OpenCode's permission.
    pub(super) fn without_leave(&self) -> Self {
        let Self::Entries { harness, dialect, entries } = self else { return self.clone() };
        let rest = entries
            .iter()
            .filter(|entry| !matches!(entry, SettingsFileEntry::Leave { .. }))
            .cloned()
            .collect();
        Self::Entries { harness: *harness, dialect: *dialect, entries: rest }
    }

    /// The user's rule that keeps us from adding OpenCode's permission.
    pub(super) fn denied(&self, bytes: &[u8]) -> Option<String> {
        let Self::Entries { dialect, entries, .. } = self else { return None };
        let document = Document::parse(bytes, *dialect).ok()?;
        entries.iter().find_map(|entry| match entry {
            SettingsFileEntry::Leave { command, .. } => {
                opencode_permission::denied(&document, command).ok()?
            }
            _ => None,
        })
    }

    /// Our hooks in the file.
    pub(super) fn lines(&self, bytes: &[u8]) -> Result<Vec<HookLine>, EditError> {
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
                | SettingsFileEntry::Member { .. }
                | SettingsFileEntry::Server(_)
                | SettingsFileEntry::Leave { .. } => {}
            }
        }
        Ok(found)
    }

    /// The program that our MCP server calls, if it is in the file.
    pub(super) fn server(&self, bytes: &[u8]) -> Result<Option<MsgProgram>, EditError> {
        match self {
            Self::Entries { harness, dialect, entries } => {
                let document = Document::parse(bytes, *dialect)?;
                for entry in entries {
                    if let SettingsFileEntry::Server(server) = entry
                        && let Some(program) = server.found(&document, *harness)?
                    {
                        return Ok(Some(program));
                    }
                }
                Ok(None)
            }
            Self::Trust(_) => mcp_entry::found_table(bytes),
            Self::Own(_) | Self::Line(_) | Self::Tmux(_) => Ok(None),
        }
    }

    /// The program that our plugin calls.
    pub(super) fn called(&self, bytes: &[u8]) -> Option<MsgProgram> {
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

    /// The programs that our rule lets out of Codex's sandbox.
    pub(super) fn allowed(&self, bytes: &[u8]) -> Vec<String> {
        let Self::Own(content) = self else { return Vec::new() };
        let text = String::from_utf8_lossy(bytes);
        let list = text.lines().find_map(|line| line.trim_start().strip_prefix("paths = "));
        let list = list.filter(|_| is_own(bytes, content)).map(|list| list.trim_end_matches(','));
        list.and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default()
    }

    /// Whether anything of ours is in the file, as far as that can be known without a record.
    pub(super) fn is_in(&self, bytes: &[u8]) -> Result<bool, EditError> {
        match self {
            Self::Entries { .. } => Ok(!self.lines(bytes)?.is_empty() || self.server(bytes)?.is_some()),
            Self::Own(content) => Ok(is_own(bytes, content)),
            Self::Trust(_) => Ok(self.server(bytes)?.is_some()),
            Self::Tmux(_) => Ok(tmux_status::is_in(bytes)),
            Self::Line(_) => Ok(false),
        }
    }

    /// Whether a file that can't be parsed seems to contain something of ours. If not, it is no obstacle to
    /// `uninstall`.
    pub(super) fn is_mentioned(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        match self {
            Self::Entries { harness, .. } => {
                text.contains(&format!("hook {harness} ")) || text.contains("\"ravenry\"")
            }
            Self::Trust(trust) => trust.is_mentioned(&text),
            Self::Own(_) => false,
            Self::Line(line) => text.contains(line.as_str()),
            Self::Tmux(_) => tmux_status::is_in(bytes),
        }
    }
}

/// Removes our hooks from events that this version doesn't use: another version did.
fn take_strays(
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

/// The rest of a file of lines. If that is the original text, its trailing whitespace is restored too.
fn without(rest: Vec<u8>, original: Original<'_>) -> Result<Option<Vec<u8>>, EditError> {
    match original {
        Original::Known(known) if known.stem == hash(rest.trim_ascii_end()) => {
            Ok(Some([rest.trim_ascii_end(), known.blanks.as_bytes()].concat()))
        }
        _ => leftover(rest, original),
    }
}

fn status_line() -> [String; 1] {
    ["statusLine".to_string()]
}

/// Our command line in the status line, if it is ours.
fn shown_by(node: &JsonNode) -> Option<HookLine> {
    let line = HookLine::parse(node.member("command")?.text()?)?;
    (line.purpose == HookPurpose::StatusLine).then_some(line)
}

/// `None` if the file was created for us and is now empty.
fn leftover(bytes: Vec<u8>, original: Original<'_>) -> Result<Option<Vec<u8>>, EditError> {
    let is_bare = matches!(original, Original::Nothing) && bytes.iter().all(u8::is_ascii_whitespace);
    Ok((!is_bare).then_some(bytes))
}

fn is_own(bytes: &[u8], content: &str) -> bool {
    let first = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
    first(bytes) == first(content.as_bytes())
}

fn not_ours() -> EditError {
    EditError { reason: "msg did not write it".to_string(), line: 1, column: 1 }
}

impl SettingsFileEntry {
    fn put(
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
            Self::StatusLine { value, wanted } => match document.get(&status_line())? {
                None if !wanted => Ok(()),
                Some(node) if shown_by(node).is_none() => Ok(()),
                None | Some(_) => document.set(&status_line(), value),
            },
            Self::Server(server) => server.put(document, harness, stays),
            // `InstalledPart::put` does it, because it depends on what was there before.
            Self::Leave { .. } => Ok(()),
        }
    }

    /// Whether the plugin that it belongs to is being added or removed.
    fn goes_with_plugin(&self, view: FileLookup<'_>) -> bool {
        let Self::Leave { plugin, .. } = self else { return false };
        let (before, after) = view(plugin);
        before != after
    }

    fn take(
        &self,
        document: &mut Document,
        harness: Harness,
        before: Option<&Document>,
        stays: &dyn Fn(&[String]) -> bool,
    ) -> Result<(), EditError> {
        match self {
            Self::Hook(hook) => hook.slot(harness, |slot| document.take(slot, stays)),
            Self::Item { list, text } => {
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
            Self::Server(server) => server.take(document, harness, stays),
            Self::Leave { command, .. } => opencode_permission::take(document, command, before, stays),
        }
    }
}

impl Hook {
    /// Our hooks in the list: their positions and their command lines.
    pub(super) fn found(
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

    pub(super) fn slot<R>(&self, harness: Harness, run: impl FnOnce(&EntrySlot<'_>) -> R) -> R {
        let is_ours = |node: &JsonNode| {
            let line = node.member(self.field).and_then(JsonNode::text).and_then(HookLine::parse);
            line.is_some_and(|line| {
                let is_same = match line.purpose {
                    HookPurpose::ReportEvent(_) => !self.waits,
                    HookPurpose::WaitForMail => self.waits,
                    HookPurpose::StatusLine => false,
                };
                line.harness == harness && is_same
            })
        };
        run(&EntrySlot { list: &self.list, within: self.within, is_ours: &is_ours })
    }
}
