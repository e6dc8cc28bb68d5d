//! The thread that searches and judges records for the tab *Knowledge*, and that confirms and retires them. Judging reads
//! files and may run git, so the drawing does not wait for it.
//!
//! It reads only what is on the screen: when that changes, and now and then, because other sessions record things and
//! files change. If nothing of it is on the screen, the thread waits.

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};

use crate::domain::knowledge::KnowledgeAction;
use crate::ops::knowledge::{KnowledgeQuestion, KnowledgeRequest, PlaceBase, know, left_pages, show, tell};
use crate::ops::{CommandError, CommandErrorKind, GlobalOptions, Op};

use super::knowledge_state::{KnowledgeCall, KnowledgeFocus};
use super::model::{KnowledgeList, KnowledgePage};
use super::state::ChatUpdate;
use super::tab_thread::{self, TabLink, TabReader};
use super::to_model;

/// The most records of a list.
const MOST: usize = 200;

/// How often it is looked whether other sessions recorded something.
const INTERVAL: Duration = Duration::from_secs(5);

/// Works until the channel is closed, and has then done what was asked for before.
pub(super) fn work(globals: &GlobalOptions, calls: &Receiver<KnowledgeCall>, news: &Sender<ChatUpdate>) {
    let reader = KnowledgeReader { focus: KnowledgeFocus::Nothing, link: TabLink::new(globals, news) };
    tab_thread::work(reader, calls, INTERVAL);
}

struct KnowledgeReader<'a> {
    focus: KnowledgeFocus,
    link: TabLink<'a, KnowledgeNews>,
}

#[derive(Clone, Debug, PartialEq)]
enum KnowledgeNews {
    List(KnowledgeList),
    Page(String, Option<KnowledgePage>),
}

impl TabReader for KnowledgeReader<'_> {
    type Call = KnowledgeCall;

    fn is_on_screen(&self) -> bool {
        !matches!(self.focus, KnowledgeFocus::Nothing)
    }

    fn take(&mut self, call: KnowledgeCall) {
        match call {
            KnowledgeCall::Show(focus) => {
                self.focus = focus;
                self.link.set_told(None);
            }
            KnowledgeCall::Confirm(id) => {
                let action = KnowledgeAction::Confirm { kind: None, name: id.clone() };
                if self.change(action).is_some() {
                    self.link.tell(ChatUpdate::Sent(format!("confirmed {id}")));
                }
            }
            KnowledgeCall::Retire(id) => {
                let action = KnowledgeAction::Delete { kind: None, name: id.clone() };
                let Some(left) = self.change(action) else { return };
                // It says that the record is retired, so what is left to do comes after it.
                self.link.set_told(Some(KnowledgeNews::Page(id.clone(), None)));
                self.link.tell(ChatUpdate::Record { id: id.clone(), page: None });
                for text in left {
                    self.link.tell(ChatUpdate::Sent(format!("{id} is retired; {text}")));
                }
            }
        }
    }

    fn read(&mut self) {
        let seen = match self.focus.clone() {
            KnowledgeFocus::Nothing => return,
            KnowledgeFocus::Search(words) => self.link.with_op(|op| search(op, words)),
            KnowledgeFocus::Record(id) => self.link.with_op(|op| record(op, id)),
        };
        self.link.pass_on(seen, |seen| match seen {
            KnowledgeNews::List(list) => ChatUpdate::Records(Box::new(list)),
            KnowledgeNews::Page(id, page) => ChatUpdate::Record { id, page: page.map(Box::new) },
        });
    }
}

impl KnowledgeReader<'_> {
    /// What is left to do if the record was retired; `None` if nothing was changed, which is told.
    fn change(&mut self, action: KnowledgeAction) -> Option<Vec<String>> {
        let is_retired = matches!(action, KnowledgeAction::Delete { .. });
        let request = KnowledgeRequest { action, places: Vec::new() };
        let told = self.link.with_op(|op| {
            let receipts = tell(op, vec![request.into()], PlaceBase::WorkingDirectory)?;
            Ok(if is_retired { left_pages(op, &receipts) } else { Vec::new() })
        });
        told.map_err(|error| self.link.tell(ChatUpdate::Notice(to_model::error_line(&error)))).ok()
    }
}

fn search(op: &Op, words: String) -> Result<KnowledgeNews, CommandError> {
    let question = KnowledgeQuestion { words, limit: MOST, ..KnowledgeQuestion::default() };
    let answer = know(op, &question)?;
    Ok(KnowledgeNews::List(to_model::records(&answer, question.words)))
}

fn record(op: &Op, id: String) -> Result<KnowledgeNews, CommandError> {
    let page = match show(op, &id) {
        // `None`: somebody retired it.
        Ok(shown) => shown.first().filter(|shown| !shown.is_retired).map(to_model::record_page),
        Err(error) if error.kind == CommandErrorKind::UnknownRecord => None,
        Err(error) => return Err(error),
    };
    Ok(KnowledgeNews::Page(id, page))
}
