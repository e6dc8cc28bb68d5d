//! The messages on an exported page: the newest of everybody's, with the copies of a broadcast as one.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::masker::Masker;
use super::page::{ExportMessage, Newest};
use crate::domain::{Message, MessageId};
use crate::ops::error::CommandError;
use crate::store::{AnyMessage, Mesh};

/// The longest text that is shown, in characters.
const LONGEST: usize = 20_000;
/// How many bytes of texts are shown in all; older ones are left out.
const ALL_TEXT: usize = 16 * 1024 * 1024;
/// Copies of one broadcast are sent within this time.
const ONE_BROADCAST: SignedDuration = SignedDuration::from_secs(10);

/// The newest messages, oldest first.
pub(super) struct Mail {
    pub(super) messages: Newest<ExportMessage>,
    pub(super) unreadable: usize,
}

/// Reads the newest `most` messages since `since`.
pub(super) fn mail(
    mesh: &Mesh,
    since: Option<Timestamp>,
    most: usize,
    masker: &Masker,
) -> Result<Mail, CommandError> {
    let all = mesh.archive().every_message(since)?;
    let (mut read, mut unreadable, mut bytes) = (Vec::new(), 0, 0);
    for found in all.iter().rev() {
        if read.len() == most || bytes > ALL_TEXT {
            break;
        }
        match mesh.archive().load_any(found)? {
            Some(message) if since.is_some_and(|since| message.timestamp < since) => {}
            Some(message) => {
                bytes += message.text.len().min(LONGEST);
                read.push((found, message));
            }
            None => unreadable += 1,
        }
    }
    read.reverse();
    // A broadcast counts as one message, as far as it is shown.
    let left_out = all.len().saturating_sub(read.len() + unreadable);
    let shown = folded(read, masker);
    Ok(Mail { messages: Newest { total: shown.len() + left_out, shown }, unreadable })
}

fn folded(read: Vec<(&AnyMessage, Message)>, masker: &Masker) -> Vec<ExportMessage> {
    let mut shown: Vec<ExportMessage> = Vec::new();
    let mut places: HashMap<MessageId, usize> = HashMap::new();
    // The place of the last broadcast of each sender, with its text as it was sent.
    let mut broadcasts: HashMap<String, (usize, String)> = HashMap::new();
    for (found, message) in read {
        let Message { id, from, to, text, timestamp: at, thread, importance, .. } = message;
        let known = broadcasts.get(&from).filter(|(place, said)| {
            message.is_broadcast && *said == text && at.duration_since(shown[*place].at) <= ONE_BROADCAST
        });
        if let Some((place, _)) = known {
            let copy = &mut shown[*place];
            copy.to.push(to);
            copy.progress = copy.progress.min(found.progress);
            places.insert(id, *place);
            continue;
        }
        let place = shown.len();
        if message.is_broadcast {
            broadcasts.insert(from.clone(), (place, text.clone()));
        }
        let replies_to = message.reply_to.as_ref().and_then(|id| places.get(id).copied());
        places.insert(id, place);
        // Before it is cut: the beginning of a secret does not look like one.
        let (text, cut) = shortened(masker.text(&text));
        shown.push(ExportMessage {
            from,
            to: vec![to],
            at,
            text,
            cut,
            thread: thread.map(|thread| masker.text(&thread)),
            kind: message.kind.map(|kind| kind.name()),
            importance,
            short_id: found.stem.short_id().to_string(),
            replies_to,
            progress: found.progress,
            is_broadcast: message.is_broadcast,
        });
    }
    shown
}

/// The beginning of the text, and how many characters were left out.
fn shortened(text: String) -> (String, usize) {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => (text[..at].to_string(), text[at..].chars().count()),
        None => (text, 0),
    }
}
