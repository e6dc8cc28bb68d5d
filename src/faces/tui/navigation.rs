//! Moves between tabs and within them: keys for tabs, scrolling and the selected row.

use crossterm::event::KeyCode;

use super::layout::areas;
use super::list_rows;
use super::state::{ChatEffect, ChatState, Tab};

/// The tabs that are always there, in the order of the keys 1 to 9.
pub(super) const FIXED_TABS: [Tab; 9] = [
    Tab::Agents,
    Tab::Chats,
    Tab::All,
    Tab::Tasks,
    Tab::Reservations,
    Tab::Feed,
    Tab::Runs,
    Tab::Knowledge,
    Tab::Overlaps,
];

impl ChatState {
    /// Every tab, from left to right: the fixed ones, and the conversation that is open.
    pub(super) fn tabs(&self) -> Vec<Tab> {
        let open = matches!(self.tab, Tab::Conversation(_)).then(|| self.tab.clone());
        FIXED_TABS.into_iter().chain(open).collect()
    }

    /// Opens a conversation.
    pub(super) fn open(&mut self, name: &str) {
        let with = self.talk_with(name).with.clone();
        self.go_to(Tab::Conversation(with));
    }

    /// Opens a tab, and in a conversation the first unread message.
    pub(super) fn go_to(&mut self, tab: Tab) {
        if tab == self.tab {
            return;
        }
        if !matches!(self.tab, Tab::Conversation(_)) {
            self.came_from = self.tab.clone();
        }
        self.tab = tab;
        self.filter = Default::default();
        self.completion = None;
        let window = self.window("");
        if let Some(conversation) = self.talk_mut() {
            conversation.go_to_first_unread(window);
        }
    }

    /// Opens the tab with this number, whatever lies on top.
    pub(super) fn go_to_number(&mut self, digit: char) {
        let number = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
        let Some(tab) = number.and_then(|number| FIXED_TABS.get(number)) else { return };
        self.is_help_open = false;
        self.menu = None;
        self.go_to(tab.clone());
    }

    /// Opens the conversation with the latest unread message.
    pub(super) fn open_next_unread(&mut self) {
        let is_other = |name: &str| !matches!(&self.tab, Tab::Conversation(open) if open == name);
        let chats = list_rows::all_chats(self);
        let next = chats.into_iter().find(|chat| chat.unread() > 0 && is_other(&chat.with));
        match next.map(|chat| chat.with.clone()) {
            Some(name) => self.open(&name),
            None if self.all.unread() > 0 && self.tab != Tab::All => self.go_to(Tab::All),
            None => self.say("nothing else is unread"),
        }
    }

    /// Opens what is selected, or the menu of what can be done with it.
    pub(super) fn open_chosen(&mut self) {
        let at = self.list().at;
        match self.tab {
            Tab::Agents => {
                if let Some(name) = list_rows::choosable(self).get(at).map(|peer| peer.name.clone()) {
                    self.open(&name);
                    self.offer_pane(&name);
                }
            }
            Tab::Chats => {
                if let Some(name) = list_rows::chats(self).get(at).map(|chat| chat.with.clone()) {
                    self.open(&name);
                }
            }
            Tab::Knowledge => self.open_record(),
            Tab::Tasks | Tab::Reservations => self.open_menu(),
            _ => {}
        }
    }

    pub(super) fn cycle(&mut self, by: isize) {
        let tabs = self.tabs();
        let at = tabs.iter().position(|tab| *tab == self.tab).unwrap_or(0);
        let next = (at + tabs.len()).saturating_add_signed(by) % tabs.len();
        self.go_to(tabs[next].clone());
    }

    pub(super) fn move_by(&mut self, key: KeyCode) -> Vec<ChatEffect> {
        let page = isize::try_from(areas(self).body.height.max(2) - 1).unwrap_or(1);
        let by = match key {
            KeyCode::Up => -1,
            KeyCode::Down => 1,
            KeyCode::PageUp => -page,
            KeyCode::PageDown => page,
            KeyCode::Home => isize::MIN,
            _ => isize::MAX,
        };
        self.scroll(by)
    }

    pub(super) fn scroll(&mut self, by: isize) -> Vec<ChatEffect> {
        let height = usize::from(areas(self).body.height);
        match self.tab {
            Tab::Conversation(_) | Tab::All => return self.scroll_talk(by),
            Tab::Agents | Tab::Chats | Tab::Tasks | Tab::Reservations => {
                let count = list_rows::item_count(self);
                self.list_mut().step(by, count);
            }
            Tab::Knowledge => self.scroll_knowledge(by),
            Tab::Runs => self.scroll_runs(by),
            Tab::Feed => {
                let count = list_rows::count(self);
                self.list_mut().scroll(by, count, height);
            }
            Tab::Overlaps => {
                let beyond = list_rows::count(self).saturating_sub(height) + 1;
                self.list_mut().step(by, beyond);
            }
        }
        Vec::new()
    }

    fn scroll_talk(&mut self, by: isize) -> Vec<ChatEffect> {
        let filter = self.filter.text.clone();
        let window = self.window(&filter);
        let Some(conversation) = self.talk_mut() else { return Vec::new() };
        let is_at_start = match by {
            isize::MIN => {
                conversation.go_to_start(window);
                true
            }
            isize::MAX => {
                conversation.go_to_end();
                false
            }
            by => conversation.scroll(by, window),
        };
        // Do not ask again until they arrive.
        if !is_at_start || by >= 0 || !self.has_older || self.awaits_older {
            return Vec::new();
        }
        self.awaits_older = true;
        vec![ChatEffect::LoadOlder]
    }

    /// Keeps the selection inside the list.
    pub(super) fn keep_choice(&mut self) {
        let count = list_rows::item_count(self);
        self.list_mut().step(0, count);
    }

    /// What identifies the selected item, so that it stays selected when the list changes.
    pub(super) fn chosen_key(&self) -> Option<String> {
        list_rows::item_keys(self).into_iter().nth(self.list().at)
    }

    /// Selects the item with this key again.
    pub(super) fn choose_again(&mut self, key: Option<String>) {
        let Some(key) = key else { return };
        match list_rows::item_keys(self).iter().position(|item| *item == key) {
            Some(place) => self.list_mut().at = place,
            None => self.keep_choice(),
        }
    }
}
