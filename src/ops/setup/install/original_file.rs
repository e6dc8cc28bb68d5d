//! What an install record keeps about the original settings file: a hash, and which of the members that we touch were
//! in it.
//!
//! Values are left out, except for the words that permit or deny, because settings hold tokens. If the file was edited
//! since, this is enough to remove what is ours and to keep a list or an object that was there, empty or not.

use serde_json::{Map, Value};

use crate::domain::text_edit::json::{Dialect, Document, JsonNode, NodeKind};
use crate::harness::SUPPORTED;
use crate::harness::install::{COMMON_MEMBERS, RecordedOriginal, member};
use crate::store::{InstallRecord, OriginalFile, OriginalOutline, WrittenFile};

/// The words of permissions. They are kept so that the user's own rule can be restored.
const RULES: [&str; 3] = ["allow", "ask", "deny"];

/// What a record says about the original file, in the current format.
pub(super) fn kept(record: &InstallRecord) -> OriginalFile {
    match &record.before {
        OriginalFile::Copy(copy) => OriginalFile::Known(known(copy.as_bytes())),
        other => other.clone(),
    }
}

/// The same, as what adds and removes our part wants it.
pub(super) fn original(kept: Option<&OriginalFile>) -> RecordedOriginal<'_> {
    match kept {
        Some(OriginalFile::Nothing) => RecordedOriginal::Nothing,
        Some(OriginalFile::Known(OriginalOutline { outline, stem, blanks, .. })) => {
            RecordedOriginal::Known { outline, stem, blanks }
        }
        Some(OriginalFile::Copy(_)) | None => RecordedOriginal::Unknown,
    }
}

pub(super) fn known(content: &[u8]) -> OriginalOutline {
    let text = String::from_utf8_lossy(content);
    OriginalOutline::new(&text, outline(&text))
}

/// A record of the first format without its copy of the file; `None` if it has no copy. `current` is the file's
/// content.
pub(super) fn without_copy(record: &InstallRecord, current: Option<&[u8]>) -> Option<InstallRecord> {
    let OriginalFile::Copy(copy) = &record.before else { return None };
    let wrote = |wrote: &WrittenFile| match current {
        Some(content) if record.wrote(content) == Some(wrote) => {
            WrittenFile::new(content, Some(copy.as_bytes()))
        }
        _ => wrote.clone(),
    };
    Some(InstallRecord {
        before: OriginalFile::Known(known(copy.as_bytes())),
        wrote: record.wrote.iter().map(wrote).collect(),
        ..record.clone()
    })
}

fn outline(text: &str) -> String {
    if text.trim_ascii().is_empty() {
        return text.to_string();
    }
    if let Ok(document) = Document::parse(text.as_bytes(), Dialect::CommentsAndTrailingCommas) {
        return document
            .get(&[])
            .ok()
            .flatten()
            .map_or(Value::Null, |root| {
                of_node(root, &members().iter().map(Vec::as_slice).collect::<Vec<_>>())
            })
            .to_string();
    }
    // The other files are plain lines, of which no outline is needed.
    SUPPORTED.iter().find_map(|harness| harness.outline(text)).unwrap_or_default()
}

/// Members that `install` adds to or creates. `*` stands for any name.
fn members() -> Vec<Vec<String>> {
    let common = COMMON_MEMBERS.iter().map(|names| member(names));
    common.chain(SUPPORTED.iter().flat_map(|harness| harness.recorded_members())).collect()
}

/// Whether a text in a list is ours.
fn is_item(text: &str) -> bool {
    SUPPORTED.iter().any(|harness| harness.records_item(text))
}

/// The node reduced to the members that these paths lead to.
fn of_node(node: &JsonNode, paths: &[&[String]]) -> Value {
    match &node.kind {
        NodeKind::Object(members) => {
            let mut kept = Map::new();
            for member in members {
                let is_it =
                    |path: &&&[String]| path.first().is_some_and(|name| name == "*" || *name == member.name);
                let rest: Vec<&[String]> = paths.iter().filter(is_it).map(|path| &path[1..]).collect();
                if !rest.is_empty() {
                    kept.insert(member.name.clone(), of_node(&member.value, &rest));
                }
            }
            Value::Object(kept)
        }
        NodeKind::List(items) => {
            let texts = items.iter().filter_map(JsonNode::text).filter(|text| is_item(text));
            texts.map(Value::from).collect()
        }
        NodeKind::Text(text) => Value::from(RULES.into_iter().find(|rule| rule == text).unwrap_or_default()),
        NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => Value::Null,
    }
}

/// Whether an outline includes this member.
#[cfg(test)]
pub(super) fn covers(path: &[String]) -> bool {
    members().iter().any(|known| {
        known.len() >= path.len() && known.iter().zip(path).all(|(name, word)| name == "*" || name == word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out() {
        let text = "\u{feff}{ // x\n \"env\": {\"KEY\": \"token\"}, \"hooks\": {\"Stop\": [\"token\"], \"X\": {}},\n\
                    \"permissions\": {\"allow\": [\"token\", \"Bash(msg:*)\"], \"deny\": [\"token\"]},\n\
                    \"mcpServers\": {\"other\": {\"env\": \"token\"}, \"ravenry\": {\"env\": \"token\"}},\n\
                    \"statusLine\": \"token\", \"version\": 1, \"permission\": {\"bash\": {\"msg *\": \"ask\", \"msg *>*\": \"token\", \"x\": \"deny\"}},}\n";
        let expected = r#"{"hooks":{"Stop":[],"X":{}},"mcpServers":{"ravenry":{}},"permission":{"bash":{"msg *":"ask","msg *>*":""}},"permissions":{"allow":["Bash(msg:*)"]},"statusLine":"","version":null}"#;
        let found: Value = serde_json::from_str(&outline(text)).unwrap();
        assert_eq!(found, serde_json::from_str::<Value>(expected).unwrap());
    }

    #[test]
    fn all_that_is_put_into_settings_is_told_of() {
        use crate::harness::MsgProgram;
        use crate::harness::install::{InstallContext, InstallScope, InstalledPart, SettingsFileEntry};
        use crate::sys::environment::Home;
        let dir = std::path::PathBuf::from("/nowhere");
        let home = Home { home: dir.clone(), config: dir.clone(), cache: dir.clone(), state: dir };
        let place = InstallContext {
            home: &home,
            scope: InstallScope::User,
            program: MsgProgram::OnPath,
            wants_statusline: true,
            wants_mcp: true,
        };
        let mut looked_at = 0;
        for (harness, target) in SUPPORTED
            .iter()
            .flat_map(|it| place.targets(*it).unwrap().into_iter().map(|target| (it.id(), target)))
        {
            let InstalledPart::Entries { entries, .. } = target.part else { continue };
            for entry in entries {
                looked_at += 1;
                let paths = match entry {
                    SettingsFileEntry::Hook(hook) => vec![hook.list],
                    SettingsFileEntry::Item { list, text } | SettingsFileEntry::FormerItem { list, text } => {
                        assert!(is_item(&text), "{text}");
                        vec![list]
                    }
                    SettingsFileEntry::Member { path, .. } => vec![path],
                    SettingsFileEntry::StatusLine { .. } => vec![vec!["statusLine".to_string()]],
                    SettingsFileEntry::Server(server) => vec![server.path()],
                    SettingsFileEntry::Permission(rule) => rule.paths(),
                };
                for path in paths {
                    assert!(covers(&path), "{harness}: {path:?}");
                }
            }
        }
        assert!(looked_at > 20, "{looked_at}");
    }

    #[test]
    fn blanks_stay_and_lines_are_nothing() {
        for (text, expected) in [
            ("", ""),
            (" \n\t", " \n\t"),
            ("// a comment\n", "{}"),
            ("/target\ntoken\n", ""),
            ("# a comment\nkey = \"token\"\n", ""),
            ("[mcp_servers.ravenry]\ncommand = \"token\"\n", ""),
            (
                "k = 1\n[mcp_servers.ravenry]\ncommand = \"msg\"\nargs = [\"mcp\"]\nenv = { K = \"token\" }\n",
                "[mcp_servers.ravenry]\ncommand = \"msg\"\nargs = [\"mcp\"]\n",
            ),
        ] {
            assert_eq!(outline(text), expected, "{text}");
        }
    }
}
