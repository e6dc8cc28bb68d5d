//! What the chat tells a person besides what it shows: the setting `notify`.

use crossbeam_channel::Sender;

use crate::domain::{Agent, Event};
use crate::ops::alerts::{AlertPicker, AlertTeller, AlertTools};
use crate::ops::{CommandError, Op};
use crate::store::{MessageLocation, StoredMessage};
use crate::sys::files::FileError;

use super::state::ChatUpdate;

/// Tells alerts as long as it lives.
pub(super) struct ChatAlerts {
    picker: AlertPicker,
    teller: AlertTeller,
}

impl ChatAlerts {
    /// `None` where nobody is to be told. What is for the terminal goes to the thread that draws on it.
    pub(super) fn start(op: &Op, news: &Sender<ChatUpdate>) -> Result<Option<Self>, CommandError> {
        let Some(picker) = AlertPicker::open(op) else { return Ok(None) };
        let (signals, notices) = (news.clone(), news.clone());
        let teller = AlertTeller::start(
            AlertTools::of(op),
            // Nobody listens any more when the chat is closed.
            Box::new(move |sequence| drop(signals.send(ChatUpdate::Signal(sequence.to_string())))),
            Box::new(move |text| drop(notices.send(ChatUpdate::Notice(text)))),
        )
        .map_err(FileError::from)?;
        Ok(Some(Self { picker, teller }))
    }

    pub(super) fn tell_of_mail(&self, op: &Op, agent: &Agent, messages: &[StoredMessage]) {
        let waiting = messages.iter().filter(|filed| matches!(filed.place, MessageLocation::Inbox));
        let mail: Vec<_> = waiting.map(|filed| (&filed.message, filed.stem.short_id())).collect();
        self.teller.tell(self.picker.of_mail(op, agent, mail));
    }

    pub(super) fn tell_of_events(&self, op: &Op, events: &[Event]) {
        self.teller.tell(self.picker.of_events(op, events));
    }
}
