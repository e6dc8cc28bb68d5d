//! What differs between harnesses on the screen of a terminal: how it looks in each state, and which keys do what.

use std::time::Duration;

use crate::domain::screens::{Dialog, ScreenKey, ScreenReading, ScreenText};

use super::prompt_shape::without_blanks;

/// How the screen of a harness is read and answered.
pub trait ScreenReader: Sync {
    /// Whether screens of this version were recorded. Others are read too, and it is said.
    fn is_known(&self, version: &str) -> bool;

    /// What the screen says. Waiting beats working, which beats a prompt; only what stands below the user's last words
    /// counts.
    fn read(&self, screen: &ScreenText) -> ScreenReading;

    /// Whether a prompt line with this draft holds exactly the text that was pasted, also if it shows only how long that
    /// is.
    fn is_our_paste(&self, draft: &str, text: &str) -> bool {
        is_shown_as_typed(draft, text)
    }

    /// What to press next for this choice of a dialog: one key, because the dialog may close in between. After it the screen
    /// has to be read again: Enter is pressed only if it shows that choice as selected.
    fn answer_step(&self, dialog: &Dialog, choice: usize) -> Option<AnswerStep> {
        answer_step(dialog, choice, [ScreenKey::Up, ScreenKey::Down])
    }

    /// What ends a running turn.
    fn interrupt_keys(&self) -> &'static [ScreenKey] {
        &[ScreenKey::Escape]
    }

    /// Whether its hook for a session's start runs when it is launched. For others it comes with the first prompt, and the
    /// sign that they are ready is an empty prompt line.
    fn starts_session_at_launch(&self) -> bool;

    /// How long it has to rest between a paste and Enter.
    fn paste_rest(&self) -> Duration {
        Duration::from_millis(150)
    }
}

/// What to press for a choice.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AnswerStep {
    /// This moves the selection by one.
    Move(ScreenKey),
    /// The choice is selected, and this takes it.
    Take(ScreenKey),
}

/// The step for a dialog whose selection is moved by these keys, backwards and forwards, and taken by Enter. `None` if
/// there is no such choice, or nobody knows which one is selected.
pub(super) fn answer_step(
    dialog: &Dialog,
    choice: usize,
    [back, forth]: [ScreenKey; 2],
) -> Option<AnswerStep> {
    dialog.choices.get(choice)?;
    let selected = dialog.selected()?;
    let key = if choice < selected { back } else { forth };
    Some(if choice == selected { AnswerStep::Take(ScreenKey::Enter) } else { AnswerStep::Move(key) })
}

/// Whether a draft shows this text, wherever the screen wraps it.
pub(super) fn is_shown_as_typed(draft: &str, text: &str) -> bool {
    without_blanks(draft) == without_blanks(text)
}

/// The numbers that a count of this text may be: programs count with or without a line feed at its end, and characters
/// by different units.
#[derive(Clone, Debug)]
pub(super) struct PasteCounts {
    line_feeds: [usize; 2],
    characters: [usize; 4],
    pub(super) bytes: usize,
}

impl PasteCounts {
    pub(super) fn of(text: &str) -> Self {
        let trimmed = text.strip_suffix('\n').unwrap_or(text);
        let units = |text: &str| text.encode_utf16().count();
        Self {
            line_feeds: [text, trimmed].map(|text| text.matches('\n').count()),
            characters: [text.chars().count(), trimmed.chars().count(), units(text), units(trimmed)],
            bytes: text.len(),
        }
    }

    /// Whether the text has this many line feeds.
    pub(super) fn has_line_feeds(&self, count: &str) -> bool {
        count.parse().is_ok_and(|count: usize| self.line_feeds.contains(&count))
    }

    /// Whether the text has this many lines.
    pub(super) fn has_lines(&self, count: &str) -> bool {
        count
            .parse()
            .is_ok_and(|count: usize| count.checked_sub(1).is_some_and(|it| self.line_feeds.contains(&it)))
    }

    /// Whether the text has this many characters.
    pub(super) fn has_characters(&self, count: &str) -> bool {
        count.parse().is_ok_and(|count: usize| self.characters.contains(&count))
    }
}

/// What stands between these two parts of a text, if it is all that there is.
pub(super) fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.trim().strip_prefix(start)?.strip_suffix(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::screens::{CursorPlace, DialogChoice, DialogKind};
    use crate::harness::SUPPORTED;

    /// Parts of lines that mean something to one of the readers.
    const PARTS: [&str; 36] = [
        "",
        " ",
        "   ",
        "❯\u{a0}",
        "❯ ",
        "› ",
        "! ",
        " > ",
        "● ",
        "→ ",
        "1. Yes",
        "2. No",
        "3. ",
        "?",
        "日本",
        "────────────────────────",
        "▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔",
        "▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄",
        "▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀",
        "╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀",
        "╭──────╮",
        "╰──────╯",
        "│ ",
        "┃",
        "┃  ",
        "△ Permission required",
        "▣  Build",
        "⇆ select",
        "Esc to cancel",
        "Press enter to confirm",
        "enter to select",
        "Enter to select",
        "88%)",
        "0.1%/128k",
        "Context window: 5% left",
        "\u{1b}[2m",
    ];

    proptest! {
        #[test]
        fn any_screen_is_read(
            lines in prop::collection::vec(prop::collection::vec(prop::sample::select(&PARTS[..]), 0..4), 0..30),
            column in 0_usize..40,
            row in 0_usize..30,
        ) {
            let text: String = lines.iter().map(|parts| parts.concat() + "\n").collect();
            let screen = ScreenText::of_capture(&text).with_cursor(CursorPlace { column, row });
            for reader in SUPPORTED.iter().filter_map(|harness| harness.screen()) {
                let reading = reader.read(&screen);
                prop_assert!(reading.dialog.is_none() || !reading.takes_prompt());
                prop_assert!(reading.state.is_some() || reading == ScreenReading::default());
            }
        }
    }

    #[test]
    fn whoever_can_be_started_can_be_read() {
        for harness in SUPPORTED {
            assert_eq!(harness.worker().is_some(), harness.screen().is_some(), "{}", harness.id());
        }
    }

    fn dialog(selected: Option<usize>) -> Dialog {
        let choice = |i| DialogChoice { is_selected: selected == Some(i), ..DialogChoice::default() };
        Dialog {
            kind: DialogKind::Other,
            question: String::new(),
            about: Vec::new(),
            choices: (0..3).map(choice).collect(),
        }
    }

    #[test]
    fn enter_is_pressed_only_on_the_selected_choice() {
        use ScreenKey::{Down, Enter, Up};
        let step = |selected, choice| answer_step(&dialog(selected), choice, [Up, Down]);
        assert_eq!(step(Some(0), 2), Some(AnswerStep::Move(Down)));
        assert_eq!(step(Some(2), 1), Some(AnswerStep::Move(Up)));
        assert_eq!(step(Some(1), 1), Some(AnswerStep::Take(Enter)));
        assert_eq!(step(None, 1), None);
        assert_eq!(step(Some(0), 3), None);
    }

    #[test]
    fn counts_of_a_paste() {
        let counts = PasteCounts::of("one\ntwo 🙂\n");
        assert!(counts.has_line_feeds("1") && counts.has_line_feeds("2") && !counts.has_line_feeds("3"));
        assert!(counts.has_lines("2") && counts.has_lines("3") && !counts.has_lines("0"));
        assert!(counts.has_characters("10") && counts.has_characters("9") && counts.has_characters("11"));
        assert!(!counts.has_characters("8") && !counts.has_characters("x"));
    }
}
