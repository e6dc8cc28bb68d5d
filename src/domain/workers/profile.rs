//! A profile: what kind of worker it is, as all layers together say.

use std::collections::BTreeMap;
use std::time::Duration;

use super::budget::Budget;
use super::profile_key::ProfileKey;
use crate::domain::Harness;
use crate::domain::screens::Dialog;

/// The program that a worker is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum WorkerProgram {
    /// No file names one: the harness of the settings, or the first one that is installed.
    #[default]
    FirstInstalled,
    Harness(Harness),
    /// Any program: the task is on its standard input, and `{task}` in an argument is replaced by it.
    Command(Vec<String>),
}

/// What a worker is told besides its task.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Instructions {
    Text(String),
    /// A file with the text, as it was written. The user's is relative to the user's configuration directory, a project's
    /// to the root of the project.
    File(String),
}

/// Where a worker works.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Isolation {
    /// In the tree of its parent.
    #[default]
    None,
    /// In a git worktree of its own.
    Worktree,
}

impl Isolation {
    pub const ALL: [Self; 2] = [Self::None, Self::Worktree];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Worktree => "worktree",
        }
    }
}

/// The choice that is made when a worker shows a certain dialog.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DialogAnswer {
    /// The question, or another line that identifies the dialog.
    pub dialog: String,
    pub choice: String,
}

/// What happens when a worker stalls.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Triage {
    /// Its parent is told.
    #[default]
    Report,
    /// Known dialogs are answered. For others, its parent is told.
    Answer(Vec<DialogAnswer>),
}

impl Triage {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Answer(_) => "answer",
        }
    }

    /// The choice that answers this dialog: of the first entry whose text is the question or another whole line of it. A
    /// part of a line is not enough: the model writes the command that is asked about. What only people decide is never
    /// decided so.
    pub fn choice_for(&self, dialog: &Dialog) -> Option<usize> {
        let Self::Answer(answers) = self else { return None };
        if dialog.kind.is_for_people() {
            return None;
        }
        let lines = || dialog.about.iter().chain([&dialog.question]);
        let is_meant = |answer: &&DialogAnswer| lines().any(|line| line.trim() == answer.dialog.trim());
        let known = answers.iter().find(is_meant)?;
        dialog.choice_named(&known.choice)
    }
}

/// The layer that a value comes from. Later ones override earlier ones.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ProfileOrigin {
    Shipped,
    User,
    Project,
}

impl ProfileOrigin {
    pub fn name(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A key of a profile with its value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProfileValue {
    Harness(Harness),
    Command(Vec<String>),
    Model(String),
    Instructions(Instructions),
    Readonly(bool),
    Tools(Vec<String>),
    Timeout(Duration),
    Budget(Budget),
    Isolation(Isolation),
    Retries(u32),
    Env(BTreeMap<String, String>),
    Args(Vec<String>),
    Triage(Triage),
    Review(String),
}

impl ProfileValue {
    pub fn key(&self) -> ProfileKey {
        match self {
            Self::Harness(_) => ProfileKey::Harness,
            Self::Command(_) => ProfileKey::Command,
            Self::Model(_) => ProfileKey::Model,
            Self::Instructions(Instructions::Text(_)) => ProfileKey::Instructions,
            Self::Instructions(Instructions::File(_)) => ProfileKey::InstructionsFile,
            Self::Readonly(_) => ProfileKey::Readonly,
            Self::Tools(_) => ProfileKey::Tools,
            Self::Timeout(_) => ProfileKey::Timeout,
            Self::Budget(_) => ProfileKey::Budget,
            Self::Isolation(_) => ProfileKey::Isolation,
            Self::Retries(_) => ProfileKey::Retries,
            Self::Env(_) => ProfileKey::Env,
            Self::Args(_) => ProfileKey::Args,
            Self::Triage(_) => ProfileKey::Triage,
            Self::Review(_) => ProfileKey::Review,
        }
    }
}

/// What kind of worker: harness or command, model, instructions, limits.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Profile {
    pub name: String,
    pub program: WorkerProgram,
    pub model: Option<String>,
    pub instructions: Option<Instructions>,
    pub is_readonly: bool,
    /// The tools that it may use; `None`: those that the harness gives it.
    pub tools: Option<Vec<String>>,
    /// How long a run may take; `None`: no limit of its own.
    pub timeout: Option<Duration>,
    pub budget: Budget,
    pub isolation: Isolation,
    /// How often a failed run is tried again.
    pub retries: u32,
    pub env: BTreeMap<String, String>,
    pub args: Vec<String>,
    pub triage: Triage,
    /// The profile that reviews what it did.
    pub review: Option<String>,
    /// Where the value of each key comes from. A key that no file sets is absent.
    pub origins: BTreeMap<ProfileKey, ProfileOrigin>,
    /// The layers that have a table for it, the first one first.
    pub described_in: Vec<ProfileOrigin>,
    /// Keys that the project sets, and that do not count because nobody trusted its file.
    pub untrusted: Vec<ProfileKey>,
}

impl Profile {
    pub(super) fn set(&mut self, value: &ProfileValue) {
        match value.clone() {
            ProfileValue::Harness(harness) => self.program = WorkerProgram::Harness(harness),
            ProfileValue::Command(argv) => self.program = WorkerProgram::Command(argv),
            ProfileValue::Model(model) => self.model = Some(model),
            ProfileValue::Instructions(instructions) => self.instructions = Some(instructions),
            ProfileValue::Readonly(is_readonly) => self.is_readonly = is_readonly,
            ProfileValue::Tools(tools) => self.tools = Some(tools),
            ProfileValue::Timeout(timeout) => self.timeout = Some(timeout),
            ProfileValue::Budget(budget) => self.budget = budget,
            ProfileValue::Isolation(isolation) => self.isolation = isolation,
            ProfileValue::Retries(retries) => self.retries = retries,
            ProfileValue::Env(env) => self.env = env,
            ProfileValue::Args(args) => self.args = args,
            ProfileValue::Triage(triage) => self.triage = triage,
            ProfileValue::Review(review) => self.review = Some(review),
        }
    }

    /// Whether a person has to trust the project's file before this profile may be run.
    pub fn needs_trust(&self) -> bool {
        !self.untrusted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::screens::{DialogChoice, DialogKind};

    #[test]
    fn a_known_dialog_has_an_answer_and_trust_has_none() {
        let choice = |key: &str, label: &str| DialogChoice {
            key: key.to_string(),
            label: label.to_string(),
            ..DialogChoice::default()
        };
        let mut dialog = Dialog {
            kind: DialogKind::Permission,
            question: "Do you want to proceed?".to_string(),
            about: vec!["rm -r build".to_string(), "Do you want to proceed?".to_string()],
            choices: vec![choice("1", "Yes"), choice("2", "No")],
        };
        let answer = |dialog: &str, choice: &str| DialogAnswer {
            dialog: dialog.to_string(),
            choice: choice.to_string(),
        };
        let triage = Triage::Answer(vec![answer("rm -r /", "no"), answer("rm -r build", "1")]);
        assert_eq!(triage.choice_for(&dialog), Some(0));
        assert_eq!(Triage::Answer(vec![answer("proceed", "maybe")]).choice_for(&dialog), None);
        assert_eq!(Triage::Report.choice_for(&dialog), None);
        dialog.about[0] = "rm -r ~ # rm -r build".to_string();
        assert_eq!(triage.choice_for(&dialog), None, "the model wrote that line");
        let question = Triage::Answer(vec![answer("Do you want to proceed?", "2")]);
        assert_eq!(question.choice_for(&dialog), Some(1));
        for kind in [DialogKind::Trust, DialogKind::Login, DialogKind::Update] {
            dialog.kind = kind;
            assert_eq!(question.choice_for(&dialog), None, "{kind:?}");
        }
    }
}
