//! Terminal chat (`msg tui`): shows agents, messages, tasks, reservations and the feed, and sends messages.
//!
//! `state` and `update` are pure: keys, news from the mesh and the time go in, effects to carry out come out. `view`
//! draws the state and changes nothing. `mesh_thread` reads the mesh and carries out requests; `send_thread` sends
//! messages and carries out what was chosen in menus; `awareness_thread` reads what agents are heading for, `knowledge_thread` what
//! sessions found out, `runs_thread` what workers do, and `places_thread` asks tmux for the places of agents and to show their
//! panes. This module connects them and restores the terminal at the end.

mod action_menu;
mod action_update;
mod actions;
mod agent_detail;
mod awareness_thread;
mod background;
mod chat_alerts;
mod conversation;
mod input_buffer;
mod key_reader;
mod knowledge_state;
mod knowledge_thread;
mod knowledge_update;
mod layout;
mod list_rows;
mod list_state;
mod mesh_thread;
mod message_view;
mod model;
mod mouse_update;
mod name_completion;
mod navigation;
mod notice_filter;
mod places_state;
mod places_thread;
mod places_update;
mod recipients;
mod runs_state;
mod runs_thread;
mod runs_update;
mod send_thread;
mod state;
mod tab_thread;
mod terminal;
mod theme;
mod to_model;
mod update;
mod view;
mod wrap;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, after, select, unbounded};
use crossterm::event::{Event, KeyEvent};
use ratatui::layout::Size;

use crate::domain::settings::ColourTheme;
use crate::domain::{AgentName, Harness, quote_sentence};
use crate::ops::{self, CommandError, CommandErrorKind, Context, GlobalOptions, JoinRequest, Op};
use crate::sys::signals::{self, TerminalSignal};
use crate::sys::{clock, editor, environment, process, test_switches};
use anstream::ColorChoice;

use background::BackgroundAnswer;
use key_reader::TerminalInput;
use mesh_thread::{MeshRequest, MeshThreadEnd};
use places_state::TimedPlacesCall;
use state::{ChatEffect, ChatState, ChatUpdate};
use terminal::TerminalScreen;
use theme::Theme;
use update::ChatInput;

/// Redraw interval when nothing happens. Ages are shown in minutes, so they need no more than that.
const REDRAW_INTERVAL: Duration = Duration::from_secs(30);
/// Minimum interval between signs of life that are recorded for a person who is typing.
const SIGN_OF_LIFE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of queued events that are processed before the next redraw.
const AT_ONCE: usize = 256;

/// Opens the chat for the person at this terminal. A person who has not joined joins as `name`, or under a generated
/// name, and leaves when the chat is closed. Warnings are shown in the chat; those that come up when it is closed are
/// added to `warnings`.
pub fn run(
    globals: GlobalOptions,
    name: Option<AgentName>,
    color: ColorChoice,
    warnings: &mut Vec<String>,
) -> Result<(), CommandError> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(CommandError::new(CommandErrorKind::NoTerminal, "`tui` needs a terminal to draw on")
            .hint("`msg agents`, `msg feed` and `msg tasks` say the same in text, and with `--json`"));
    }
    if environment::variable("TERM").is_some_and(|name| name == "dumb") {
        return Err(CommandError::new(
            CommandErrorKind::NoTerminal,
            "this terminal can't be drawn on: TERM is `dumb`",
        )
        .hint("use `msg agents`, `msg feed`, `msg read` and `msg send` instead"));
    }
    let ctx = Context::new(globals.clone())?;
    let colours = ctx.settings.theme;
    let (place, at_start) = ops::run(ctx, |op| sit_down(op, name)).into_parts();
    let place = place.inspect_err(|_| warnings.extend_from_slice(&at_start))?;
    let globals = GlobalOptions { acting_as: Some(place.name), ..globals };
    let theme = Theme { has_colour: color != ColorChoice::Never, is_light: colours == ColourTheme::Light };
    let asks = theme.has_colour && colours == ColourTheme::Auto;
    let shown = show(globals.clone(), (theme, asks), at_start, warnings);
    if !place.joined_for_this {
        return shown;
    }
    let left = Context::new(globals).and_then(|ctx| {
        let (left, at_end) = ops::run(ctx, ops::leave).into_parts();
        warnings.extend(at_end);
        left.map(drop)
    });
    shown.and(left.or_else(|error| match error.kind {
        // Already left or evicted meanwhile.
        CommandErrorKind::NotJoined | CommandErrorKind::Evicted => Ok(()),
        _ => Err(error),
    }))
}

/// The agent that this chat runs as.
struct Place {
    name: AgentName,
    joined_for_this: bool,
}

fn sit_down(op: &Op, name: Option<AgentName>) -> Result<Place, CommandError> {
    let known = match ops::caller(op) {
        Ok((_, caller)) => Some(caller.agent),
        Err(error) if error.kind == CommandErrorKind::NotJoined && op.acting_as.is_none() => None,
        Err(error) => return Err(error),
    };
    match known {
        Some(agent) if !agent.is_human && op.acting_as.is_none() => {
            let text = format!("`tui` is for people, and here it would read the mail of {}", agent.name);
            Err(CommandError::new(CommandErrorKind::InHarness, text)
                .hint(format!("`msg tui --as {}` does that", agent.name)))
        }
        Some(agent) => match name {
            Some(name) if !agent.answers_to(&name, clock::now()) => {
                let text = format!("you have joined as {} already", agent.name);
                Err(CommandError::new(CommandErrorKind::AlreadyJoined, text)
                    .hint(format!("`msg rename {name}` changes your name"))
                    .fact("agent", agent.name.as_str()))
            }
            _ => Ok(Place { name: agent.name, joined_for_this: false }),
        },
        None => {
            // The agent is bound to this process, so it does not outlive the process however that ends.
            let pid = Some(process::own_pid().get().into());
            let request =
                JoinRequest { name, pid, harness: Some(Harness::TERMINAL), ..JoinRequest::default() };
            let joined = ops::join(op, &request)?;
            Ok(Place { name: joined.profile.agent.name, joined_for_this: true })
        }
    }
}

/// Runs the chat until it is closed. `asks`: whether the background is light is asked of the terminal.
fn show(
    globals: GlobalOptions,
    (theme, asks): (Theme, bool),
    at_start: Vec<String>,
    warnings: &mut Vec<String>,
) -> Result<(), CommandError> {
    let asked =
        signals::listen_with_terminal().map_err(|error| failure("cannot listen for signals", &error))?;
    let (requests, for_desk) = unbounded();
    let (messages, for_post) = unbounded();
    let (focus, for_lookout) = unbounded();
    let (tell, news) = unbounded();
    for warning in at_start {
        drop(tell.send(ChatUpdate::Notice(warning)));
    }
    let (told, spoken_for) = (tell.clone(), globals.clone());
    let post = start("post", move || send_thread::work(&spoken_for, &for_post, &told))?;
    let (told, looked_for) = (tell.clone(), globals.clone());
    // It ends with the mesh thread, which has the other end of its channel. Nobody waits for what it is reading.
    start("lookout", move || awareness_thread::work(&looked_for, &for_lookout, &told))?;
    let (ask, asked_records) = unbounded();
    let (told, asked_for) = (tell.clone(), globals.clone());
    // As soon as the mesh thread ends, so does this one, and then the news end.
    let knowledge = start("knowledge", move || knowledge_thread::work(&asked_for, &asked_records, &told))?;
    let (ask_runs, asked_runs) = unbounded();
    let (told, asked_for) = (tell.clone(), globals.clone());
    let runs = start("runs", move || runs_thread::work(&asked_for, &asked_runs, &told))?;
    let (ask_places, asked_places) = unbounded();
    let (told, asked_for) = (tell.clone(), globals.clone());
    let places = start("places", move || places_thread::work(&asked_for, &asked_places, &told))?;
    let mesh_thread = start("desk", move || {
        let mut globals = globals;
        loop {
            let ctx = Context::new(globals.clone())?;
            let (ended, at_end) = ops::run(ctx, |op| {
                let others = (&messages, &focus, &ask, &ask_runs, &ask_places);
                mesh_thread::work(op, &for_desk, others, &tell)
            })
            .into_parts();
            for warning in at_end {
                drop(tell.send(ChatUpdate::Notice(warning)));
            }
            match ended? {
                MeshThreadEnd::Closed => return Ok(()),
                MeshThreadEnd::Renamed(name) => globals.acting_as = Some(name),
            }
        }
    })?;
    let taken = |error: io::Error| failure("cannot take over the terminal", &error);
    let screen = TerminalScreen::open().map_err(taken)?;
    let mut answer = if asks { background::ask().map_err(taken)? } else { BackgroundAnswer::default() };
    let typed = std::mem::take(&mut answer.typed);
    let is_light = asks && answer.is_light.or_else(background::is_light_by_variable).unwrap_or(false);
    let theme = Theme { is_light: theme.is_light || is_light, ..theme };
    let unheard = news.clone();
    let input = TerminalInput::default();
    let ended = Show { screen, theme, requests, news, asked, input, alive_at: Cell::default() }.run(typed);
    // The request channel is closed now, so the mesh thread ends. That closes the message channel, and the send thread
    // ends after sending what is still queued.
    let worked = mesh_thread.join().unwrap_or_else(|_| Err(bug()));
    let posted = post.join().map_err(|_| bug());
    // What the user confirmed, retired or stopped last is still written.
    let recorded = knowledge.join().and(runs.join()).and(places.join()).map_err(|_| bug());
    // If the chat is closed right after Enter, the user must still learn that the message was not sent.
    let mut unsent = None;
    for news in unheard.try_iter() {
        match news {
            ChatUpdate::NotSent { why, written } => {
                unsent = unsent.or_else(|| Some(not_sent(&why, &written.text)));
            }
            ChatUpdate::Notice(warning) => warnings.push(warning),
            _ => {}
        }
    }
    ended.and(worked).and(posted).and(recorded).and(unsent.map_or(Ok(()), Err))
}

fn not_sent(why: &str, text: &str) -> CommandError {
    let start: String = text.chars().take(60).collect();
    CommandError::new(CommandErrorKind::NotAllSent, format!("{} was not sent: {why}", quote_sentence(&start)))
}

fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, CommandError> {
    let started = std::thread::Builder::new().name(name.to_string()).spawn(work);
    started.map_err(|error| failure("no thread can be started", &error))
}

fn bug() -> CommandError {
    CommandError::new(CommandErrorKind::Bug, "this is a bug in msg; what it said is above")
        .hint("please report it")
}

fn failure(what: &str, error: &io::Error) -> CommandError {
    CommandError::new(CommandErrorKind::Io, format!("{what}: {error}"))
}

struct Show {
    screen: TerminalScreen,
    theme: Theme,
    requests: Sender<MeshRequest>,
    news: Receiver<ChatUpdate>,
    asked: Receiver<TerminalSignal>,
    input: TerminalInput,
    /// When the mesh thread was last sent a sign of life.
    alive_at: Cell<Option<Instant>>,
}

/// Whether the main loop goes on.
enum Next {
    GoOn,
    End,
}

impl Show {
    /// `typed`: keys that were read before.
    fn run(mut self, typed: Vec<KeyEvent>) -> Result<(), CommandError> {
        let ended = self.show(typed);
        // Before the terminal is given back: other threads may be at work for a while.
        self.input.leave();
        ended
    }

    fn show(&mut self, typed: Vec<KeyEvent>) -> Result<(), CommandError> {
        let keys = key_reader::start(&self.input, AT_ONCE)
            .map_err(|error| failure("no thread can be started", &error))?;
        let size = self.screen.size().unwrap_or(Size::new(80, 24));
        let mut state = ChatState::new(size, clock::now());
        for key in typed {
            let effects = self.take_in(Event::Key(key), &mut state);
            if let Next::End = self.carry_out(effects) {
                return Ok(());
            }
        }
        loop {
            if self.screen.draw(&mut state, self.theme).is_err() {
                // The terminal is gone, so there is nobody to report this to.
                return Ok(());
            }
            let seen = state.update(ChatInput::Drawn);
            self.carry_out(seen);
            let Next::GoOn = self.wait(&keys, &mut state)? else { return Ok(()) };
        }
    }

    /// Waits for an event, then processes all that are queued by then, at most [`AT_ONCE`].
    fn wait(&mut self, keys: &Receiver<Event>, state: &mut ChatState) -> Result<Next, CommandError> {
        let mut effects = Vec::new();
        select! {
            recv(self.news) -> news => match news {
                Ok(news) => effects.extend(state.update(ChatInput::News(news))),
                // The mesh thread has ended; its result says why.
                Err(_) => return Ok(Next::End),
            },
            recv(keys) -> key => match key {
                Ok(event) => effects.extend(self.take_in(event, state)),
                Err(_) => return Ok(Next::End),
            },
            recv(self.asked) -> asked => match asked {
                Ok(TerminalSignal::Suspend) => effects.push(ChatEffect::Suspend),
                Ok(TerminalSignal::Continue) => self.come_back(state),
                Ok(TerminalSignal::Resize) => self.resize(),
                Ok(TerminalSignal::Stop) => return Err(CommandError::new(CommandErrorKind::Interrupted, "interrupted")),
                Ok(TerminalSignal::HangUp) | Err(_) => return Ok(Next::End),
            },
            recv(after(REDRAW_INTERVAL)) -> _ => {}
        }
        for _ in 0..AT_ONCE {
            if let Ok(event) = keys.try_recv() {
                effects.extend(self.take_in(event, state));
            } else if let Ok(news) = self.news.try_recv() {
                effects.extend(state.update(ChatInput::News(news)));
            } else {
                break;
            }
        }
        state.update(ChatInput::Time(clock::now()));
        if effects.contains(&ChatEffect::Suspend) {
            self.suspend(state);
        }
        if effects.contains(&ChatEffect::Redraw) {
            self.resize();
        }
        for effect in &effects {
            match effect {
                // If this fails, the next draw fails too and ends the chat.
                ChatEffect::Copy(text) => drop(terminal::copy(text)),
                ChatEffect::Signal(sequence) => drop(terminal::signal(sequence)),
                ChatEffect::Edit(path) => self.edit(path, state),
                _ => {}
            }
        }
        Ok(self.carry_out(effects))
    }

    /// Redraws everything: of several resizes at once only the last is seen, and it may equal the old size.
    fn resize(&mut self) {
        // If this fails, the next draw fails too and ends the chat.
        drop(self.screen.start_over());
    }

    fn take_in(&mut self, event: Event, state: &mut ChatState) -> Vec<ChatEffect> {
        if matches!(event, Event::Resize(..)) {
            self.resize();
        }
        input(event).map_or_else(Vec::new, |input| state.update(input))
    }

    fn carry_out(&self, effects: Vec<ChatEffect>) -> Next {
        for effect in effects {
            let request = match effect {
                ChatEffect::Quit => return Next::End,
                ChatEffect::Suspend
                | ChatEffect::Redraw
                | ChatEffect::Copy(_)
                | ChatEffect::Signal(_)
                | ChatEffect::Edit(_) => continue,
                ChatEffect::Send { to, text, written } => MeshRequest::Send { to, text, written },
                ChatEffect::Surface(shown) => MeshRequest::Surface(shown),
                ChatEffect::Ack(keys) => MeshRequest::Ack(keys),
                ChatEffect::Act(call) => MeshRequest::Act(call),
                ChatEffect::LoadOlder => MeshRequest::Older,
                ChatEffect::SignOfLife
                    if self.alive_at.get().is_some_and(|at| at.elapsed() < SIGN_OF_LIFE_INTERVAL) =>
                {
                    continue;
                }
                ChatEffect::SignOfLife => {
                    self.alive_at.set(Some(Instant::now()));
                    MeshRequest::SignOfLife
                }
                ChatEffect::Focus => MeshRequest::SignOfLife,
                ChatEffect::Follow(focus) => MeshRequest::Follow(focus),
                ChatEffect::Knowledge(call) => MeshRequest::Knowledge(call),
                ChatEffect::Runs(call) => MeshRequest::Runs(call),
                ChatEffect::Places(call) => MeshRequest::Places(TimedPlacesCall::now(call)),
            };
            // If the mesh thread has ended, its news channel is closed too, which the next wait notices.
            drop(self.requests.send(request));
        }
        Next::GoOn
    }

    fn suspend(&mut self, state: &mut ChatState) {
        let stopped = self.screen.leave().and_then(|()| signals::suspend());
        if let Err(error) = stopped {
            state.complain(format!("this can't be put into the background: {error}"));
        }
        self.come_back(state);
    }

    /// Leaves the terminal to the user's editor until that is closed.
    fn edit(&mut self, path: &str, state: &mut ChatState) {
        let edited = {
            let input = self.input.clone();
            let _paused = input.take();
            self.screen
                .leave()
                .map_err(|error| error.to_string())
                .and_then(|()| editor::open(path).map_err(|error| error.to_string()))
        };
        if let Err(error) = edited {
            state.complain(error);
        }
        self.come_back(state);
    }

    fn come_back(&mut self, state: &mut ChatState) {
        // If this fails, the next draw fails too and ends the chat.
        drop(self.screen.come_back());
        if let Ok(size) = self.screen.size() {
            state.update(ChatInput::Resize(size));
        }
    }
}

#[expect(clippy::panic, reason = "a test wants to see what happens")]
fn panic_as_told() {
    if let Some(text) = test_switches::value(test_switches::PANIC_ON_KEY) {
        panic!("{text}");
    }
}

fn input(event: Event) -> Option<ChatInput> {
    Some(match event {
        Event::Key(key) => {
            panic_as_told();
            ChatInput::Key(key)
        }
        Event::Mouse(mouse) => ChatInput::Mouse(mouse),
        Event::Paste(text) => ChatInput::Paste(text),
        Event::Resize(width, height) => ChatInput::Resize(Size::new(width, height)),
        Event::FocusGained => ChatInput::Focus,
        Event::FocusLost => return None,
    })
}
