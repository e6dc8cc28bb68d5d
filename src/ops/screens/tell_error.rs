//! What whoever tells an agent something is told instead, if that was not typed.

use crate::domain::runs::Run;
use crate::domain::screens::Dialog;
use crate::domain::{AgentName, quote_code, quote_sentence};
use crate::sys::tmux::TmuxError;

use super::typing_error::{PromptObstacle, TypingError};
use crate::ops::error::{CommandError, CommandErrorKind};

/// The error for a tmux server that does not tell of the terminal of a run's worker.
pub(super) fn unanswered(run: &Run, error: TmuxError) -> CommandError {
    CommandError::new(CommandErrorKind::Io, format!("run {}: {error}", run.id))
}

pub(super) fn not_joined(name: &str) -> CommandError {
    let text = format!("the worker of {name} has not joined yet");
    CommandError::new(CommandErrorKind::NoScreen, text).hint("`msg runs show` says what it waits for")
}

/// The error for something that was not typed, or not confirmed.
pub(super) fn refused(name: &AgentName, error: &TypingError) -> CommandError {
    let new = |kind| CommandError::new(kind, format!("{name}: {error}"));
    let look = format!("look at it with `msg look {name}`");
    match error {
        TypingError::Obstacle(obstacle) => {
            let error = new(CommandErrorKind::NotAtPrompt).fact("reason", obstacle.name());
            match obstacle {
                PromptObstacle::Turn => error.hint(format!(
                    "wait for its end with `msg wait --for {name} --until idle`, or write to it with `msg send`"
                )),
                PromptObstacle::Dialog(_) => error.hint(format!("{look}, then answer it with `--answer`")),
                PromptObstacle::ScrolledBack => error.hint("leave tmux's copy mode in that pane (q)"),
                PromptObstacle::Draft => error.hint("nothing was typed; a person has to send or remove the draft"),
                PromptObstacle::Limit | PromptObstacle::UnknownScreen | PromptObstacle::Changed => {
                    error.hint(look)
                }
            }
        }
        TypingError::NotShown | TypingError::NotTaken | TypingError::TurnBegan | TypingError::Unanswered => {
            new(CommandErrorKind::NotConfirmed)
                .hint(format!("{look} before you repeat it: the text may still be in its prompt line"))
        }
        TypingError::ActsAsKey(_) => new(CommandErrorKind::InvalidValue),
        TypingError::NotInterrupted(Some(PromptObstacle::Dialog(dialog))) => {
            with_dialog(new(CommandErrorKind::NotConfirmed), dialog).hint(look)
        }
        TypingError::NotAnswered | TypingError::NotInterrupted(_) => {
            new(CommandErrorKind::NotConfirmed).hint(look)
        }
        TypingError::NoDialog => new(CommandErrorKind::NoQuestion).hint(look),
        TypingError::AnotherDialog(dialog) => {
            with_dialog(new(CommandErrorKind::ChangedMeanwhile), dialog).hint(look)
        }
        TypingError::NoKeys => {
            new(CommandErrorKind::NotConfirmed).hint("answer it in its own terminal: `tmux attach` shows it")
        }
        TypingError::NoTurn => new(CommandErrorKind::NoTurn),
        TypingError::Tmux(TmuxError::NoPane(_) | TmuxError::NoServer(_) | TmuxError::Dead(_)) => {
            new(CommandErrorKind::NotRunning)
        }
        TypingError::Tmux(_) | TypingError::Locked(_) | TypingError::Store(_) | TypingError::GivenUp => {
            new(CommandErrorKind::Io)
        }
    }
}

/// The error for an answer that is none of the choices, or several.
pub(super) fn no_such_choice(words: &str, dialog: &Dialog) -> CommandError {
    let shown = dialog.choices.iter().map(|choice| match choice.key.as_str() {
        "" => quote_sentence(&choice.label),
        key => format!("{} {}", quote_code(key), quote_sentence(&choice.label)),
    });
    let text = format!(
        "{} is not exactly one of the choices: {}",
        quote_code(words),
        shown.collect::<Vec<_>>().join(", ")
    );
    let has_keys = dialog.choices.iter().any(|choice| !choice.key.is_empty());
    let hint = match has_keys {
        true => "give the number of a choice, or the beginning of its words",
        false => "give the beginning of the words of a choice: they have no numbers",
    };
    with_dialog(CommandError::new(CommandErrorKind::InvalidValue, text), dialog).hint(hint)
}

/// Adds what the dialog says.
pub(super) fn with_dialog(error: CommandError, dialog: &Dialog) -> CommandError {
    let labels = dialog.choices.iter().map(|choice| choice.label.clone()).collect();
    let error = error.fact("dialog", dialog.id()).fact("question", dialog.question.as_str());
    error.facts("choices", labels)
}
