//! What somebody found out, as it is told in one go: a sentence, what was tried in vain, or both.

use super::tell::KnowledgeRequest;
use crate::domain::knowledge::{KnowledgeAction, RecordDraft, RecordKind};

/// One record, or two if something was tried besides.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// `None` without `tried`: the text of the record stays.
    pub text: Option<String>,
    /// What was tried and did not work; a record of its own.
    pub tried: Option<String>,
    /// Why it is so. Without a text, why what was tried failed.
    pub why: Option<String>,
    /// What both are about, as it was typed.
    pub places: Vec<String>,
    /// Kind, name and what is replaced, of the text; of what was tried if there is no text. All else is of both.
    pub draft: RecordDraft,
}

impl Lesson {
    /// The steps that record it.
    pub fn into_requests(self) -> Vec<KnowledgeRequest> {
        let Self { text, tried, why, places, draft } = self;
        let mut drafts = Vec::new();
        // With neither, something else of a record that exists is changed.
        let has_text = text.is_some() || tried.is_none();
        if has_text {
            let (description, summary) = match draft.kind {
                RecordKind::File => (None, text),
                _ => (text, None),
            };
            drafts.push(RecordDraft { description, summary, rationale: why.clone(), ..draft.clone() });
        }
        if let Some(tried) = tried {
            let tried = RecordDraft { kind: RecordKind::Tried, description: Some(tried), ..draft };
            drafts.push(match has_text {
                true => RecordDraft { name: None, supersedes: Vec::new(), ..tried },
                false => RecordDraft { rationale: why, ..tried },
            });
        }
        let request = |draft: RecordDraft| KnowledgeRequest {
            action: KnowledgeAction::Record(Box::new(draft)),
            places: places.clone(),
        };
        drafts.into_iter().map(request).collect()
    }
}
