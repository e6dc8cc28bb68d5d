//! The thread that searches and judges records for the tab *Knowledge*, and that confirms and retires them. Judging reads
//! files and may run git, so the drawing does not wait for it.
//!
//! It reads only what is on the screen: when that changes, and now and then, because other sessions record things and
//! files change. If nothing of it is on the screen, the thread waits.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::domain::knowledge::KnowledgeAction;
use crate::ops::knowledge::{KnowledgeQuestion, KnowledgeRequest, PlaceBase, know, left_pages, show, tell};
use crate::ops::{CommandError, CommandErrorKind, Context, GlobalOptions, Op, run};
use crate::sys::test_switches;

use super::knowledge_state::{KnowledgeCall, KnowledgeFocus};
use super::model::{KnowledgeList, KnowledgePage};
use super::notice_filter::NoticeFilter;
use super::state::ChatUpdate;
use super::to_model;

/// The most records of a list.
const MOST: usize = 200;

/// Works until the channel is closed, and has then done what was asked for before.
pub(super) fn work(globals: &GlobalOptions, calls: &Receiver<KnowledgeCall>, news: &Sender<ChatUpdate>) {
    let interval = test_switches::value(test_switches::LOOK_MS).and_then(|text| text.parse().ok());
    let interval = Duration::from_millis(interval.unwrap_or(5_000));
    let mut reader = KnowledgeReader {
        globals,
        news,
        focus: KnowledgeFocus::Nothing,
        told: None,
        notices: NoticeFilter::default(),
    };
    loop {
        let call = match reader.focus {
            KnowledgeFocus::Nothing => calls.recv().map_err(|_| RecvTimeoutError::Disconnected),
            _ => calls.recv_timeout(interval),
        };
        match call {
            // Of what was typed meanwhile, only the last counts.
            Ok(first) => std::iter::once(first).chain(calls.try_iter()).for_each(|call| reader.take(call)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        reader.read();
    }
}

struct KnowledgeReader<'a> {
    globals: &'a GlobalOptions,
    news: &'a Sender<ChatUpdate>,
    focus: KnowledgeFocus,
    /// What the screen shows.
    told: Option<KnowledgeNews>,
    notices: NoticeFilter,
}

#[derive(Clone, Debug, PartialEq)]
enum KnowledgeNews {
    List(KnowledgeList),
    Page(String, Option<KnowledgePage>),
}

impl KnowledgeReader<'_> {
    fn take(&mut self, call: KnowledgeCall) {
        match call {
            KnowledgeCall::Show(focus) => {
                self.focus = focus;
                self.told = None;
            }
            KnowledgeCall::Confirm(id) => {
                let action = KnowledgeAction::Confirm { kind: None, name: id.clone() };
                if self.change(action).is_some() {
                    self.tell(ChatUpdate::Sent(format!("confirmed {id}")));
                }
            }
            KnowledgeCall::Retire(id) => {
                let action = KnowledgeAction::Delete { kind: None, name: id.clone() };
                let Some(left) = self.change(action) else { return };
                // It says that the record is retired, so what is left to do comes after it.
                self.told = Some(KnowledgeNews::Page(id.clone(), None));
                self.tell(ChatUpdate::Record { id: id.clone(), page: None });
                for text in left {
                    self.tell(ChatUpdate::Sent(format!("{id} is retired; {text}")));
                }
            }
        }
    }

    fn tell(&self, news: ChatUpdate) {
        // If nobody listens any more, the next wait says so.
        drop(self.news.send(news));
    }

    fn notice(&mut self, text: String) {
        if self.notices.is_new(&text) {
            self.tell(ChatUpdate::Notice(text));
        }
    }

    fn with_op<T>(&mut self, work: impl FnOnce(&Op) -> Result<T, CommandError>) -> Result<T, CommandError> {
        let (done, warnings) = run(Context::new(self.globals.clone())?, work).into_parts();
        warnings.into_iter().for_each(|text| self.notice(text));
        done
    }

    /// What is left to do if the record was retired; `None` if nothing was changed, which is told.
    fn change(&mut self, action: KnowledgeAction) -> Option<Vec<String>> {
        let is_retired = matches!(action, KnowledgeAction::Delete { .. });
        let request = KnowledgeRequest { action, places: Vec::new() };
        let told = self.with_op(|op| {
            let receipts = tell(op, vec![request.into()], PlaceBase::WorkingDirectory)?;
            Ok(if is_retired { left_pages(op, &receipts) } else { Vec::new() })
        });
        told.map_err(|error| self.tell(ChatUpdate::Notice(to_model::error_line(&error)))).ok()
    }

    fn read(&mut self) {
        let seen = match self.focus.clone() {
            KnowledgeFocus::Nothing => return,
            KnowledgeFocus::Search(words) => self.with_op(|op| search(op, words)),
            KnowledgeFocus::Record(id) => self.with_op(|op| record(op, id)),
        };
        match seen {
            Ok(seen) if self.told.as_ref() != Some(&seen) => {
                self.told = Some(seen.clone());
                self.tell(match seen {
                    KnowledgeNews::List(list) => ChatUpdate::Records(Box::new(list)),
                    KnowledgeNews::Page(id, page) => ChatUpdate::Record { id, page: page.map(Box::new) },
                });
            }
            Ok(_) => {}
            Err(error) => self.notice(to_model::error_line(&error)),
        }
        self.notices.end_try();
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
