//! What the tests of the screen readers share: recorded screens of the real clients, and a line that says what was read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::domain::screens::{
    CursorPlace, Dialog, PromptLine, ScreenKey, ScreenReading, ScreenText, ScreenTrouble,
};

use super::screen::{AnswerStep, ScreenReader};

fn recordings(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/screens").join(version)
}

/// A recorded screen: `NAME.txt` has no attributes, `NAME.ansi.txt` has them.
#[track_caller]
pub(in crate::harness) fn recorded(version: &str, name: &str) -> ScreenText {
    let text = std::fs::read_to_string(recordings(version).join(name)).unwrap();
    if name.ends_with(".ansi.txt") { ScreenText::of_capture(&text) } else { ScreenText::plain(&text) }
}

/// A recorded screen as plain text, to be changed by a test.
#[track_caller]
pub(in crate::harness) fn recorded_text(version: &str, name: &str) -> String {
    recorded(version, name).text()
}

/// What was read, in one line: state, prompt line, dialog with its choices (`*` is selected), and what else there is.
pub(in crate::harness) fn summary(reading: &ScreenReading) -> String {
    let mut parts = vec![reading.state.map_or("none", |state| state.name()).to_owned()];
    parts.push(match &reading.prompt {
        PromptLine::Empty => "empty".to_owned(),
        PromptLine::Hidden => "hidden".to_owned(),
        PromptLine::Draft(text) => format!("draft {text:?}"),
    });
    if let Some(dialog) = &reading.dialog {
        let mark = |is_selected: bool| if is_selected { "*" } else { "" };
        let label = |i: usize| format!("{}{}", mark(dialog.choices[i].is_selected), dialog.choices[i].label);
        let labels: Vec<String> = (0..dialog.choices.len()).map(label).collect();
        parts.push(format!("{}: {} [{}]", dialog.kind.name(), dialog.question, labels.join("|")));
    }
    parts.extend(reading.context_left.map(|left| format!("{left}% left")));
    parts.extend(reading.limited_until.as_ref().map(|until| format!("until {until}")));
    parts.extend(reading.trouble.as_ref().map(|trouble| match trouble {
        ScreenTrouble::Login(words) => format!("login: {words}"),
        ScreenTrouble::Error(words) => format!("error: {words}"),
    }));
    parts.join(" · ")
}

/// Reads every screen of a version and compares it with the table, which has to name each file.
#[track_caller]
pub(in crate::harness) fn check_table(reader: &dyn ScreenReader, version: &str, table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (name, expected) in table {
        let read = summary(&reader.read(&recorded(version, name)));
        if read != *expected {
            wrong.push(format!("{name}\n  expected {expected}\n  read     {read}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let listed: BTreeSet<String> = table.iter().map(|(name, _)| (*name).to_owned()).collect();
    let entries = std::fs::read_dir(recordings(version)).unwrap();
    let there: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(there, listed);
    let (_, number) = version.split_once('-').unwrap();
    assert!(reader.recorded().contains(&number));
}

/// What is read with the cursor at this place.
#[track_caller]
pub(in crate::harness) fn with_cursor(
    reader: &dyn ScreenReader,
    version: &str,
    name: &str,
    (column, row): (usize, usize),
) -> PromptLine {
    reader.read(&recorded(version, name).with_cursor(CursorPlace { column, row })).prompt
}

/// A model's answer that quotes a dialog is no dialog: these lines are put into the conversation of an idle screen, in
/// place of a line of it, and nothing else is read.
#[track_caller]
pub(in crate::harness) fn check_quote(
    reader: &dyn ScreenReader,
    version: &str,
    (name, line): (&str, &str),
    quote: &str,
) {
    let idle = recorded_text(version, name);
    assert!(idle.contains(line), "{line} is not on the screen");
    let quoted = idle.replacen(line, quote, 1);
    let read = reader.read(&ScreenText::plain(&quoted));
    assert_eq!(summary(&read), summary(&reader.read(&ScreenText::plain(&idle))), "{quoted}");
}

/// The dialog on a recorded screen.
#[track_caller]
pub(in crate::harness) fn dialog_on(reader: &dyn ScreenReader, version: &str, name: &str) -> Dialog {
    reader.read(&recorded(version, name)).dialog.unwrap()
}

/// The keys for the choice that these words name.
#[track_caller]
pub(in crate::harness) fn step_for(reader: &dyn ScreenReader, dialog: &Dialog, words: &str) -> AnswerStep {
    reader.answer_step(dialog, dialog.choice_named(words).unwrap()).unwrap()
}

/// The step that takes what is selected.
pub(in crate::harness) fn takes() -> AnswerStep {
    AnswerStep::Take(ScreenKey::Enter)
}
