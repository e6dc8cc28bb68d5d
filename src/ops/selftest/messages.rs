//! Promise 1: an accepted message is delivered at least once, whoever is killed, and twice only after a crash.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::check_environment::{CheckEnvironment, MsgOutput, PromiseBroken, PromiseKept, demand};
use super::race::{Rounds, Tempo, crashed};

const TIME: Duration = Duration::from_millis(1500);
const SENDERS: [&str; 2] = ["Ada", "Ben"];
const READERS: usize = 2;
/// One command in this many is killed.
const KILLED: u32 = 2;

/// Reads at the end: one empties the inbox when nobody sends any more.
const LAST_READS: usize = 10;

/// What happened to one message.
#[derive(Debug, Default)]
struct Fate {
    accepted: bool,
    /// How often a reader that survived handed it over, and how often one that was killed did.
    handed_over: usize,
    handed_over_dying: usize,
}

/// What all threads record.
#[derive(Debug, Default)]
struct Book {
    fates: Mutex<HashMap<String, Fate>>,
    senders_killed: AtomicUsize,
    readers_killed: AtomicUsize,
}

impl Book {
    fn with(&self, text: &str, change: impl FnOnce(&mut Fate)) {
        let mut fates = self.fates.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        change(fates.entry(text.to_string()).or_default());
    }

    /// Records every message that a reader printed. A reader killed before its JSON was complete counts as
    /// having printed nothing.
    fn read(&self, answer: &MsgOutput) -> usize {
        let messages = answer.json["messages"].as_array().map_or(&[][..], Vec::as_slice);
        for text in messages.iter().filter_map(|message| message["text"].as_str()) {
            self.with(text, |fate| match answer.was_killed {
                true => fate.handed_over_dying += 1,
                false => fate.handed_over += 1,
            });
        }
        messages.len()
    }
}

pub(super) fn run(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    let mut hosts = vec![stage.join("Cleo")?];
    for sender in SENDERS {
        hosts.push(stage.join(sender)?);
    }
    let tempo = Tempo::of(&stage.msg(&["send", "Cleo", "the first", "--as", "Ada"])?.expect(0)?);
    let book = Book::default();
    book.with("the first", |fate| fate.accepted = true);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (book, over) = (&book, &over);
        let senders: Vec<_> =
            SENDERS.iter().map(|name| scope.spawn(move || send(stage, name, tempo, book))).collect();
        let readers: Vec<_> =
            (0..READERS).map(|_| scope.spawn(move || read(stage, tempo, book, over))).collect();
        let ended = |thread: std::thread::ScopedJoinHandle<'_, Result<(), PromiseBroken>>| {
            thread.join().unwrap_or_else(|_| Err(crashed()))
        };
        let sent: Vec<_> = senders.into_iter().map(ended).collect();
        over.store(true, Ordering::SeqCst);
        let read: Vec<_> = readers.into_iter().map(ended).collect();
        sent.into_iter().chain(read).collect::<Result<Vec<()>, PromiseBroken>>()
    })?;
    empty(stage, &book)?;
    judge(&book)
}

/// Sends message after message. Whether a killed `send` was accepted is unknown, so nothing is expected of it.
fn send(stage: &CheckEnvironment<'_>, sender: &str, tempo: Tempo, book: &Book) -> Result<(), PromiseBroken> {
    let mut rounds = Rounds::new(TIME, 12, 200);
    while rounds.next(stage) {
        let text = format!("{} of {sender}", rounds.count);
        let answer = stage.msg_until(&["send", "Cleo", &text, "--as", sender], tempo.instant(KILLED))?;
        if answer.was_killed {
            book.senders_killed.fetch_add(1, Ordering::SeqCst);
        } else {
            answer.expect(0)?;
            book.with(&text, |fate| fate.accepted = true);
        }
    }
    Ok(())
}

fn read(
    stage: &CheckEnvironment<'_>,
    tempo: Tempo,
    book: &Book,
    over: &AtomicBool,
) -> Result<(), PromiseBroken> {
    while !over.load(Ordering::SeqCst) {
        let answer = stage.msg_until(&["read", "--limit", "3", "--as", "Cleo"], tempo.instant(KILLED))?;
        book.read(&answer);
        if answer.was_killed {
            book.readers_killed.fetch_add(1, Ordering::SeqCst);
        } else {
            answer.expect(0)?;
        }
    }
    Ok(())
}

/// Reads whatever is left in the inbox.
fn empty(stage: &CheckEnvironment<'_>, book: &Book) -> Result<(), PromiseBroken> {
    for _ in 0..LAST_READS {
        if book.read(&stage.msg(&["read", "--as", "Cleo"])?.expect(0)?) == 0 {
            return Ok(());
        }
    }
    Err(PromiseBroken("the same messages come again and again".to_string()))
}

fn judge(book: &Book) -> Result<PromiseKept, PromiseBroken> {
    let fates = book.fates.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let accepted = fates.values().filter(|fate| fate.accepted).count();
    let is_lost = |fate: &Fate| fate.accepted && fate.handed_over + fate.handed_over_dying == 0;
    let lost = fates.values().filter(|fate| is_lost(fate)).count();
    demand(lost == 0, || format!("{lost} of {accepted} messages that were accepted are lost"))?;
    let twice = fates.values().filter(|fate| fate.handed_over > 1).count();
    demand(twice == 0, || format!("{twice} of {accepted} messages came twice although no reader died"))?;
    let again = fates.values().filter(|fate| fate.handed_over_dying > 0 && fate.handed_over > 0).count();
    let [senders, readers] =
        [&book.senders_killed, &book.readers_killed].map(|count| count.load(Ordering::SeqCst));
    let repeated = if again > 0 { format!(", {again} again after a reader died") } else { String::new() };
    Ok(PromiseKept::with(format!(
        "{accepted} accepted, none lost{repeated}; {senders} senders and {readers} readers killed"
    )))
}
