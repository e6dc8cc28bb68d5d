//! What differs between harnesses on the screen of a terminal: how it looks in each state, and which keys do what.

use std::time::Duration;

use crate::domain::screens::{Dialog, ScreenKey, ScreenReading, ScreenText, without_blanks};

use super::worker_output::is_recorded;

/// How the screen of a harness is read and answered.
pub trait ScreenReader: Sync {
    /// The versions whose screens were recorded, as in `fixtures/screens`.
    fn recorded(&self) -> &'static [&'static str];

    /// Whether screens of this version are known. Others are read too, and it is said.
    fn is_known(&self, version: &str) -> bool {
        is_recorded(version, self.recorded())
    }

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
    use std::collections::BTreeSet;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::screens::{CursorPlace, DialogChoice, DialogKind, ScreenState};
    use crate::harness::SUPPORTED;
    use crate::harness::screen_fixture::recorded;

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
                prop_assert!(reading.state != Some(ScreenState::Working) || reading.is_busy());
            }
        }
    }

    /// The names of what is in this folder of the recordings.
    fn recordings(folder: &str) -> BTreeSet<String> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/screens").join(folder);
        let entries = std::fs::read_dir(dir).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// The folders of the recordings: a client and its version each.
    fn recorded_clients() -> BTreeSet<String> {
        recordings("").into_iter().filter(|name| !name.ends_with(".md")).collect()
    }

    /// Whether a line has these words, with `?` for any character.
    fn has_words(line: &str, words: &str) -> bool {
        let (line, words): (Vec<char>, Vec<char>) = (line.chars().collect(), words.chars().collect());
        let is_same =
            |part: &[char]| part.iter().zip(&words).all(|(c, wanted)| *wanted == '?' || c == wanted);
        line.windows(words.len().max(1)).any(is_same)
    }

    /// tmux presses Escape only while it shows them.
    #[test]
    fn what_says_that_a_turn_runs_is_on_the_screen_and_on_no_dialog() {
        for harness in SUPPORTED {
            let Some(reader) = harness.screen() else { continue };
            let folder = format!("{}-{}", harness.id(), reader.recorded()[0]);
            let screens: Vec<(String, ScreenText)> = recordings(&folder)
                .into_iter()
                .map(|name| (name.clone(), recorded(&folder, &name)))
                .collect();
            let busy = |(name, screen): &(String, ScreenText)| {
                let words = reader.read(screen).busy_line?;
                let is_shown = screen.lines().iter().any(|line| has_words(line.text(), &words));
                assert!(is_shown && words.len() > 5, "{folder}/{name}: {words:?}");
                Some((name.clone(), words))
            };
            let busy: Vec<(String, String)> = screens.iter().filter_map(busy).collect();
            let is_working = |name: &String| name.starts_with("working");
            let named = screens.iter().filter(|(name, _)| is_working(name)).count();
            assert!(
                named > 0 && busy.iter().filter(|(name, _)| is_working(name)).count() == named,
                "{folder}"
            );
            for (name, screen) in &screens {
                let is_asking = reader.read(screen).dialog.is_some();
                let has_any = |line: &str| busy.iter().any(|(_, words)| has_words(line, words));
                let is_there = screen.lines().iter().any(|line| has_any(line.text()));
                assert!(!(is_asking && is_there), "{folder}/{name}");
            }
        }
    }

    /// The page says which states were captured. Each column is a folder, and each row what its files begin with.
    #[test]
    fn the_page_names_what_was_captured_and_nothing_else() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screens.md");
        let page = std::fs::read_to_string(page).unwrap();
        let mut lines = page.lines().skip_while(|line| !line.starts_with("| state | Claude")).map(cells);
        let head = lines.next().expect("the table of versions");
        let folder = |title: &&str| {
            let (title, version) = title.rsplit_once(' ').unwrap();
            let harness = SUPPORTED.iter().find(|harness| harness.title() == title).unwrap();
            format!("{}-{version}", harness.id())
        };
        let columns: Vec<String> = head[1..].iter().map(folder).collect();
        assert_eq!(columns.iter().cloned().collect::<BTreeSet<String>>(), recorded_clients());
        let rows: Vec<Vec<&str>> = lines.skip(1).take_while(|cells| !cells.is_empty()).collect();
        let states: Vec<&str> =
            rows.iter().map(|cells| cells[0].split(' ').next().unwrap().trim_matches('`')).collect();
        for state in [
            "starting",
            "working",
            "waiting",
            "answered",
            "idle",
            "interrupted",
            "ended",
            "killed",
            "limited",
            "login",
        ] {
            assert!(states.contains(&state), "no row for {state}");
        }
        for (state, cells) in states.iter().zip(&rows) {
            for (column, cell) in columns.iter().zip(&cells[1..]) {
                let is_of_state = |name: &String| name.split(['-', '.']).next() == Some(*state);
                let is_there = recordings(column).iter().any(is_of_state);
                assert_eq!(cell.contains("captured"), is_there, "{column}, {state}: {cell}");
            }
            assert_eq!(cells.len(), head.len(), "{state}");
        }
    }

    /// The cells of a line of a table; none for another line.
    fn cells(line: &str) -> Vec<&str> {
        let line = line.strip_prefix('|').and_then(|line| line.strip_suffix('|'));
        line.map(|line| line.split('|').map(str::trim).collect()).unwrap_or_default()
    }

    #[test]
    fn the_recorded_versions_are_those_of_the_recordings() {
        let named = SUPPORTED.iter().filter_map(|harness| Some((harness.id(), harness.screen()?)));
        let listed = named.flat_map(|(id, reader)| {
            reader.recorded().iter().map(move |version| format!("{id}-{version}")).collect::<Vec<_>>()
        });
        assert_eq!(listed.collect::<BTreeSet<String>>(), recorded_clients());
    }

    #[test]
    fn versions_with_the_same_minor_number_are_known() {
        for harness in SUPPORTED {
            let Some(reader) = harness.screen() else { continue };
            let recorded = reader.recorded()[0];
            let (minor, patch) = recorded.rsplit_once('.').unwrap();
            let (major, number) = minor.split_once('.').unwrap();
            let next = number.parse::<u32>().unwrap() + 1;
            assert!(reader.is_known(recorded) && reader.is_known(&format!("{minor}.9{patch}")));
            for other in [format!("{major}.{next}.{patch}"), format!("9{minor}.0"), String::new()] {
                assert!(!reader.is_known(&other), "{other}");
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
