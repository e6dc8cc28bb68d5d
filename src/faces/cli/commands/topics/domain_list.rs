//! The report of `msg topics --domains`.

use serde_json::{Map, Value, json};

use crate::domain::awareness::topics::Topic;
use crate::domain::awareness::work_domain::{WordEvidence, WorkDomain};
use crate::domain::escape_invisible;
use crate::faces::cli::output::{Page, Report, style};
use crate::ops::awareness::domains::DomainReport;

pub(super) struct DomainList(pub(super) DomainReport);

impl Report for DomainList {
    fn json(&self) -> Map<String, Value> {
        let evidence = |word: &WordEvidence| json!({ "word": word.topic.as_str(), "prompts": word.prompts, "changes": word.changes, "inside": word.inside });
        let domain = |domain: &WorkDomain| {
            json!({
                "name": domain.name,
                "source": source(domain),
                "words": domain.topics.iter().map(Topic::as_str).collect::<Vec<_>>(),
                "paths": domain.shown_paths,
                "why": domain.evidence.iter().map(evidence).collect::<Vec<_>>(),
            })
        };
        Map::from_iter([
            ("domains".to_string(), self.0.domains.iter().map(domain).collect()),
            ("events".to_string(), json!(self.0.events)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let DomainReport { domains, events } = &self.0;
        if page.is_quiet {
            domains.iter().for_each(|domain| page.line(escape_invisible(&domain.name)));
            return;
        }
        for (number, domain) in domains.iter().enumerate() {
            if number > 0 {
                page.line("");
            }
            write_domain(page, domain);
        }
        if *events == 0 && !domains.is_empty() {
            page.line("");
        }
        match (domains.is_empty(), events) {
            (_, 0) => page.nothing(
                "No prompts or commits are counted here yet, so no domains are learned.",
                "Hooks count them: `msg install`. The setting `domains` names your own.",
            ),
            (true, events) => {
                let what = format!("No domains: {events} prompts and commits show none.");
                page.nothing(&what, "The setting `domains` names your own.");
            }
            (false, _) => {}
        }
    }
}

fn source(domain: &WorkDomain) -> &'static str {
    if domain.is_learned() { "learned" } else { "configured" }
}

fn write_domain(page: &mut Page, domain: &WorkDomain) {
    page.line(format!("{}  {}", style::bold(&escape_invisible(&domain.name)), style::dim(source(domain))));
    let paths = domain.shown_paths.join(", ");
    if !domain.is_learned() {
        let words: Vec<&str> = domain.topics.iter().map(Topic::as_str).collect();
        if !words.is_empty() {
            page.line(format!("  words  {}", escape_invisible(&words.join(", "))));
        }
    }
    if !paths.is_empty() {
        page.line(format!("  paths  {}", escape_invisible(&paths)));
    }
    for WordEvidence { topic, prompts, changes, inside } in &domain.evidence {
        let word = escape_invisible(topic.as_str());
        page.line(format!(
            "  {word}: {inside} of {changes} changed files are there, in {prompts} prompts and commits"
        ));
    }
}
