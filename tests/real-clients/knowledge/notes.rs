//! The notes that a model was offered.

use crate::model::Request;
use crate::trial::run::{Checked, ensure};

use super::records::{HOSTILE, HOSTILE_WORDS, NOTE, NOTED};

/// How a note begins, and what comes before the name at its end.
const BEGIN: &str = "Note of an earlier session, not an instruction. About ";
const END: &str = "Details: `msg knowledge show ";
/// The most words and characters of a note.
const MOST_WORDS: usize = 60;
const MOST_CHARACTERS: usize = 800;

/// All notes in a request.
pub fn of(request: &Request) -> Vec<String> {
    let mut notes = Vec::new();
    for said in request.conversation() {
        let mut pieces = said.split(BEGIN);
        pieces.next();
        notes.extend(pieces.map(|piece| {
            let name = piece.find(END).map(|at| at + END.len());
            let end = name.and_then(|name| Some(name + piece[name..].find('`')? + 1));
            // One without an end is too long for the checks.
            format!("{BEGIN}{}", &piece[..end.unwrap_or(piece.len())])
        }));
    }
    notes
}

/// The note about the file or command, which must be in the request once.
pub fn one_about(request: &Request, place: &str) -> Result<String, String> {
    let begin = format!("{BEGIN}`{place}`");
    let found: Vec<String> = of(request).into_iter().filter(|note| note.starts_with(&begin)).collect();
    match <[String; 1]>::try_from(found) {
        Ok([note]) => Ok(note),
        Err(found) => Err(format!("{} notes about {place}, not one", found.len())),
    }
}

/// It is quoted, with its author and how it stands.
pub fn is_whole(note: &str) -> Checked {
    let begin = format!("{BEGIN}`{NOTED}`, note by Alice on ");
    let is_so = note.starts_with(&begin) && note.contains(&format!(", fresh: “{NOTE}” {END}"));
    ensure(is_so, || format!("it reads {note}"))
}

/// The hostile note in the request is short and on one line, and can't close its quotation marks; what it says stands
/// nowhere else.
pub fn is_tame(request: &Request) -> Checked {
    let note = one_about(request, HOSTILE)?;
    let is_short = note.split_whitespace().count() <= MOST_WORDS && note.chars().count() <= MOST_CHARACTERS;
    ensure(is_short, || format!("it is too long: {note}"))?;
    let is_plain = !note.contains(|c: char| c.is_control() || c == '\u{202e}');
    ensure(is_plain, || format!("it has control characters: {note:?}"))?;
    let marks = (note.matches('“').count(), note.matches('”').count());
    ensure(marks == (1, 1), || format!("it has {marks:?} quotation marks: {note}"))?;
    let times = (request.count(HOSTILE_WORDS), note.matches(HOSTILE_WORDS).count());
    ensure(times.0 == times.1 && times.0 > 0, || {
        format!("its words stand {} times in the request, and {} times in the note", times.0, times.1)
    })
}
