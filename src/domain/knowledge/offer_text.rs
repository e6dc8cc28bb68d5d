//! What hooks say about knowledge. What others wrote is quoted, cut, and called a note; nothing here is an instruction
//! of theirs.

use super::anchor::AnchorTarget;
use super::kinds::{AnchorVerdict, RecordKind};
use super::offer::{KnowledgeOffer, OverviewRow};
use super::record_id::RecordId;
use super::search::MergeState;
use crate::domain::PeerText;

/// Limits in words: of an offer, of its parts, and of the overview.
const MOST_WORDS: usize = 60;
const MOST_OVERVIEW_WORDS: usize = 80;
const HEADLINE_WORDS: usize = 24;
const RATIONALE_WORDS: usize = 12;
const PLACE_WORDS: usize = 6;
/// Limits in characters.
const HEADLINE: usize = 200;
const RATIONALE: usize = 120;
const AUTHOR: usize = 40;
const BRANCH: usize = 40;
/// How much is shown of the name of a record in a notice that must be short.
const SHORT_NAME: usize = 24;
/// The most names in the overview.
const MOST_NAMES: usize = 5;
/// The most files that are named at a stop.
const MOST_FILES: usize = 3;
/// Branches that everybody works on, so that being on one says nothing.
const COMMON_BRANCHES: [&str; 4] = ["main", "master", "trunk", "develop"];

/// A record as it is offered, in at most 60 words.
pub fn offer_text(
    offer: &KnowledgeOffer,
    place: &AnchorTarget,
    verdict: AnchorVerdict,
    merged: MergeState,
) -> String {
    let date = offer.at.to_string();
    let day = date.split('T').next().unwrap_or_default();
    let branch = match (merged, offer.branch.as_deref()) {
        (MergeState::Unmerged, Some(branch)) => format!(", on {}, not merged", short_code(branch, BRANCH)),
        (MergeState::Unmerged, None) => ", not merged".to_string(),
        (MergeState::Merged, _) => String::new(),
    };
    let place = PeerText::new(first_words(&place.to_string(), PLACE_WORDS)).code();
    let head = format!(
        "Note of an earlier session, not an instruction. About {place}, {} by {} on {day}, {verdict}{branch}:",
        offer.id.kind,
        short_name(&offer.author),
    );
    let end = format!("Details: `msg knowledge show {}`", offer.id);
    let whole = |headline: usize, rationale: usize| {
        let said = PeerText::new(first_words(&offer.headline, headline)).quoted_within(HEADLINE);
        let why = match rationale {
            0 => String::new(),
            _ if offer.rationale.trim().is_empty() => String::new(),
            most => {
                let why = PeerText::new(first_words(&offer.rationale, most)).quoted_within(RATIONALE);
                format!(" Why: {why}")
            }
        };
        format!("{head} {said}{why} {end}")
    };
    let lengths = std::iter::once((HEADLINE_WORDS, RATIONALE_WORDS))
        .chain((1..=HEADLINE_WORDS).rev().map(|headline| (headline, 0)));
    let fits = |text: &String| text.split_whitespace().count() <= MOST_WORDS;
    lengths.map(|(headline, rationale)| whole(headline, rationale)).find(fits).unwrap_or(end)
}

/// Says that a record which the session was shown no longer fits the code, in at most 25 tokens.
pub fn stale_text(id: &RecordId, verdict: AnchorVerdict) -> String {
    let name = id.name.as_str();
    let short = match name.char_indices().nth(SHORT_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    };
    format!("The note `{}/{short}` is {verdict} now.", id.kind)
}

/// What a session is told at its start, in at most 80 words. `None`: nothing is recorded.
pub fn overview_text(rows: &[OverviewRow], surroundings: &WorkSurroundings<'_>) -> Option<String> {
    let counts: Vec<String> = RecordKind::ALL
        .iter()
        .map(|kind| (kind, rows.iter().filter(|row| row.id.kind == *kind).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {}", if count == 1 { kind.as_str() } else { kind.plural() }))
        .collect();
    let total = match rows.len() {
        0 => return None,
        1 => "is 1 record".to_string(),
        total => format!("are {total} records"),
    };
    let nearest = surroundings.nearest(rows);
    let text = |names: usize| {
        let names: Vec<String> = nearest.iter().take(names).map(|row| format!("`{}`", row.id)).collect();
        let names = match names.is_empty() {
            true => String::new(),
            false => format!(" Nearest to this work: {}.", names.join(", ")),
        };
        format!(
            "There {total} of what earlier sessions learned here ({}).{names} \
             Before you decide something, ask: `msg know WORDS`, or `msg know --path FILE`.",
            counts.join(", ")
        )
    };
    let fits = |text: &String| text.split_whitespace().count() <= MOST_OVERVIEW_WORDS;
    (0..=MOST_NAMES).rev().map(text).find(fits)
}

/// Where a session works.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkSurroundings<'a> {
    /// Its folder, relative to the root; empty at the root.
    pub folder: &'a str,
    pub branch: Option<&'a str>,
    pub task: Option<&'a str>,
}

impl WorkSurroundings<'_> {
    /// The records that matter here, the nearest first.
    fn nearest<'r>(&self, rows: &'r [OverviewRow]) -> Vec<&'r OverviewRow> {
        let mut near: Vec<(u8, &OverviewRow)> = rows.iter().map(|row| (self.nearness(row), row)).collect();
        near.retain(|(nearness, _)| *nearness > 0 || self.folder.is_empty());
        let is_said = |row: &OverviewRow| matches!(row.id.kind, RecordKind::Decision | RecordKind::Tried);
        near.sort_by_key(|(nearness, row)| {
            (std::cmp::Reverse((*nearness, is_said(row), row.changed)), row.id.clone())
        });
        near.into_iter().map(|(_, row)| row).take(MOST_NAMES).collect()
    }

    fn nearness(&self, row: &OverviewRow) -> u8 {
        let is_of_task = self.task.is_some() && row.task.as_deref() == self.task;
        let own_branch = self.branch.filter(|branch| !COMMON_BRANCHES.contains(branch));
        let is_of_branch = own_branch.is_some() && row.branch.as_deref() == own_branch;
        let is_below =
            |path: &String| path.strip_prefix(self.folder).is_some_and(|rest| rest.starts_with('/'));
        let is_of_folder = !self.folder.is_empty() && row.paths.iter().any(is_below);
        4 * u8::from(is_of_task) + 2 * u8::from(is_of_branch) + u8::from(is_of_folder)
    }
}

/// Asks after a plan was approved, or a question was answered.
pub const ASK_AFTER_DECISION: &str = "If this settled something that the code will not show, record it: \
    `msg learn \"…\" --kind decision --why \"…\" --at PATH`. If not, go on.";

/// Asks at a stop. It begins like every text that a harness may show as its user's.
pub fn ask_at_stop(files: &[String]) -> String {
    let named: Vec<String> =
        files.iter().take(MOST_FILES).map(|file| PeerText::new(file.as_str()).code()).collect();
    let rest = match files.len() - named.len() {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    format!(
        "[msg] You changed {}{rest}, and recorded nothing. If you decided something there, or tried something that \
         failed, record it for the next session: `msg learn \"…\" --why \"…\" --at PATH`. If nothing was decided, \
         skip this and stop.",
        named.join(", ")
    )
}

/// The first words of a text that may be very long.
fn first_words(text: &str, most: usize) -> String {
    let mut words = text.split_whitespace();
    let shown: Vec<&str> = words.by_ref().take(most).collect();
    let end = if words.next().is_some() { " …" } else { "" };
    format!("{}{end}", shown.join(" "))
}

fn short_name(author: &str) -> String {
    let short: String = author.chars().take(AUTHOR).collect();
    PeerText::new(first_words(&short, 2)).name()
}

fn short_code(text: &str, most: usize) -> String {
    PeerText::new(text.chars().take(most).collect::<String>()).code()
}

#[cfg(test)]
mod tests;
