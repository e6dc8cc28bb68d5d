//! Handles the menu of actions: which actions are possible with the selected thing, and what follows from one.

use crossterm::event::{KeyEvent, KeyModifiers};

use super::action_menu::{ActionCall, ActionItem, ActionMenu, ActionStep, MenuAnswer};
use super::conversation::Conversation;
use super::list_rows;
use super::model::{PeerItem, ReservationItem, SpecView, TaskItem, TaskStateView};
use super::places_state::PlacesCall;
use super::state::{ChatEffect, ChatState, Tab};

/// Terminals take no more at once.
const MOST_COPIED: usize = 64 * 1024;

impl ChatState {
    /// Opens the menu of what can be done with the selected thing.
    pub(super) fn open_menu(&mut self) {
        match self.actions().filter(|menu| !menu.items.is_empty()) {
            Some(menu) => self.menu = Some(menu),
            None => self.say("there is nothing to do with what is selected here"),
        }
    }

    pub(super) fn key_in_menu(&mut self, key: KeyEvent) -> Vec<ChatEffect> {
        let Some(mut menu) = self.menu.take() else { return Vec::new() };
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return Vec::new();
        }
        match menu.key(key.code) {
            MenuAnswer::StaysOpen => self.menu = Some(menu),
            MenuAnswer::Closed => {}
            MenuAnswer::Declined => self.say("nothing was changed"),
            MenuAnswer::Chosen(step) => return self.take_step(step),
        }
        Vec::new()
    }

    fn take_step(&mut self, step: ActionStep) -> Vec<ChatEffect> {
        match step {
            ActionStep::Open(name) => self.open(&name),
            ActionStep::Ack(ids) => return vec![ChatEffect::Ack(ids)],
            ActionStep::Copy(text) if text.len() > MOST_COPIED => {
                self.complain(format!("more than {} KiB can't be copied", MOST_COPIED / 1024));
            }
            ActionStep::Copy(text) => {
                self.say("copied (if the terminal allows it: OSC 52)");
                return vec![ChatEffect::Copy(text)];
            }
            ActionStep::Edit(path) => return vec![ChatEffect::Edit(path)],
            ActionStep::Pane(name) => return vec![ChatEffect::Places(PlacesCall::GoToAgent(name))],
            ActionStep::ShowHeld(name) => {
                self.go_to(Tab::Reservations);
                self.filter.text = name;
            }
            ActionStep::Menu(menu) => self.menu = Some(*menu),
            ActionStep::Act(call) => return vec![ChatEffect::Act(call)],
        }
        Vec::new()
    }

    fn actions(&self) -> Option<ActionMenu> {
        let at = self.list().at;
        match &self.tab {
            Tab::Agents => list_rows::choosable(self).get(at).map(|peer| {
                let talk = self.conversations.iter().find(|talk| talk.is_with(&peer.name));
                ActionMenu::new(peer.name.as_str(), self.with_agent(&peer.name, Some(peer), talk))
            }),
            Tab::Chats => list_rows::chats(self).get(at).map(|talk| self.with_talk(talk)),
            Tab::Conversation(_) => self.talk().map(|talk| self.with_talk(talk)),
            Tab::All => self.talk().map(|talk| ActionMenu::new("everyone", of_messages(talk))),
            Tab::Tasks => {
                let (board, task) = *list_rows::task_items(self).get(at)?;
                Some(ActionMenu::new(task.id.as_str(), self.with_task(board, task)))
            }
            Tab::Reservations => {
                let hold = *list_rows::holds(self).get(at)?;
                Some(ActionMenu::new(hold.pattern.as_str(), self.with_hold(hold)))
            }
            Tab::Feed | Tab::Runs | Tab::Knowledge | Tab::Overlaps => None,
        }
    }

    fn with_talk(&self, talk: &Conversation) -> ActionMenu {
        let items = self.with_agent(&talk.with, self.world.peer(&talk.with), Some(talk));
        ActionMenu::new(super::model::shown_name(&talk.with), items)
    }

    /// What can be done with an agent. `peer`: if it is here.
    fn with_agent(
        &self,
        name: &str,
        peer: Option<&PeerItem>,
        talk: Option<&Conversation>,
    ) -> Vec<ActionItem> {
        let is_open = matches!(&self.tab, Tab::Conversation(open) if open == name);
        let mut items = Vec::new();
        if !is_open {
            items.push(ActionItem::new('m', "message", ActionStep::Open(name.to_string())));
        }
        items.extend(talk.into_iter().flat_map(of_messages));
        let Some(peer) = peer else { return items };
        let name = peer.name.clone();
        if self.places.pane(&name).is_some() {
            items.push(ActionItem::new('p', "go to its tmux pane", ActionStep::Pane(name.clone())));
        }
        let held = self.world.held_by(&name).count();
        if held > 0 {
            let label = format!("show what it has reserved ({held})");
            let step = ActionStep::ShowHeld(name.clone());
            items.push(ActionItem::new('r', label, step));
        }
        // The keys of several tasks would not be known by heart: those are handed over in the tab of tasks.
        if let Some((board, task)) = self.world.claimed_by(&self.world.me).next() {
            items.push(ActionItem::new(
                'h',
                format!("hand {} over to {name}", task.id),
                hand_off(board, task, &name),
            ));
        }
        if let Some(path) = &peer.spec_path {
            items.push(ActionItem::new('o', "open its spec in your editor", ActionStep::Edit(path.clone())));
        }
        let question = format!("y / n: evict {name}? It loses its name, tasks and reservations.");
        let step = ActionStep::Act(ActionCall::Evict { name });
        items.push(ActionItem::new('e', "evict", step).asking(question));
        items
    }

    fn with_task(&self, board: &SpecView, task: &TaskItem) -> Vec<ActionItem> {
        let (id, spec) = (task.id.clone(), board.path.clone());
        let mut items = Vec::new();
        match &task.state {
            TaskStateView::Open => {
                let call = ActionCall::Claim { task: id.clone(), spec };
                items.push(ActionItem::new('c', "claim", ActionStep::Act(call)));
            }
            TaskStateView::Claimed { by, .. } if self.world.is_me(by) => {
                let call = ActionCall::Unclaim { task: id.clone(), spec };
                items.push(ActionItem::new('u', "give it back", ActionStep::Act(call)));
                if !self.world.peers.is_empty() {
                    let heirs = Box::new(self.heirs(board, task));
                    items.push(ActionItem::new('h', "hand it over to …", ActionStep::Menu(heirs)));
                }
            }
            TaskStateView::Claimed { by, .. } | TaskStateView::Done { by: Some(by) }
                if !self.world.is_me(by) =>
            {
                items.push(ActionItem::new('m', format!("message {by}"), ActionStep::Open(by.clone())));
            }
            _ => {}
        }
        items.push(ActionItem::new(
            'o',
            "open the spec in your editor",
            ActionStep::Edit(board.path.clone()),
        ));
        items.push(ActionItem::new('y', "copy its id", ActionStep::Copy(id)));
        items
    }

    /// The agents that can get a task.
    fn heirs(&self, board: &SpecView, task: &TaskItem) -> ActionMenu {
        // Those after the last letter are chosen with the arrows.
        let keys = ('1'..='9').chain('a'..='z').chain(std::iter::repeat(' '));
        let items = self.world.peers.iter().zip(keys).map(|(peer, key)| {
            let label = format!("{} ({})", peer.name, peer.presence.name());
            ActionItem::new(key, label, hand_off(board, task, &peer.name))
        });
        ActionMenu::new(format!("hand {} over to", task.id), items.collect())
    }

    fn with_hold(&self, hold: &ReservationItem) -> Vec<ActionItem> {
        let (pattern, holder) = (hold.pattern.clone(), hold.holder.clone());
        let mut items = Vec::new();
        if self.world.is_me(&holder) {
            let call = ActionCall::Release { pattern: pattern.clone(), root: hold.root.clone() };
            items.push(ActionItem::new('r', "release", ActionStep::Act(call)));
        } else {
            items.push(ActionItem::new('m', format!("message {holder}"), ActionStep::Open(holder.clone())));
            let question = format!("y / n: take from {holder}, who is told, {pattern}?");
            let call = ActionCall::ReleaseFrom { target: hold.target.clone(), holder: holder.clone() };
            let item = ActionItem::new('r', format!("release it from {holder}"), ActionStep::Act(call));
            items.push(item.asking(question));
        }
        if hold.is_one_path {
            let step = ActionStep::Edit(hold.target.clone());
            items.push(ActionItem::new('o', "open it in your editor", step));
        }
        items.push(ActionItem::new('y', "copy the path", ActionStep::Copy(pattern)));
        items
    }
}

fn hand_off(board: &SpecView, task: &TaskItem, to: &str) -> ActionStep {
    let (task, spec) = (task.id.clone(), board.path.clone());
    ActionStep::Act(ActionCall::HandOff { task, spec, to: to.to_string() })
}

/// What can be done with the messages of a conversation.
fn of_messages(talk: &Conversation) -> Vec<ActionItem> {
    let mut items = Vec::new();
    let owed = talk.owed_acks();
    if !owed.is_empty() {
        items.push(ActionItem::new('a', format!("acknowledge ({})", owed.len()), ActionStep::Ack(owed)));
    }
    if let Some(last) = talk.messages.last() {
        items.push(ActionItem::new('y', "copy the last message", ActionStep::Copy(last.text.clone())));
    }
    items
}
