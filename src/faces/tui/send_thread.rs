//! The thread that sends messages and carries out what was chosen in menus. Waking the recipients may take seconds; meanwhile `mesh_thread` keeps reading the
//! mesh.

use crossbeam_channel::{Receiver, Sender};

use crate::domain::AgentName;
use crate::ops::{
    CommandError, Context, GlobalOptions, MessageDraft, SendReport, broadcast, latest_question, run, send,
};

use super::action_menu::ActionCall;
use super::actions;
use super::recipients::Recipients;
use super::state::{ChatUpdate, TypedMessage};
use super::to_model;

/// A message to be sent, and the text as it was typed.
#[derive(Debug)]
pub(super) struct OutgoingMessage {
    pub(super) from: AgentName,
    pub(super) to: Recipients,
    pub(super) text: String,
    pub(super) written: TypedMessage,
}

/// Work for this thread.
#[derive(Debug)]
pub(super) enum PostWork {
    Send(OutgoingMessage),
    /// What the agent of this chat chose in a menu.
    Act {
        by: AgentName,
        call: ActionCall,
    },
}

/// Does its work in order until the channel is closed.
pub(super) fn work(globals: &GlobalOptions, work: &Receiver<PostWork>, news: &Sender<ChatUpdate>) {
    for next in work {
        let told = match next {
            PostWork::Send(OutgoingMessage { from, to, text, written }) => {
                let globals = GlobalOptions { acting_as: Some(from), ..globals.clone() };
                answer(dispatch(globals, &to, text, news), written)
            }
            PostWork::Act { by, call } => {
                let globals = GlobalOptions { acting_as: Some(by), ..globals.clone() };
                match actions::carry_out(globals, call, news) {
                    Ok(done) => ChatUpdate::Sent(done),
                    Err(error) => ChatUpdate::Notice(to_model::error_line(&error)),
                }
            }
        };
        // It was done even if nobody listens for the result.
        drop(news.send(told));
    }
}

fn dispatch(
    globals: GlobalOptions,
    to: &Recipients,
    text: String,
    news: &Sender<ChatUpdate>,
) -> Result<SendReport, CommandError> {
    let draft = MessageDraft { text, ..MessageDraft::default() };
    let (outcome, warnings) = run(Context::new(globals)?, |op| match to {
        Recipients::Named(names) => {
            let reply_to = match names.as_slice() {
                [name] if !name.starts_with('@') => latest_question(op, name)?,
                _ => None,
            };
            send(op, names, &MessageDraft { reply_to, ..draft })
        }
        Recipients::All => broadcast(op, &draft, None),
    })
    .into_parts();
    for warning in warnings {
        drop(news.send(ChatUpdate::Notice(warning)));
    }
    outcome
}

fn answer(sent: Result<SendReport, CommandError>, written: TypedMessage) -> ChatUpdate {
    let report = match sent {
        Ok(report) => report,
        Err(error) => return ChatUpdate::NotSent { why: to_model::error_line(&error), written },
    };
    match report.error() {
        Some(error) if report.sent.is_empty() => {
            ChatUpdate::NotSent { why: to_model::error_line(&error), written }
        }
        Some(error) => ChatUpdate::Notice(to_model::error_line(&error)),
        None => match report.nobody() {
            Some(why) => ChatUpdate::NotSent { why, written },
            None => ChatUpdate::Sent(to_model::sent(&report)),
        },
    }
}
