//! A run in a few words: how long it took, what it used, and in which order runs are shown.

use jiff::Timestamp;

use super::pane::RunDialog;
use super::question::RunQuestion;
use super::run::Run;
use super::state::RunState;
use super::usage::Cost;
use crate::domain::format_duration;

impl Run {
    /// How long it has taken: `12 s`, `3 min`.
    pub fn took(&self, now: Timestamp) -> String {
        let since = self.started_at.unwrap_or(self.queued_at);
        format_duration(self.ended_at.unwrap_or(now).duration_since(since))
    }

    /// What it used, as far as that is known: `12.3k tokens`, `$0.02`, `$0.02 computed`, `cost unknown`.
    pub fn used(&self) -> Vec<String> {
        let tokens = self.usage.tokens().map(|tokens| match tokens {
            0..1_000 => format!("{tokens} tokens"),
            1_000..1_000_000 => format!("{}.{}k tokens", tokens / 1_000, tokens % 1_000 / 100),
            _ => format!("{}.{:02}M tokens", tokens / 1_000_000, tokens % 1_000_000 / 10_000),
        });
        let cost = match self.cost {
            Cost::Reported(amount) => Some(amount.to_string()),
            Cost::Computed(amount) => Some(format!("{amount} computed")),
            // Where nothing at all is known, there is nothing to say.
            Cost::Unknown => tokens.as_ref().map(|_| "cost unknown".to_string()),
        };
        tokens.into_iter().chain(cost).collect()
    }

    /// Whether its worker is in tmux and has ended a turn.
    pub fn has_ended_turn(&self) -> bool {
        self.pane.as_ref().is_some_and(|pane| pane.turns > 0)
    }

    /// What there is to say about it beside its state: the question that is open, what it does now, or why it ended as
    /// it did.
    pub fn remark(&self) -> Option<String> {
        let question = self.question.as_ref().map(RunQuestion::line);
        let dialog = self.dialog.as_ref().map(RunDialog::line);
        let doing = self.doing.clone().filter(|_| !self.state.is_final());
        question.or(dialog).or(doing).or_else(|| self.reason.clone())
    }

    /// The place in a list that has what needs somebody first: a question that is open, a run that did not get done,
    /// what goes on, the rest.
    pub fn rank(&self) -> u8 {
        match self.state {
            RunState::Waiting => 0,
            state if state.is_final() && state.needs_attention() => 1,
            state if !state.is_final() => 2,
            _ => 3,
        }
    }
}
