//! `send`, `broadcast` and `reply`: sends a message to one, several or all agents.
//!
//! After posting, the recipient's registration is read again (`post_to_agent`). What needs `mesh.lock` is done last,
//! after the sender's own lock was released (`postponed`).

mod postponed;
mod report;

use jiff::{SignedDuration, Timestamp};

use crate::domain::link::RemoteMachine;
use crate::domain::settings::BroadcastScope;
use crate::domain::{Agent, AgentName, Importance, Liveness, MAX_TEXT, Message, MessageKind, MessageStamp};
use crate::ops::feed::Addressing;
use crate::ops::link::ask::poke;
use crate::ops::link::elsewhere::why_it_waits;
use crate::ops::reservations::contest_answers;
use crate::store::{Census, Mesh, Outbox, Posted, StoredMessage};
use crate::sys::{clock, process};

use super::post_to_agent::{is_registered, not_running};
use super::recipients::{self, GroupResolver, Recipient};
use super::{ack, answers, stored_messages};
use crate::ops::agents::identity;
use crate::ops::agents::names;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::feed;
use crate::ops::runner::carry_out;
use crate::ops::wake::{self, ArrivedMessage, WakeResults, WakeRoute};

pub use report::{AcceptedCopy, QueuedElsewhere, RefusedCopy, SendReport};

/// A message to be sent.
#[derive(Clone, Debug, Default)]
pub struct MessageDraft {
    pub text: String,
    pub reply_to: Option<String>,
    pub thread: Option<String>,
    /// `None`: that of its kind.
    pub importance: Option<Importance>,
    pub wants_ack: bool,
    /// If the recipient is gone, keep it for its session.
    pub may_be_held: bool,
    pub kind: Option<MessageKind>,
    /// How long it stays valid unread. `None`: as long as its kind does.
    pub ttl: Option<SignedDuration>,
}

impl MessageDraft {
    fn importance(&self) -> Importance {
        let of_kind = || self.kind.map(MessageKind::default_importance);
        self.importance.or_else(of_kind).unwrap_or_default()
    }

    /// When it expires if it is sent now. The clock decides, not the stamp: that may be ahead of a clock which was set
    /// back.
    fn expires_at(&self) -> Option<Timestamp> {
        let ttl = self.ttl.or_else(|| self.kind.and_then(MessageKind::default_ttl))?;
        clock::now().checked_add(ttl).ok()
    }

    /// When the copy for that agent expires: never, if it uses pi-messenger. That reads whatever is in its inbox, so
    /// nobody else may remove anything from there.
    fn expires_at_for(&self, agent: &Agent) -> Option<Timestamp> {
        if agent.is_foreign() { None } else { self.expires_at() }
    }
}

/// Parses an importance.
pub fn parse_importance(name: &str) -> Result<Importance, CommandError> {
    Importance::parse(name).ok_or_else(|| {
        let text = format!("there is no importance `{}`", name.escape_debug());
        CommandError::new(CommandErrorKind::InvalidValue, text).hint("one of: low, normal, high, urgent")
    })
}

/// Parses a kind of message.
pub fn parse_kind(name: &str) -> Result<MessageKind, CommandError> {
    MessageKind::parse(name).ok_or_else(|| {
        let text = format!("there is no kind of message `{}`", name.escape_debug());
        let names = MessageKind::ALL.map(MessageKind::name).join(", ");
        CommandError::new(CommandErrorKind::InvalidValue, text).hint(format!("one of: {names}"))
    })
}

/// Sends to each named agent, and to the agents of each named group. A failure for one doesn't stop the rest.
pub fn send(op: &Op, to: &[String], draft: &MessageDraft) -> Result<SendReport, CommandError> {
    check_text(&draft.text)?;
    let (mesh, caller) = identity::caller(op)?;
    let (answered, thread) = answering(&mesh, &caller.agent, draft)?;
    let mut wanted: Vec<String> = Vec::new();
    for name in to {
        if !wanted.contains(name) {
            wanted.push(name.clone());
        }
    }
    let mut post = Post::new(op, &mesh, &caller.agent, draft, answered, thread);
    if recipients::is_for_all(&wanted) {
        post.addressing = Addressing::Broadcast;
    }
    let mut groups = Vec::new();
    post.send_to(|resolver| {
        let (recipients, resolved) = resolver.resolve(&wanted);
        groups = resolved;
        recipients
    })?;
    Ok(SendReport { groups, ..post.done() })
}

/// Sends to every live agent of the project except the caller, or to those of the whole machine.
pub fn broadcast(
    op: &Op,
    draft: &MessageDraft,
    scope: Option<BroadcastScope>,
) -> Result<SendReport, CommandError> {
    check_text(&draft.text)?;
    let (mesh, caller) = identity::caller(op)?;
    let mut post = Post::new(op, &mesh, &caller.agent, draft, None, draft.thread.clone());
    post.addressing = Addressing::Broadcast;
    let mut summary = None;
    post.send_to(|resolver| {
        let (recipients, reached) = resolver.broadcast(scope);
        summary = Some(reached);
        recipients
    })?;
    Ok(SendReport { broadcast: summary, ..post.done() })
}

/// Replies to the sender of a message, in its thread.
pub fn reply(op: &Op, id: &str, draft: &MessageDraft) -> Result<SendReport, CommandError> {
    check_text(&draft.text)?;
    let (mesh, caller) = identity::caller(op)?;
    let answered = stored_messages::find(&mesh, &caller.agent, id)?;
    ack::refuse_notice(&answered.message)?;
    let is_mine = caller.agent.all_names().any(|name| name.as_str() == answered.message.from);
    let to = if is_mine { answered.message.to.clone() } else { answered.message.from.clone() };
    let thread = answered.message.thread.clone().unwrap_or_else(|| answered.message.id.to_string());
    let mut post = Post::new(op, &mesh, &caller.agent, draft, Some(answered), Some(thread));
    post.send_to(|_| vec![Recipient::Agent(to)])?;
    Ok(post.done())
}

fn check_text(text: &str) -> Result<(), CommandError> {
    if text.trim().is_empty() {
        return Err(CommandError::new(CommandErrorKind::Empty, "there is nothing to send")
            .hint("add a text, `--file FILE`, or `-` to read standard input"));
    }
    if text.len() > MAX_TEXT {
        let text = format!("the text has {} bytes; {MAX_TEXT} is the most", text.len());
        return Err(
            CommandError::new(CommandErrorKind::TooLarge, text).hint("put it into a file, and send the path")
        );
    }
    Ok(())
}

/// The message that `--reply-to` names, and its thread.
fn answering(
    mesh: &Mesh,
    agent: &Agent,
    draft: &MessageDraft,
) -> Result<(Option<StoredMessage>, Option<String>), CommandError> {
    let Some(id) = &draft.reply_to else { return Ok((None, draft.thread.clone())) };
    let answered = stored_messages::find(mesh, agent, id)?;
    let own = answered.message.thread.clone().unwrap_or_else(|| answered.message.id.to_string());
    Ok((Some(answered), Some(draft.thread.clone().unwrap_or(own))))
}

/// One call of `send`, `broadcast` or `reply`.
///
/// The registrations are read once. Recipients that don't need `mesh.lock` get their copy first, with the sender's
/// stamp held. Then those that need it get theirs, with `mesh.lock` taken before the stamp.
struct Post<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    from: &'a Agent,
    draft: &'a MessageDraft,
    /// The message that this one replies to.
    question: Option<StoredMessage>,
    thread: Option<String>,
    addressing: Addressing,
    copies: Vec<CopyResult>,
    /// Recipients tried so far: an agent may be named by several of its names.
    tried: Vec<AgentName>,
    /// Recipients tried that are gone. Another agent may have the name of one of them now.
    tried_gone: Vec<AgentName>,
    /// Recipients that contest a path of the sender's: the message is its answer.
    answered: Vec<Agent>,
}

/// What became of the copy for one recipient.
struct CopyResult {
    to: String,
    outcome: CopyOutcome,
}

enum CopyOutcome {
    Sent(AcceptedCopy, Option<ArrivedMessage>),
    Refused(CommandError),
    Postponed(Postponed),
    /// It was tried under another name.
    Twice,
}

/// A copy that needs `mesh.lock`.
enum Postponed {
    /// To be kept for a session that is gone.
    Hold(AgentName),
    /// There is no inbox: the recipient has just left, or somebody removed its directory.
    NoInbox(Agent, WakeRoute),
    /// It was sent, but the recipient's registration disappeared meanwhile.
    Unsure(Agent, Box<Posted>, WakeRoute),
}

impl<'a> Post<'a> {
    fn new(
        op: &'a Op,
        mesh: &'a Mesh,
        from: &'a Agent,
        draft: &'a MessageDraft,
        question: Option<StoredMessage>,
        thread: Option<String>,
    ) -> Self {
        let (copies, tried, tried_gone) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            op,
            mesh,
            from,
            draft,
            question,
            thread,
            addressing: Addressing::Direct,
            copies,
            tried,
            tried_gone,
            answered: Vec::new(),
        }
    }

    /// Settles what the caller owed for the message that it answered, tells the feed who wrote to whom, and wakes idle
    /// recipients.
    fn done(self) -> SendReport {
        let op = self.op;
        let mut report = SendReport::default();
        let (mut numbers, mut arrivals) = (Vec::new(), Vec::new());
        for CopyResult { to, outcome } in self.copies {
            match outcome {
                CopyOutcome::Sent(accepted, arrival) => {
                    if let Some(arrival) = arrival {
                        numbers.push(report.sent.len());
                        arrivals.push(arrival);
                    }
                    report.sent.push(accepted);
                }
                CopyOutcome::Refused(error) => report.failed.push(RefusedCopy { to, error }),
                CopyOutcome::Postponed(_) | CopyOutcome::Twice => {}
            }
        }
        if let Some(answered) = &self.question {
            let sent_to: Vec<&AgentName> = report.sent.iter().map(|accepted| &accepted.to).collect();
            answers::settle(op, self.mesh, self.from, answered, &sent_to);
        }
        let tell = |to: &str| {
            let preview = feed::preview(op, &self.draft.text, self.addressing);
            op.feed_message(&self.from.name, to, preview, self.draft.kind);
        };
        match report.sent.as_slice() {
            [] => {}
            _ if self.addressing == Addressing::Broadcast => tell("all"),
            sent => sent.iter().for_each(|accepted| tell(accepted.to.as_str())),
        }
        if let Err(error) = contest_answers::note_answers(op, self.mesh, self.from, &self.answered) {
            op.warn(format!("it could not be recorded that you answered a contest: {error}"));
        }
        // The feed says it before anybody is woken: that may take seconds, and this process may be killed meanwhile.
        carry_out(op);
        if report.sent.iter().any(|accepted| accepted.elsewhere.is_some()) {
            poke(op, self.mesh);
        }
        // Not left to the runner: the answer says how each recipient is told. No lock is held any more.
        let WakeResults { routes, failures } =
            wake::wake_recipients(op, self.mesh, &arrivals, self.draft.importance());
        failures.into_iter().for_each(|failure| op.warn(failure));
        for (number, route) in numbers.into_iter().zip(routes) {
            record_wake_route(op, self.mesh, self.from, &mut report.sent[number], route);
        }
        report
    }

    /// Sends to those whom `choose` names. An error for one recipient is kept; a full disk ends everything.
    fn send_to(
        &mut self,
        choose: impl FnOnce(&GroupResolver<'_>) -> Vec<Recipient>,
    ) -> Result<(), CommandError> {
        let mut outbox = self.mesh.outboxes().lock(&self.from.name)?;
        let census = self.mesh.registry().census()?;
        let (op, mesh, from, may_be_held) = (self.op, self.mesh, self.from, self.draft.may_be_held);
        for recipient in choose(&GroupResolver { op, mesh, from, census: &census, may_be_held }) {
            match recipient {
                Recipient::Agent(to) => {
                    let outcome = self.try_send_to(&mut outbox, &census, &to);
                    self.keep(to, outcome)?;
                }
                Recipient::Nobody { to, error } => self.keep(to, Err(error))?,
            }
        }
        drop(outbox);
        self.send_postponed()
    }

    fn keep(&mut self, to: String, outcome: Result<CopyOutcome, CommandError>) -> Result<(), CommandError> {
        let outcome = match outcome {
            Err(error) if error.kind == CommandErrorKind::DiskFull && !self.has_sent() => return Err(error),
            outcome => outcome.unwrap_or_else(CopyOutcome::Refused),
        };
        self.copies.push(CopyResult { to, outcome });
        Ok(())
    }

    /// Whether a copy is in an inbox already.
    fn has_sent(&self) -> bool {
        let is_sent = |outcome: &CopyOutcome| {
            matches!(outcome, CopyOutcome::Sent(..) | CopyOutcome::Postponed(Postponed::Unsure(..)))
        };
        self.copies.iter().any(|copy| is_sent(&copy.outcome))
    }

    fn try_send_to(
        &mut self,
        outbox: &mut Outbox<'_>,
        census: &Census,
        to: &str,
    ) -> Result<CopyOutcome, CommandError> {
        let wanted = recipient(to)?;
        let Some(record) = census.find(&wanted, clock::now()) else {
            if self.tried_gone.contains(&wanted) {
                return Ok(CopyOutcome::Twice);
            }
            self.tried_gone.push(wanted.clone());
            return self.look_for_grave(to, wanted, census);
        };
        let agent = &record.agent;
        if self.tried.iter().any(|tried| tried.is_spelled_as(&agent.name)) {
            return Ok(CopyOutcome::Twice);
        }
        self.tried.push(agent.name.clone());
        if process::liveness(&agent.process) == Liveness::Gone && !self.draft.may_be_held {
            let since = self.mesh.presence().last_sign_of_life(agent)?;
            return Err(not_running(
                &agent.name,
                &format!("its process {} has ended", agent.process.pid()),
                since,
            ));
        }
        self.note_owner(agent);
        let is_self = agent.is_same_session(self.from);
        if is_self {
            self.op.warn(format!("{} is you: the message is in your own inbox", agent.name));
        }
        let route = match is_self {
            true => WakeRoute::None,
            false => wake::route(self.op, self.mesh, agent, self.draft.importance())?,
        };
        let expires_at = self.draft.expires_at_for(agent);
        let (stamp, message) = self.message(outbox, &agent.name, expires_at)?;
        if let Some(machine) = &agent.machine {
            let posted = outbox.post_to(stamp, agent, message)?.ok_or_else(|| no_queue(&agent.name))?;
            return Ok(self.queued(&agent.name, machine, posted));
        }
        let Some(posted) = outbox.post(stamp, &agent.name, message)? else {
            return Ok(CopyOutcome::Postponed(Postponed::NoInbox(agent.clone(), route)));
        };
        if contest_answers::is_owed_answer(agent, self.from) {
            self.answered.push(agent.clone());
        }
        // The recipient may have been buried between our look at it and the arrival of the message.
        match is_registered(self.mesh, agent) {
            true => Ok(self.sent(agent, posted, route)),
            false => Ok(CopyOutcome::Postponed(Postponed::Unsure(agent.clone(), Box::new(posted), route))),
        }
    }

    fn note_owner(&self, agent: &Agent) {
        if let Err(error) = self.mesh.inboxes().record_owner(agent) {
            self.op.warn(format!("could not record whose inbox {}'s is: {error}", agent.name));
        }
    }

    fn message(
        &self,
        outbox: &mut Outbox<'_>,
        to: &AgentName,
        expires_at: Option<Timestamp>,
    ) -> Result<(MessageStamp, Message), CommandError> {
        let stamp = outbox.stamp()?;
        let message = Message {
            id: stamp.id(),
            from: self.from.name.to_string(),
            to: to.to_string(),
            text: self.draft.text.clone(),
            timestamp: stamp.timestamp(),
            reply_to: self.question.as_ref().map(|answered| answered.message.id.clone()),
            thread: self.thread.clone(),
            importance: self.draft.importance(),
            needs_ack: self.draft.wants_ack,
            is_broadcast: self.addressing == Addressing::Broadcast,
            kind: self.draft.kind,
            expires_at,
            to_session: None,
            to_machine: None,
        };
        Ok((stamp, message))
    }

    /// Nobody of that name is registered; looks for a grave.
    fn look_for_grave(
        &mut self,
        to: &str,
        name: AgentName,
        census: &Census,
    ) -> Result<CopyOutcome, CommandError> {
        if let Some(file) = census.unreadable(&name) {
            return Err(names::unreadable(&name, file));
        }
        if census.odd().any(|record| record.agent.name == name) {
            let text = format!("{name} is an agent of pi-messenger under a name that `msg` does not accept");
            return Err(CommandError::new(CommandErrorKind::UnknownAgent, text)
                .hint("let it take another name; then it can be written to"));
        }
        let Some((agent, grave)) = crate::ops::agents::list::grave_of(self.mesh, &name)? else {
            return Err(recipients::unknown(self.op, census, to, &name));
        };
        if agent.name != name {
            if self.tried_gone.contains(&agent.name) {
                return Ok(CopyOutcome::Twice);
            }
            self.tried_gone.push(agent.name.clone());
        }
        match self.draft.may_be_held {
            true => Ok(CopyOutcome::Postponed(Postponed::Hold(agent.name))),
            false => Err(not_running(
                &agent.name,
                &format!("it {}", crate::ops::agents::list::verb(grave.why)),
                grave.at,
            )),
        }
    }

    /// It waits for its way to that machine, which decides whether the recipient is there.
    fn queued(&self, to: &AgentName, machine: &RemoteMachine, posted: Posted) -> CopyOutcome {
        let why_it_waits = why_it_waits(self.mesh, machine);
        let elsewhere = Some(QueuedElsewhere { machine: machine.name.clone(), why_it_waits });
        let (to, id, stem, route) = (to.clone(), posted.message.id, posted.stem, WakeRoute::None);
        CopyOutcome::Sent(AcceptedCopy { to, id, stem, is_held: false, route, elsewhere }, None)
    }

    fn sent(&self, agent: &Agent, posted: Posted, route: WakeRoute) -> CopyOutcome {
        let held = process::liveness(&agent.process) == Liveness::Gone;
        let is_woken = !held && !agent.is_same_session(self.from);
        let arrival = is_woken.then(|| ArrivedMessage { agent: agent.clone(), before: route });
        let (to, id, stem) = (agent.name.clone(), posted.message.id, posted.stem);
        CopyOutcome::Sent(AcceptedCopy { to, id, stem, is_held: held, route, elsewhere: None }, arrival)
    }
}

/// Somebody has removed the directory at that moment.
fn no_queue(to: &AgentName) -> CommandError {
    CommandError::new(CommandErrorKind::Io, format!("the queue of messages to {to} disappeared"))
        .hint("send it again")
}

/// Parses a recipient's name, with or without an `@`.
fn recipient(to: &str) -> Result<AgentName, CommandError> {
    let name = to.strip_prefix('@').unwrap_or(to);
    AgentName::new(name).map_err(|error| {
        let hint = match name {
            _ if name.eq_ignore_ascii_case("all") => "to everyone: `msg broadcast TEXT`, or `@all`",
            _ if to.starts_with('@') => recipients::GROUPS,
            _ => "`msg agents` lists the names",
        };
        CommandError::new(CommandErrorKind::InvalidName, error.to_string()).hint(hint)
    })
}

/// Records the wake route for the receipt.
fn record_wake_route(op: &Op, mesh: &Mesh, from: &Agent, sent: &mut AcceptedCopy, route: WakeRoute) {
    sent.route = route;
    if route == WakeRoute::None {
        return;
    }
    if let Err(error) = mesh.outboxes().record_wake_route(&from.name, &sent.to, &sent.stem, route.name()) {
        op.warn(format!("the receipt won't show how {} is woken: {error}", sent.to));
    }
}
