//! `msg search`: messages, events, tasks and completions by their words, the best first.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};

use crate::domain::text_search::{ExcerptWord, TextMatch, TextScan, excerpt, marked_words};
use crate::domain::{Agent, AgentName, AnyEventKind, EventKind, Message, shell_word};
use crate::ops::agents::{identity, names};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::messages::history::{parse_words, unknown_thread};
use crate::ops::person_required;
use crate::store::{MailRecord, MailTexts, Mesh, SearchedMail};

use super::searched_records::{FoundThing, SearchedRecords};

/// The longest excerpt, in characters.
const EXCERPT: usize = 120;
/// Copies of one broadcast are sent within this time.
const ONE_BROADCAST: SignedDuration = SignedDuration::from_secs(10);
/// An event tells of a message that was sent within this time.
const SAME_TIME: SignedDuration = SignedDuration::from_secs(2);

/// Whose messages are searched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SearchScope {
    /// The caller's. Those of nobody, if a person asks who has not joined.
    Own,
    Everybody,
}

/// What to look for, and where.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    pub words: String,
    pub from: Option<AgentName>,
    pub to: Option<AgentName>,
    pub since: Option<Timestamp>,
    /// The name of a thread, or one of its messages.
    pub thread: Option<String>,
    pub scope: SearchScope,
    pub limit: usize,
}

/// Something that was found.
#[derive(Clone, Debug)]
pub struct FoundEntry {
    pub what: FoundThing,
    /// One line of it, around what was looked for.
    pub excerpt: Vec<ExcerptWord>,
    pub score: f32,
    /// Whether it has everything that was asked for.
    pub has_all: bool,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchFindings {
    /// The best first.
    pub found: Vec<FoundEntry>,
    /// Whether there are more than were asked for.
    pub has_more: bool,
    /// Whether messages were searched at all.
    pub has_mail: bool,
}

pub fn search(op: &Op, request: &SearchRequest) -> Result<SearchFindings, CommandError> {
    let query = parse_words(&request.words)?;
    let (mesh, caller) = asker(op, request)?;
    let mail = match (mesh.as_deref(), request.scope, &caller) {
        (Some(mesh), SearchScope::Everybody, _) => mesh.archive().all_texts()?,
        (Some(mesh), SearchScope::Own, Some(agent)) => mesh.archive().texts_of(agent)?,
        _ => SearchedMail::default(),
    };
    if let Some(error) = &mail.unsaved {
        op.warn(format!("the next search will be slow, because what was read could not be kept: {error}"));
    }
    let thread = request.thread.as_deref().map(|text| find_thread(&mail.texts, text)).transpose()?;
    let records = SearchedRecords::read(op, mesh.as_deref(), caller.as_ref())?;
    let mut scan = TextScan::new(&query);
    for texts in &mail.texts {
        let (text, starts) = texts.texts();
        scan.add(text, &starts);
    }
    scan.add(&records.texts, &records.starts);
    let mut matches = scan.finish();
    // Of equal ones the later ones come first.
    matches.reverse();
    matches.sort_by(TextMatch::order);
    let filter = MatchFilter { request, thread: thread.as_deref() };
    let mut picked = Picked::default();
    let mut has_more = false;
    for one in matches {
        let Some(what) = filter.take(one, &mail.texts, &records, &mut picked)? else { continue };
        if picked.is_told_twice(&what) {
            continue;
        }
        if picked.found.len() == request.limit {
            picked.leave_out_told_twice();
        }
        if picked.found.len() == request.limit {
            has_more = true;
            break;
        }
        let excerpt = match &what {
            // A part of it could lack a quotation mark, or who said it. It is short.
            FoundThing::Event(_) => marked_words(&what.text(), Some(&query)),
            _ => excerpt(&what.text(), Some(&query), EXCERPT),
        };
        picked.found.push(FoundEntry { what, excerpt, score: one.score, has_all: one.has_all });
    }
    picked.leave_out_told_twice();
    if let Some(mesh) = mesh.as_deref().filter(|_| picked.found.is_empty()) {
        request.from.iter().chain(&request.to).try_for_each(|name| names::must_be_known(mesh, name))?;
    }
    let has_mail = caller.is_some() || request.scope == SearchScope::Everybody;
    Ok(SearchFindings { found: picked.found, has_more, has_mail })
}

/// The mesh, and whose messages are searched. `None`: a person who has not joined. Inside a harness, nobody else's
/// messages are searched, whatever `--as` says.
fn asker(op: &Op, request: &SearchRequest) -> Result<(Option<Rc<Mesh>>, Option<Agent>), CommandError> {
    let line = |more: &str| format!("msg search {} {more}", shell_word(&request.words));
    if request.scope == SearchScope::Everybody {
        person_required::required_at_terminal(op, || line("--all"))?;
        return Ok((op.mesh()?, None));
    }
    let caller = match identity::named_or_certain_caller(op)? {
        Some(agent) => Some(agent),
        None if person_required::harness().is_some() || op.client.is_some() => {
            Some(identity::caller(op)?.1.agent)
        }
        None => None,
    };
    if let Some(agent) = &caller {
        person_required::required_for_another(op, agent, || line(&format!("--as {}", agent.name)))?;
    }
    Ok((op.mesh()?, caller))
}

/// The thread that `text` refers to.
fn find_thread(mail: &[MailTexts], text: &str) -> Result<String, CommandError> {
    let mut found: Option<String> = None;
    for texts in mail {
        for record in (0..texts.len()).filter_map(|number| texts.record(number)) {
            if record.thread.eq_ignore_ascii_case(text) {
                return Ok(text.to_string());
            }
            if found.is_none() && record.is_named(text) {
                found = Some(record.thread.to_string());
            }
        }
    }
    found.ok_or_else(|| unknown_thread(text))
}

/// Which of what has the words is wanted.
struct MatchFilter<'a> {
    request: &'a SearchRequest,
    thread: Option<&'a str>,
}

/// What is shown so far.
#[derive(Default)]
struct Picked {
    found: Vec<FoundEntry>,
    /// The messages, each of which may lie with its sender and with its recipient.
    messages: HashSet<(String, String)>,
    /// The broadcasts, of which each recipient has a copy: by sender and text, when they were sent.
    broadcasts: HashMap<(String, String), Vec<Timestamp>>,
}

impl MatchFilter<'_> {
    /// What matches there, if it is wanted, and not shown yet.
    fn take(
        &self,
        one: TextMatch,
        mail: &[MailTexts],
        records: &SearchedRecords,
        picked: &mut Picked,
    ) -> Result<Option<FoundThing>, CommandError> {
        let mut number = one.number;
        for texts in mail {
            if number >= texts.len() {
                number -= texts.len();
                continue;
            }
            let Some(record) = texts.record(number).filter(|record| self.wants_message(record)) else {
                return Ok(None);
            };
            let key = (record.stem.to_string(), record.to.to_ascii_lowercase());
            if picked.messages.contains(&key) {
                return Ok(None);
            }
            let Some(filed) = texts.load(&record)? else { return Ok(None) };
            picked.messages.insert(key);
            if filed.message.is_broadcast && picked.has_copy_of(&filed.message) {
                return Ok(None);
            }
            return Ok(Some(FoundThing::Message(Box::new(filed))));
        }
        Ok(records.things.get(number).filter(|thing| self.wants(thing)).cloned())
    }

    fn wants_message(&self, record: &MailRecord<'_>) -> bool {
        let is = |wanted: &Option<AgentName>, name: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.as_str().eq_ignore_ascii_case(name))
        };
        is(&self.request.from, record.from)
            && is(&self.request.to, record.to)
            && self.request.since.is_none_or(|since| record.at >= since)
            && self.thread.is_none_or(|thread| record.thread.eq_ignore_ascii_case(thread))
    }

    fn wants(&self, thing: &FoundThing) -> bool {
        let is_from =
            |name: &AgentName| thing.who().is_some_and(|who| name.as_str().eq_ignore_ascii_case(who));
        let is_in_time = |since: Timestamp| thing.at().is_some_and(|at| at >= since);
        self.request.from.as_ref().is_none_or(is_from)
            && self.request.since.is_none_or(is_in_time)
            // Only messages have recipients and threads.
            && self.request.to.is_none()
            && self.thread.is_none()
    }
}

impl Picked {
    /// Whether a copy of this broadcast is shown. If not, this one will be.
    fn has_copy_of(&mut self, message: &Message) -> bool {
        let sent = self.broadcasts.entry((message.from.clone(), message.text.clone())).or_default();
        let is_copy = sent.iter().any(|at| message.timestamp.duration_since(*at).abs() <= ONE_BROADCAST);
        sent.push(message.timestamp);
        is_copy
    }

    /// Whether it is an event that tells of a message which is shown itself.
    fn is_told_twice(&self, what: &FoundThing) -> bool {
        let FoundThing::Event(event) = what else { return false };
        let is_told = |entry: &FoundEntry| match &entry.what {
            FoundThing::Message(filed) => {
                filed.message.from.eq_ignore_ascii_case(&event.agent)
                    && event.at.duration_since(filed.message.timestamp).abs() <= SAME_TIME
            }
            _ => false,
        };
        event.what == AnyEventKind::Ours(EventKind::Message) && self.found.iter().any(is_told)
    }

    /// Leaves out events that were found before the message which they tell of.
    fn leave_out_told_twice(&mut self) {
        let is_twice: Vec<bool> = self.found.iter().map(|entry| self.is_told_twice(&entry.what)).collect();
        let mut twice = is_twice.into_iter();
        self.found.retain(|_| !twice.next().unwrap_or_default());
    }
}
