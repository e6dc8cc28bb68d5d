//! Dialogs: what a program asks its user, and the choices.

use crate::domain::sha256;

/// A dialog on a screen.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Dialog {
    pub kind: DialogKind,
    /// The question in one line, or the title if it asks nothing.
    pub question: String,
    /// What it is about: every line above the choices, such as the command that is to run.
    pub about: Vec<String>,
    pub choices: Vec<DialogChoice>,
}

/// What a dialog asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DialogKind {
    /// Whether the files here may be trusted.
    Trust,
    /// Whether a tool may be used.
    Permission,
    /// A question of the model.
    Question,
    Login,
    /// Whether a new version is to be installed.
    Update,
    Other,
}

impl DialogKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Trust => "trust",
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Login => "login",
            Self::Update => "update",
            Self::Other => "other",
        }
    }

    /// Those that only people decide: they are about what may run on this machine, and under whose account.
    pub const FOR_PEOPLE: [Self; 3] = [Self::Trust, Self::Login, Self::Update];

    /// Whether only people decide it.
    pub fn is_for_people(self) -> bool {
        Self::FOR_PEOPLE.contains(&self)
    }
}

/// One of the choices.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DialogChoice {
    /// What the screen has in front of it: `2`. Empty if there is nothing.
    pub key: String,
    pub label: String,
    /// What else the screen says about it.
    pub note: String,
    pub is_selected: bool,
}

/// What a choice means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChoiceMeaning {
    /// It allows what is asked, this time.
    AllowsOnce,
    /// It allows more than what is asked.
    AllowsMore,
    Refuses,
    Other,
}

impl DialogChoice {
    /// What it means, by its words.
    pub fn meaning(&self) -> ChoiceMeaning {
        const REFUSING: [&str; 8] = ["no", "reject", "deny", "don't", "quit", "cancel", "skip", "stop"];
        const ALLOWING: [&str; 4] = ["yes", "allow", "trust", "confirm"];
        const LASTING: [&str; 7] =
            ["always", "don't ask", "session", "remember", "parent", ", and ", " all "];
        let words = format!("{} ", self.label.to_lowercase().replace('’', "'"));
        let first = words.split(|c: char| !c.is_alphanumeric() && c != '\'').next().unwrap_or_default();
        if REFUSING.contains(&first) {
            ChoiceMeaning::Refuses
        } else if !ALLOWING.contains(&first) {
            ChoiceMeaning::Other
        } else if LASTING.iter().any(|mark| words.contains(mark)) {
            ChoiceMeaning::AllowsMore
        } else {
            ChoiceMeaning::AllowsOnce
        }
    }
}

impl Dialog {
    /// Identifies it: the same as long as it asks the same with the same choices, whichever of them is selected and
    /// however wide the screen is.
    pub fn id(&self) -> String {
        let mut parts = vec![self.kind.name().to_owned(), without_spaces(&self.about.concat())];
        for choice in &self.choices {
            parts.push(without_spaces(&format!("{}{}{}", choice.key, choice.label, choice.note)));
        }
        sha256(parts.join("\n").as_bytes()).chars().take(8).collect()
    }

    /// The choice that is selected.
    pub fn selected(&self) -> Option<usize> {
        self.choices.iter().position(|choice| choice.is_selected)
    }

    /// The only choice with this meaning.
    pub fn choice_that(&self, meaning: ChoiceMeaning) -> Option<usize> {
        only(self.choices.iter().map(|choice| choice.meaning() == meaning))
    }

    /// The choice that somebody means by its key, by its words or their beginning, or by `allow` and `deny`. `None` if
    /// that is not exactly one.
    pub fn choice_named(&self, words: &str) -> Option<usize> {
        let words = words.trim().to_lowercase();
        if words.is_empty() {
            return None;
        }
        let labels = || self.choices.iter().map(|choice| choice.label.to_lowercase());
        only(self.choices.iter().map(|choice| choice.key.eq_ignore_ascii_case(&words)))
            .or_else(|| only(labels().map(|label| label == words)))
            .or_else(|| match words.as_str() {
                "allow" => self.choice_that(ChoiceMeaning::AllowsOnce),
                "deny" => self.choice_that(ChoiceMeaning::Refuses),
                _ => only(labels().map(|label| label.starts_with(&words))),
            })
    }
}

/// Where the only `true` is.
fn only(mut values: impl Iterator<Item = bool>) -> Option<usize> {
    let first = values.position(|it| it)?;
    (!values.any(|it| it)).then_some(first)
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog(about: &[&str], labels: &[&str]) -> Dialog {
        let choice = |(i, label): (usize, &&str)| DialogChoice {
            key: (i + 1).to_string(),
            label: (*label).to_owned(),
            is_selected: i == 0,
            ..DialogChoice::default()
        };
        Dialog {
            kind: DialogKind::Permission,
            question: about.last().map(|it| (*it).to_owned()).unwrap_or_default(),
            about: about.iter().map(|it| (*it).to_owned()).collect(),
            choices: labels.iter().enumerate().map(choice).collect(),
        }
    }

    #[test]
    fn an_id_depends_on_what_is_asked_and_not_on_how_it_is_drawn() {
        let asked = dialog(&["rm -r build", "Do you want to proceed?"], &["Yes", "No"]);
        let mut moved = asked.clone();
        moved.choices[0].is_selected = false;
        moved.choices[1].is_selected = true;
        let narrow = dialog(&["rm -r", "build", "Do you want to", "proceed?"], &["Yes", "No"]);
        assert_eq!(asked.id().len(), 8);
        assert_eq!(asked.id(), moved.id());
        assert_eq!(asked.id(), narrow.id());
        assert_ne!(asked.id(), dialog(&["rm -r src", "Do you want to proceed?"], &["Yes", "No"]).id());
        assert_ne!(asked.id(), dialog(&["rm -r build", "Do you want to proceed?"], &["Yes", "Always"]).id());
    }

    #[test]
    fn a_choice_is_named_by_its_key_its_words_or_its_meaning() {
        let labels =
            ["Yes", "Yes, and don't ask again for these files (a)", "No, and tell it what to do (esc)"];
        let asked = dialog(&["Would you like to make the following edits?"], &labels);
        assert_eq!(asked.choice_named("2"), Some(1));
        assert_eq!(asked.choice_named("yes"), Some(0), "the whole label beats the beginning of another");
        assert_eq!(asked.choice_named("Yes, and"), Some(1));
        assert_eq!(asked.choice_named("allow"), Some(0));
        assert_eq!(asked.choice_named("deny"), Some(2));
        assert_eq!(asked.choice_named("ye"), None, "two begin so");
        assert_eq!(asked.choice_named("4"), None);
        assert_eq!(asked.choice_named(" "), None);
    }

    #[test]
    fn allowing_for_longer_is_not_allowing() {
        let labels = [
            "Allow for this session",
            "Yes, and switch to auto mode",
            "Trust parent folder",
            "Trust all and continue",
            "No",
        ];
        assert_eq!(dialog(&["x"], &labels).choice_named("allow"), None);
        assert_eq!(dialog(&["x"], &labels).choice_named("allow for"), Some(0));
    }
}
