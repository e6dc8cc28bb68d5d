//! Handles input: keys, pastes and news from the mesh change the state and return effects.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent};
use jiff::Timestamp;
use ratatui::layout::Size;

use crate::domain::{AgentName, machine_of_notice};

use super::conversation::{Conversation, Window};
use super::input_buffer::LONGEST;
use super::knowledge_state::KnowledgeCall;
use super::layout::{areas, has_detail};
use super::list_rows;
use super::message_view::MessageLayout;
use super::name_completion::NameCompletion;
use super::places_state::PlacesCall;
use super::places_update::offers_pane;
use super::recipients::{Recipients, addressed};
use super::runs_state::RunsCall;
use super::state::{AwarenessFocus, ChatEffect, ChatState, ChatUpdate, Tab, TypedMessage};
use super::theme::Theme;
use super::view::{help, scroll_bar};

/// Shown when the next Esc quits.
const QUITS_NEXT: &str = "press Esc again to quit";

/// An input of the chat.
#[derive(Debug)]
pub(super) enum ChatInput {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize(Size),
    /// The terminal got the focus back.
    Focus,
    News(ChatUpdate),
    /// The current time.
    Time(Timestamp),
    /// The state has been drawn.
    Drawn,
}

impl ChatState {
    pub(super) fn update(&mut self, input: ChatInput) -> Vec<ChatEffect> {
        match input {
            ChatInput::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            ChatInput::Key(key) => self.key(key),
            ChatInput::Mouse(mouse) => self.mouse(mouse),
            ChatInput::Paste(text) => self.paste(&text),
            ChatInput::Resize(size) => {
                self.size = size;
                Vec::new()
            }
            ChatInput::Focus => vec![ChatEffect::Focus],
            ChatInput::News(ChatUpdate::Signal(sequence)) => vec![ChatEffect::Signal(sequence)],
            ChatInput::News(news) => {
                self.hear(news);
                Vec::new()
            }
            ChatInput::Time(now) => {
                self.now = now;
                Vec::new()
            }
            ChatInput::Drawn => self.drawn(),
        }
    }

    fn key(&mut self, key: KeyEvent) -> Vec<ChatEffect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let mut effects = vec![ChatEffect::SignOfLife];
        match key.code {
            KeyCode::Char(digit @ '1'..='9') if key.modifiers.contains(KeyModifiers::ALT) => {
                self.go_to_number(digit);
                return effects;
            }
            KeyCode::Char('c' | 'q') if control => return vec![ChatEffect::Quit],
            KeyCode::Char('z') if control => return vec![ChatEffect::Suspend],
            KeyCode::Char('l') if control => return vec![ChatEffect::SignOfLife, ChatEffect::Redraw],
            _ => {}
        }
        self.knowledge.awaited = None;
        // The second Esc counts only while the notice is on the screen.
        let notice = self.notice.take();
        let was_closing = notice.as_ref().is_some_and(|notice| notice.text == QUITS_NEXT);
        self.places.is_offered = notice.is_some_and(|notice| offers_pane(&notice));
        if self.places.command.is_some() {
            self.key_at_command(key);
        } else if self.menu.is_some() {
            effects.extend(self.key_in_menu(key));
        } else if self.is_help_open {
            self.key_in_help(key);
        } else if self.filter.is_open {
            self.key_in_filter(key);
        } else if !self.key_in_completion(key) {
            effects.extend(match (self.key_in_record(key).or_else(|| self.key_in_runs(key)), key.code) {
                (Some(done), _) => done,
                (None, KeyCode::Esc) => self.escape(was_closing),
                (None, _) if self.has_taken_search_key(key) => Vec::new(),
                (None, _) => self.plain_key(key),
            });
        }
        effects
    }

    /// Scroll keys show the rest of the help if there is more; any other key closes it.
    fn key_in_help(&mut self, key: KeyEvent) {
        let height = usize::from(areas(self).body.height);
        let page = height.saturating_sub(2).max(1);
        let last = help::last_start(height);
        self.help_from = match key.code {
            KeyCode::Up => self.help_from.saturating_sub(1),
            KeyCode::Down => self.help_from + 1,
            KeyCode::PageUp => self.help_from.saturating_sub(page),
            KeyCode::PageDown => self.help_from + page,
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => {
                self.is_help_open = false;
                0
            }
        };
        self.help_from = self.help_from.min(last);
    }

    fn key_in_filter(&mut self, key: KeyEvent) {
        let before = self.filter.text.clone();
        match key.code {
            KeyCode::Esc => self.filter = Default::default(),
            KeyCode::Enter if self.tab == Tab::Knowledge => {
                self.filter.is_open = false;
                self.open_record();
            }
            KeyCode::Enter => self.filter.is_open = false,
            KeyCode::Backspace if self.filter.text.is_empty() => self.filter.is_open = false,
            KeyCode::Backspace => drop(self.filter.text.pop()),
            // A second `/` means that a literal slash was wanted.
            KeyCode::Char('/') if self.filter.text.is_empty() => {
                self.filter.is_open = false;
                self.type_text("/");
            }
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => self.filter.text.clear(),
            KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                self.filter.text.push(c);
            }
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => {
                self.move_by(key.code);
            }
            _ => {}
        }
        if self.tab == Tab::Knowledge && self.filter.text != before {
            self.list_mut().at = 0;
        }
        self.keep_choice();
    }

    /// Handles a key while names are offered; `true` if the key was used for that.
    fn key_in_completion(&mut self, key: KeyEvent) -> bool {
        let Some(completion) = &mut self.completion else { return false };
        match key.code {
            KeyCode::Up => completion.step(-1),
            KeyCode::Down => completion.step(1),
            KeyCode::Tab | KeyCode::Enter => {
                let name = completion.name().map(|name| format!("@{name} "));
                self.completion = None;
                if let Some(name) = name {
                    self.draft_mut().complete(&name);
                }
            }
            KeyCode::Esc => self.completion = None,
            _ => return false,
        }
        true
    }

    fn plain_key(&mut self, key: KeyEvent) -> Vec<ChatEffect> {
        let held = key.modifiers;
        let is_empty = self.draft().is_empty();
        // A program that types at the end of its input sends Ctrl-Space, for example `script`.
        let is_plain = is_empty && !held.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter if held.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
                self.type_text("\n");
            }
            KeyCode::Char('j') if held.contains(KeyModifiers::CONTROL) => self.type_text("\n"),
            KeyCode::Enter => return self.enter(),
            KeyCode::Tab => self.cycle(1),
            KeyCode::BackTab => self.cycle(-1),
            KeyCode::Left if is_empty => self.cycle(-1),
            KeyCode::Right if is_empty => self.cycle(1),
            KeyCode::Up if self.draft().has_lines() && self.draft_mut().up() => {}
            KeyCode::Down if self.draft().has_lines() && self.draft_mut().down() => {}
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => {
                return self.move_by(key.code);
            }
            KeyCode::Home | KeyCode::End if is_empty => return self.move_by(key.code),
            KeyCode::Char('/') if is_plain => self.filter.is_open = true,
            KeyCode::Char('?') if is_plain => self.is_help_open = true,
            KeyCode::Char(' ') if is_plain => self.open_menu(),
            KeyCode::Char(digit @ '1'..='9') if is_plain && !matches!(self.tab, Tab::Conversation(_)) => {
                self.go_to_number(digit);
            }
            KeyCode::Char('n') if held.contains(KeyModifiers::CONTROL) => self.open_next_unread(),
            KeyCode::Char('a') if is_empty && held.contains(KeyModifiers::CONTROL) => return self.ack(),
            _ => self.edit(key),
        }
        Vec::new()
    }

    pub(super) fn edit(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let by_word = key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::CONTROL);
        let draft = self.draft_mut();
        match key.code {
            KeyCode::Backspace if by_word => draft.cut_word(),
            KeyCode::Backspace => draft.backspace(),
            KeyCode::Delete => draft.delete(),
            KeyCode::Left if by_word => draft.word_left(),
            KeyCode::Right if by_word => draft.word_right(),
            KeyCode::Left => draft.left(),
            KeyCode::Right => draft.right(),
            KeyCode::Home => draft.home(),
            KeyCode::End => draft.end(),
            KeyCode::Char(c) if control => match c {
                'a' => draft.home(),
                'e' => draft.end(),
                'b' => draft.left(),
                'f' => draft.right(),
                'd' => draft.delete(),
                'h' => draft.backspace(),
                'w' => draft.cut_word(),
                'u' => draft.cut_to_start(),
                'k' => draft.cut_to_end(),
                'y' => drop(draft.paste()),
                _ => return,
            },
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::ALT) => {
                return self.type_text(c.encode_utf8(&mut [0; 4]));
            }
            _ => return,
        }
        self.offer();
    }

    fn type_text(&mut self, text: &str) {
        if !self.draft_mut().insert(text) {
            self.complain(format!("more than {} KiB is better sent as the path of a file", LONGEST / 1024));
        }
        self.offer();
    }

    /// Offers names if the text before the cursor begins one.
    fn offer(&mut self) {
        self.completion = NameCompletion::of(self.draft().before_cursor(), &self.world);
    }

    fn paste(&mut self, text: &str) -> Vec<ChatEffect> {
        self.notice = None;
        self.menu = None;
        if self.filter.is_open {
            self.filter.text.extend(text.chars().filter(|c| !c.is_control()));
        } else if !self.is_help_open {
            self.type_text(text);
            self.completion = None;
        }
        vec![ChatEffect::SignOfLife]
    }

    /// Acknowledges every message of the open conversation that asks for it.
    fn ack(&mut self) -> Vec<ChatEffect> {
        let owed = self.talk().map(Conversation::owed_acks).unwrap_or_default();
        if owed.is_empty() {
            self.say("nothing here wants an ack");
            return Vec::new();
        }
        vec![ChatEffect::Ack(owed)]
    }

    /// Clears the filter or the draft, else goes back: from a conversation to where it was opened, from there to the
    /// agents; pressed twice there, it quits.
    fn escape(&mut self, was_closing: bool) -> Vec<ChatEffect> {
        if !self.filter.text.is_empty() {
            self.filter = Default::default();
        } else if !self.draft().is_empty() {
            self.draft_mut().cut_all();
            self.say("Ctrl-Y brings it back");
        } else if matches!(self.tab, Tab::Conversation(_)) {
            self.go_to(self.came_from.clone());
        } else if self.tab != Tab::Agents {
            self.go_to(Tab::Agents);
        } else if was_closing {
            return vec![ChatEffect::Quit];
        } else {
            self.say(QUITS_NEXT);
        }
        Vec::new()
    }

    fn enter(&mut self) -> Vec<ChatEffect> {
        let text = self.draft().text().trim();
        if text.is_empty() && matches!(self.tab, Tab::Conversation(_)) {
            return self.enter_in_conversation();
        }
        if text.is_empty() {
            self.open_chosen();
            return Vec::new();
        }
        let tab = &self.tab;
        let (to, text) = match (addressed(text, &self.world), tab) {
            (Ok(Some((to, rest))), _) => (to, rest),
            (Err(error), _) => {
                self.complain(error.to_string());
                return Vec::new();
            }
            (Ok(None), Tab::Conversation(name))
                if AgentName::is_program(name) || machine_of_notice(name).is_some() =>
            {
                self.complain("these are notices from msg itself: there is nobody to answer");
                return Vec::new();
            }
            (Ok(None), Tab::Conversation(name)) => (Recipients::Named(vec![name.clone()]), text),
            (Ok(None), Tab::All) => (Recipients::All, text),
            (Ok(None), _) => {
                self.complain("to whom? `@Name text` or `@all text`");
                return Vec::new();
            }
        };
        if text.is_empty() {
            if let Recipients::Named(names) = &to
                && let [name] = names.as_slice()
                && !name.starts_with('@')
            {
                let name = name.clone();
                self.draft_mut().take();
                self.open(&name);
            } else {
                self.complain("there is nothing to send");
            }
            return Vec::new();
        }
        let text = text.to_string();
        let written = TypedMessage { tab: self.tab.clone(), text: self.draft_mut().take() };
        let effect = ChatEffect::Send { to, text, written };
        self.completion = None;
        if let Some(conversation) = self.talk_mut() {
            conversation.go_to_end();
        }
        vec![effect]
    }

    /// The visible part of a conversation. Colour is left out because it does not affect the number of rows.
    pub(super) fn window<'a>(&self, filter: &'a str) -> Window<'a> {
        let body = areas(self).body;
        let look = MessageLayout {
            theme: Theme::PLAIN,
            now: self.now,
            width: scroll_bar::beside(body.width).into(),
        };
        Window { look, height: body.height.into(), filter }
    }

    /// What is shown of agents' headings now.
    fn focus(&self) -> AwarenessFocus {
        match (&self.tab, list_rows::chosen_agent(self)) {
            (Tab::Overlaps, _) => AwarenessFocus::Overlaps,
            (_, Some(name)) if has_detail(self.size) => AwarenessFocus::Agent(name.to_string()),
            _ => AwarenessFocus::Nothing,
        }
    }

    fn drawn(&mut self) -> Vec<ChatEffect> {
        let focus = self.focus();
        let mut effects = Vec::new();
        if focus != self.followed {
            self.followed = focus.clone();
            effects.push(ChatEffect::Follow(focus));
        }
        let records = self.knowledge_focus();
        if records != self.knowledge.followed {
            self.knowledge.followed = records.clone();
            effects.push(ChatEffect::Knowledge(KnowledgeCall::Show(records)));
        }
        let runs = self.runs_focus();
        if runs != self.runs.followed {
            self.runs.followed = runs.clone();
            effects.push(ChatEffect::Runs(RunsCall::Show(runs)));
        }
        let places = self.places_focus();
        if places != self.places.followed {
            self.places.followed = places.clone();
            effects.push(ChatEffect::Places(PlacesCall::Show(places)));
        }
        // An overlay hides part of the conversation.
        if self.is_help_open
            || self.menu.is_some()
            || self.completion.is_some()
            || self.places.command.is_some()
        {
            return effects;
        }
        let filter = self.filter.text.clone();
        let window = self.window(&filter);
        let seen = self.talk_mut().map(|conversation| conversation.mark_seen(window)).unwrap_or_default();
        if !seen.is_empty() {
            effects.push(ChatEffect::Surface(seen));
        }
        effects
    }
}
