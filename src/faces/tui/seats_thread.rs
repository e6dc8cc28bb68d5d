//! The thread that asks tmux for the chat: where agents sit, what the screen of the selected one shows, and to show
//! somebody's pane. A tmux server may take a while to answer, so neither the drawing nor the mail waits for it.
//!
//! It asks only while the list of agents is on the screen. Otherwise it waits until somebody wants to see a pane.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use crate::domain::{AgentName, shell_word};
use crate::ops::screens::glance::{Glance, glance_at_agent};
use crate::ops::screens::jump::{JumpOutcome, JumpTarget, jump};
use crate::ops::screens::seat::seats_of_all;
use crate::ops::{CommandError, CommandErrorKind, GlobalOptions};

use super::seats_state::{SeatsCall, SeatsFocus, SeatsNews};
use super::state::ChatUpdate;
use super::tab_thread::{self, TabLink, TabReader};
use super::to_model;

/// How often the screen of the selected agent is read.
const INTERVAL: Duration = Duration::from_secs(3);
/// How often places are read if nobody has come or gone: panes are seldom moved.
const SEATS_INTERVAL: Duration = Duration::from_secs(30);
/// Minimum pause between two reads of all places.
const SEATS_PAUSE: Duration = Duration::from_secs(1);

/// Works until the channel is closed, and has then done what was asked for before.
pub(super) fn work(globals: &GlobalOptions, calls: &Receiver<SeatsCall>, news: &Sender<ChatUpdate>) {
    let reader = SeatsReader {
        focus: SeatsFocus::Nothing,
        news: SeatsNews::default(),
        read_at: None,
        has_news: false,
        link: TabLink::new(globals, news),
    };
    tab_thread::work(reader, calls, INTERVAL);
}

struct SeatsReader<'a> {
    focus: SeatsFocus,
    news: SeatsNews,
    /// When the places were read last.
    read_at: Option<Instant>,
    /// Whether somebody has come, gone or moved since.
    has_news: bool,
    link: TabLink<'a, SeatsNews>,
}

impl TabReader for SeatsReader<'_> {
    type Call = SeatsCall;

    fn is_on_screen(&self) -> bool {
        self.focus != SeatsFocus::Nothing
    }

    fn take(&mut self, call: SeatsCall) {
        match call {
            SeatsCall::Show(focus) => {
                let names = |focus: &SeatsFocus| match focus {
                    SeatsFocus::Nothing => None,
                    SeatsFocus::Agents { names, .. } => Some(names.clone()),
                };
                self.has_news |= names(&self.focus) != names(&focus);
                self.focus = focus;
            }
            SeatsCall::GoToAgent(name) => {
                let target = AgentName::new(&name).map(JumpTarget::Agent);
                self.go_to(target.map_err(CommandError::from));
            }
            SeatsCall::GoToWorker(run) => self.go_to(Ok(JumpTarget::Worker(run))),
        }
    }

    fn read(&mut self) {
        let SeatsFocus::Agents { selected, .. } = &self.focus else { return };
        let selected = selected.clone();
        let age = self.read_at.map(|at| at.elapsed());
        let pause = if self.has_news { SEATS_PAUSE } else { SEATS_INTERVAL };
        let mut read = Ok(());
        if age.is_none_or(|age| age >= pause) {
            (self.read_at, self.has_news) = (Some(Instant::now()), false);
            read = self.link.with_op(seats_of_all).map(|seats| self.news.seats = to_model::seats(&seats));
        }
        self.news.sight = None;
        if let (Some(name), true) = (selected, read.is_ok()) {
            read = match self.link.with_op(|op| glance_at_agent(op, &name)) {
                Ok(glance) => {
                    self.take_glance(name, &glance);
                    Ok(())
                }
                // It has just left.
                Err(error) if error.kind == CommandErrorKind::UnknownAgent => Ok(()),
                Err(error) => Err(error),
            };
        }
        let news = read.map(|()| self.news.clone());
        self.link.pass_on(news, |news| ChatUpdate::Seats(Box::new(news)));
    }
}

impl SeatsReader<'_> {
    fn take_glance(&mut self, name: String, glance: &Glance) {
        self.news.sight = Some(to_model::sight(&name, glance));
        match &glance.seat {
            Some(seat) => drop(self.news.seats.insert(name, to_model::seat(seat))),
            // Others may be gone with it.
            None => self.has_news = true,
        }
    }

    fn go_to(&mut self, target: Result<JumpTarget, CommandError>) {
        let told = match target.and_then(|target| self.link.with_op(|op| jump(op, &target))) {
            Ok(JumpOutcome::Shown { place }) => ChatUpdate::Sent(format!("{place} is in front")),
            Ok(JumpOutcome::ShowWith { command, .. }) => {
                let words: Vec<_> = command.iter().map(|word| shell_word(word)).collect();
                ChatUpdate::PaneCommand(words.join(" "))
            }
            Err(error) => ChatUpdate::Notice(to_model::error_line(&error)),
        };
        self.link.tell(told);
    }
}
