//! Sending to one, to some, to all.

use std::path::Path;

use crate::domain::{Agent, AgentName, EventKind, Importance, Liveness, MAX_TEXT, Message, MessageId, Stamp};
use crate::store::{Census, Mesh, Outbox, Posted, Stem, iso};
use crate::sys::{clock, process};

use super::context::{Context, same_folder};
use super::error::{CommandError, Kind};
use super::feed;
use super::identity::{self, with_nearest};
use super::messages;
use super::names;
use super::wake::{self, Arrival, Rung};

/// What is to be sent.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub text: String,
    pub reply_to: Option<String>,
    pub thread: Option<String>,
    pub importance: Importance,
    pub want_ack: bool,
    /// Keep it for a known session that is gone.
    pub hold: bool,
}

/// A copy that was accepted.
#[derive(Clone, Debug)]
pub struct Accepted {
    pub to: AgentName,
    pub id: MessageId,
    pub stem: Stem,
    /// It is kept for when the recipient comes back.
    pub held: bool,
    /// How it gets to the recipient's attention.
    pub rung: Rung,
}

/// A copy that was not, and why.
#[derive(Clone, Debug)]
pub struct Refused {
    pub to: String,
    pub error: CommandError,
}

#[derive(Clone, Debug, Default)]
pub struct SendReport {
    pub sent: Vec<Accepted>,
    pub failed: Vec<Refused>,
}

impl SendReport {
    /// One recipient's error is the error; several are summed up.
    pub fn error(&self) -> Option<CommandError> {
        match (self.failed.as_slice(), self.sent.len()) {
            ([], _) => None,
            ([only], 0) => Some(only.error.clone()),
            (failed, sent) => {
                let names: Vec<String> = failed.iter().map(|refused| refused.to.clone()).collect();
                let text = format!("sent to {sent}, not to {}: {}", failed.len(), failed[0].error.message);
                Some(CommandError::new(Kind::NotAllSent, text).facts("notSentTo", names))
            }
        }
    }
}

/// An importance, by its name.
pub fn importance(name: &str) -> Result<Importance, CommandError> {
    Importance::parse(name).ok_or_else(|| {
        let text = format!("there is no importance `{}`", name.escape_debug());
        CommandError::new(Kind::InvalidValue, text).hint("one of: low, normal, high, urgent")
    })
}

/// To those named, each on its own: what can't be sent to one doesn't stop the rest.
pub fn send(ctx: &Context, to: &[String], draft: &Draft) -> Result<SendReport, CommandError> {
    check_text(&draft.text)?;
    let (mesh, caller) = identity::caller(ctx)?;
    let (reply_to, thread) = answering(&mesh, &caller.agent, draft)?;
    let mut post = Post::new(ctx, &mesh, &caller.agent, draft, reply_to, thread)?;
    let mut seen: Vec<String> = Vec::new();
    for name in to {
        if !seen.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            seen.push(name.clone());
            post.send_to(name)?;
        }
    }
    Ok(post.done())
}

/// To every live agent but oneself; with `here`, to those in this folder.
pub fn broadcast(ctx: &Context, draft: &Draft, here: bool) -> Result<SendReport, CommandError> {
    check_text(&draft.text)?;
    let (mesh, caller) = identity::caller(ctx)?;
    let here = here || ctx.settings.scope_to_folder();
    let mut post = Post::new(ctx, &mesh, &caller.agent, draft, None, draft.thread.clone())?;
    post.broadcast = true;
    let census = mesh.census()?;
    for record in census.records {
        let agent = record.agent;
        let in_scope = !here || same_folder(Path::new(&agent.cwd), &ctx.cwd);
        let is_there = process::liveness(&agent.process) != Liveness::Gone;
        if agent.name != caller.agent.name && is_there && in_scope {
            post.send_to(agent.name.as_str())?;
        }
    }
    Ok(post.done())
}

/// To the sender of a message, in its thread.
pub fn reply(ctx: &Context, id: &str, draft: &Draft) -> Result<SendReport, CommandError> {
    check_text(&draft.text)?;
    let (mesh, caller) = identity::caller(ctx)?;
    let answered = messages::find(&mesh, &caller.agent, id)?;
    let is_mine = caller.agent.all_names().any(|name| name.as_str() == answered.message.from);
    let to = if is_mine { &answered.message.to } else { &answered.message.from };
    let thread = answered.message.thread.clone().unwrap_or_else(|| answered.message.id.to_string());
    let mut post =
        Post::new(ctx, &mesh, &caller.agent, draft, Some(answered.message.id.clone()), Some(thread))?;
    post.send_to(to)?;
    Ok(post.done())
}

fn check_text(text: &str) -> Result<(), CommandError> {
    if text.trim().is_empty() {
        return Err(CommandError::new(Kind::Empty, "there is no text to send")
            .hint("`-` reads it from standard input"));
    }
    if text.len() > MAX_TEXT {
        let text = format!("the text has {} bytes; {MAX_TEXT} is the most", text.len());
        return Err(CommandError::new(Kind::TooLarge, text).hint("put it into a file, and send the path"));
    }
    Ok(())
}

/// What `--reply-to` names, and the thread that it is in.
fn answering(
    mesh: &Mesh,
    agent: &Agent,
    draft: &Draft,
) -> Result<(Option<MessageId>, Option<String>), CommandError> {
    let Some(id) = &draft.reply_to else { return Ok((None, draft.thread.clone())) };
    let answered = messages::find(mesh, agent, id)?;
    let own = answered.message.thread.unwrap_or_else(|| answered.message.id.to_string());
    Ok((Some(answered.message.id), Some(draft.thread.clone().unwrap_or(own))))
}

/// One call's worth of sending, in order.
struct Post<'a> {
    ctx: &'a Context,
    mesh: &'a Mesh,
    from: &'a Agent,
    outbox: Outbox<'a>,
    draft: &'a Draft,
    reply_to: Option<MessageId>,
    thread: Option<String>,
    broadcast: bool,
    report: SendReport,
    /// Whom this was for so far: one may be named by several of its names.
    tried: Vec<AgentName>,
    /// What arrived somewhere, with its number in the report.
    arrivals: Vec<(usize, Arrival)>,
}

impl<'a> Post<'a> {
    fn new(
        ctx: &'a Context,
        mesh: &'a Mesh,
        from: &'a Agent,
        draft: &'a Draft,
        reply_to: Option<MessageId>,
        thread: Option<String>,
    ) -> Result<Self, CommandError> {
        let outbox = mesh.outbox(&from.name)?;
        Ok(Self {
            ctx,
            mesh,
            from,
            outbox,
            draft,
            reply_to,
            thread,
            broadcast: false,
            report: SendReport::default(),
            tried: Vec::new(),
            arrivals: Vec::new(),
        })
    }

    /// Wakes those who rest, and tells the feed who wrote to whom.
    fn done(mut self) -> SendReport {
        let ctx = self.ctx;
        // Waking may take a while, and nobody has to wait for the outbox meanwhile.
        drop(self.outbox);
        let (numbers, arrivals): (Vec<usize>, Vec<Arrival>) = self.arrivals.into_iter().unzip();
        match wake::on_arrival(ctx, self.mesh, &arrivals, self.draft.importance) {
            Ok(rungs) => {
                for (number, rung) in numbers.into_iter().zip(rungs) {
                    note_rung(ctx, self.mesh, self.from, &mut self.report.sent[number], rung);
                }
            }
            Err(error) => ctx.notice(format!("who rests could not be woken: {error}")),
        }
        let preview = feed::preview(ctx, &self.draft.text, self.broadcast);
        match self.report.sent.as_slice() {
            [] => {}
            _ if self.broadcast => {
                feed::tell(ctx, self.mesh, EventKind::Message, &self.from.name, Some("all"), preview);
            }
            sent => {
                for accepted in sent {
                    feed::tell(
                        ctx,
                        self.mesh,
                        EventKind::Message,
                        &self.from.name,
                        Some(accepted.to.as_str()),
                        preview,
                    );
                }
            }
        }
        self.report
    }

    /// Errors of one recipient are kept in the report; a full disk ends it all.
    fn send_to(&mut self, to: &str) -> Result<(), CommandError> {
        match self.try_send_to(to) {
            Ok(accepted) => self.report.sent.extend(accepted),
            Err(error) if error.kind == Kind::DiskFull && self.report.sent.is_empty() => return Err(error),
            Err(error) => self.report.failed.push(Refused { to: to.to_string(), error }),
        }
        Ok(())
    }

    /// `None`: it was tried under another name.
    fn try_send_to(&mut self, to: &str) -> Result<Option<Accepted>, CommandError> {
        let wanted = AgentName::new(to)?;
        let census = self.mesh.census()?;
        let Some(record) = census.find(&wanted, clock::now()) else {
            return self.send_to_gone(&wanted, &census).map(Some);
        };
        let agent = &record.agent;
        if self.tried.contains(&agent.name) {
            return Ok(None);
        }
        self.tried.push(agent.name.clone());
        if process::liveness(&agent.process) == Liveness::Gone && !self.draft.hold {
            let since = self.mesh.last_sign(agent)?;
            return Err(not_running(
                &agent.name,
                &format!("its process {} has ended", agent.process.pid()),
                since,
            ));
        }
        let rung = wake::rung(self.ctx, self.mesh, agent, self.draft.importance)?;
        let (stamp, message) = self.message(&agent.name)?;
        let posted = match self.outbox.post(stamp, &agent.name, message.clone())? {
            Some(posted) => posted,
            None => self.post_anew(agent, stamp, message)?,
        };
        self.make_sure(agent, &posted)?;
        let held = process::liveness(&agent.process) == Liveness::Gone;
        if !held {
            let arrival = Arrival { agent: agent.clone(), before: rung };
            self.arrivals.push((self.report.sent.len(), arrival));
        }
        let (to, id, stem) = (agent.name.clone(), posted.message.id, posted.stem);
        Ok(Some(Accepted { to, id, stem, held, rung }))
    }

    fn message(&mut self, to: &AgentName) -> Result<(Stamp, Message), CommandError> {
        let stamp = self.outbox.stamp()?;
        let message = Message {
            id: stamp.id(),
            from: self.from.name.to_string(),
            to: to.to_string(),
            text: self.draft.text.clone(),
            timestamp: stamp.timestamp(),
            reply_to: self.reply_to.clone(),
            thread: self.thread.clone(),
            importance: self.draft.importance,
            ack_required: self.draft.want_ack,
            broadcast: self.broadcast,
        };
        Ok((stamp, message))
    }

    /// There is no inbox. Either the recipient has just left, or somebody removed the directory under it.
    fn post_anew(&self, agent: &Agent, stamp: Stamp, message: Message) -> Result<Posted, CommandError> {
        let just_left = || not_running(&agent.name, "it has just left", clock::now());
        let locked = self.mesh.lock()?;
        locked.own_record(agent).map_err(|_| just_left())?;
        locked.make_inbox(&agent.name)?;
        self.outbox.post(stamp, &agent.name, message)?.ok_or_else(just_left)
    }

    /// The recipient may have been buried between our look at it and the arrival of the message. Then either its mail,
    /// this one too, went into its grave, or this one lies where nobody will look: it is taken back.
    fn make_sure(&self, agent: &Agent, posted: &Posted) -> Result<(), CommandError> {
        let still_there = |record: crate::store::Record| record.agent.session == agent.session;
        if self.mesh.registration(&agent.name)?.is_some_and(still_there) {
            return Ok(());
        }
        let _locked = self.mesh.lock()?;
        let renamed = self.mesh.census()?.records.iter().any(|record| record.agent.session == agent.session);
        if !renamed && self.outbox.take_back(&agent.name, posted)? {
            return Err(not_running(&agent.name, "it has just left", clock::now()));
        }
        Ok(())
    }

    /// Nobody of that name is registered; perhaps somebody was.
    fn send_to_gone(&mut self, name: &AgentName, census: &Census) -> Result<Accepted, CommandError> {
        if let Some(file) = census.unreadable(name) {
            return Err(names::unreadable(name, file));
        }
        let _locked = self.mesh.lock()?;
        let mut graves = self.mesh.graves()?.graves;
        graves.retain(|grave| grave.record.as_ref().is_some_and(|record| record.agent.name == *name));
        let Some(grave) = graves.into_iter().max_by_key(|grave| grave.at) else {
            let error = CommandError::new(Kind::UnknownAgent, format!("no agent is called {name}"));
            return Err(with_nearest(error, name, census));
        };
        if !self.draft.hold {
            return Err(not_running(name, &format!("it {}", super::agents::verb(grave.why)), grave.at));
        }
        let (stamp, message) = self.message(name)?;
        match self.outbox.hold(&grave.id, stamp, name, message)? {
            Some(posted) => Ok(Accepted {
                to: name.clone(),
                id: posted.message.id,
                stem: posted.stem,
                held: true,
                rung: Rung::None,
            }),
            None => Err(not_running(name, "it has just come back", clock::now())),
        }
    }
}

/// What a receipt will tell of it.
fn note_rung(ctx: &Context, mesh: &Mesh, from: &Agent, sent: &mut Accepted, rung: Rung) {
    sent.rung = rung;
    if rung == Rung::None {
        return;
    }
    if let Err(error) = mesh.note_rung(&from.name, &sent.to, &sent.stem, rung.name()) {
        ctx.notice(format!("the receipt won't tell how {} is told: {error}", sent.to));
    }
}

fn not_running(name: &AgentName, why: &str, since: jiff::Timestamp) -> CommandError {
    CommandError::new(Kind::NotRunning, format!("{name} has been gone since {}: {why}", iso(since)))
        .hint("`--hold` keeps the message for when it comes back")
        .fact("agent", name.as_str())
        .fact("since", iso(since))
}
