//! What is read from recorded screens of Copilot CLI.

use crate::domain::screens::{DialogKind, ScreenKey, ScreenText};
use crate::harness::screen::{AnswerStep, ScreenReader};
use crate::harness::screen_fixture::{
    check_quote, check_table, dialog_on, recorded_text, step_for, summary, takes,
};

use super::screen::CopilotScreen;

const VERSION: &str = "copilot-1.0.102";

/// What each screen says. A killed or ended program leaves a screen that says nothing.
const TABLE: &[(&str, &str)] = &[
    ("draft-multiline.txt", r#"idle · draft "first line\nsecond line\nthird; line""#),
    ("draft.ansi.txt", r#"idle · draft "please look at the half-written thi""#),
    ("ended.txt", "none · hidden"),
    ("help-shortcuts.txt", "idle · empty"),
    ("idle-80x24.txt", "idle · empty"),
    ("idle-after-80x24.txt", "idle · empty"),
    ("idle-after-error-80x24.txt", "idle · empty · error: 400 The request was refused."),
    ("idle.ansi.txt", "idle · empty"),
    ("interrupted-before-first-word.txt", r#"idle · draft "think long about it""#),
    ("interrupted.txt", "interrupted · empty"),
    ("killed.ansi.txt", "none · hidden"),
    (
        "login-401.txt",
        "background · empty · login: Authentication failed with provider at http://127.0.0.1:18999/copilot/v1 (HTTP 401).",
    ),
    ("pasted-60k.ansi.txt", r#"idle · draft "[Saved pasted content to workspace (58.6 KB) id=1]""#),
    ("pasted-lines.txt", r#"idle · draft "first\nsecond line\n\nC-c\nEnter\nlast; größer → 日本語 🙂""#),
    ("queued-80x24.txt", "working · empty"),
    ("shell-mode.txt", r#"idle · draft "!""#),
    ("slash-menu.txt", r#"idle · draft "/add-dir""#),
    (
        "trust.txt",
        "waiting · hidden · trust: Do you trust the files in this folder? [*Yes|Yes, and remember this folder for future sessions|No (Esc)]",
    ),
    (
        "waiting-edit-80x24.txt",
        "waiting · hidden · permission: Do you want to edit /home/dev/shop/src/lib.rs? [*Yes|Yes, and don't ask again for file operations when in this repo|No, and tell Copilot what to do differently (Esc to stop)]",
    ),
    ("waiting-help.txt", "waiting · hidden · other: GLOBAL []"),
    (
        "waiting-model.txt",
        "waiting · hidden · other: [Current]  Sessions   Issues   Pull requests   Gists []",
    ),
    (
        "waiting-permission-80x24.txt",
        "waiting · hidden · permission: Do you want to run this command? [*Yes|Yes, and don't ask again for `touch` and `sleep` in this repo|No, and tell Copilot what to do differently (Esc to stop)]",
    ),
    (
        "waiting-permission.txt",
        "waiting · hidden · permission: Do you want to run this command? [*Yes|Yes, and don't ask again for `touch` and `sleep` in this repo (/home/dev/shop)|No, and tell Copilot what to do differently (Esc to stop)]",
    ),
    ("working-draft-80x24.ansi.txt", r#"working · draft "and the names""#),
    ("working-escape-once-80x24.txt", "working · empty"),
    ("working-tool-80x24.txt", "working · empty"),
    ("working.txt", "working · empty"),
];

#[test]
fn every_recorded_screen_is_read() {
    check_table(&CopilotScreen, VERSION, TABLE);
}

#[test]
fn a_model_that_quotes_a_dialog_asks_nothing() {
    let idle = ("idle-after-80x24.txt", " ● Very well.");
    let dialog = " ● It asked this:\n   ╭──────────╮\n   │ Do you want to run this command? │\n   │ ❯ 1. Yes │\n   │ ↑/↓ to navigate · enter to select · esc to cancel │\n   ╰──────────╯";
    check_quote(&CopilotScreen, VERSION, idle, dialog);
    check_quote(&CopilotScreen, VERSION, idle, " ● Working · 125 B esc esc interrupt");
}

#[test]
fn a_tool_call_that_failed_and_an_error_that_is_over_are_no_trouble() {
    let failed = recorded_text(VERSION, "idle-after-error-80x24.txt");
    let read = |lines: &str| {
        let text = failed.replacen(" ✗ 400 The request was refused.", lines, 1);
        assert_ne!(text, failed);
        summary(&CopilotScreen.read(&ScreenText::plain(&text)))
    };
    assert_eq!(read(" ✗ Shell Run tests exit code 1\n   make\n\n ● Two tests fail."), "idle · empty");
    assert_eq!(read(" ✗ Shell Check the rate limit\n   gh api\n\n ● Very well."), "idle · empty");
    assert_eq!(read(" ✗ Shell Check the rate limit"), "idle · empty");
    assert_eq!(read(" ✗ 400 Refused.\n\n ● Very well."), "idle · empty");
    assert_eq!(read(" ● Very well.\n\n ✗ 400 Refused."), "idle · empty · error: 400 Refused.");
    assert_eq!(read(" ✗ Shell Run tests\n\n ✗ 429 Too many requests."), "limited · empty");
}

#[test]
fn pastes_are_known_by_their_size() {
    let text = "x".repeat(59_999);
    assert!(CopilotScreen.is_our_paste("[Saved pasted content to workspace (58.6 KB) id=1]", &text));
    assert!(!CopilotScreen.is_our_paste("[Saved pasted content to workspace (58.7 KB) id=1]", &text));
    assert!(!CopilotScreen.is_our_paste("[Saved pasted content to workspace (58.6 KB) id=1] more", &text));
    assert!(CopilotScreen.is_our_paste("first\nsecond line", "first\nsecond line"));
}

#[test]
fn answers() {
    let asked = dialog_on(&CopilotScreen, VERSION, "waiting-permission.txt");
    assert_eq!(step_for(&CopilotScreen, &asked, "allow"), takes());
    assert_eq!(step_for(&CopilotScreen, &asked, "deny"), AnswerStep::Move(ScreenKey::Down));
    assert_eq!(asked.id(), dialog_on(&CopilotScreen, VERSION, "waiting-permission-80x24.txt").id());
}

#[test]
fn a_model_can_not_call_its_command_a_question_of_trust() {
    let asked = recorded_text(VERSION, "waiting-permission.txt").replacen(
        "Run the slow tests",
        "Confirm folder trus",
        2,
    );
    let dialog = CopilotScreen.read(&ScreenText::plain(&asked)).dialog.unwrap();
    assert_eq!(dialog.kind, DialogKind::Permission);
}
