//! What hooks do for knowledge: offer a model what is recorded about what it has just touched, and ask it to record what
//! it decided.
//!
//! Each record is offered once in a session, and each question is asked once. None of it is worth failing for: an error
//! is logged for `doctor`, and the hook goes on.

use std::path::{Path, PathBuf};

use crate::domain::hook::{ToolOutcome, ToolUse};
use crate::domain::knowledge::{ASK_AFTER_DECISION, AnchorVerdict, RecordId, ask_at_stop, stale_text};
use crate::domain::settings::KnowledgeMode;
use crate::domain::shell::ProgramRun;
use crate::domain::{Agent, SessionId};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::knowledge::offers::{FoundOffer, OfferBook, OfferStanding, stamp_of};
use crate::store::{AskMoment, KnowledgeMark, KnowledgeMarks, Mesh};

use super::{HookRun, planned_changes};

/// A session that changed this many files is asked at a stop.
const MANY_FILES: usize = 3;
/// The most changed files that are remembered.
const MOST_FILES: usize = 12;
/// The most offered records whose files are looked at, at a prompt.
const MOST_LOOKED_AT: usize = 16;
/// Programs that show the files that they are given.
const READERS: &str = "cat head tail less more nl bat batcat sed awk tac view";

/// What an agent is told about knowledge at the start of its session.
pub(super) fn overview(op: &Op, mesh: &Mesh, me: &Agent) -> Result<Option<String>, CommandError> {
    if op.settings.knowledge != KnowledgeMode::Offer {
        return Ok(None);
    }
    let Some(book) = OfferBook::open(op)? else { return Ok(None) };
    let task = mesh.tasks().claims()?.of(me).into_iter().next().map(|claim| claim.task);
    book.overview(op, task.as_deref())
}

impl HookRun<'_> {
    /// What to say with the result of a tool.
    pub(super) fn knowledge_after(&self, tool: &ToolUse) -> Option<String> {
        let question = self.tried(|| self.question_after(tool));
        question.or_else(|| self.tried(|| self.offer_after(tool)))
    }

    /// What to say with a prompt of its user.
    pub(super) fn knowledge_at_prompt(&self, prompt: &str) -> Option<String> {
        let stale = self.tried(|| self.stale_at_prompt());
        let offer = self.tried(|| {
            let Some((session, book)) = self.open_book()? else { return Ok(None) };
            let found = book.named_in(self.op, prompt)?;
            self.offer(session, &book, found, &self.marks(session)?)
        });
        let texts: Vec<String> = stale.into_iter().chain(offer).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// The question at a stop, if the session changed several files and recorded nothing. It counts as asked only by
    /// [`Self::claim_question`].
    pub(super) fn question_at_stop(&self) -> Option<String> {
        self.tried(|| {
            let session = self.session_to_ask().filter(|_| !self.call.event.is_silent);
            let Some(session) = session else { return Ok(None) };
            let marks = self.marks(session)?;
            if marks.has_recorded || marks.edited.len() < MANY_FILES || marks.was_asked(AskMoment::Stop) {
                return Ok(None);
            }
            Ok(Some(ask_at_stop(&marks.edited)))
        })
    }

    /// The question, unless it was asked meanwhile.
    pub(super) fn claim_question(&self, question: String) -> Option<String> {
        self.tried(|| {
            let Some(session) = self.session_to_ask() else { return Ok(None) };
            Ok(self.claim(session, &KnowledgeMark::Asked(AskMoment::Stop))?.then_some(question))
        })
    }

    /// Remembers which files a tool changed.
    pub(super) fn note_edits(&self, tool: &ToolUse) -> Result<(), CommandError> {
        let changed = tool.edits.iter().chain(tool.changed.iter().flatten());
        let paths: Vec<PathBuf> = changed.map(|path| self.whole(path)).collect();
        let is_failed = tool.outcome == Some(ToolOutcome::Failed);
        let asks = self.op.settings.knowledge != KnowledgeMode::Off;
        let Some(session) = self.learner().filter(|_| asks && !is_failed && !paths.is_empty()) else {
            return Ok(());
        };
        let marks = self.marks(session)?;
        let mut known = marks.edited.len();
        for path in paths {
            let shown = self.place().shorten(&path.to_string_lossy());
            // A path that can't be shortened is outside of the work tree.
            if known < MOST_FILES && !shown.starts_with('/') && !marks.edited.contains(&shown) {
                self.mesh.hooks().mark_knowledge(session, &KnowledgeMark::Edited(shown))?;
                known += 1;
            }
        }
        Ok(())
    }

    fn question_after(&self, tool: &ToolUse) -> Result<Option<String>, CommandError> {
        let is_decided = tool.is_users_decision && tool.outcome == Some(ToolOutcome::Succeeded);
        let Some(session) = self.session_to_ask().filter(|_| is_decided && !tool.was_interrupted) else {
            return Ok(None);
        };
        let is_first = self.claim(session, &KnowledgeMark::Asked(AskMoment::Decision))?;
        Ok(is_first.then(|| ASK_AFTER_DECISION.to_string()))
    }

    fn offer_after(&self, tool: &ToolUse) -> Result<Option<String>, CommandError> {
        let has_touched = tool.command.is_some() || !tool.reads.is_empty() || !tool.edits.is_empty();
        if !has_touched || tool.was_interrupted {
            return Ok(None);
        }
        let Some((session, book)) = self.open_book()? else { return Ok(None) };
        let runs = planned_changes::runs(self.op, tool);
        if tool.outcome == Some(ToolOutcome::Failed) {
            let found = match &tool.command {
                Some(_) => book.of_failure(&runs, tool.output.as_deref())?,
                None => Vec::new(),
            };
            return self.offer(session, &book, found, &self.marks(session)?);
        }
        let changed = tool.edits.iter().chain(tool.changed.iter().flatten());
        let touched = changed.chain(&tool.reads).map(|path| self.whole(path));
        let touched: Vec<PathBuf> = touched.chain(self.shown_by(&runs)).collect();
        let found = book.in_files(self.op, &touched)?;
        if found.is_empty() {
            return Ok(None);
        }
        let marks = self.marks(session)?;
        let stale = match tool.edits.is_empty() && tool.changed.is_none() {
            true => None,
            false => self.stale_among(session, &book, &found, &marks)?,
        };
        match stale {
            Some(stale) => Ok(Some(stale)),
            None => self.offer(session, &book, found, &marks),
        }
    }

    /// The files that these programs show.
    fn shown_by(&self, runs: &[ProgramRun]) -> Vec<PathBuf> {
        let is_reader = |run: &&ProgramRun| READERS.split(' ').any(|reader| reader == run.program);
        let paths = runs.iter().filter(is_reader).flat_map(|run| {
            let dir = run.dir.as_ref().map_or_else(|| self.cwd().to_path_buf(), PathBuf::from);
            run.arguments
                .iter()
                .flatten()
                .filter(|word| !word.starts_with('-'))
                .map(move |word| dir.join(word))
        });
        paths.collect()
    }

    /// The best of what was found and not offered yet. It is marked as offered first: after a crash, one too few is
    /// better than one twice.
    fn offer(
        &self,
        session: &SessionId,
        book: &OfferBook,
        mut found: Vec<FoundOffer>,
        marks: &KnowledgeMarks,
    ) -> Result<Option<String>, CommandError> {
        found.retain(|found| !marks.was_offered(&found.offer.id));
        if found.is_empty() {
            return Ok(None);
        }
        let Some(ready) = book.choose(found) else { return Ok(None) };
        let id = ready.record.id.clone();
        if !self.claim(session, &KnowledgeMark::Offered(ready.record))? {
            return Ok(None);
        }
        if let Err(error) = book.count(&id) {
            self.leave_trouble(&error);
        }
        Ok(Some(ready.text))
    }

    /// The notice that one of these records, which the session was shown, no longer fits the code.
    fn stale_among(
        &self,
        session: &SessionId,
        book: &OfferBook,
        found: &[FoundOffer],
        marks: &KnowledgeMarks,
    ) -> Result<Option<String>, CommandError> {
        for offered in marks.offered.iter().filter(|offered| is_worth_watching(marks, &offered.id)) {
            let touched = found.iter().find(|found| found.offer.id == offered.id);
            if touched.is_some()
                && let Some(text) =
                    self.stale_notice(session, &offered.id, book.standing(offered, touched)?)?
            {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// The same at a prompt, for records whose file was changed by whomever since they were last looked at.
    fn stale_at_prompt(&self) -> Result<Option<String>, CommandError> {
        let Some(session) = self.learner().filter(|_| self.may_offer()) else { return Ok(None) };
        let marks = self.marks(session)?;
        let watched = marks.offered.iter().filter(|offered| is_worth_watching(&marks, &offered.id));
        let mut book = None;
        for offered in watched.take(MOST_LOOKED_AT) {
            let Some((path, seen)) = &offered.file else { continue };
            let now = stamp_of(Path::new(path));
            if now.as_ref() == Some(seen) {
                continue;
            }
            if book.is_none() {
                book = OfferBook::open(self.op)?;
            }
            let Some(book) = &book else { return Ok(None) };
            let standing = book.standing(offered, None)?;
            if let Some(now) = now.filter(|_| standing != OfferStanding::Unknown) {
                self.mesh.hooks().mark_knowledge(session, &KnowledgeMark::Seen(offered.id.clone(), now))?;
            }
            if let Some(text) = self.stale_notice(session, &offered.id, standing)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    fn stale_notice(
        &self,
        session: &SessionId,
        id: &RecordId,
        standing: OfferStanding,
    ) -> Result<Option<String>, CommandError> {
        let verdict = match standing {
            OfferStanding::Judged(verdict) if verdict >= AnchorVerdict::Stale => verdict,
            _ => return Ok(None),
        };
        let is_first = self.claim(session, &KnowledgeMark::ToldStale(id.clone()))?;
        Ok(is_first.then(|| stale_text(id, verdict)))
    }

    fn open_book(&self) -> Result<Option<(&SessionId, OfferBook)>, CommandError> {
        let Some(session) = self.learner().filter(|_| self.may_offer()) else { return Ok(None) };
        Ok(OfferBook::open(self.op)?.map(|book| (session, book)))
    }

    /// Whether something can be offered now.
    fn may_offer(&self) -> bool {
        self.op.settings.knowledge == KnowledgeMode::Offer && self.call.max_answer_chars.is_some()
    }

    /// The session, if it can be asked something now.
    fn session_to_ask(&self) -> Option<&SessionId> {
        let is_wanted = self.op.settings.knowledge != KnowledgeMode::Off;
        self.learner().filter(|_| is_wanted && self.call.max_answer_chars.is_some())
    }

    /// The session of the agent, unless it is pi-messenger's. What a subagent reads is not in its parent's context.
    fn learner(&self) -> Option<&SessionId> {
        let me = self.me.as_ref().filter(|me| !me.is_foreign() && !self.call.event.in_subagent);
        me.map(|me| &me.session)
    }

    fn marks(&self, session: &SessionId) -> Result<KnowledgeMarks, CommandError> {
        Ok(self.mesh.hooks().knowledge_marks(session)?)
    }

    fn claim(&self, session: &SessionId, mark: &KnowledgeMark) -> Result<bool, CommandError> {
        Ok(self.mesh.hooks().is_first_knowledge_mark(session, mark)?)
    }

    fn whole(&self, path: &str) -> PathBuf {
        self.op.cwd.join(self.op.home.expand(path))
    }

    fn tried(&self, look: impl FnOnce() -> Result<Option<String>, CommandError>) -> Option<String> {
        look().unwrap_or_else(|error| {
            self.leave_trouble(&error);
            None
        })
    }
}

/// Whether a record that was offered while it held may have gone stale since, and the session was not told.
fn is_worth_watching(marks: &KnowledgeMarks, id: &RecordId) -> bool {
    let held = |verdict: AnchorVerdict| verdict < AnchorVerdict::Stale;
    marks.offered.iter().any(|offered| offered.id == *id && held(offered.verdict))
        && !marks.told_stale.contains(id)
}
