//! Reading the feed: backwards from its end, and forwards from a position.
//!
//! A position is an offset and what precedes it. So it is found again in a file that was shortened, and is not mistaken
//! for one in a file that was created anew.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{FeedLog, FeedOrigin, Segment, StoreError, event};
use crate::domain::Event;
use crate::sys::files::{FileError, FileLine, LineFile, LinePosition, LinesSince};

/// Attempts to read a file that becomes shorter while it is read.
const TRIES: usize = 3;

/// Number of newest segments to read on from: a writer without the lock may append to the last but one.
const WATCHED: usize = 2;

/// A position in the feed: everything before it was seen. The default is the start.
#[derive(Clone, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct FeedPosition(Vec<(Segment, LinePosition)>);

/// Events that were read, and the number of unreadable lines.
#[derive(Clone, Debug, Default)]
pub struct EventBatch {
    pub events: Vec<Event>,
    pub unreadable: usize,
}

impl EventBatch {
    /// Merges the events of another feed by time; the order within each feed is kept. Events that are equal in every
    /// field are kept once.
    pub fn merge(&mut self, others: EventBatch) {
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

    /// Drops all but the last `limit` events.
    pub fn keep_last(&mut self, limit: usize) {
        self.events.drain(..self.events.len().saturating_sub(limit));
    }

    pub(super) fn add(&mut self, line: &FileLine) {
        match understand(line) {
            Some(Ok(event)) => self.events.push(event),
            Some(Err(BadLine)) => self.unreadable += 1,
            None => {}
        }
    }
}

impl FeedLog<'_> {
    /// The last `limit` events that match, oldest first, with the number of unreadable lines passed on the way; and the
    /// position after them.
    pub fn last(
        self,
        limit: usize,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<(EventBatch, FeedPosition), StoreError> {
        let segments = self.segments()?;
        let mut given = EventBatch::default();
        let mut place = FeedPosition::default();
        for segment in segments.iter().rev() {
            let is_newest = Some(segment) == segments.last();
            let is_watched = place.0.len() < WATCHED;
            if given.events.len() >= limit && !is_watched {
                break;
            }
            let Some(lines) = LineFile::open(&self.path_of(*segment))? else { continue };
            if is_watched {
                place.0.insert(0, (*segment, lines.end()?));
            }
            // The last line of the newest segment may still be in the middle of being written.
            let is_torn = lines.is_cut_short() && !is_newest && given.events.len() < limit;
            given.unreadable += usize::from(is_torn);
            gather(&lines, &mut given, limit, &wanted)?;
        }
        given.events.reverse();
        self.name_origin(&mut given);
        Ok((given, place))
    }

    /// The events since `place`, oldest first. Advances `place`.
    pub fn since(self, place: &mut FeedPosition) -> Result<EventBatch, StoreError> {
        Ok(self.since_at_most(place, usize::MAX)?.0)
    }

    /// The events of the first `most` lines since `place`, and how many lines these are. Advances `place` behind them.
    pub(in crate::store) fn since_at_most(
        self,
        place: &mut FeedPosition,
        most: usize,
    ) -> Result<(EventBatch, usize), StoreError> {
        let segments = self.segments()?;
        let mut given = EventBatch::default();
        let first = place.0.first().map_or(Segment(0), |(segment, _)| *segment);
        // A feed that ends before the position was deleted and started again.
        let is_anew = segments.last().is_some_and(|newest| *newest < first);
        let is_to_read = |segment: &&Segment| is_anew || **segment >= first;
        let to_read: Vec<Segment> = segments.iter().filter(is_to_read).copied().collect();
        let known = |segment: Option<&Segment>| place.0.iter().find(|(known, _)| Some(known) == segment);
        let mut places = Vec::new();
        let mut count = 0;
        for (index, segment) in to_read.iter().enumerate() {
            let from = known(Some(segment)).map(|(_, place)| place.clone()).unwrap_or_default();
            if count >= most {
                // What was seen of it before stays seen.
                places.extend(known(Some(segment)).cloned());
                continue;
            }
            let Some((new, is_cut_short)) = self.lines_since(*segment, &from, most - count)? else {
                continue;
            };
            count += new.lines.len();
            new.lines.iter().for_each(|line| given.add(line));
            // Nobody will complete that line. Count it once: when the next segment is seen for the first time.
            let next = to_read.get(index + 1);
            given.unreadable += usize::from(is_cut_short && next.is_some() && known(next).is_none());
            places.push((*segment, new.end));
        }
        if !places.is_empty() {
            places.drain(..places.len().saturating_sub(WATCHED));
            place.0 = places;
        }
        self.name_origin(&mut given);
        Ok((given, count))
    }

    /// Nobody but the link process says that something happened on another machine.
    fn name_origin(self, given: &mut EventBatch) {
        if self.origin == FeedOrigin::Here {
            given.events.iter_mut().for_each(|event| event.machine = None);
        }
    }

    /// The position after the last line.
    pub(in crate::store) fn end(self) -> Result<FeedPosition, StoreError> {
        Ok(self.last(0, |_| false)?.1)
    }

    /// The number of lines that there ever were.
    pub(in crate::store) fn count(self) -> Result<u64, StoreError> {
        let Some(newest) = self.segments()?.last().copied() else { return Ok(0) };
        let lines = LineFile::open(&self.path_of(newest))?;
        Ok(newest.0 + lines.map_or(Ok(0), |lines| lines.count())?)
    }

    /// The number of lines that were ever before the first one that is left.
    pub(in crate::store) fn removed(self) -> Result<u64, StoreError> {
        Ok(self.segments()?.first().map_or(0, |first| first.0))
    }

    /// Whether all that the position names has been removed since.
    pub(in crate::store) fn is_past(self, place: &FeedPosition) -> Result<bool, StoreError> {
        let segments = self.segments()?;
        let is_gone = |(segment, _): &(Segment, LinePosition)| !segments.contains(segment);
        Ok(!place.0.is_empty() && place.0.iter().all(is_gone))
    }

    /// The mark of the last line that has one: which entry of the shared feed it is from.
    pub(in crate::store) fn last_mark(self) -> Result<Option<event::EntryMark>, StoreError> {
        for segment in self.segments()?.iter().rev() {
            let Some(lines) = LineFile::open(&self.path_of(*segment))? else { continue };
            for line in lines.backwards() {
                if let FileLine::Whole(line) = line?
                    && let Some(mark) = event::mark(&line)
                {
                    return Ok(Some(mark));
                }
            }
        }
        Ok(None)
    }

    /// The lines since `place`, and whether the file ends in the middle of a line.
    fn lines_since(
        self,
        segment: Segment,
        place: &LinePosition,
        most: usize,
    ) -> Result<Option<(LinesSince, bool)>, StoreError> {
        let read = || {
            let Some(lines) = LineFile::open(&self.path_of(segment))? else { return Ok(None) };
            Ok(Some((lines.since_at_most(place, most)?, lines.is_cut_short())))
        };
        Ok(retry_while_shrinking(read)?)
    }
}

/// Adds the lines of a file from its end backwards, until there are `limit` events.
pub(super) fn gather(
    lines: &LineFile,
    given: &mut EventBatch,
    limit: usize,
    wanted: impl Fn(&Event) -> bool,
) -> Result<(), FileError> {
    let mut backwards = lines.backwards();
    while given.events.len() < limit {
        let Some(line) = backwards.next() else { break };
        match understand(&line?) {
            Some(Ok(event)) if wanted(&event) => given.events.push(event),
            Some(Err(BadLine)) => given.unreadable += 1,
            Some(Ok(_)) | None => {}
        }
    }
    Ok(())
}

/// A line that is not an event.
struct BadLine;

/// Parses a line. `None`: it is empty, as after a line that was cut short.
fn understand(line: &FileLine) -> Option<Result<Event, BadLine>> {
    match line {
        FileLine::Whole(line) if line.is_empty() => None,
        FileLine::Whole(line) => Some(event::parse(line).ok_or(BadLine)),
        FileLine::TooLong => Some(Err(BadLine)),
    }
}

/// Retries while the file becomes shorter during the read.
pub(super) fn retry_while_shrinking<T>(read: impl Fn() -> Result<T, FileError>) -> Result<T, FileError> {
    for _ in 1..TRIES {
        match read() {
            Err(error) if error.is_shrunk() => {}
            result => return result,
        }
    }
    read()
}
