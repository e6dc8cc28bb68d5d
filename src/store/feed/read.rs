//! Reading the feed: from its end backwards, and on from a place.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{Mesh, Segment, StoreError, event};
use crate::domain::Event;
use crate::sys::files::{FileError, Line, Lines, Place, Since};

/// A file may become shorter while it is read; so often it is read anew.
const TRIES: usize = 3;

/// A place in the feed: all before it was seen. The default is its start.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FeedPlace(Option<(Segment, Place)>);

/// What a reader was given: events, and how many lines could not be read.
#[derive(Clone, Debug, Default)]
pub struct Given {
    pub events: Vec<Event>,
    pub unreadable: usize,
}

impl Given {
    /// Puts those of another feed among these, by time; those of one feed stay in their order. What both hold happened
    /// once: time, name, target and all are the same.
    pub fn merge(&mut self, others: Given) {
        self.unreadable += others.unreadable;
        let ours = std::mem::take(&mut self.events);
        let times: HashSet<Timestamp> = ours.iter().map(|event| event.at).collect();
        let is_known = |other: &Event| times.contains(&other.at) && ours.contains(other);
        let mut others = others.events.into_iter().filter(|event| !is_known(event)).peekable();
        let mut merged = Vec::with_capacity(ours.len());
        for event in &ours {
            while let Some(earlier) = others.next_if(|other| other.at < event.at) {
                merged.push(earlier);
            }
            merged.push(event.clone());
        }
        merged.extend(others);
        self.events = merged;
    }

    /// Drops all but the last ones.
    pub fn keep_last(&mut self, limit: usize) {
        self.events.drain(..self.events.len().saturating_sub(limit));
    }

    pub(super) fn add(&mut self, line: &Line) {
        match understand(line) {
            Some(Ok(event)) => self.events.push(event),
            Some(Err(Unreadable)) => self.unreadable += 1,
            None => {}
        }
    }
}

impl Mesh {
    /// The last events that are wanted, oldest first, with how many lines on the way could not be read; and the place
    /// behind them.
    pub fn last_events(
        &self,
        limit: usize,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<(Given, FeedPlace), StoreError> {
        let segments = self.segments()?;
        let mut given = Given::default();
        let mut place = FeedPlace::default();
        for segment in segments.iter().rev() {
            let is_newest = Some(segment) == segments.last();
            if given.events.len() >= limit && !is_newest {
                break;
            }
            let Some(lines) = Lines::open(&self.path_of(*segment))? else { continue };
            if is_newest {
                place = FeedPlace(Some((*segment, lines.end()?)));
            }
            // The last line of the newest one may be just on its way.
            given.unreadable += usize::from(lines.is_cut_short() && !is_newest);
            gather(&lines, &mut given, limit, &wanted)?;
        }
        given.events.reverse();
        Ok((given, place))
    }

    /// What came since, oldest first; the place moves on.
    pub fn news(&self, place: &mut FeedPlace) -> Result<Given, StoreError> {
        let segments = self.segments()?;
        let mut given = Given::default();
        let first = place.0.as_ref().map_or(Segment(0), |(segment, _)| *segment);
        // Where the feed ends before the place, it was removed and made anew.
        let is_anew = segments.last().is_some_and(|newest| *newest < first);
        let to_read: Vec<Segment> =
            segments.iter().copied().filter(|segment| is_anew || *segment >= first).collect();
        for segment in &to_read {
            let known = place.0.take_if(|(known, _)| known == segment).map(|(_, place)| place);
            let Some((new, is_cut_short)) = self.lines_since(*segment, &known.unwrap_or_default())? else {
                continue;
            };
            new.lines.iter().for_each(|line| given.add(line));
            // Nobody will go on with that line.
            given.unreadable += usize::from(is_cut_short && Some(segment) != to_read.last());
            place.0 = Some((*segment, new.end));
        }
        Ok(given)
    }

    /// What came since, and whether it ends in the middle of a line.
    fn lines_since(&self, segment: Segment, place: &Place) -> Result<Option<(Since, bool)>, StoreError> {
        let read = || {
            let Some(lines) = Lines::open(&self.path_of(segment))? else { return Ok(None) };
            Ok(Some((lines.since(place)?, lines.is_cut_short())))
        };
        Ok(patiently(read)?)
    }
}

/// Adds the last lines of a file, the last one first, until there are enough.
pub(super) fn gather(
    lines: &Lines,
    given: &mut Given,
    limit: usize,
    wanted: impl Fn(&Event) -> bool,
) -> Result<(), FileError> {
    let mut backwards = lines.backwards();
    while given.events.len() < limit {
        let Some(line) = backwards.next() else { break };
        match understand(&line?) {
            Some(Ok(event)) if wanted(&event) => given.events.push(event),
            Some(Err(Unreadable)) => given.unreadable += 1,
            Some(Ok(_)) | None => {}
        }
    }
    Ok(())
}

/// A line that is no event.
struct Unreadable;

/// What a line says. An empty one says nothing: it ended one that was cut short.
fn understand(line: &Line) -> Option<Result<Event, Unreadable>> {
    match line {
        Line::Whole(line) if line.is_empty() => None,
        Line::Whole(line) => Some(event::parse(line).ok_or(Unreadable)),
        Line::TooLong => Some(Err(Unreadable)),
    }
}

/// Tries again while the file becomes shorter under our hands.
pub(super) fn patiently<T>(read: impl Fn() -> Result<T, FileError>) -> Result<T, FileError> {
    for _ in 1..TRIES {
        match read() {
            Err(error) if error.is_shrunk() => {}
            result => return result,
        }
    }
    read()
}
