//! Our hooks in a TOML file in which each hook is a table `[[hooks]]` with its event and its command line.

use crate::domain::text_edit::EditError;
use crate::domain::text_edit::json::quoted;
use crate::domain::text_edit::toml::table_list::TableList;
use crate::harness::install::{CustomPart, FileLookup, RecordedOriginal};
use crate::harness::{HookLine, HookPurpose};

use super::{ID, accepted_hooks};

const LIST: &str = "hooks";
const COMMAND: &str = "command";

/// The hooks as they should be in a file.
#[derive(Clone, Debug)]
pub(super) struct HookTables {
    /// The command line of each event.
    pub(super) lines: Vec<HookLine>,
    /// In seconds.
    pub(super) timeout: u64,
}

impl CustomPart for HookTables {
    /// Adds hooks that are missing, updates the others in their place, and removes ours from other events.
    fn put(&self, bytes: &[u8], _: FileLookup<'_>) -> Result<Vec<u8>, EditError> {
        let mut missing = self.lines.clone();
        let mut list = TableList::parse(bytes, LIST)?;
        let mut strays = Vec::new();
        for (index, found) in found(bytes)? {
            match missing.iter().position(|line| line.purpose == found.purpose) {
                Some(place) => {
                    let wanted = missing.remove(place);
                    if found != wanted {
                        list.set(index, COMMAND, &wanted.render())?;
                    }
                }
                None => strays.push(index),
            }
        }
        list.remove(&strays)?;
        for line in missing {
            let HookPurpose::ReportEvent(event) = &line.purpose else { continue };
            let timeout = self.timeout.to_string();
            list.add(&[("event", quoted(event)), (COMMAND, quoted(&line.render())), ("timeout", timeout)])?;
        }
        Ok(list.into_bytes())
    }

    fn take(
        &self,
        bytes: &[u8],
        original: RecordedOriginal<'_>,
        _: FileLookup<'_>,
    ) -> Result<Option<Vec<u8>>, EditError> {
        let mut list = TableList::parse(bytes, LIST)?;
        let ours: Vec<usize> = found(bytes)?.into_iter().map(|(index, _)| index).collect();
        list.remove(&ours)?;
        Ok(original.left_lines(list.into_bytes()))
    }

    fn lines(&self, bytes: &[u8]) -> Result<Vec<HookLine>, EditError> {
        Ok(found(bytes)?.into_iter().map(|(_, line)| line).collect())
    }

    fn is_in(&self, bytes: &[u8]) -> Result<bool, EditError> {
        Ok(!found(bytes)?.is_empty())
    }

    fn faults(&self, bytes: &[u8]) -> Result<Vec<String>, EditError> {
        accepted_hooks::faults(&TableList::parse(bytes, LIST)?)
    }

    fn is_mentioned(&self, text: &str) -> bool {
        text.contains(&format!("hook {ID} "))
    }
}

/// Our hooks in the file, each with the index of its table.
fn found(bytes: &[u8]) -> Result<Vec<(usize, HookLine)>, EditError> {
    let texts = TableList::parse(bytes, LIST)?.texts(COMMAND)?;
    let ours = texts.into_iter().enumerate().filter_map(|(index, text)| {
        let line = HookLine::parse(&text?)?;
        (line.harness == ID).then_some((index, line))
    });
    Ok(ours.collect())
}
