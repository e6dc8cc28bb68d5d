//! Codex's trust in our hooks: Codex runs only hooks whose hash is in the user's `config.toml`.
//!
//! The key of a hash includes the hook's position in the hooks file. Our MCP server is in `config.toml` too.

use std::path::PathBuf;

use crate::domain::sha256;
use crate::domain::text_edit::EditError;
use crate::domain::text_edit::json::{Dialect, Document, JsonNode};
use crate::domain::text_edit::toml::Tables;
use crate::harness::MsgProgram;
use crate::harness::install::{CustomPart, FileLookup, Hook, RecordedOriginal};

use super::ID;
use super::server_table::{self, ServerTable};

const ABOVE: [&str; 2] = ["hooks", "state"];
const KEY: &str = "trusted_hash";

/// The hooks to trust, and the server that goes into the same file.
#[derive(Clone, Debug)]
pub(super) struct Trust {
    /// The file with the hooks, by the path we use.
    pub(super) hooks: PathBuf,
    /// The same file, by the path Codex uses.
    pub(super) source: String,
    pub(super) events: Vec<Trusted>,
    pub(super) server: ServerTable,
}

/// A hook, and the values that go into its hash.
#[derive(Clone, Debug)]
pub(super) struct Trusted {
    pub(super) hook: Hook,
    /// Codex's name for the event in hashes and keys.
    pub(super) event: &'static str,
    pub(super) line: String,
    pub(super) timeout: u64,
}

impl CustomPart for Trust {
    /// Trusts the hooks that are in the file now, at their present positions.
    fn put(&self, bytes: &[u8], view: FileLookup<'_>) -> Result<Vec<u8>, EditError> {
        let (before, after) = view(&self.hooks);
        let mut tables = Tables::parse(bytes, &ABOVE, KEY)?;
        let wanted = self.keys(after.as_deref())?;
        let known = self.hashes(before.as_deref())?;
        for entry in tables.entries()? {
            let is_wanted = wanted.iter().any(|(key, _)| *key == entry.name);
            if !is_wanted && self.is_ours(&entry.name, entry.text.as_deref(), &known) {
                tables.take(&entry.name)?;
            }
        }
        wanted.iter().try_for_each(|(key, hash)| tables.put(key, hash))?;
        self.server.put(&tables.into_bytes())
    }

    /// Hooks of others whose position changes stay trusted.
    fn take(
        &self,
        bytes: &[u8],
        original: RecordedOriginal<'_>,
        view: FileLookup<'_>,
    ) -> Result<Option<Vec<u8>>, EditError> {
        let first = if let RecordedOriginal::Known { outline, .. } = original {
            Some(outline.as_bytes())
        } else {
            None
        };
        let (before, after) = view(&self.hooks);
        let mut tables = Tables::parse(&self.server.take(bytes, first)?, &ABOVE, KEY)?;
        let known = self.hashes(before.as_deref())?;
        let entries = tables.entries()?;
        for entry in &entries {
            if self.is_ours(&entry.name, entry.text.as_deref(), &known) {
                tables.take(&entry.name)?;
            }
        }
        let mut moved = Vec::new();
        for (from, to) in self.moves(before.as_deref(), after.as_deref())? {
            let Some(hash) =
                entries.iter().find(|entry| entry.name == from).and_then(|entry| entry.text.clone())
            else {
                continue;
            };
            tables.take(&from)?;
            moved.push((to, hash));
        }
        moved.iter().try_for_each(|(key, hash)| tables.put(key, hash))?;
        Ok(original.leftover(tables.into_bytes()))
    }

    fn server(&self, bytes: &[u8]) -> Result<Option<MsgProgram>, EditError> {
        server_table::found(bytes)
    }

    fn is_in(&self, bytes: &[u8]) -> Result<bool, EditError> {
        Ok(self.server(bytes)?.is_some())
    }

    fn is_mentioned(&self, text: &str) -> bool {
        (text.contains(KEY) && text.contains(&self.source)) || text.contains("ravenry")
    }

    fn outdated(&self, file: &str) -> Option<String> {
        Some(format!("{ID} does not trust the hooks and skips them: `{file}`"))
    }
}

impl Trust {
    /// The keys and hashes of our hooks in the file.
    fn keys(&self, hooks: Option<&[u8]>) -> Result<Vec<(String, String)>, EditError> {
        let Some(document) = parse(hooks)? else { return Ok(Vec::new()) };
        let mut keys = Vec::new();
        for Trusted { hook, event, .. } in &self.events {
            for ((outer, inner), _) in hook.found(&document, ID)? {
                let group = document.list(&hook.list)?.and_then(|groups| groups.get(outer));
                let hash = group.and_then(|group| hash_of(event, group, inner));
                keys.extend(hash.map(|hash| (self.key(event, outer, inner), hash)));
            }
        }
        Ok(keys)
    }

    /// Every hash that may be ours: of our hooks in the file, and of what we would write.
    fn hashes(&self, hooks: Option<&[u8]>) -> Result<Vec<String>, EditError> {
        let mut hashes: Vec<String> = self.keys(hooks)?.into_iter().map(|(_, hash)| hash).collect();
        hashes.extend(self.events.iter().map(|it| hash(it.event, None, &it.line, it.timeout)));
        Ok(hashes)
    }

    fn is_ours(&self, key: &str, text: Option<&str>, known: &[String]) -> bool {
        key.strip_prefix(&self.source).is_some_and(|rest| rest.starts_with(':'))
            && text.is_some_and(|text| known.iter().any(|hash| hash == text))
    }

    /// Old and new keys of others' hooks whose position changes when ours are removed.
    fn moves(&self, before: Option<&[u8]>, after: Option<&[u8]>) -> Result<Vec<(String, String)>, EditError> {
        let mut moves = Vec::new();
        for Trusted { hook, event, .. } in &self.events {
            let from = self.others(parse(before)?.as_ref(), hook, event)?;
            let to = self.others(parse(after)?.as_ref(), hook, event)?;
            moves.extend(from.into_iter().zip(to).filter(|(from, to)| from != to));
        }
        Ok(moves)
    }

    fn others(
        &self,
        document: Option<&Document>,
        hook: &Hook,
        event: &str,
    ) -> Result<Vec<String>, EditError> {
        let Some(document) = document else { return Ok(Vec::new()) };
        let ours = hook.slot(ID, |slot| document.places(slot))?;
        let groups = document.list(&hook.list)?.unwrap_or_default();
        let mut keys = Vec::new();
        for (outer, group) in groups.iter().enumerate() {
            let handlers = group.member("hooks").map_or(0, JsonNode::length);
            let others = (0..handlers).filter(|inner| !ours.contains(&(outer, *inner)));
            keys.extend(others.map(|inner| self.key(event, outer, inner)));
        }
        Ok(keys)
    }

    fn key(&self, event: &str, outer: usize, inner: usize) -> String {
        format!("{}:{event}:{outer}:{inner}", self.source)
    }
}

fn parse(hooks: Option<&[u8]>) -> Result<Option<Document>, EditError> {
    hooks.map(|bytes| Document::parse(bytes, Dialect::Strict)).transpose()
}

/// The hash of the handler at this position in its group.
fn hash_of(event: &str, group: &JsonNode, inner: usize) -> Option<String> {
    let handler = group.member("hooks")?.item(inner)?;
    let timeout = handler.member("timeout").and_then(JsonNode::number)?;
    let matcher = group.member("matcher").and_then(JsonNode::text);
    Some(hash(event, matcher, handler.member("command")?.text()?, timeout))
}

/// Hashes as Codex does: the event, the matcher and the one handler with its defaults filled in, as JSON with sorted
/// keys.
fn hash(event: &str, matcher: Option<&str>, command: &str, timeout: u64) -> String {
    let handler = serde_json::json!({
        "async": false, "command": command, "timeout": timeout, "type": "command",
    });
    let mut identity = serde_json::Map::new();
    identity.insert("event_name".to_string(), event.into());
    identity.insert("hooks".to_string(), serde_json::json!([handler]));
    if let Some(matcher) = matcher {
        identity.insert("matcher".to_string(), matcher.into());
    }
    let text = serde_json::Value::Object(identity).to_string();
    format!("sha256:{}", sha256(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected hashes are what `codex app-server` 0.166.0 answered to `hooks/list`.
    #[test]
    fn the_hash_is_codexs() {
        let line = "[ -x '/a b/msg' ] && '/a b/msg' hook codex PreToolUse 2>/dev/null || :";
        for (event, command, timeout, expected) in [
            (
                "pre_tool_use",
                "echo other",
                600,
                "345a124e51bb597375f6e17a14124fcfe9a78cf23d66b13301b87d11cd36ab92",
            ),
            ("pre_tool_use", line, 10, "8d13c2beb0c1c60cb8ca3f2ff6e85d2115b8a56a2de490997883d77618e6f938"),
            ("session_end", "x", 3, "b1aa6329f3a5daf36ae487200db1136f90a884bb805ddb24a6326c98dd6f29f6"),
        ] {
            assert_eq!(hash(event, None, command, timeout), format!("sha256:{expected}"));
        }
    }
}
