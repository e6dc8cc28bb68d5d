//! The thread that asks tmux for the chat: for the places of agents, what the screen of the selected one shows, and to show
//! somebody's pane. A tmux server may take a while to answer, so neither the drawing nor the mail waits for it.
//!
//! It asks only while the list of agents is on the screen. Otherwise it waits until somebody wants to see a pane.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use crate::domain::AgentName;
use crate::ops::screens::glance::{Glance, glance_at_agent};
use crate::ops::screens::jump::{JumpOutcome, JumpTarget, jump};
use crate::ops::screens::terminal_place::places_of_all;
use crate::ops::{CommandError, CommandErrorKind, GlobalOptions};
use crate::sys::test_switches;

use super::model::SightView;
use super::places_state::{PaneCommand, PlacesCall, PlacesFocus, PlacesNews, TimedPlacesCall};
use super::state::ChatUpdate;
use super::tab_thread::{self, TabLink, TabReader};
use super::to_model;

/// How often the screen of the selected agent is read.
const INTERVAL: Duration = Duration::from_secs(3);
/// How often places are read if nobody has come or gone: panes are seldom moved.
const PLACES_INTERVAL: Duration = Duration::from_secs(30);
/// Minimum pause between two reads of all places.
const PLACES_PAUSE: Duration = Duration::from_secs(1);
/// Whoever is not taken to a pane within this time does something else by then.
const GO_TO_WITHIN: Duration = Duration::from_secs(2);

/// Works until the channel is closed, and has then done what was asked for before.
pub(super) fn work(globals: &GlobalOptions, calls: &Receiver<TimedPlacesCall>, news: &Sender<ChatUpdate>) {
    tab_thread::work(PlacesReader::new(globals, news), calls, INTERVAL);
}

struct PlacesReader<'a> {
    focus: PlacesFocus,
    news: PlacesNews,
    /// When the places were read last.
    read_at: Option<Instant>,
    /// Whether somebody has come, gone or moved since.
    has_news: bool,
    link: TabLink<'a, PlacesNews>,
}

impl TabReader for PlacesReader<'_> {
    type Call = TimedPlacesCall;

    fn is_on_screen(&self) -> bool {
        self.focus != PlacesFocus::Nothing
    }

    fn take(&mut self, TimedPlacesCall { call, asked_at }: TimedPlacesCall) {
        let is_late = asked_at.elapsed() > test_switches::or_long(GO_TO_WITHIN);
        match call {
            PlacesCall::Show(focus) => {
                let names = |focus: &PlacesFocus| match focus {
                    PlacesFocus::Nothing => None,
                    PlacesFocus::Agents { names, .. } => Some(names.clone()),
                };
                self.has_news |= names(&self.focus) != names(&focus);
                self.focus = focus;
            }
            PlacesCall::GoToAgent(_) | PlacesCall::GoToWorker(_) if is_late => {
                let text = "tmux was too slow: you are not taken to the pane any more; press Enter again";
                self.link.tell(ChatUpdate::Notice(text.to_string()));
            }
            PlacesCall::GoToAgent(name) => {
                let target = AgentName::new(&name).map(JumpTarget::Agent);
                self.go_to(target.map_err(CommandError::from));
            }
            PlacesCall::GoToWorker(run) => self.go_to(Ok(JumpTarget::Worker(run))),
        }
    }

    fn read(&mut self) {
        let PlacesFocus::Agents { selected, .. } = &self.focus else { return };
        let selected = selected.clone();
        let age = self.read_at.map(|at| at.elapsed());
        let pause = if self.has_news { PLACES_PAUSE } else { PLACES_INTERVAL };
        let mut read = Ok(());
        if age.is_none_or(|age| age >= pause) {
            (self.read_at, self.has_news) = (Some(Instant::now()), false);
            read =
                self.link.with_op(places_of_all).map(|places| self.news.places = to_model::places(&places));
        }
        self.news.sight = None;
        if let (Some(name), true) = (&selected, read.is_ok()) {
            read = match self.link.with_op(|op| glance_at_agent(op, name)) {
                Ok(glance) => {
                    self.take_glance(name.clone(), &glance);
                    Ok(())
                }
                // It has just left.
                Err(error) if error.kind == CommandErrorKind::UnknownAgent => Ok(()),
                Err(error) => Err(error),
            };
        }
        if let Err(error) = read {
            // What was seen before may be untrue by now.
            let why = to_model::error_line(&error);
            self.news.sight = selected.map(|name| SightView::without_screen(name, why.clone()));
            self.link.notice(why);
        }
        self.link.pass_on(Ok(self.news.clone()), |news| ChatUpdate::Places(Box::new(news)));
    }
}

impl<'a> PlacesReader<'a> {
    fn new(globals: &'a GlobalOptions, news: &'a Sender<ChatUpdate>) -> Self {
        Self {
            focus: PlacesFocus::Nothing,
            news: PlacesNews::default(),
            read_at: None,
            has_news: false,
            link: TabLink::new(globals, news),
        }
    }

    fn take_glance(&mut self, name: String, glance: &Glance) {
        self.news.sight = Some(to_model::sight(&name, glance));
        match &glance.place {
            Some(place) => drop(self.news.places.insert(name, to_model::place(place))),
            // The pane that was known is gone, and others may be gone with it.
            None => self.has_news |= self.news.places.get(&name).is_some_and(|place| place.is_pane),
        }
    }

    fn go_to(&mut self, target: Result<JumpTarget, CommandError>) {
        let told = match target.and_then(|target| self.link.with_op(|op| jump(op, &target))) {
            Ok(JumpOutcome::Shown { place }) => ChatUpdate::Sent(format!("{place} is in front")),
            Ok(JumpOutcome::ShowWith { command, why, .. }) => {
                ChatUpdate::PaneCommand(PaneCommand { words: command, why: why.to_string() })
            }
            Err(error) => ChatUpdate::Notice(to_model::error_line(&error)),
        };
        self.link.tell(told);
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::unbounded;

    use super::*;

    #[test]
    fn nobody_is_taken_elsewhere_long_after_a_key() {
        let (sender, news) = unbounded();
        let globals = GlobalOptions::default();
        let mut reader = PlacesReader::new(&globals, &sender);
        let Some(asked_at) = Instant::now().checked_sub(GO_TO_WITHIN + Duration::from_secs(1)) else {
            return;
        };
        reader.take(TimedPlacesCall { call: PlacesCall::GoToAgent("Robin".to_string()), asked_at });
        let told: Vec<ChatUpdate> = news.try_iter().collect();
        assert!(
            matches!(told.as_slice(), [ChatUpdate::Notice(text)] if text.starts_with("tmux was too slow")),
            "{told:?}"
        );
    }
}
