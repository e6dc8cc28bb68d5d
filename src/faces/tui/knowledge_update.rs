//! Handles keys of the tab *Knowledge*: typing searches, Enter opens a record, and in a record one key each confirms and
//! retires it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::knowledge_state::{KnowledgeCall, KnowledgeFocus};
use super::layout::areas;
use super::model::KnowledgeList;
use super::state::{ChatEffect, ChatState, Tab};
use super::view::knowledge;

impl ChatState {
    /// What is shown of the records now.
    pub(super) fn knowledge_focus(&self) -> KnowledgeFocus {
        match (&self.tab, &self.knowledge.open) {
            (Tab::Knowledge, Some(open)) => KnowledgeFocus::Record(open.id.clone()),
            (Tab::Knowledge, None) => KnowledgeFocus::Search(self.filter.text.trim().to_string()),
            _ => KnowledgeFocus::Nothing,
        }
    }

    /// Handles a key while the list of records is open and nothing is typed; `true` if the key was used for that.
    pub(super) fn has_taken_search_key(&mut self, key: KeyEvent) -> bool {
        if self.tab != Tab::Knowledge || !self.draft().is_empty() || is_held(key) {
            return false;
        }
        match key.code {
            // A message, the help and the empty search begin as in every tab.
            KeyCode::Char('@' | '?' | '/') => return false,
            // A tab, and the menu. A search that begins so begins with `/`.
            KeyCode::Char('1'..='9' | ' ') if self.filter.text.is_empty() => return false,
            KeyCode::Char(letter) => self.filter.text.push(letter),
            KeyCode::Backspace if !self.filter.text.is_empty() => drop(self.filter.text.pop()),
            _ => return false,
        }
        self.filter.is_open = true;
        self.list_mut().at = 0;
        true
    }

    /// Opens the chosen record. While the search goes on, the list is that of earlier words, so nothing in it was chosen.
    pub(super) fn open_record(&mut self) {
        let at = self.list().at;
        let Some(list) = self.found_records() else {
            self.knowledge.awaited = Some(self.filter.text.trim().to_string());
            return;
        };
        if let Some(id) = list.items.get(at).map(|item| item.id.clone()) {
            self.filter.is_open = false;
            self.knowledge.open(id);
        }
    }

    /// The records that match what is typed; `None` while they are searched.
    fn found_records(&self) -> Option<&KnowledgeList> {
        self.knowledge.list.as_ref().filter(|list| list.words == self.filter.text.trim())
    }

    /// Takes the answer to a search.
    pub(super) fn take_records(&mut self, list: KnowledgeList) {
        let is_awaited = self.knowledge.awaited.take_if(|words| *words == list.words).is_some();
        self.knowledge.list = Some(list);
        if is_awaited && self.tab == Tab::Knowledge && self.knowledge.open.is_none() {
            self.list_mut().at = 0;
            if self.found_records().is_some() {
                self.open_record();
            }
        }
    }

    /// Handles a key while a record is shown; `None` if the key means what it means everywhere.
    pub(super) fn key_in_record(&mut self, key: KeyEvent) -> Option<Vec<ChatEffect>> {
        if self.tab != Tab::Knowledge || !self.draft().is_empty() {
            return None;
        }
        let open = self.knowledge.open.as_mut()?;
        if std::mem::take(&mut open.is_retiring) {
            let id = open.id.clone();
            if matches!(key.code, KeyCode::Char('y')) && !is_held(key) {
                return Some(vec![ChatEffect::Knowledge(KnowledgeCall::Retire(id))]);
            }
            self.say(format!("{id} is kept"));
            return Some(Vec::new());
        }
        match key.code {
            KeyCode::Esc => self.knowledge.open = None,
            KeyCode::Char('/') => {
                self.knowledge.open = None;
                self.filter.is_open = true;
            }
            KeyCode::Char('c') if open.page.is_some() && !is_held(key) => {
                return Some(vec![ChatEffect::Knowledge(KnowledgeCall::Confirm(open.id.clone()))]);
            }
            KeyCode::Char('r') if open.page.is_some() && !is_held(key) => open.is_retiring = true,
            KeyCode::Char('@' | '?' | '1'..='9')
            | KeyCode::Tab
            | KeyCode::BackTab
            | KeyCode::Left
            | KeyCode::Right => {
                return None;
            }
            KeyCode::Up
            | KeyCode::Down
            | KeyCode::PageUp
            | KeyCode::PageDown
            | KeyCode::Home
            | KeyCode::End => return None,
            _ => {}
        }
        Some(Vec::new())
    }

    /// Scrolls the list or the record.
    pub(super) fn scroll_knowledge(&mut self, by: isize) {
        let area = areas(self).body;
        if let Some(open) = &mut self.knowledge.open {
            let rows = open.page.as_ref().map_or(0, |page| knowledge::page_rows(page, area.width).len());
            let last = rows.saturating_sub(area.height.into());
            open.from = open.from.saturating_add_signed(by).min(last);
        } else {
            let count = super::list_rows::count(self);
            self.list_mut().step(by, count);
        }
    }

    /// The first click selects a record, the second opens it.
    pub(super) fn click_record(&mut self, row: usize) {
        let Some(list) = self.found_records().filter(|_| self.knowledge.open.is_none()) else {
            return;
        };
        let height = usize::from(areas(self).body.height);
        let Some(number) = row.checked_sub(1).map(|row| knowledge::first_item(self.list().at, height) + row)
        else {
            return;
        };
        if number >= list.items.len() {
            return;
        }
        if self.list().at == number {
            self.open_record();
        } else {
            self.list_mut().at = number;
        }
    }
}

fn is_held(key: KeyEvent) -> bool {
    key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
}
