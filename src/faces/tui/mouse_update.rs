//! Handles the mouse: the wheel scrolls, a click opens a tab or selects a row, a second click opens that.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::layout::areas;
use super::list_rows;
use super::state::{ChatEffect, ChatState, Tab};
use super::view::tabs;

/// Rows per step of the mouse wheel.
const WHEEL: isize = 3;

impl ChatState {
    pub(super) fn mouse(&mut self, mouse: MouseEvent) -> Vec<ChatEffect> {
        let at = Position::new(mouse.column, mouse.row);
        let areas = areas(self);
        match mouse.kind {
            MouseEventKind::ScrollUp => return self.scroll(-WHEEL),
            MouseEventKind::ScrollDown => return self.scroll(WHEEL),
            MouseEventKind::Down(MouseButton::Left) if self.is_help_open => self.is_help_open = false,
            MouseEventKind::Down(MouseButton::Left) if self.menu.is_some() => self.menu = None,
            MouseEventKind::Down(MouseButton::Left) if self.places.command.is_some() => {
                self.places.command = None;
            }
            MouseEventKind::Down(MouseButton::Left) if areas.tabs.contains(at) => {
                if let Some(tab) = tabs::at(self, areas.tabs, mouse.column) {
                    self.go_to(tab);
                }
            }
            MouseEventKind::Down(MouseButton::Left) if areas.body.contains(at) && self.tab == Tab::Agents => {
                self.click_agent(usize::from(mouse.row - areas.body.y));
            }
            MouseEventKind::Down(MouseButton::Left)
                if areas.body.contains(at) && self.tab == Tab::Knowledge =>
            {
                self.click_record(usize::from(mouse.row - areas.body.y));
            }
            MouseEventKind::Down(MouseButton::Left) if areas.body.contains(at) && self.tab == Tab::Runs => {
                self.click_run(usize::from(mouse.row - areas.body.y));
            }
            MouseEventKind::Down(MouseButton::Left) if areas.body.contains(at) => {
                self.click_item(usize::from(mouse.row - areas.body.y));
            }
            _ => return Vec::new(),
        }
        vec![ChatEffect::SignOfLife]
    }

    /// The first click selects a conversation, a task or a reservation, the second opens it or what can be done with it.
    fn click_item(&mut self, row: usize) {
        let (height, list) = (usize::from(areas(self).body.height), self.list());
        let number = match self.tab {
            Tab::Chats => {
                let total = list_rows::count(self);
                Some(list_rows::first_row(total, Some(list.at), height) + row)
                    .filter(|number| *number < total)
            }
            Tab::Tasks => {
                let all = list_rows::tasks(self);
                let clicked = super::view::tasks::first_row(&all, list, height) + row;
                let is_task = |row: &list_rows::TaskRow<'_>| matches!(row, list_rows::TaskRow::Task(_));
                let before = all.iter().take(clicked).filter(|row| is_task(row)).count();
                all.get(clicked).is_some_and(is_task).then_some(before)
            }
            Tab::Reservations => {
                let number =
                    row.checked_sub(1).map(|row| super::view::knowledge::first_item(list.at, height) + row);
                number.filter(|number| *number < list_rows::item_count(self))
            }
            _ => None,
        };
        match number {
            Some(number) if number == list.at => self.open_chosen(),
            Some(number) => self.list_mut().at = number,
            None => {}
        }
    }

    /// The first click selects an agent, the second opens the conversation.
    fn click_agent(&mut self, row: usize) {
        let height = usize::from(areas(self).body.height);
        let all = list_rows::agents(self);
        let first = super::view::agents::first_row(&all, self.list(), height);
        let Some(list_rows::AgentRow::Agent(_)) = all.get(first + row) else { return };
        let is_agent = |row: &&list_rows::AgentRow<'_>| matches!(row, list_rows::AgentRow::Agent(_));
        let number = all[..first + row].iter().filter(is_agent).count();
        if self.list().at == number {
            self.open_chosen();
        } else {
            self.list_mut().at = number;
        }
    }
}
