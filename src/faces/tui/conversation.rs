//! A conversation: its messages, the scroll position, and which messages have been seen.
//!
//! Messages are shown without being taken. Once every row of a message has been drawn, and tmux says that the pane is
//! visible, `mesh_thread` takes and records it. The scroll position is a message and a row of it, so a new message does
//! not move what is being read, and drawing costs only what is visible.

use std::collections::HashMap;
use std::ops::Range;

use jiff::SignedDuration;
use ratatui::text::Line;

use super::message_view::{self, MessageLayout};
use super::model::{ChatMessage, MessageStatus, ReceiptView, SentCopy};

/// Copies of one broadcast are sent within this time.
const BROADCAST_WINDOW: SignedDuration = SignedDuration::from_secs(5);

#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) with: String,
    /// Oldest first.
    pub(super) messages: Vec<ChatMessage>,
    /// The first visible row; `None` while the conversation follows its end.
    anchor: Option<Anchor>,
    /// For unread messages: which of their rows have been on the screen.
    seen: HashMap<String, SeenRows>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Anchor {
    key: String,
    row: usize,
}

#[derive(Clone, Debug, Default)]
struct SeenRows {
    rows: Vec<bool>,
    is_told: bool,
}

/// The visible part of a conversation: look, height in rows, and filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    pub(super) look: MessageLayout,
    pub(super) height: usize,
    pub(super) filter: &'a str,
}

/// The visible rows of one message.
#[derive(Debug)]
pub(super) struct VisibleMessage<'a> {
    pub(super) message: &'a ChatMessage,
    pub(super) rows: Vec<Line<'static>>,
    pub(super) range: Range<usize>,
}

impl Conversation {
    pub(super) fn new(with: &str) -> Self {
        Self { with: with.to_string(), messages: Vec::new(), anchor: None, seen: HashMap::new() }
    }

    pub(super) fn is_with(&self, name: &str) -> bool {
        self.with.eq_ignore_ascii_case(name)
    }

    pub(super) fn unread(&self) -> usize {
        self.messages.iter().rev().filter(|message| message.is_unread()).count()
    }

    /// The ids of messages that were read and ask for an ack.
    pub(super) fn owed_acks(&self) -> Vec<String> {
        let owed = self
            .messages
            .iter()
            .filter(|message| message.wants_ack && message.standing == MessageStatus::Read);
        owed.map(|message| message.short_id().to_string()).collect()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.anchor.is_none()
    }

    /// Adds a message or updates a known one.
    pub(super) fn put(&mut self, message: ChatMessage) {
        if let MessageStatus::Mine(copies) = &message.standing
            && message.is_broadcast
            && let Some(known) = self.same_breath(&message, copies)
            && let MessageStatus::Mine(kept) = &mut known.standing
        {
            for copy in copies {
                match kept.iter_mut().find(|known| known.key == copy.key) {
                    Some(known) => known.receipt = copy.receipt,
                    None => kept.push(copy.clone()),
                }
            }
            return;
        }
        if !message.is_unread() {
            self.seen.remove(&message.key);
        }
        match self.messages.binary_search_by(|known| known.key.cmp(&message.key)) {
            Ok(place) => self.messages[place] = message,
            Err(place) => self.messages.insert(place, message),
        }
    }

    /// The broadcast that this message is another copy of. The same text sent twice to one recipient is two messages.
    fn same_breath(&mut self, message: &ChatMessage, copies: &[SentCopy]) -> Option<&mut ChatMessage> {
        let is_same = |known: &&mut ChatMessage| {
            let MessageStatus::Mine(kept) = &known.standing else { return false };
            let is_other =
                |kept: &SentCopy| copies.iter().all(|copy| copy.to != kept.to || copy.key == kept.key);
            kept.iter().all(is_other)
                && known.text == message.text
                && known.at.duration_since(message.at).abs() <= BROADCAST_WINDOW
        };
        self.messages.iter_mut().rev().find(is_same)
    }

    pub(super) fn note_receipts(&mut self, receipts: &[(String, ReceiptView)]) {
        for message in &mut self.messages {
            let MessageStatus::Mine(copies) = &mut message.standing else { continue };
            for copy in copies {
                if let Some((_, receipt)) = receipts.iter().find(|(key, _)| *key == copy.key) {
                    copy.receipt = *receipt;
                }
            }
        }
    }

    /// Forgets that these were drawn, because nobody saw it: they must be drawn again.
    pub(super) fn mark_unseen(&mut self, keys: &[String]) {
        self.seen.retain(|key, _| !keys.contains(key));
    }

    pub(super) fn forget(&mut self, keys: &[String]) {
        self.messages.retain(|message| !keys.contains(&message.key));
    }

    fn matching(&self, filter: &str) -> Vec<&ChatMessage> {
        let wanted = filter.to_lowercase();
        let fits = |message: &&ChatMessage| {
            wanted.is_empty()
                || message.text.to_lowercase().contains(&wanted)
                || message.from.to_lowercase().contains(&wanted)
        };
        self.messages.iter().filter(fits).collect()
    }

    /// The visible pieces, from top to bottom.
    pub(super) fn pieces(&self, window: Window<'_>) -> Vec<VisibleMessage<'_>> {
        let messages = self.matching(window.filter);
        let from_anchor = self.anchor.as_ref().map(|anchor| downwards(&messages, anchor, window));
        match from_anchor {
            // Leave no empty rows at the bottom while there are messages above.
            Some(pieces) if count(&pieces) >= window.height => pieces,
            _ => upwards(&messages, window),
        }
    }

    /// Scrolls by `by` rows; up is negative. Returns whether the beginning is reached.
    pub(super) fn scroll(&mut self, by: isize, window: Window<'_>) -> bool {
        let pieces = self.pieces(window);
        let Some(top) = pieces.first() else { return true };
        let (key, mut row) = (top.message.key.clone(), top.range.start);
        let messages = self.matching(window.filter);
        let height = |place: usize| message_view::height(messages[place], window.look.width);
        let mut place = messages.partition_point(|message| message.key < key);
        if by < 0 {
            let mut left = by.unsigned_abs();
            while left > row && place > 0 {
                left -= row;
                place -= 1;
                row = height(place);
            }
            row = row.saturating_sub(left);
        } else {
            row = row.saturating_add(by.unsigned_abs());
            while place < messages.len() && row >= height(place) {
                row -= height(place);
                place += 1;
            }
        }
        let anchor = messages.get(place).map(|message| Anchor { key: message.key.clone(), row });
        let is_full = anchor.as_ref().is_some_and(|anchor| {
            // There must be more rows than the window has: otherwise this is the end.
            let more = Window { height: window.height + 1, ..window };
            count(&downwards(&messages, anchor, more)) > window.height
        });
        self.anchor = anchor.filter(|_| is_full);
        place == 0 && row == 0
    }

    pub(super) fn go_to_start(&mut self, window: Window<'_>) {
        let anchor =
            self.matching(window.filter).first().map(|message| Anchor { key: message.key.clone(), row: 0 });
        self.anchor = anchor;
        self.scroll(0, window);
    }

    /// Shows the first unread message at the top, if what follows does not fit.
    pub(super) fn go_to_first_unread(&mut self, window: Window<'_>) {
        let Some(first) = self.messages.iter().find(|message| message.is_unread()) else { return };
        self.anchor = Some(Anchor { key: first.key.clone(), row: 0 });
        self.scroll(0, window);
    }

    /// Where the visible part begins, how long it is, and how long all is: in thousandths of messages, because counting the
    /// rows of all messages would cost too much.
    pub(super) fn position(&self, window: Window<'_>) -> (usize, usize, usize) {
        const WHOLE: usize = 1000;
        let messages = self.matching(window.filter);
        let pieces = self.pieces(window);
        let (Some(top), Some(bottom)) = (pieces.first(), pieces.last()) else { return (0, 0, 0) };
        let place = |piece: &VisibleMessage<'_>, row: usize| {
            let number = messages.partition_point(|message| message.key < piece.message.key);
            number * WHOLE + row * WHOLE / piece.rows.len().max(1)
        };
        let (first, end) = (place(top, top.range.start), place(bottom, bottom.range.end));
        (first, end.saturating_sub(first), messages.len() * WHOLE)
    }

    pub(super) fn go_to_end(&mut self) {
        self.anchor = None;
    }

    /// Records the visible rows as seen. Returns the messages that have now been seen completely, each only once.
    pub(super) fn mark_seen(&mut self, window: Window<'_>) -> Vec<String> {
        let in_sight: Vec<(String, usize, Range<usize>)> = self
            .pieces(window)
            .into_iter()
            .filter(|piece| piece.message.is_unread() && !message_view::is_cut(piece.message))
            .map(|piece| (piece.message.key.clone(), piece.rows.len(), piece.range))
            .collect();
        let mut done = Vec::new();
        for (key, total, range) in in_sight {
            let seen = self.seen.entry(key.clone()).or_default();
            if seen.rows.len() != total {
                // The width changed, so the text was wrapped again.
                seen.rows = vec![false; total];
            }
            seen.rows[range].fill(true);
            // The first row is empty and need not be seen.
            if !seen.is_told && seen.rows.iter().skip(1).all(|row| *row) {
                seen.is_told = true;
                done.push(key);
            }
        }
        done
    }
}

fn count(pieces: &[VisibleMessage<'_>]) -> usize {
    pieces.iter().map(|piece| piece.range.len()).sum()
}

fn downwards<'a>(
    messages: &[&'a ChatMessage],
    anchor: &Anchor,
    window: Window<'_>,
) -> Vec<VisibleMessage<'a>> {
    let start = messages.partition_point(|message| message.key < anchor.key);
    let mut pieces = Vec::new();
    let mut left = window.height;
    for (place, message) in messages.iter().enumerate().skip(start) {
        if left == 0 {
            break;
        }
        let rows = message_view::rows(message, window.look);
        let is_anchor = place == start && message.key == anchor.key;
        let first = if is_anchor { anchor.row.min(rows.len() - 1) } else { 0 };
        let last = rows.len().min(first + left);
        left -= last - first;
        pieces.push(VisibleMessage { message, rows, range: first..last });
    }
    pieces
}

fn upwards<'a>(messages: &[&'a ChatMessage], window: Window<'_>) -> Vec<VisibleMessage<'a>> {
    let mut pieces = Vec::new();
    let mut left = window.height;
    for message in messages.iter().rev() {
        if left == 0 {
            break;
        }
        let rows = message_view::rows(message, window.look);
        let first = rows.len().saturating_sub(left);
        left -= rows.len() - first;
        let range = first..rows.len();
        pieces.push(VisibleMessage { message, rows, range });
    }
    pieces.reverse();
    pieces
}
