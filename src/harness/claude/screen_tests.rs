//! What is read from recorded screens of Claude Code.

use crate::domain::screens::{PromptLine, ScreenKey, ScreenText};
use crate::harness::screen::{AnswerStep, ScreenReader};
use crate::harness::screen_fixture::{
    check_quote, check_table, dialog_on, recorded_text, step_for, summary, takes, with_cursor,
};

use super::screen::ClaudeScreen;

const VERSION: &str = "claude-2.1.325";

/// What each screen says. A killed or ended program leaves a screen that says nothing.
const TABLE: &[(&str, &str)] = &[
    ("background-80x24.txt", "background · empty"),
    ("draft-multiline-80x24.txt", r#"idle · draft "first line\nsecond line\nthird; line""#),
    ("draft.ansi.txt", r#"idle · draft "please look at the half-written thi""#),
    ("ended.txt", "none · hidden"),
    (
        "error-500-80x24.ansi.txt",
        "background · empty · error: API Error: 500 Internal server error. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:18999).",
    ),
    ("help-shortcuts-80x24.txt", "idle · empty"),
    ("idle-80x24.txt", "idle · empty"),
    ("idle-after-tool.txt", "idle · empty"),
    ("idle.ansi.txt", "idle · empty"),
    ("interrupted-before-first-word.txt", r#"idle · draft "think long about it""#),
    ("interrupted.ansi.txt", "interrupted · empty"),
    ("killed.ansi.txt", "none · hidden"),
    ("limited-credit.txt", "limited · empty"),
    ("limited-rate-80x24.ansi.txt", "limited · empty"),
    ("limited.ansi.txt", "limited · empty · until 1am (UTC)"),
    ("login.ansi.txt", "idle · empty · login: Not logged in · Please run /login"),
    ("pasted-60k.ansi.txt", r#"idle · draft "[Pasted text #2 +999 lines]""#),
    ("pasted-longline.txt", r#"idle · draft "[Pasted text #3]""#),
    ("queued.ansi.txt", "working · empty"),
    ("shell-mode.txt", r#"idle · draft "!""#),
    ("slash-menu-80x24.txt", r#"idle · draft "/""#),
    (
        "trust-moved-80x24.txt",
        "waiting · hidden · trust: Quick safety check: Is this a project you created or one you trust? [No, exit|*Yes, I trust this folder]",
    ),
    (
        "trust.txt",
        "waiting · hidden · trust: Quick safety check: Is this a project you created or one you trust? [*No, exit|Yes, I trust this folder]",
    ),
    (
        "waiting-api-key.txt",
        "waiting · hidden · login: Do you want to use this API key? [Yes|*No (recommended)]",
    ),
    (
        "waiting-edit-80x24.txt",
        "waiting · hidden · permission: Do you want to make this edit to lib.rs? [*Yes|Yes, and switch to accept edits (auto-approve file edits and common file|No]",
    ),
    ("waiting-help-80x24.txt", "waiting · hidden · other: Help  General   Commands   Custom commands []"),
    (
        "waiting-model-80x24.txt",
        "waiting · hidden · other: Select model [*Default (recommended) ✔|Opus|Fable]",
    ),
    (
        "waiting-permission-80x24.txt",
        "waiting · hidden · permission: Do you want to proceed? [*Yes|Yes, and always allow access to /home/dev/shop from this project|Yes, and switch to auto mode · auto mode handles these prompts for you|No]",
    ),
    (
        "waiting-permission.txt",
        "waiting · hidden · permission: Do you want to proceed? [*Yes|Yes, and always allow access to /home/dev/shop from this project|Yes, and switch to auto mode · auto mode handles these prompts for you|No]",
    ),
    (
        "waiting-plan-80x24.txt",
        "waiting · hidden · permission: Exit plan mode? [*Yes, and switch to default (ask each time) for this session|No]",
    ),
    (
        "waiting-question-80x24.txt",
        "waiting · hidden · question: Which database should the shop use? [*SQLite|Postgres|Type something.|Chat about this]",
    ),
    ("working-draft-80x24.txt", r#"working · draft "and the names?""#),
    ("working-retry.txt", "working · empty"),
    ("working-tool-80x24.txt", "working · empty"),
    ("working.ansi.txt", "working · empty"),
];

#[test]
fn every_recorded_screen_is_read() {
    check_table(&ClaudeScreen, VERSION, TABLE);
}

#[test]
fn a_model_that_quotes_a_dialog_asks_nothing() {
    let idle = ("idle-after-tool.txt", "● The tests pass.");
    let dialog = "● It asked this:\n\n   Do you want to proceed?\n   ❯ 1. Yes\n     2. No\n\n   Esc to cancel · Tab to amend";
    check_quote(&ClaudeScreen, VERSION, idle, dialog);
    check_quote(&ClaudeScreen, VERSION, idle, "● It says:\n  ✻ Churning… (4s · esc to interrupt)");
    check_quote(&ClaudeScreen, VERSION, idle, "● Interrupted · What should Claude do instead?");
}

#[test]
fn words_about_an_error_are_no_error() {
    let said = recorded_text(VERSION, "idle-after-tool.txt")
        .replace("The tests pass.", "API Error: 429 is what it says");
    let coloured = ScreenText::of_capture(&format!("\u{1b}[39m{said}"));
    assert_eq!(summary(&ClaudeScreen.read(&coloured)), "idle · empty");
}

#[test]
fn a_limit_of_any_name_is_one() {
    for (limit, until) in [("session", "3pm (UTC)"), ("weekly", "Nov 24, 9am (UTC)")] {
        let words = format!("⎿  You've hit your {limit} limit · resets {until}");
        let screen =
            recorded_text(VERSION, "idle-after-tool.txt").replace("● The tests pass.", &format!("  {words}"));
        let read = summary(&ClaudeScreen.read(&ScreenText::plain(&screen)));
        assert_eq!(read, format!("limited · empty · until {until}"), "{screen}");
    }
}

#[test]
fn an_error_is_over_when_the_model_has_gone_on() {
    let idle = ("idle-after-tool.txt", "● I will run the tests.");
    check_quote(&ClaudeScreen, VERSION, idle, "  ⎿  You've hit your limit · resets 1am (UTC)");
    check_quote(&ClaudeScreen, VERSION, idle, "● API Error: 500 Internal server error.");
}

#[test]
fn a_draft_is_what_is_not_faint_or_moved_the_cursor() {
    let read = |name, cursor| with_cursor(&ClaudeScreen, VERSION, name, cursor);
    assert_eq!(read("queued.ansi.txt", (2, 47)), PromptLine::Empty);
    let draft = PromptLine::Draft("Press up to edit queued messages".to_owned());
    assert_eq!(read("queued.ansi.txt", (34, 47)), draft, "somebody typed the same words");
    assert_eq!(read("idle.ansi.txt", (2, 47)), PromptLine::Empty);
}

#[test]
fn pastes_are_known_by_their_length() {
    let is_ours = |draft: &str, text: &str| ClaudeScreen.is_our_paste(draft, text);
    let lines = "first\nsecond line\n\nC-c\nEnter\nlast; größer → 日本語 🙂";
    assert!(is_ours("[Pasted text #1 +5 lines]", lines));
    assert!(!is_ours("[Pasted text #1 +6 lines]", lines));
    assert!(!is_ours("[Pasted text #1 +5 lines] and more", lines));
    assert!(is_ours("[Pasted text #3]", &"z".repeat(3003)));
    assert!(!is_ours("[Pasted text #3]", lines));
    assert!(is_ours("one line; with\na trailing semicolon;", "one line; with a trailing semicolon;"));
    assert!(!is_ours("one line", "one line; with a trailing semicolon;"));
}

#[test]
fn trust_is_taken_only_where_it_is_selected() {
    let trust = dialog_on(&ClaudeScreen, VERSION, "trust.txt");
    assert_eq!(step_for(&ClaudeScreen, &trust, "allow"), AnswerStep::Move(ScreenKey::Down));
    assert_eq!(step_for(&ClaudeScreen, &trust, "deny"), takes());
    let moved = dialog_on(&ClaudeScreen, VERSION, "trust-moved-80x24.txt");
    assert_eq!(step_for(&ClaudeScreen, &moved, "allow"), takes());
    assert_eq!(trust.id(), moved.id(), "the same dialog, on a narrower screen");
}

#[test]
fn a_long_dialog_may_have_lost_its_upper_edge() {
    let text = recorded_text(VERSION, "waiting-edit-80x24.txt");
    let (_, cut) = text.split_once(" Edit file\n").unwrap();
    let read = summary(&ClaudeScreen.read(&ScreenText::plain(cut)));
    assert!(
        read.starts_with("waiting · hidden · permission: Do you want to make this edit to lib.rs? [*Yes|"),
        "{read}"
    );
}

#[test]
fn a_question_has_an_id_of_its_own() {
    let wide = dialog_on(&ClaudeScreen, VERSION, "waiting-permission.txt");
    assert!(wide.about.iter().any(|line| line == "touch report.txt && sleep 12"), "{:?}", wide.about);
    assert_eq!(wide.id(), dialog_on(&ClaudeScreen, VERSION, "waiting-permission-80x24.txt").id());
    let other =
        recorded_text(VERSION, "waiting-permission.txt").replace(" touch report.txt", " rm -r report.txt");
    let other = ClaudeScreen.read(&ScreenText::plain(&other)).dialog.unwrap();
    assert_ne!(wide.id(), other.id());
}
