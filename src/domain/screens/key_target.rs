//! The part of a screen that a key is meant for.

use super::{PromptLine, ScreenLine, ScreenReading, ScreenText};

/// How many lines of one part are compared.
const MOST_LINES: usize = 8;

impl ScreenText {
    /// The lines that a key is meant for: what the dialog is about and its selected choice, the text in the prompt line, or
    /// what says that a turn runs. Several dialogs of one program, and its turns, have their cursor in one place.
    pub fn key_target<'a>(&'a self, reading: &'a ScreenReading) -> Vec<&'a str> {
        match (&reading.dialog, &reading.prompt) {
            (Some(dialog), _) => {
                let about = format!("{} {}", dialog.about.concat(), dialog.question);
                let choice = dialog.choices.iter().find(|choice| choice.is_selected);
                let choice =
                    choice.map(|it| format!("{}{}{}", it.key, it.label, it.note)).unwrap_or_default();
                [self.lines_within(&about), self.lines_within(&choice)].concat()
            }
            (None, PromptLine::Draft(draft)) => self.lines_within(draft),
            (None, PromptLine::Empty | PromptLine::Hidden) => {
                reading.busy_line.as_deref().into_iter().collect()
            }
        }
    }

    /// The last lines whose letters are a part of these words, the lowest first.
    pub fn lines_within(&self, words: &str) -> Vec<&str> {
        let words = letters(words);
        let is_within = |line: &&str| {
            let its = letters(line);
            !its.is_empty() && words.contains(&its)
        };
        self.lines().iter().map(ScreenLine::text).rev().filter(is_within).take(MOST_LINES).collect()
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::screens::{Dialog, DialogChoice, DialogKind};

    #[test]
    fn a_key_is_meant_for_a_dialog_or_for_the_text_in_the_prompt_line() {
        let screen = ScreenText::plain(
            "● Said.\n│ rm -r │\n│ build │\n Proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel",
        );
        let choice = |key: &str, label: &str| DialogChoice {
            key: key.to_string(),
            label: label.to_string(),
            is_selected: key == "1",
            ..DialogChoice::default()
        };
        let dialog = Dialog {
            kind: DialogKind::Permission,
            question: "Proceed?".to_string(),
            about: vec!["rm -r build".to_string(), "Proceed?".to_string()],
            choices: vec![choice("1", "Yes"), choice("2", "No")],
        };
        let reading = ScreenReading { dialog: Some(dialog), ..ScreenReading::default() };
        assert_eq!(screen.key_target(&reading), [" Proceed?", "│ build │", "│ rm -r │", " ❯ 1. Yes"]);
        let screen = ScreenText::plain("● Said.\n❯ one\n  two\n? for shortcuts");
        let prompt = PromptLine::Draft("one\ntwo".to_string());
        let reading = ScreenReading { prompt, ..ScreenReading::default() };
        assert_eq!(screen.key_target(&reading), ["  two", "❯ one"]);
        assert!(screen.key_target(&ScreenReading::default()).is_empty());
        let busy_line = Some("Working (?s)".to_string());
        let reading = ScreenReading { busy_line, prompt: PromptLine::Empty, ..ScreenReading::default() };
        assert_eq!(screen.key_target(&reading), ["Working (?s)"]);
    }
}
