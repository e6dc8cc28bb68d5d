//! What a shell completes arguments with, as it is now: agents, reserved patterns, tasks, messages, runs and more.
//!
//! A lookup changes nothing, waits for no lock, and is not a sign of life of the caller. It takes a [`Context`] instead
//! of an op, so it can't leave effects either. What it returns was written by peers: whoever offers it has to quote it.

mod here;
mod mail;
mod people;
mod work;

use super::context::Context;
use super::error::CommandError;
use crate::domain::escape_invisible;
use crate::store::limit_read_retries;

/// Maximum number of values.
pub const MOST_VALUES: usize = 200;
/// Longer values are not offered, in bytes.
const LONGEST: usize = 512;
/// Maximum length of what is said about a value, in characters.
const LONGEST_ABOUT: usize = 72;

/// A kind of argument that names something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LiveValue {
    /// The names of live agents.
    Agents,
    /// The same, then those that are gone.
    KnownAgents,
    /// Groups of agents.
    Groups,
    /// The patterns in this project that the caller may contest, as they are written from here.
    Contestable,
    /// Those that the caller holds.
    OwnReservations,
    /// Those that anybody holds.
    Reservations,
    /// The ids of open predictions in this repository.
    Predictions,
    /// The ids of runs, newest first.
    Runs,
    /// The ids of runs that go on.
    OpenRuns,
    /// The tasks of the caller's spec, or of all known specs: those that can be claimed.
    OpenTasks,
    ClaimedTasks,
    /// Those that can be completed.
    UnfinishedTasks,
    DoneTasks,
    AllTasks,
    /// The files of known specs.
    Specs,
    /// Messages that the caller sent or received, newest first.
    Messages,
    /// Those of other agents.
    Received,
    Sent,
    /// Those that wait for an ack.
    OwedAcks,
    /// The profiles of workers.
    Profiles,
    /// The names of records of knowledge.
    Records,
    /// The branches of this repository.
    Branches,
}

/// What is asked, and what else is on the line.
#[derive(Clone, Copy, Debug)]
pub struct LiveQuestion<'a> {
    pub kind: LiveValue,
    /// The spec that is named.
    pub spec: Option<&'a str>,
    /// The agent whose reservations are meant.
    pub holder: Option<&'a str>,
}

/// A value, and what a person should know about it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveCandidate {
    pub value: String,
    /// One line without invisible characters; may be empty.
    pub about: String,
}

impl LiveCandidate {
    pub(in crate::ops) fn new(value: impl Into<String>, about: &str) -> Self {
        Self { value: value.into(), about: one_line(about) }
    }

    /// What can't be typed, or would be taken for an option or a home directory, is not offered.
    fn can_be_offered(&self) -> bool {
        let value = self.value.as_str();
        !value.is_empty()
            && value.len() <= LONGEST
            && !value.starts_with(['-', '~'])
            && escape_invisible(value) == value
    }
}

/// The first words of a text on one line, with invisible characters written out.
fn one_line(text: &str) -> String {
    // Texts may be long: no more is looked at than can be shown.
    let start: String = text.chars().take(8 * LONGEST_ABOUT).collect();
    let words: Vec<&str> = start.split_whitespace().collect();
    let line = escape_invisible(&words.join(" ")).into_owned();
    if line.chars().count() <= LONGEST_ABOUT && start.len() == text.len() {
        return line;
    }
    line.chars().take(LONGEST_ABOUT - 1).chain(['…']).collect()
}

/// The values there are now whose beginning is `typed`, at most [`MOST_VALUES`].
pub fn live_values(
    ctx: &Context,
    question: LiveQuestion<'_>,
    typed: &str,
) -> Result<Vec<LiveCandidate>, CommandError> {
    limit_read_retries();
    let mut found = look(ctx, question)?;
    found.retain(|candidate| candidate.value.starts_with(typed) && candidate.can_be_offered());
    let mut known = std::collections::HashSet::new();
    found.retain(|candidate| known.insert(candidate.value.clone()));
    found.truncate(MOST_VALUES);
    Ok(found)
}

fn look(ctx: &Context, question: LiveQuestion<'_>) -> Result<Vec<LiveCandidate>, CommandError> {
    match question.kind {
        LiveValue::Profiles => return Ok(here::profiles(ctx)),
        LiveValue::Records => return here::records(ctx),
        LiveValue::Branches => return Ok(here::branches(ctx)),
        _ => {}
    }
    let Some(mesh) = ctx.mesh()? else { return Ok(Vec::new()) };
    match question.kind {
        LiveValue::Agents => people::agents(&mesh),
        LiveValue::KnownAgents => people::known_agents(&mesh),
        LiveValue::Groups => people::groups(&mesh),
        LiveValue::Contestable => people::contestable(ctx, &mesh, question.holder),
        LiveValue::OwnReservations => people::own_reservations(ctx, &mesh),
        LiveValue::Reservations => people::reservations(ctx, &mesh),
        LiveValue::Messages | LiveValue::Received | LiveValue::Sent | LiveValue::OwedAcks => {
            mail::messages(ctx, &mesh, question.kind)
        }
        _ => work::look(ctx, &mesh, question),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_about_a_value_is_one_short_line() {
        assert_eq!(one_line("a\n\tb\u{1b}[31m"), "a b\\u{1b}[31m");
        assert_eq!(one_line(&"x".repeat(72)), "x".repeat(72));
        assert_eq!(one_line(&"x ".repeat(500)).chars().count(), LONGEST_ABOUT);
        assert!(one_line(&" ".repeat(100_000)).chars().count() <= 1);
    }

    #[test]
    fn what_cannot_be_typed_is_not_offered() {
        for bad in ["", "-x", "~root", "a\nb", "a\u{1b}b", "a\u{202e}b", &"x".repeat(513)] {
            assert!(!LiveCandidate::new(bad, "").can_be_offered(), "{bad:?}");
        }
        assert!(LiveCandidate::new("src/$(touch x)", "").can_be_offered());
    }
}
