//! The rows about the selected agent, below the list of agents: what it does in tmux, and what it is working on.

use super::model::{HeadingsView, SightView};

/// The most rows of an agent's screen.
pub(super) const SCREEN_ROWS: usize = 6;

/// How many rows there are below the title, if there is room for them.
pub(super) fn count(headings: Option<&HeadingsView>, sight: Option<&SightView>) -> usize {
    let of_sight = sight.map_or(0, |sight| sight_rows(sight).len() + sight.screen.len().min(SCREEN_ROWS));
    of_sight + headings.map_or(0, |headings| headings.rows.len())
}

/// What an agent in tmux does, without its screen.
pub(super) fn sight_rows(sight: &SightView) -> Vec<(&'static str, String)> {
    let state = std::iter::once(&sight.state).chain(&sight.place).cloned().collect::<Vec<_>>().join(" · ");
    let question = sight.question.iter().map(|(question, choices)| {
        let choices: Vec<&str> = choices.iter().map(|choice| choice.trim()).collect();
        ("asks", format!("{question} {}", choices.join(" ")))
    });
    let no_screen = sight.no_screen.iter().map(|why| ("no screen", why.clone()));
    std::iter::once(("state", state)).chain(question).chain(no_screen).collect()
}
