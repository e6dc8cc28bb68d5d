//! State of the chat: what is known and what is shown. It contains no terminal, no mesh and no clock: all three come in
//! as values.

use std::collections::HashMap;

use jiff::Timestamp;
use ratatui::layout::Size;

use super::action_menu::{ActionCall, ActionMenu};
use super::conversation::Conversation;
use super::input_buffer::InputBuffer;
use super::knowledge_state::{KnowledgeCall, KnowledgeState};
use super::list_state::ListState;
use super::model::{
    ChatMessage, FeedLine, HeadingsView, KnowledgeList, KnowledgePage, MeshSnapshot, OverlapsView,
    ReceiptView, RunDetail, RunItem,
};
use super::name_completion::NameCompletion;
use super::places_state::{PaneCommand, PlacesCall, PlacesNews, PlacesState};
use super::recipients::Recipients;
use super::runs_state::{RunsCall, RunsState};

/// Maximum number of feed events that are kept.
const EVENTS_KEPT: usize = 2_000;

/// The tabs of the chat.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) enum Tab {
    #[default]
    Agents,
    /// The list of conversations.
    Chats,
    /// The conversation with this agent.
    Conversation(String),
    /// Broadcasts.
    All,
    Tasks,
    Reservations,
    Feed,
    /// What workers do.
    Runs,
    /// What sessions found out about the project.
    Knowledge,
    /// Who may collide with whom.
    Overlaps,
}

/// What is shown of agents' headings. Only that is read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum AwarenessFocus {
    #[default]
    Nothing,
    Overlaps,
    /// What this agent is working on.
    Agent(String),
}

/// Work for the outside that follows from an input.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ChatEffect {
    Send {
        to: Recipients,
        text: String,
        written: TypedMessage,
    },
    /// These messages were on the screen.
    Surface(Vec<String>),
    /// Acknowledges the messages with these ids.
    Ack(Vec<String>),
    /// What was chosen in a menu.
    Act(ActionCall),
    /// Puts this text into the clipboard of the terminal.
    Copy(String),
    /// Sends this sequence to the terminal: a bell or a notification.
    Signal(String),
    /// Opens this path in the user's editor.
    Edit(String),
    /// Redraws the whole screen.
    Redraw,
    /// The user scrolled to the oldest loaded message.
    LoadOlder,
    /// The user pressed a key.
    SignOfLife,
    /// The terminal got the focus back.
    Focus,
    /// From now on this is shown.
    Follow(AwarenessFocus),
    Knowledge(KnowledgeCall),
    Runs(RunsCall),
    Places(PlacesCall),
    Suspend,
    Quit,
}

/// A message as typed, and the tab it was typed in: if it cannot be sent, the text is put back there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct TypedMessage {
    pub(super) tab: Tab,
    pub(super) text: String,
}

/// Reports from the threads.
#[derive(Clone, Debug)]
pub(super) enum ChatUpdate {
    World(Box<MeshSnapshot>),
    /// Messages that are new or whose standing changed.
    Messages(Vec<ChatMessage>),
    /// Whether there are messages older than those reported so far.
    Older(bool),
    /// Messages that no longer exist.
    Forget(Vec<String>),
    Events(Vec<FeedLine>),
    Overlaps(Box<OverlapsView>),
    /// What an agent is working on; `None` if that is not known.
    Headings(Option<Box<HeadingsView>>),
    Records(Box<KnowledgeList>),
    /// A record in full; `None` if it is not there any more.
    Record {
        id: String,
        page: Option<Box<KnowledgePage>>,
    },
    /// The runs of workers, those that need somebody first.
    Runs(Vec<RunItem>),
    /// A run in full; `None` if it is not there any more.
    Run {
        id: String,
        detail: Option<Box<RunDetail>>,
    },
    /// The places of agents, and what the selected one does.
    Places(Box<PlacesNews>),
    /// This terminal can't show the pane that was asked for; this command shows it in another one.
    PaneCommand(PaneCommand),
    /// Receipts of messages of mine.
    Receipts(Vec<(String, ReceiptView)>),
    /// What was asked for is done; the text says what became of it.
    Sent(String),
    NotSent {
        why: String,
        written: TypedMessage,
    },
    /// These messages were drawn while the screen was not visible.
    Unseen(Vec<String>),
    /// This sequence is to be sent to the terminal: a bell or a notification.
    Signal(String),
    Notice(String),
}

/// A one-line text for the user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct StatusMessage {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// The search text of a tab.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct TabFilter {
    pub(super) text: String,
    /// It is being typed.
    pub(super) is_open: bool,
}

#[derive(Debug)]
pub(super) struct ChatState {
    pub(super) world: MeshSnapshot,
    /// Whether the mesh has been read yet.
    pub(super) is_loaded: bool,
    /// In the order of their tabs.
    pub(super) conversations: Vec<Conversation>,
    pub(super) all: Conversation,
    pub(super) events: Vec<FeedLine>,
    /// `None` until they were read.
    pub(super) overlaps: Option<OverlapsView>,
    /// Of the agent that was last asked about.
    pub(super) headings: Option<HeadingsView>,
    /// What was last said to be shown.
    pub(super) followed: AwarenessFocus,
    pub(super) knowledge: KnowledgeState,
    pub(super) runs: RunsState,
    pub(super) places: PlacesState,
    pub(super) has_older: bool,
    /// Older messages were requested and have not arrived yet.
    pub(super) awaits_older: bool,
    pub(super) tab: Tab,
    /// The tab that the open conversation was opened from.
    pub(super) came_from: Tab,
    /// What can be done with the selected thing, while that is asked.
    pub(super) menu: Option<ActionMenu>,
    pub(super) drafts: HashMap<Tab, InputBuffer>,
    pub(super) lists: HashMap<Tab, ListState>,
    pub(super) filter: TabFilter,
    pub(super) completion: Option<NameCompletion>,
    pub(super) is_help_open: bool,
    /// The first key that the help shows.
    pub(super) help_from: usize,
    pub(super) notice: Option<StatusMessage>,
    pub(super) size: Size,
    pub(super) now: Timestamp,
}

impl ChatState {
    pub(super) fn new(size: Size, now: Timestamp) -> Self {
        Self {
            world: MeshSnapshot::default(),
            is_loaded: false,
            conversations: Vec::new(),
            all: Conversation::new("all"),
            events: Vec::new(),
            overlaps: None,
            headings: None,
            followed: AwarenessFocus::default(),
            knowledge: KnowledgeState::default(),
            runs: RunsState::default(),
            places: PlacesState::default(),
            has_older: false,
            awaits_older: false,
            tab: Tab::default(),
            came_from: Tab::default(),
            menu: None,
            drafts: HashMap::new(),
            lists: HashMap::new(),
            filter: TabFilter::default(),
            completion: None,
            is_help_open: false,
            help_from: 0,
            notice: None,
            size,
            now,
        }
    }

    /// The conversation that is open, if one is.
    pub(super) fn talk(&self) -> Option<&Conversation> {
        match &self.tab {
            Tab::All => Some(&self.all),
            Tab::Conversation(name) => {
                self.conversations.iter().find(|conversation| conversation.is_with(name))
            }
            _ => None,
        }
    }

    pub(super) fn talk_mut(&mut self) -> Option<&mut Conversation> {
        match &self.tab {
            Tab::All => Some(&mut self.all),
            Tab::Conversation(name) => {
                self.conversations.iter_mut().find(|conversation| conversation.is_with(name))
            }
            _ => None,
        }
    }

    pub(super) fn draft(&self) -> &InputBuffer {
        static NONE: std::sync::LazyLock<InputBuffer> = std::sync::LazyLock::new(InputBuffer::default);
        self.drafts.get(&self.tab).unwrap_or(&NONE)
    }

    pub(super) fn draft_mut(&mut self) -> &mut InputBuffer {
        self.drafts.entry(self.tab.clone()).or_default()
    }

    /// Selection and scroll position of the list in the open tab.
    pub(super) fn list(&self) -> ListState {
        self.lists.get(&self.tab).copied().unwrap_or_default()
    }

    pub(super) fn list_mut(&mut self) -> &mut ListState {
        self.lists.entry(self.tab.clone()).or_default()
    }

    pub(super) fn unread(&self) -> usize {
        self.conversations.iter().chain([&self.all]).map(Conversation::unread).sum()
    }

    pub(super) fn talk_with(&mut self, name: &str) -> &mut Conversation {
        let place = match self.conversations.iter().position(|conversation| conversation.is_with(name)) {
            Some(place) => place,
            None => {
                self.conversations.push(Conversation::new(name));
                self.conversations.len() - 1
            }
        };
        &mut self.conversations[place]
    }

    /// Applies a report from the mesh.
    pub(super) fn hear(&mut self, news: ChatUpdate) {
        match news {
            ChatUpdate::World(world) => {
                let chosen = self.chosen_key();
                self.world = *world;
                self.is_loaded = true;
                self.choose_again(chosen);
            }
            ChatUpdate::Messages(messages) => {
                let chosen = self.chosen_key();
                self.file(messages);
                self.choose_again(chosen);
            }
            ChatUpdate::Older(has_older) => {
                self.has_older = has_older;
                self.awaits_older = false;
            }
            ChatUpdate::Forget(keys) => {
                for conversation in self.conversations.iter_mut().chain([&mut self.all]) {
                    conversation.forget(&keys);
                }
            }
            ChatUpdate::Events(events) => {
                for event in events {
                    match self.events.last_mut() {
                        Some(last) if last.says_the_same(&event) => {
                            *last = FeedLine { times: last.times + event.times, ..event };
                        }
                        _ => self.events.push(event),
                    }
                }
                let excess = self.events.len().saturating_sub(EVENTS_KEPT);
                self.events.drain(..excess);
            }
            ChatUpdate::Overlaps(overlaps) => self.overlaps = Some(*overlaps),
            ChatUpdate::Headings(headings) => self.headings = headings.map(|headings| *headings),
            ChatUpdate::Records(list) => self.take_records(*list),
            ChatUpdate::Record { id, page } => {
                if page.is_none() {
                    self.say(format!("{id} is retired"));
                }
                self.knowledge.take_page(&id, page.map(|page| *page));
            }
            ChatUpdate::Runs(list) => self.runs.list = Some(list),
            ChatUpdate::Run { id, detail } => self.runs.take_detail(&id, detail.map(|detail| *detail)),
            ChatUpdate::Places(news) => self.places.news = *news,
            ChatUpdate::PaneCommand(command) => self.places.command = Some(command),
            ChatUpdate::Receipts(receipts) => {
                for conversation in self.conversations.iter_mut().chain([&mut self.all]) {
                    conversation.note_receipts(&receipts);
                }
            }
            ChatUpdate::Sent(told) => self.say(told),
            ChatUpdate::NotSent { why, written } => {
                self.drafts.entry(written.tab).or_default().give_back(written.text);
                self.complain(why);
            }
            ChatUpdate::Unseen(keys) => {
                for conversation in self.conversations.iter_mut().chain([&mut self.all]) {
                    conversation.mark_unseen(&keys);
                }
            }
            ChatUpdate::Notice(text) => self.complain(text),
            // It is for the terminal alone.
            ChatUpdate::Signal(_) => {}
        }
    }

    /// Adds each message to its conversation.
    fn file(&mut self, messages: Vec<ChatMessage>) {
        for message in messages {
            if message.is_broadcast {
                self.all.put(message);
            } else {
                let with = if message.is_mine() { message.to.clone() } else { message.from.clone() };
                self.talk_with(&with).put(message);
            }
        }
    }

    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(StatusMessage { text: text.into(), is_error: false });
    }

    pub(super) fn complain(&mut self, text: impl Into<String>) {
        self.notice = Some(StatusMessage { text: text.into(), is_error: true });
    }
}
