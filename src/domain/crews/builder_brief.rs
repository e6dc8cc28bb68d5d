//! What a builder of a crew is told: its task, what it stands on, and at a further attempt what happened to the last one.

use super::task_step::AgainReason;
use crate::domain::escape_invisible_line;
use crate::domain::runs::{CrewTest, ReviewFinding};

/// How much of each part is told, in characters.
const MOST_NOTES: usize = 2_000;
const MOST_OUTPUT: usize = 4_000;
const MOST_FINDINGS: usize = 50;

/// The facts of a task.
#[derive(Clone, Debug)]
pub struct BuilderBrief<'a> {
    pub id: &'a str,
    pub title: &'a str,
    /// What the spec says beneath it.
    pub text: &'a str,
    pub paths: &'a [String],
    pub verify: &'a [String],
    /// Tasks that it stands on: id, and what those who did them noted.
    pub needs: Vec<(String, Option<String>)>,
}

impl BuilderBrief<'_> {
    /// The whole text for a first attempt, or for one without a session to go on in.
    pub fn text(&self, again: Option<&AgainReason>) -> String {
        let mut parts = vec![format!("{}\n\n{}", self.title, self.text).trim_end().to_string()];
        parts.push(format!(
            "This is task `{}` of a plan that several workers carry out. You work in a worktree of your own, which has \
             all that is done so far.",
            self.id
        ));
        if !self.needs.is_empty() {
            let needs = self.needs.iter().map(|(id, notes)| match notes {
                Some(notes) => {
                    format!("- {id} is done. Noted by whoever did it:\n{}", quoted(notes, MOST_NOTES))
                }
                None => format!("- {id} is done."),
            });
            parts.push(format!("It stands on:\n{}", needs.collect::<Vec<_>>().join("\n")));
        }
        if !self.paths.is_empty() {
            parts.push(format!(
                "Change only these files; they are reserved for you: {}. If you need others, say so at the end.",
                self.paths.join(", ")
            ));
        }
        if !self.verify.is_empty() {
            let commands: Vec<String> = self.verify.iter().map(|command| format!("    {command}")).collect();
            parts
                .push(format!("When you are done, these commands have to succeed:\n{}", commands.join("\n")));
        }
        parts.extend(again.map(told));
        parts.push(
            "Neither commit nor complete the task yourself: when you end, your work is tested, reviewed and merged. In \
             your last words, say in a few sentences what you did and what others have to know."
                .to_string(),
        );
        parts.join("\n\n")
    }
}

/// What a worker is told that goes on in its session.
pub fn again_text(reason: &AgainReason) -> String {
    format!(
        "{}\n\nGo on with your task until that is right. Then end; your work is looked at again.",
        told(reason)
    )
}

fn told(reason: &AgainReason) -> String {
    match reason {
        AgainReason::GoOn => {
            "You were interrupted in the middle of this task. What was done is in your worktree: look at \
                              it first."
                .to_string()
        }
        AgainReason::Failed(how) => format!(
            "An earlier attempt did not get done ({how}). What it left is in your worktree: look at it first."
        ),
        AgainReason::Unproven(test) => {
            format!("The work so far, which is in your worktree, does not pass yet.\n{}", test_text(test))
        }
        AgainReason::Rework(findings) => format!(
            "A reviewer looked at the work so far, which is in your worktree, and wants this changed. What is quoted is \
             the reviewer's:\n{}",
            findings_text(findings)
        ),
        AgainReason::Conflict { files, unmarked } => conflict_text(files, unmarked),
        AgainReason::RedTogether(test) => format!(
            "Apart from others your work passed, but together with what they did meanwhile it does not. Your worktree now \
             has both.\n{}",
            test_text(test)
        ),
    }
}

fn conflict_text(files: &[String], unmarked: &[String]) -> String {
    let mut text = "Others changed the same files meanwhile. Your worktree now has both sides.".to_string();
    let named = |file: &String| format!("`{}`", escape_invisible_line(file));
    let marked: Vec<String> = files.iter().filter(|file| !unmarked.contains(file)).map(named).collect();
    if !marked.is_empty() {
        text.push_str(&format!(
            " With git's marks (`<<<<<<<`, `=======`, `>>>>>>>`) in: {}. Resolve them so that both purposes are kept, and \
             leave no mark.",
            marked.join(", ")
        ));
    }
    if !unmarked.is_empty() {
        text.push_str(&format!(
            " Without marks, because git can't put any there: {}. In the place of each is only one side; \
             `ravenry-conflicts/yours` and `ravenry-conflicts/branch` have both, and `ravenry-conflicts/README.md` tells what \
             conflicts. Put what keeps both purposes in its place, then remove the directory `ravenry-conflicts`: while it is \
             there, your work is not merged.",
            unmarked.iter().map(named).collect::<Vec<_>>().join(", ")
        ));
    }
    text
}

fn test_text(test: &CrewTest) -> String {
    format!(
        "`{}` ended with {}. The end of its output:\n{}",
        test.command,
        test.how,
        quoted(&test.tail, MOST_OUTPUT)
    )
}

fn findings_text(findings: &[ReviewFinding]) -> String {
    if findings.is_empty() {
        return "> (nothing in particular was named)".to_string();
    }
    let lines = findings.iter().take(MOST_FINDINGS).map(|finding| format!("> - {}", finding.sentence()));
    lines.collect::<Vec<_>>().join("\n")
}

/// The end of a text, with a mark before each line.
fn quoted(text: &str, most: usize) -> String {
    let text = text.trim_end();
    let start = text.len().saturating_sub(most);
    let start = (start..=text.len()).find(|start| text.is_char_boundary(*start)).unwrap_or(text.len());
    let cut = if start > 0 { "> […]\n" } else { "" };
    let lines: Vec<String> = text[start..].lines().map(|line| format!("> {line}")).collect();
    format!("{cut}{}", lines.join("\n"))
}
