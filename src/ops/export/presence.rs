//! Who was there when, and who held what when: from the events of the feed, and from what is on record of agents that are
//! there or gone. Events may be missing at the beginning, because the feed forgets, so what ends without a beginning began
//! with the page.

use std::collections::HashMap;

use jiff::Timestamp;

use super::page::{HeldPath, HeldUntil, Period, Span};
use crate::domain::{AnyEventKind, Event, EventKind};

/// What is on record of an agent, beside the feed.
pub(super) struct RecordedLife {
    pub(super) name: String,
    pub(super) span: Span,
    /// What it holds now.
    pub(super) held: Vec<HeldNow>,
}

/// A reservation that binds now.
pub(super) struct HeldNow {
    pub(super) pattern: String,
    pub(super) reason: Option<String>,
    pub(super) since: Timestamp,
}

/// Lives by name, and reservations by when they began.
pub(super) struct History {
    pub(super) there: HashMap<String, Vec<Span>>,
    pub(super) holds: Vec<HeldPath>,
}

/// What followed from these events, oldest first.
pub(super) fn history(events: &[Event], lives: &[RecordedLife], shown: Period) -> History {
    let mut reader = Reader::new(shown);
    events.iter().for_each(|event| reader.add(event));
    reader.finish(lives)
}

struct Reader {
    shown: Period,
    there: HashMap<String, Vec<Span>>,
    /// Since when those are there that have not gone.
    open: HashMap<String, Timestamp>,
    /// The last event of each agent.
    last: HashMap<String, Timestamp>,
    holds: Vec<HeldPath>,
    /// The places in `holds` of what is held.
    held: HashMap<(String, String), usize>,
}

impl Reader {
    fn new(shown: Period) -> Self {
        Self {
            shown,
            there: HashMap::new(),
            open: HashMap::new(),
            last: HashMap::new(),
            holds: Vec::new(),
            held: HashMap::new(),
        }
    }

    fn add(&mut self, event: &Event) {
        let (agent, at) = (event.agent.as_str(), event.at);
        let AnyEventKind::Ours(kind) = event.what else { return };
        let target = event.target.as_deref().unwrap_or_default();
        match kind {
            EventKind::Leave => self.goes(agent, at),
            EventKind::Evict => self.goes(target, at),
            EventKind::Stale => self.goes(agent, at),
            EventKind::Rename => self.is_renamed(agent, target, at),
            // Whoever sends is not always an agent, and runs are told of by those that asked for them.
            EventKind::Message
            | EventKind::RunStarted
            | EventKind::RunWaiting
            | EventKind::RunLimited
            | EventKind::RunEnded
            | EventKind::Take => {}
            EventKind::Join => self.comes(agent, at, at),
            _ => self.comes(agent, self.shown.from, at),
        }
        match kind {
            EventKind::Reserve => self.takes(agent, target, event.preview.clone(), at),
            EventKind::Release => self.drops(agent, target, at),
            EventKind::Take => {
                self.drops(event.preview.as_deref().unwrap_or_default(), target, at);
                if self.open.contains_key(agent) {
                    self.takes(agent, target, None, at);
                }
            }
            _ => {}
        }
    }

    /// It is there at `at`, and has been since `since` unless it is known to have come or gone later.
    fn comes(&mut self, agent: &str, since: Timestamp, at: Timestamp) {
        self.last.insert(agent.to_string(), at);
        if self.open.contains_key(agent) {
            return;
        }
        // After it went, only its own event says that it is back.
        let since = if self.there.contains_key(agent) { at } else { since };
        self.open.insert(agent.to_string(), since);
    }

    fn goes(&mut self, agent: &str, at: Timestamp) {
        let is_known = self.there.contains_key(agent);
        let Some(from) = self.open.remove(agent).or_else(|| (!is_known).then_some(self.shown.from)) else {
            return;
        };
        self.there.entry(agent.to_string()).or_default().push(Span { from, to: Some(at) });
        self.end_holds(agent, HeldUntil::At(at));
    }

    fn is_renamed(&mut self, old: &str, new: &str, at: Timestamp) {
        let carried: Vec<(String, Option<String>)> = self
            .held
            .iter()
            .filter(|((holder, _), _)| holder == old)
            .map(|((_, pattern), place)| (pattern.clone(), self.holds[*place].reason.clone()))
            .collect();
        self.goes(old, at);
        self.comes(new, at, at);
        for (pattern, reason) in carried {
            self.takes(new, &pattern, reason, at);
        }
    }

    fn takes(&mut self, agent: &str, pattern: &str, reason: Option<String>, at: Timestamp) {
        let key = (agent.to_string(), pattern.to_string());
        if self.held.contains_key(&key) {
            return;
        }
        let (agent, pattern) = key.clone();
        self.held.insert(key, self.holds.len());
        // Corrected when it is known how it ended.
        self.holds.push(HeldPath { agent, pattern, reason, from: at, end: HeldUntil::Held });
    }

    fn drops(&mut self, agent: &str, pattern: &str, at: Timestamp) {
        let key = (agent.to_string(), pattern.to_string());
        match self.held.remove(&key) {
            Some(place) => self.holds[place].end = HeldUntil::At(at),
            None if agent.is_empty() || pattern.is_empty() => {}
            None => {
                let (agent, pattern) = key;
                let from = self.shown.from;
                self.holds.push(HeldPath { agent, pattern, reason: None, from, end: HeldUntil::At(at) });
            }
        }
    }

    fn end_holds(&mut self, agent: &str, end: HeldUntil) {
        let holds = &mut self.holds;
        self.held.retain(|(holder, _), place| {
            let is_its = holder == agent;
            if is_its {
                holds[*place].end = end;
            }
            !is_its
        });
    }

    fn finish(mut self, lives: &[RecordedLife]) -> History {
        let is_live = |name: &str| lives.iter().any(|life| life.name == name && life.span.to.is_none());
        for (name, from) in std::mem::take(&mut self.open) {
            // Who is not there any more was there at its last event.
            let to = (!is_live(&name)).then(|| self.last.get(&name).copied().unwrap_or(from));
            self.there.entry(name).or_default().push(Span { from, to });
        }
        for life in lives {
            self.there.entry(life.name.clone()).or_default().push(life.span);
            for held in &life.held {
                let key = (life.name.clone(), held.pattern.clone());
                let HeldNow { pattern, reason, since } = held;
                match self.held.remove(&key).and_then(|place| self.holds.get_mut(place)) {
                    // The record has the whole reason.
                    Some(known) => known.reason = reason.clone().or(known.reason.take()),
                    None => {
                        let (agent, pattern, reason) = (key.0, pattern.clone(), reason.clone());
                        self.holds.push(HeldPath {
                            agent,
                            pattern,
                            reason,
                            from: *since,
                            end: HeldUntil::Held,
                        });
                    }
                }
            }
        }
        let shown = self.shown;
        for spans in self.there.values_mut() {
            *spans = joined(std::mem::take(spans), shown);
        }
        // What is not held any more, without an event that says so: it expired, or ended with its task or its holder.
        for ((agent, _), place) in &self.held {
            let spans = self.there.get(agent).map_or([].as_slice(), Vec::as_slice);
            let hold = &mut self.holds[*place];
            let life =
                spans.iter().find(|span| span.from <= hold.from && span.to.is_none_or(|to| to >= hold.from));
            hold.end = HeldUntil::Before(life.and_then(|life| life.to).unwrap_or(shown.to).max(hold.from));
        }
        self.holds.sort_by(|a, b| (a.from, &a.agent, &a.pattern).cmp(&(b.from, &b.agent, &b.pattern)));
        History { there: self.there, holds: self.holds }
    }
}

/// The spans within the period, without overlaps.
fn joined(mut spans: Vec<Span>, shown: Period) -> Vec<Span> {
    spans.retain(|span| span.from <= shown.to && span.to.is_none_or(|to| to >= shown.from));
    spans.sort_by_key(|span| span.from);
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if last.to.is_none_or(|to| span.from <= to) => {
                last.to = last.to.and_then(|to| Some(to.max(span.to?)));
            }
            _ => joined.push(span),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(60 * minute).unwrap()
    }

    fn event(minute: i64, agent: &str, kind: EventKind, target: &str, preview: &str) -> Event {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
        Event {
            at: at(minute),
            what: AnyEventKind::Ours(kind),
            agent: agent.to_string(),
            target: some(target),
            preview: some(preview),
            message_kind: None,
            machine: None,
        }
    }

    fn life(name: &str, from: i64, to: Option<i64>, held: &[(&str, i64)]) -> RecordedLife {
        let held = held.iter().map(|(pattern, since)| HeldNow {
            pattern: pattern.to_string(),
            reason: None,
            since: at(*since),
        });
        RecordedLife {
            name: name.to_string(),
            span: Span { from: at(from), to: to.map(at) },
            held: held.collect(),
        }
    }

    /// From the tenth minute to the hundredth, as `Name 10-20 30-` and `Name pattern 10-20`.
    fn shown(events: &[Event], lives: &[RecordedLife]) -> Vec<String> {
        let History { there, holds } = history(events, lives, Period { from: at(10), to: at(100) });
        let minute = |at: Timestamp| (at.as_second() / 60).to_string();
        let mut lines: Vec<String> = there
            .into_iter()
            .map(|(name, spans)| {
                let spans = spans
                    .iter()
                    .map(|span| format!(" {}-{}", minute(span.from), span.to.map_or(String::new(), minute)));
                format!("{name}{}", spans.collect::<String>())
            })
            .collect();
        lines.sort();
        lines.extend(holds.into_iter().map(|hold| {
            let end = match hold.end {
                HeldUntil::Held => String::new(),
                HeldUntil::At(at) => minute(at),
                HeldUntil::Before(at) => format!("{}?", minute(at)),
            };
            format!("{} {} {}-{end}", hold.agent, hold.pattern, minute(hold.from))
        }));
        lines
    }

    #[test]
    fn events_alone_tell_who_was_there_and_held_what() {
        use EventKind::{Evict, Join, Leave, Release, Reserve};
        let events = [
            event(20, "Ann", Join, "", ""),
            event(21, "Ann", Reserve, "src/", "mine"),
            event(30, "Ben", Release, "docs/", ""),
            event(40, "Ann", Leave, "", ""),
            event(50, "Ann", Join, "", ""),
            event(60, "Cid", Evict, "Ann", ""),
            event(70, "Ben", Reserve, "lib/", ""),
        ];
        // Ben was there before, and nobody knows when he went. Cid may be a person.
        assert_eq!(
            shown(&events, &[]),
            ["Ann 20-40 50-60", "Ben 10-70", "Ben docs/ 10-30", "Ann src/ 21-40", "Ben lib/ 70-70?"]
        );
    }

    #[test]
    fn what_is_on_record_completes_what_the_feed_has_forgotten() {
        let lives = [
            life("Ann", 5, None, &[("src/", 6), ("lib/", 50)]),
            life("Ben", 20, Some(30), &[]),
            life("Old", 1, Some(3), &[]),
        ];
        let events = [event(50, "Ann", EventKind::Reserve, "lib/", "")];
        assert_eq!(shown(&events, &lives), ["Ann 5-", "Ben 20-30", "Old", "Ann src/ 6-", "Ann lib/ 50-"]);
    }

    #[test]
    fn a_reservation_goes_along_with_a_new_name_and_with_who_took_it() {
        use EventKind::{Rename, Reserve, Take};
        let events = [
            event(20, "Ann", Reserve, "src/", ""),
            event(30, "Ann", Rename, "Eve", ""),
            event(35, "Ben", Reserve, "x", ""),
            event(40, "Ben", Take, "src/", "Eve"),
        ];
        let lives = [life("Eve", 5, None, &[]), life("Ben", 11, None, &[("src/", 40), ("x", 35)])];
        assert_eq!(
            shown(&events, &lives),
            [
                "Ann 10-30",
                "Ben 10-",
                "Eve 5-",
                "Ann src/ 20-30",
                "Eve src/ 30-40",
                "Ben x 35-",
                "Ben src/ 40-"
            ]
        );
        // A person who has not joined takes it away, and does not hold it.
        let taken = [event(20, "Ann", Reserve, "src/", ""), event(30, "ann the person", Take, "src/", "Ann")];
        assert_eq!(shown(&taken, &[]), ["Ann 10-20", "Ann src/ 20-30"]);
    }
}
