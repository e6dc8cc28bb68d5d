//! Handles keys of the tab *Runs*: Enter opens a run, or shows the pane of its worker, and `s` stops it after a question.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::layout::areas;
use super::list_rows;
use super::runs_state::{RunsCall, RunsFocus};
use super::state::{ChatEffect, ChatState, Tab};
use super::view::{knowledge, runs};

impl ChatState {
    /// What is shown of the runs now.
    pub(super) fn runs_focus(&self) -> RunsFocus {
        match (&self.tab, &self.runs.open) {
            (Tab::Runs, Some(open)) => RunsFocus::Run(open.id.clone()),
            (Tab::Runs, None) => RunsFocus::List,
            _ => RunsFocus::Nothing,
        }
    }

    /// Handles a key in the tab; `None` if the key means what it means everywhere.
    pub(super) fn key_in_runs(&mut self, key: KeyEvent) -> Option<Vec<ChatEffect>> {
        if self.tab != Tab::Runs || !self.draft().is_empty() {
            return None;
        }
        let is_held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        if let Some(id) = self.runs.stopping.take() {
            if key.code == KeyCode::Char('y') && !is_held {
                return Some(vec![ChatEffect::Runs(RunsCall::Stop(id))]);
            }
            self.say(format!("run {id} goes on"));
            return Some(Vec::new());
        }
        match key.code {
            KeyCode::Char('s') if !is_held => self.ask_to_stop(),
            KeyCode::Enter if self.runs.open.is_none() => self.open_run(),
            KeyCode::Enter if !is_held => return Some(self.go_to_worker()),
            KeyCode::Esc if self.runs.open.is_some() => self.runs.open = None,
            KeyCode::Char('@' | '?' | '/' | '1'..='9') => return None,
            // A letter would begin a message to nobody.
            KeyCode::Char(_) if self.runs.open.is_some() && !is_held => {}
            _ => return None,
        }
        Some(Vec::new())
    }

    /// The run that is chosen or open: its id, and whether it goes on.
    fn chosen_run(&self) -> Option<(String, bool)> {
        match &self.runs.open {
            Some(open) => {
                // Until it was read, the list knows.
                let item = || self.runs.list.iter().flatten().find(|run| run.id == open.id);
                let is_live = open.detail.as_ref().map(|detail| detail.is_live);
                let is_live = is_live.or_else(|| item().map(|run| run.is_live));
                is_live.map(|is_live| (open.id.clone(), is_live))
            }
            None => list_rows::runs(self).get(self.list().at).map(|run| (run.id.clone(), run.is_live)),
        }
    }

    fn ask_to_stop(&mut self) {
        match self.chosen_run() {
            Some((id, true)) => self.runs.stopping = Some(id),
            Some((id, false)) => self.say(format!("run {id} has ended")),
            None => {}
        }
    }

    fn open_run(&mut self) {
        if let Some((id, _)) = self.chosen_run() {
            self.runs.open(id);
        }
    }

    /// Scrolls the list or the run.
    pub(super) fn scroll_runs(&mut self, by: isize) {
        let area = areas(self).body;
        if let Some(open) = &mut self.runs.open {
            let rows = open.detail.as_ref().map_or(0, |detail| runs::detail_rows(detail, area.width).len());
            let last = rows.saturating_sub(area.height.into());
            open.from = open.from.saturating_add_signed(by).min(last);
        } else {
            let count = list_rows::count(self);
            self.list_mut().step(by, count);
        }
    }

    /// The first click selects a run, the second opens it.
    pub(super) fn click_run(&mut self, row: usize) {
        if self.runs.open.is_some() {
            return;
        }
        let height = usize::from(areas(self).body.height);
        let Some(number) = row.checked_sub(1).map(|row| knowledge::first_item(self.list().at, height) + row)
        else {
            return;
        };
        if number >= list_rows::runs(self).len() {
            return;
        }
        if self.list().at == number {
            self.open_run();
        } else {
            self.list_mut().at = number;
        }
    }
}
