//! Delivers mail to a working agent through the answer of its next hook, as much as the harness accepts.
//!
//! Mail that a hook gives is only *offered* until a later hook shows that the harness went on with it
//! (`store::messages::offers`). No mail is given where it might not arrive: before a command that may ask for mail
//! itself, and with the result of a tool that was interrupted. A codec says at which events its harness passes text on.

use crate::domain::hook::{HookAnswer, HookMoment};
use crate::domain::{Agent, Message};
use crate::ops::error::CommandError;
use crate::ops::messages::answers;
use crate::ops::messages::receive::{HandoverOutcome, InboxReader};
use crate::ops::messages::rendered_message::{self, ReaderKind, RenderedMessage};
use crate::ops::messages::unread_reports;
use crate::ops::wake::{self, NUDGE};
use crate::store::{Acknowledge, MailTurns, MessageStem, OfferRetention, StoredMessage, UnreadMessage, Via};

use super::{AnswerFn, HookRun, planned_changes};

/// The separator between two messages, and the room kept for the note that more messages wait.
const GAP: &str = "\n\n";
const NOTE: usize = 60;
/// How much headers may grow between counting and saying: ages change, and a sender is introduced in another message if
/// somebody else took the first.
const SLACK: usize = 200;
/// Most messages at once: each costs one or two renames.
const MOST: usize = 50;

impl HookRun<'_> {
    /// Says `text`, followed by the agent's mail, as far as the harness can carry it now. Says nothing if there is
    /// nothing to say.
    pub(super) fn hand_over(&self, text: Option<String>, say: &mut AnswerFn<'_>) -> Result<(), CommandError> {
        self.speak(text, HookAnswer::Context, say).map(drop)
    }

    /// At a stop, mail makes the agent go on, and so do an answer that it owes, once for each question, and the question
    /// what it decided, once a session; all of them only `mailTurns` times: two agents could talk all night.
    pub(super) fn stopping(&self, say: &mut AnswerFn<'_>) -> Result<(), CommandError> {
        let me = self.me.as_ref().filter(|me| !me.is_foreign() && !self.call.event.in_subagent);
        let (Some(me), Some(session)) = (me, &self.call.event.session) else { return Ok(()) };
        if self.mesh.hooks().has_subagents(session)? {
            return Ok(());
        }
        self.settle_offers(me);
        // No hook was called at the start of a turn that a wake-up began: its mail is due now, and is counted already.
        let is_woken = self.mesh.session_states().is_being_woken(session)?;
        // Recorded before looking for mail: a message that comes later finds an idle session, and its sender wakes it.
        self.mesh.session_states().set_idle(session)?;
        self.mesh.session_states().set_permission_mode(session, self.call.event.permissions)?;
        let turns = self.mesh.hooks().mail_turns(session)?;
        let most = self.op.settings.mail_turns();
        if turns.count >= most && !is_woken {
            return Ok(());
        }
        let has_mail = self.is_worth_a_turn(me)?;
        let owed = self.answers_due(me, has_mail);
        let is_free = !has_mail && owed.is_empty();
        let question = if is_free { self.question_at_stop() } else { None };
        if is_free && question.is_none() || !self.mesh.session_states().claim_wake(session)? {
            return Ok(());
        }
        let question = question.and_then(|question| self.claim_question(question));
        if is_free && question.is_none() {
            self.mesh.session_states().set_idle_again(session)?;
            return Ok(());
        }
        self.mesh.session_states().set_working(session)?;
        // Counted first: after a crash, one turn too few is better than one too many each time.
        let next = MailTurns { count: turns.count + u32::from(!is_woken), said: turns.said.clone() };
        self.mesh.hooks().set_mail_turns(session, &next)?;
        let reminder = answers::remind(self.mesh, me, &owed, |error| self.leave_trouble(error)).or(question);
        let said = match (self.call.continues_as_user_prompt, has_mail, reminder) {
            (true, false, None) => None,
            (true, _, reminder) => {
                let text = reminder.unwrap_or_else(|| NUDGE.to_string());
                (say(&HookAnswer::GoOn(text.clone())) == HandoverOutcome::Delivered).then_some(text)
            }
            (false, _, reminder) => self.speak(reminder, HookAnswer::GoOn, say)?,
        };
        match said {
            Some(said) => {
                self.mesh.hooks().set_mail_turns(session, &MailTurns { said, ..next })?;
                if self.call.hides_end_of_continued_turn {
                    self.mesh.session_states().set_idle(session)?;
                }
            }
            None => {
                self.mesh.hooks().set_mail_turns(session, &turns)?;
                self.mesh.session_states().set_idle(session)?;
            }
        }
        Ok(())
    }

    /// The answers to remind the agent of, now that it stops. Where the text would be its user's, mail comes first: its
    /// hook follows. An error is logged for `doctor`, and does not hold up mail.
    fn answers_due(&self, me: &Agent, has_mail: bool) -> Vec<StoredMessage> {
        let can_be_told = match self.call.continues_as_user_prompt {
            true => !has_mail,
            false => self.call.max_answer_chars.is_some(),
        };
        if !can_be_told {
            return Vec::new();
        }
        answers::unreminded(self.mesh, me).unwrap_or_else(|error| {
            self.leave_trouble(&error);
            Vec::new()
        })
    }

    fn is_worth_a_turn(&self, me: &Agent) -> Result<bool, CommandError> {
        self.tell_of_freed(me);
        if let Err(error) = unread_reports::tell(self.mesh, me) {
            self.leave_trouble(&error);
        }
        wake::is_worth_a_turn(self.mesh, me)
    }

    /// Settles mail that earlier hooks gave to the model: this event may show that the harness kept it in its
    /// transcript, or that it did not. An error is logged for `doctor`; the mail stays offered, and the hook goes on.
    pub(super) fn settle_offers(&self, me: &Agent) {
        if let Err(error) = self.try_to_settle_offers(me) {
            self.leave_trouble(&error);
        }
    }

    fn try_to_settle_offers(&self, me: &Agent) -> Result<(), CommandError> {
        let mut offers = self.mesh.inboxes().offers(me)?;
        if offers.is_empty() {
            return Ok(());
        }
        match &self.call.event.moment {
            HookMoment::Stopping if self.call.event.is_silent => {}
            HookMoment::BeforeTool(_) | HookMoment::AfterTool(_) | HookMoment::Stopping => {
                self.mesh.inboxes().confirm_offers(&offers)?;
            }
            // The user may have taken back the prompt that the mail came with.
            HookMoment::PromptSubmitted { prompt } if self.is_our_mail(prompt)? => {}
            HookMoment::PromptSubmitted { .. } => {
                offers.retain(|offer| offer.may_be_gone(self.call.event.turn.as_deref()));
                self.mesh.inboxes().withdraw_offers(&offers)?;
            }
            HookMoment::SessionStarted | HookMoment::SessionEnded(_) => {
                self.mesh.inboxes().withdraw_offers(&offers)?;
            }
            HookMoment::AskingLeave(_)
            | HookMoment::TurnFailed
            | HookMoment::SubagentStarted
            | HookMoment::SubagentEnded
            | HookMoment::Other => {}
        }
        Ok(())
    }

    /// Whether the prompt is our mail: some harnesses show the mail that kept the agent going as a prompt.
    fn is_our_mail(&self, prompt: &str) -> Result<bool, CommandError> {
        let Some(session) = &self.call.event.session else { return Ok(false) };
        let said = self.mesh.hooks().mail_turns(session)?.said;
        Ok(!said.is_empty() && said != NUDGE && prompt.contains(&said))
    }

    /// Whether this event may carry mail. A command that asks for mail must get it itself, and an interrupted tool has
    /// no result that could carry any.
    fn may_carry_mail(&self) -> bool {
        match &self.call.event.moment {
            HookMoment::BeforeTool(tool) => !planned_changes::may_ask_for_mail(tool),
            HookMoment::AfterTool(tool) => !tool.was_interrupted,
            _ => true,
        }
    }

    /// Says text and mail in one answer. Returns its first line, if anything was said.
    fn speak(
        &self,
        text: Option<String>,
        answer: fn(String) -> HookAnswer,
        say: &mut AnswerFn<'_>,
    ) -> Result<Option<String>, CommandError> {
        let reader = self.me.as_ref().filter(|me| !self.call.event.in_subagent && !me.is_foreign());
        if let Some(me) = reader {
            self.settle_offers(me);
        }
        let Some(room) = self.call.max_answer_chars else { return Ok(None) };
        // Leave at least half of the room for mail.
        let text: String = text.unwrap_or_default().chars().take(room / 2).collect();
        let reader = reader.filter(|_| self.may_carry_mail());
        let spoken = reader.map_or(Ok(None), |me| self.speak_with_mail(me, &text, room, answer, say));
        let mut said = spoken.as_ref().ok().cloned().flatten();
        // The text is said whatever is wrong with the mail.
        if said.is_none() && !text.is_empty() {
            say(&answer(text.clone()));
            said = Some(text);
        }
        spoken?;
        Ok(said.map(|said| said.lines().next().unwrap_or_default().to_string()))
    }

    fn speak_with_mail(
        &self,
        me: &Agent,
        text: &str,
        room: usize,
        answer: fn(String) -> HookAnswer,
        say: &mut AnswerFn<'_>,
    ) -> Result<Option<String>, CommandError> {
        self.tell_of_freed(me);
        if self.mesh.inboxes().unread_count(me)? == 0 {
            return Ok(None);
        }
        let via = Via::new(&format!("hook {} {}", self.call.harness, self.call.name));
        let turn = self.call.event.turn.as_deref();
        let kept = if self.call.keeps_text_after_interrupt {
            OfferRetention::Always
        } else {
            OfferRetention::in_turn(turn)
        };
        let mut reader =
            InboxReader::new(self.op, self.mesh, me.clone(), via, ReaderKind::PersonOrModel).offering(kept);
        let mut waiting = reader.scan()?.waiting;
        let room = room.saturating_sub(text.chars().count() + GAP.len() + NOTE);
        let rest = waiting.split_off(self.how_many_fit(me, &waiting, room)?).len();
        let delivery = self.mesh.inboxes().take(waiting)?;
        if delivery.is_empty() {
            return Ok(None);
        }
        let mut said = None;
        reader.finish(delivery, Acknowledge::Later, &mut |messages: &[RenderedMessage]| {
            let whole = page(text, messages, rest, room);
            let reached = say(&answer(whole.clone()));
            if reached == HandoverOutcome::Delivered {
                said = Some(whole);
            }
            reached
        })?;
        reader.prune()?;
        Ok(said)
    }

    /// How many of the messages fit. The first is cut rather than left out.
    fn how_many_fit(
        &self,
        me: &Agent,
        waiting: &[UnreadMessage],
        room: usize,
    ) -> Result<usize, CommandError> {
        if waiting.len() <= 1 {
            return Ok(waiting.len());
        }
        let first = waiting.iter().take(MOST).map(|waiting| (&waiting.stem, &waiting.message));
        let first: Vec<(&MessageStem, &Message)> = first.collect();
        let (messages, _) =
            rendered_message::write(self.op, self.mesh, (me, ReaderKind::PersonOrModel), &first)?;
        let mut used = SLACK;
        let fits = |rendered: &&RenderedMessage| {
            used += rendered.for_model().chars().count() + GAP.len();
            used <= room
        };
        Ok(messages.iter().take_while(fits).count().max(1))
    }
}

fn page(text: &str, messages: &[RenderedMessage], rest: usize, room: usize) -> String {
    let alone = messages.len() == 1;
    let mail =
        messages.iter().map(|rendered| rendered.for_model_within(if alone { room } else { usize::MAX }));
    let mut parts: Vec<String> = (!text.is_empty()).then(|| text.to_string()).into_iter().collect();
    parts.extend(mail);
    match rest {
        0 => {}
        1 => parts.push("[1 more message: msg read]".to_string()),
        rest => parts.push(format!("[{rest} more messages: msg read]")),
    }
    parts.join(GAP)
}
