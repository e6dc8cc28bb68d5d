//! The thread that sends messages. Waking the recipients may take seconds; meanwhile `mesh_thread` keeps reading the
//! mesh.

use crossbeam_channel::{Receiver, Sender};

use crate::domain::AgentName;
use crate::ops::{CommandError, Context, Done, Draft, Globals, SendReport, broadcast, run, send};

use super::state::{News, Recipients, Written};
use super::view_model;

/// A message to be sent, and the text as it was typed.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) from: AgentName,
    pub(super) to: Recipients,
    pub(super) text: String,
    pub(super) written: Written,
}

/// Sends messages in order until the channel is closed.
pub(super) fn work(globals: &Globals, letters: &Receiver<Letter>, news: &Sender<News>) {
    for letter in letters {
        let Letter { from, to, text, written } = letter;
        let sent = dispatch(Globals { speaker: Some(from), ..globals.clone() }, &to, text, news);
        // The message was sent even if nobody listens for the result.
        drop(news.send(answer(sent, written)));
    }
}

fn dispatch(
    globals: Globals,
    to: &Recipients,
    text: String,
    news: &Sender<News>,
) -> Result<SendReport, CommandError> {
    let draft = Draft { text, ..Draft::default() };
    let Done { outcome, warnings } = run(Context::new(globals)?, |op| match to {
        Recipients::Named(names) => send(op, names, &draft),
        Recipients::All => broadcast(op, &draft, false),
    });
    for warning in warnings {
        drop(news.send(News::Notice(warning)));
    }
    outcome
}

fn answer(sent: Result<SendReport, CommandError>, written: Written) -> News {
    let report = match sent {
        Ok(report) => report,
        Err(error) => return News::NotSent { why: view_model::complaint(&error), written },
    };
    match report.error() {
        Some(error) if report.sent.is_empty() => {
            News::NotSent { why: view_model::complaint(&error), written }
        }
        Some(error) => News::Notice(view_model::complaint(&error)),
        None if report.sent.is_empty() => News::NotSent { why: "nobody else is here".to_string(), written },
        None => News::Sent(view_model::sent(&report)),
    }
}
