//! What is read from recorded screens of OpenCode.

use crate::domain::screens::{PromptLine, ScreenKey};
use crate::harness::screen::{AnswerStep, ScreenReader};
use crate::harness::screen_fixture::{check_quote, check_table, dialog_on, step_for, takes, with_cursor};

use super::screen::OpenCodeScreen;

const VERSION: &str = "opencode-1.18.33";

/// What each screen says. A killed or ended program leaves a screen that says nothing.
const TABLE: &[(&str, &str)] = &[
    ("context.txt", "idle · empty · 12% left"),
    ("draft-multiline-80x24.txt", r#"idle · draft "first line\nsecond line\nthird; line" · 100% left"#),
    ("draft.ansi.txt", r#"idle · draft "please look at the half-written thi" · 100% left"#),
    ("ended.txt", "none · hidden"),
    ("error-500.txt", "working · empty · error: The server had an error while processing your request."),
    ("idle-80x24.ansi.txt", "idle · empty"),
    ("idle-after-80x24.txt", "idle · empty · 100% left"),
    ("idle-after.txt", "idle · empty · 100% left"),
    ("idle.ansi.txt", "idle · empty"),
    ("interrupted-80x24.txt", "interrupted · empty · 100% left"),
    ("killed.ansi.txt", "none · hidden"),
    ("limited.txt", "limited · empty"),
    ("login-401.txt", "idle · empty · 100% left · login: Incorrect API key provided: dummy."),
    ("pasted-60k.ansi.txt", r#"idle · draft "[Pasted ~1000 lines]" · 100% left"#),
    ("pasted-longline.txt", r#"idle · draft "[Pasted ~1 lines]" · 100% left"#),
    ("queued-80x24.txt", "working · empty · 100% left"),
    ("shell-mode.ansi.txt", r#"idle · draft "!""#),
    ("slash-menu.txt", r#"idle · draft "/""#),
    ("waiting-always-allow.ansi.txt", "waiting · hidden · permission: Always allow [*Confirm|Cancel]"),
    (
        "waiting-edit-80x24.txt",
        "waiting · hidden · permission: Permission required [Allow once|Allow always|Reject]",
    ),
    (
        "waiting-edit.ansi.txt",
        "waiting · hidden · permission: Permission required [*Allow once|Allow always|Reject]",
    ),
    ("waiting-help.txt", "waiting · hidden · other: Help []"),
    ("waiting-model.txt", "waiting · hidden · other: Select model []"),
    (
        "waiting-permission-80x24.ansi.txt",
        "waiting · hidden · permission: Permission required [*Allow once|Allow always|Reject]",
    ),
    (
        "waiting-permission.ansi.txt",
        "waiting · hidden · permission: Permission required [*Allow once|Allow always|Reject]",
    ),
    ("working-draft-80x24.ansi.txt", r#"working · draft "and the names" · 100% left"#),
    ("working-escape-once.txt", "working · empty · 100% left"),
    ("working-tool-80x24.txt", "working · empty · 100% left"),
    ("working.txt", "working · empty · 100% left"),
];

#[test]
fn every_recorded_screen_is_read() {
    check_table(&OpenCodeScreen, VERSION, TABLE);
}

#[test]
fn a_model_that_quotes_a_dialog_asks_nothing() {
    let idle = ("idle-after-80x24.txt", "     Very well.");
    let dialog = "     △ Permission required\n     $ rm -r build\n     Allow once   Allow always   Reject   ⇆ select  enter confirm";
    check_quote(&OpenCodeScreen, VERSION, idle, dialog);
    check_quote(&OpenCodeScreen, VERSION, idle, "     ⬝⬝■■  esc interrupt");
    check_quote(&OpenCodeScreen, VERSION, idle, "     ▣  Build · Fake · interrupted");
}

#[test]
fn a_window_over_the_conversation_has_the_cursor() {
    let read = |name, cursor| with_cursor(&OpenCodeScreen, VERSION, name, cursor);
    assert_eq!(read("waiting-model.txt", (74, 16)), PromptLine::Hidden);
    assert_eq!(read("waiting-model.txt", (5, 44)), PromptLine::Empty, "it was only words");
    assert_eq!(read("idle.ansi.txt", (66, 25)), PromptLine::Empty);
    assert_ne!(read("idle.ansi.txt", (80, 25)), PromptLine::Empty, "somebody typed it");
}

#[test]
fn pastes_are_known_by_their_length() {
    assert!(OpenCodeScreen.is_our_paste("[Pasted ~6 lines]", "1\n2\n3\n4\n5\n6"));
    assert!(!OpenCodeScreen.is_our_paste("[Pasted ~7 lines]", "1\n2\n3\n4\n5\n6"));
    assert!(OpenCodeScreen.is_our_paste("[Pasted ~1 lines]", &"z".repeat(3003)));
}

#[test]
fn choices_stand_side_by_side() {
    let asked = dialog_on(&OpenCodeScreen, VERSION, "waiting-permission.ansi.txt");
    assert_eq!(step_for(&OpenCodeScreen, &asked, "allow"), takes());
    assert_eq!(step_for(&OpenCodeScreen, &asked, "Reject"), AnswerStep::Move(ScreenKey::Right));
    assert_eq!(asked.id(), dialog_on(&OpenCodeScreen, VERSION, "waiting-permission-80x24.ansi.txt").id());
    assert_eq!(asked.about, ["Permission required", "# Shell command", "$ touch report.txt && sleep 12"]);
    let unknown = dialog_on(&OpenCodeScreen, VERSION, "waiting-edit-80x24.txt");
    assert_eq!(OpenCodeScreen.answer_step(&unknown, 0), None, "nobody knows which one is selected");
}
