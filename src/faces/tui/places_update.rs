//! Handles what has to do with tmux panes: which places are read, and the Enter that shows a pane.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::layout::has_detail;
use super::list_rows;
use super::places_state::{PlacesCall, PlacesFocus};
use super::state::{ChatEffect, ChatState, StatusMessage, Tab};

/// Begins the notice that the next Enter shows a pane. As with Esc, it does so only while that is on the screen.
const OFFER: &str = "press Enter again to go to its tmux pane";

/// Whether it says that the next Enter shows a pane.
pub(super) fn offers_pane(notice: &StatusMessage) -> bool {
    notice.text.starts_with(OFFER)
}

impl ChatState {
    /// What is shown of places now.
    pub(super) fn places_focus(&self) -> PlacesFocus {
        if self.tab != Tab::Agents || self.world.peers.is_empty() {
            return PlacesFocus::Nothing;
        }
        let names = self.world.peers.iter().map(|peer| peer.name.clone()).collect();
        let selected = list_rows::chosen_agent(self).filter(|name| self.places.pane(name).is_some());
        let selected = selected.filter(|_| has_detail(self.size)).map(str::to_string);
        PlacesFocus::Agents { names, selected }
    }

    /// Says that the next Enter shows the agent's pane, if it has one.
    pub(super) fn offer_pane(&mut self, name: &str) {
        let Some(place) = self.pane_of(name).map(|(_, place)| place.to_string()) else { return };
        self.say(format!("{OFFER} ({place})"));
    }

    /// Enter without a text in a conversation: shows the agent's pane if that was offered, else offers it. So nobody is
    /// taken elsewhere by an Enter too many.
    pub(super) fn enter_in_conversation(&mut self) -> Vec<ChatEffect> {
        let Tab::Conversation(name) = self.tab.clone() else { return Vec::new() };
        match self.pane_of(&name).map(|(name, _)| name.to_string()) {
            Some(name) if self.places.is_offered => vec![ChatEffect::Places(PlacesCall::GoToAgent(name))],
            _ => {
                self.offer_pane(&name);
                Vec::new()
            }
        }
    }

    /// A key while a command is shown. The command may have come in the middle of a sentence, so what is typed goes to the
    /// input; every other key closes it.
    pub(super) fn key_at_command(&mut self, key: KeyEvent) {
        let is_held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Char(_) | KeyCode::Backspace if is_held => self.places.command = None,
            // A letter would begin a message to nobody.
            KeyCode::Char(letter) if self.tab == Tab::Runs && self.draft().is_empty() && letter != '@' => {}
            KeyCode::Char(_) | KeyCode::Backspace => self.edit(key),
            _ => self.places.command = None,
        }
    }

    /// The agent's name as it is registered, and the place of its pane.
    pub(super) fn pane_of(&self, name: &str) -> Option<(&str, &str)> {
        let name = &self.world.peer(name)?.name;
        Some((name, self.places.pane(name)?))
    }

    /// Shows the pane of the worker of the open run. Of one that was not read yet, nobody knows here whether it has one.
    pub(super) fn go_to_worker(&mut self) -> Vec<ChatEffect> {
        let Some(open) = &self.runs.open else { return Vec::new() };
        let (id, detail) = (open.id.clone(), open.detail.as_ref());
        if detail.is_none_or(|detail| detail.has_pane) {
            return vec![ChatEffect::Places(PlacesCall::GoToWorker(id))];
        }
        let is_live = detail.is_some_and(|detail| detail.is_live);
        let text = if is_live { "its worker does not run in tmux" } else { "it has ended" };
        self.say(format!("run {id}: {text}"));
        Vec::new()
    }
}
