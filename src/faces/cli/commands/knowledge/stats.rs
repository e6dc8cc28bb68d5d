//! `msg knowledge stats`: what is recorded, by whom, and how it is used.

use serde_json::{Map, Value, json};

use crate::domain::quote_name;
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::ops::knowledge::{self, KnowledgeStats, KnowledgeUse};
use crate::ops::{CommandError, Op};

/// The most writers that are listed as text.
const MOST_WRITERS: usize = 10;

pub(super) fn run(op: &Op) -> Result<CommandOutput, CommandError> {
    Ok(StatsReport(knowledge::stats(op)?).into())
}

struct StatsReport(KnowledgeStats);

impl Report for StatsReport {
    fn json(&self) -> Map<String, Value> {
        let stats = &self.0;
        let kinds = stats.kinds.iter().map(|(kind, count)| (kind.as_str().to_string(), json!(count)));
        let writers = stats.writers.iter().map(|(name, count)| json!({ "name": name, "records": count }));
        let uses = KnowledgeUse::ALL.map(|one| (one.as_str().to_string(), json!(stats.uses.total(one))));
        Map::from_iter([
            ("total".to_string(), json!(stats.total())),
            ("kinds".to_string(), Value::Object(kinds.collect())),
            ("stale".to_string(), json!(stats.stale)),
            ("gone".to_string(), json!(stats.gone)),
            ("superseded".to_string(), json!(stats.superseded)),
            ("writers".to_string(), writers.collect()),
            ("uses".to_string(), Value::Object(uses.into_iter().collect())),
        ])
    }

    fn text(&self, page: &mut Page) {
        let stats = &self.0;
        let kinds: Vec<String> = stats
            .kinds
            .iter()
            .map(|(kind, count)| {
                format!("{count} {}", if *count == 1 { kind.as_str() } else { kind.plural() })
            })
            .collect();
        match kinds.is_empty() {
            true => page.nothing("Records: none.", super::RECORD_SOMETHING),
            false => page.line(format!("Records: {} ({})", stats.total(), kinds.join(", "))),
        }
        page.line(format!("Stale: {}, gone: {}, superseded: {}", stats.stale, stats.gone, stats.superseded));
        let shown = stats.writers.iter().take(MOST_WRITERS);
        let mut writers: Vec<String> =
            shown.map(|(name, count)| format!("{} ({count})", quote_name(name))).collect();
        if stats.writers.len() > MOST_WRITERS {
            writers.push(format!("{} more", stats.writers.len() - MOST_WRITERS));
        }
        if !writers.is_empty() {
            page.line(format!("Writers: {}", writers.join(", ")));
        }
        let uses = KnowledgeUse::ALL.map(|one| format!("{} {}", one.as_str(), stats.uses.total(one)));
        page.line(format!("On this machine: {}", uses.join(", ")));
    }

    fn is_answer(&self) -> bool {
        false
    }
}
