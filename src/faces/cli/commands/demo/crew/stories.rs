//! What happens to the tasks of the demo, as the ledger tells it.

use serde_json::{Value, json};

/// What can become of an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum StoryKind {
    Killed,
    Unproven,
    Rework,
    Conflict,
    RedTogether,
}

impl StoryKind {
    const ALL: [Self; 5] = [Self::Killed, Self::Unproven, Self::Rework, Self::Conflict, Self::RedTogether];

    fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Unproven => "unproven",
            Self::Rework => "rework",
            Self::Conflict => "conflict",
            Self::RedTogether => "red_together",
        }
    }

    /// What happened, after “the demo was to show that”.
    fn sentence(self) -> &'static str {
        match self {
            Self::Killed => "a builder is killed",
            Self::Unproven => "a builder says done and is not",
            Self::Rework => "a reviewer asks for rework",
            Self::Conflict => "two tasks conflict",
            Self::RedTogether => "work is right apart and wrong together",
        }
    }
}

/// Something that happened to a task.
pub(super) struct Story {
    pub(super) task: String,
    pub(super) kind: StoryKind,
    /// For people.
    pub(super) sentences: Vec<String>,
}

impl Story {
    pub(super) fn json(&self) -> Value {
        json!({ "task": self.task, "story": self.kind.name(), "text": self.sentences.join(" ") })
    }
}

/// All that has happened so far, by the answer of `msg crew status --json`.
pub(super) fn found(status: &Value) -> Vec<Story> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut stories = Vec::new();
    for task in list(&status["tasks"]) {
        let id = task["id"].as_str().unwrap_or_default().to_string();
        for run in list(&task["runs"]) {
            if let Some(kind) = kind_of(&run) {
                let why = run["reason"].as_str().unwrap_or_default();
                stories.push(Story { task: id.clone(), kind, sentences: sentences(kind, &id, why) });
            }
        }
    }
    stories
}

/// The first kind that did not happen, in words.
pub(super) fn missing(stories: &[Story]) -> Option<&'static str> {
    let is_told = |kind: &StoryKind| stories.iter().any(|story| story.kind == *kind);
    StoryKind::ALL.into_iter().find(|kind| !is_told(kind)).map(StoryKind::sentence)
}

fn kind_of(run: &Value) -> Option<StoryKind> {
    match (run["state"].as_str(), run["end"].as_str(), run["verdict"].as_str()) {
        (Some("failed"), ..) => Some(StoryKind::Killed),
        (_, Some("unproven"), _) => Some(StoryKind::Unproven),
        (_, _, Some("rework")) => Some(StoryKind::Rework),
        (_, Some("conflict"), _) => Some(StoryKind::Conflict),
        (_, Some("red_together"), _) => Some(StoryKind::RedTogether),
        _ => None,
    }
}

fn sentences(kind: StoryKind, id: &str, why: &str) -> Vec<String> {
    let [what, then] = match kind {
        StoryKind::Killed => [
            format!("{id}: its builder was killed in the middle: {why}."),
            "What it wrote is kept, and the next builder goes on from it.".to_string(),
        ],
        StoryKind::Unproven => [
            format!("{id}: its builder says done and is not: {why}."),
            "It goes on, and is told the end of the output.".to_string(),
        ],
        StoryKind::Rework => [
            format!("{id}: its reviewer wants something changed."),
            "Its builder goes on with the findings.".to_string(),
        ],
        StoryKind::Conflict => [
            format!("{id}: somebody else changed the same lines ({why})."),
            "Its builder gets both sides, with git's marks.".to_string(),
        ],
        StoryKind::RedTogether => [
            format!("{id}: it was right apart, and is wrong together with what others did."),
            "Its builder gets both, and goes on.".to_string(),
        ],
    };
    vec![what, then]
}
