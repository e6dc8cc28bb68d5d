//! State of the chat: what is known and what is shown. It contains no terminal, no mesh and no clock: all three come in
//! as values.

use std::collections::HashMap;

use jiff::Timestamp;
use ratatui::layout::Size;

use super::complete::Completion;
use super::conversation::Talk;
use super::draft::Draft;
use super::list::List;
use super::model::{Happening, Note, Receipt, World};

/// Maximum number of feed events that are kept.
const EVENTS_KEPT: usize = 2_000;

/// The tabs of the chat.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) enum Tab {
    #[default]
    Agents,
    /// The conversation with this agent.
    Talk(String),
    /// Broadcasts.
    All,
    Tasks,
    Reservations,
    Feed,
}

/// Work for the outside that follows from an input.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Effect {
    Send {
        to: Recipients,
        text: String,
        written: Written,
    },
    /// These messages were on the screen.
    Surface(Vec<String>),
    /// Acknowledges the messages with these ids.
    Ack(Vec<String>),
    /// Redraws the whole screen.
    Redraw,
    /// The user scrolled to the oldest loaded message.
    LoadOlder,
    /// The user pressed a key.
    SignOfLife,
    /// The terminal got the focus back.
    Focus,
    Suspend,
    Quit,
}

/// A message as typed, and the tab it was typed in: if it cannot be sent, the text is put back there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Written {
    pub(super) tab: Tab,
    pub(super) text: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Recipients {
    Named(Vec<String>),
    All,
}

/// Reports from the mesh thread and the send thread.
#[derive(Clone, Debug)]
pub(super) enum News {
    World(Box<World>),
    /// Messages that are new or whose standing changed.
    Notes(Vec<Note>),
    /// Whether there are messages older than those reported so far.
    Older(bool),
    /// Messages that no longer exist.
    Forget(Vec<String>),
    Events(Vec<Happening>),
    /// Receipts of messages of mine.
    Receipts(Vec<(String, Receipt)>),
    /// The message was sent; the text says what became of it.
    Sent(String),
    NotSent {
        why: String,
        written: Written,
    },
    /// These messages were drawn while the screen was not visible.
    Unseen(Vec<String>),
    Notice(String),
}

/// A one-line text for the user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Notice {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// The search text of a tab.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Filter {
    pub(super) text: String,
    /// It is being typed.
    pub(super) open: bool,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) world: World,
    /// Whether the mesh has been read yet.
    pub(super) is_loaded: bool,
    /// In the order of their tabs.
    pub(super) talks: Vec<Talk>,
    pub(super) all: Talk,
    pub(super) events: Vec<Happening>,
    pub(super) has_older: bool,
    /// Older messages were requested and have not arrived yet.
    pub(super) awaits_older: bool,
    pub(super) tab: Tab,
    pub(super) drafts: HashMap<Tab, Draft>,
    pub(super) lists: HashMap<Tab, List>,
    pub(super) filter: Filter,
    pub(super) completion: Option<Completion>,
    pub(super) help: bool,
    /// The first key that the help shows.
    pub(super) help_from: usize,
    pub(super) notice: Option<Notice>,
    pub(super) size: Size,
    pub(super) now: Timestamp,
}

impl State {
    pub(super) fn new(size: Size, now: Timestamp) -> Self {
        Self {
            world: World::default(),
            is_loaded: false,
            talks: Vec::new(),
            all: Talk::new("all"),
            events: Vec::new(),
            has_older: false,
            awaits_older: false,
            tab: Tab::default(),
            drafts: HashMap::new(),
            lists: HashMap::new(),
            filter: Filter::default(),
            completion: None,
            help: false,
            help_from: 0,
            notice: None,
            size,
            now,
        }
    }

    /// Every tab, from left to right.
    pub(super) fn tabs(&self) -> Vec<Tab> {
        let talks = self.talks.iter().map(|talk| Tab::Talk(talk.with.clone()));
        let fixed = [Tab::Agents, Tab::All, Tab::Tasks, Tab::Reservations, Tab::Feed];
        fixed.into_iter().chain(talks).collect()
    }

    /// The conversation that is open, if one is.
    pub(super) fn talk(&self) -> Option<&Talk> {
        match &self.tab {
            Tab::All => Some(&self.all),
            Tab::Talk(name) => self.talks.iter().find(|talk| talk.is_with(name)),
            _ => None,
        }
    }

    pub(super) fn talk_mut(&mut self) -> Option<&mut Talk> {
        match &self.tab {
            Tab::All => Some(&mut self.all),
            Tab::Talk(name) => self.talks.iter_mut().find(|talk| talk.is_with(name)),
            _ => None,
        }
    }

    pub(super) fn draft(&self) -> &Draft {
        static NONE: std::sync::LazyLock<Draft> = std::sync::LazyLock::new(Draft::default);
        self.drafts.get(&self.tab).unwrap_or(&NONE)
    }

    pub(super) fn draft_mut(&mut self) -> &mut Draft {
        self.drafts.entry(self.tab.clone()).or_default()
    }

    /// Selection and scroll position of the list in the open tab.
    pub(super) fn list(&self) -> List {
        self.lists.get(&self.tab).copied().unwrap_or_default()
    }

    pub(super) fn list_mut(&mut self) -> &mut List {
        self.lists.entry(self.tab.clone()).or_default()
    }

    pub(super) fn unread(&self) -> usize {
        self.talks.iter().chain([&self.all]).map(Talk::unread).sum()
    }

    /// Opens a conversation.
    pub(super) fn open(&mut self, name: &str) {
        let with = self.talk_with(name).with.clone();
        self.go_to(Tab::Talk(with));
    }

    pub(super) fn go_to(&mut self, tab: Tab) {
        if tab != self.tab {
            self.tab = tab;
            self.filter = Filter::default();
            self.completion = None;
        }
    }

    fn talk_with(&mut self, name: &str) -> &mut Talk {
        let place = match self.talks.iter().position(|talk| talk.is_with(name)) {
            Some(place) => place,
            None => {
                self.talks.push(Talk::new(name));
                self.talks.len() - 1
            }
        };
        &mut self.talks[place]
    }

    /// Applies a report from the mesh.
    pub(super) fn hear(&mut self, news: News) {
        match news {
            News::World(world) => {
                self.world = *world;
                self.is_loaded = true;
            }
            News::Notes(notes) => self.file(notes),
            News::Older(has_older) => {
                self.has_older = has_older;
                self.awaits_older = false;
            }
            News::Forget(keys) => {
                for talk in self.talks.iter_mut().chain([&mut self.all]) {
                    talk.forget(&keys);
                }
            }
            News::Events(events) => {
                for event in events {
                    match self.events.last_mut() {
                        Some(last) if last.says_the_same(&event) => {
                            *last = Happening { times: last.times + event.times, ..event };
                        }
                        _ => self.events.push(event),
                    }
                }
                let excess = self.events.len().saturating_sub(EVENTS_KEPT);
                self.events.drain(..excess);
            }
            News::Receipts(receipts) => {
                for talk in self.talks.iter_mut().chain([&mut self.all]) {
                    talk.note_receipts(&receipts);
                }
            }
            News::Sent(told) => self.say(told),
            News::NotSent { why, written } => {
                self.drafts.entry(written.tab).or_default().give_back(written.text);
                self.complain(why);
            }
            News::Unseen(keys) => {
                for talk in self.talks.iter_mut().chain([&mut self.all]) {
                    talk.mark_unseen(&keys);
                }
            }
            News::Notice(text) => self.complain(text),
        }
    }

    /// Adds each message to its conversation.
    fn file(&mut self, notes: Vec<Note>) {
        for note in notes {
            if note.broadcast {
                self.all.put(note);
            } else {
                let with = if note.is_mine() { note.to.clone() } else { note.from.clone() };
                self.talk_with(&with).put(note);
            }
        }
    }

    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: false });
    }

    pub(super) fn complain(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: true });
    }
}
