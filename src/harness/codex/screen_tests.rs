//! What is read from recorded screens of Codex.

use crate::domain::screens::{PromptLine, ScreenKey, ScreenState, ScreenText};
use crate::harness::screen::{AnswerStep, ScreenReader};
use crate::harness::screen_fixture::{
    check_quote, check_table, dialog_on, recorded, recorded_text, step_for, takes, with_cursor,
};

use super::screen::CodexScreen;

const VERSION: &str = "codex-0.166.0";

/// What each screen says. A killed or ended program leaves a screen that says nothing.
const TABLE: &[(&str, &str)] = &[
    ("background-80x24.txt", "background · empty"),
    ("draft-multiline-80x24.txt", r#"idle · draft "first line\nsecond line\nthird; line""#),
    ("draft.ansi.txt", r#"idle · draft "please look at the half-written thi""#),
    ("ended.txt", "none · hidden"),
    (
        "error-500-80x24.txt",
        "background · empty · error: We're currently experiencing high demand, which may cause temporary errors.",
    ),
    ("idle-80x24.txt", "idle · empty"),
    ("idle-after-tool.txt", "idle · empty"),
    ("idle.ansi.txt", "idle · empty"),
    ("interrupted.txt", "interrupted · empty"),
    ("killed.ansi.txt", "none · hidden"),
    ("limited-80x24.ansi.txt", "limited · empty · until Nov 18th, 2026 1:00 AM"),
    ("limited.txt", "limited · empty · until Nov 18th, 2026 1:00 AM"),
    (
        "login-401-80x24.txt",
        "background · empty · login: unexpected status 401 Unauthorized: Incorrect API key provided, url: http://127.0.0.1:18999/codex/v1/responses",
    ),
    (
        "login-80x24.txt",
        "waiting · hidden · login: Welcome to Codex, OpenAI's command-line coding agent [*Sign in with ChatGPT|Sign in with Device Code|Use an OpenAI API key|Use Amazon Bedrock]",
    ),
    ("pasted-60k.ansi.txt", r#"idle · draft "[Pasted Content 59999 chars]""#),
    ("queued-80x24.txt", "working · empty"),
    ("shell-mode-80x24.txt", r#"idle · draft "!""#),
    ("slash-menu-80x24.txt", r#"idle · draft "/""#),
    ("status-80x24.txt", "background · empty · 100% left"),
    ("trust-80x24.txt", "waiting · hidden · trust: Trust this folder? [*Trust and continue|Quit]"),
    (
        "update-80x24.txt",
        "waiting · hidden · update: Update available · 0.166.0 → 0.170.0 [*Update now (runs `npm install -g @openai/codex`)|Skip|Skip until next version]",
    ),
    (
        "waiting-edit-80x24.ansi.txt",
        "waiting · hidden · permission: Would you like to make the following edits? [*Yes, proceed (y)|Yes, and don't ask again for these files (a)|No, and tell Codex what to do differently (esc)]",
    ),
    (
        "waiting-hooks-review.txt",
        "waiting · hidden · trust: Hooks need review [*Review hooks|Trust all and continue|Continue without trusting (hooks won't run)]",
    ),
    (
        "waiting-model-80x24.txt",
        "waiting · hidden · other: Select Model and Effort [GPT-6.1-Sol|GPT-6-Astra|*GPT-6-Sol (current)|GPT-6-Luna|GPT-5.6-Sol|GPT-6.1 Terra|GPT-5.6-Terra|GPT-5.6-Luna]",
    ),
    (
        "waiting-permission-80x24.txt",
        "waiting · hidden · permission: Would you like to run the following command? [*Yes, proceed (y)|No, and tell Codex what to do differently (esc)]",
    ),
    (
        "waiting-permission.txt",
        "waiting · hidden · permission: Would you like to run the following command? [*Yes, proceed (y)|No, and tell Codex what to do differently (esc)]",
    ),
    ("working-draft-80x24.txt", r#"working · draft "and the names?""#),
    ("working-tool-3-80x24.txt", "working · empty"),
    ("working.ansi.txt", "working · empty"),
];

#[test]
fn every_recorded_screen_is_read() {
    check_table(&CodexScreen, VERSION, TABLE);
}

#[test]
fn a_model_that_quotes_a_dialog_asks_nothing() {
    let idle = ("idle-after-tool.txt", "• Very well.");
    let dialog = "• It asked this:\n\n  Would you like to run the following command?\n\n  › 1. Yes, proceed (y)\n    2. No\n\n  Press enter to confirm or esc to cancel";
    check_quote(&CodexScreen, VERSION, idle, dialog);
    check_quote(&CodexScreen, VERSION, idle, "• Working (6s • esc to interrupt)");
    check_quote(&CodexScreen, VERSION, idle, "• It says:\n  ■ Conversation interrupted - use /feedback");
}

#[test]
fn an_error_is_over_when_the_model_has_gone_on() {
    let idle = ("idle-after-tool.txt", "• I will run the tests.");
    check_quote(&CodexScreen, VERSION, idle, "■ exceeded retry limit, last status: 429 Too Many Requests");
    check_quote(&CodexScreen, VERSION, idle, "■ We’re currently experiencing high demand");
}

#[test]
fn a_placeholder_that_somebody_typed_is_a_draft() {
    let read = |name, cursor| with_cursor(&CodexScreen, VERSION, name, cursor);
    assert_eq!(read("idle.ansi.txt", (2, 46)), PromptLine::Empty);
    let typed = PromptLine::Draft("Ask Codex to do anything".to_owned());
    assert_eq!(read("idle.ansi.txt", (26, 46)), typed);
    let plain = recorded_text(VERSION, "idle.ansi.txt");
    let drawn = ScreenText::of_capture(&format!("\u{1b}[39m{plain}"));
    assert_eq!(CodexScreen.read(&drawn).prompt, typed, "it is not faint");
}

#[test]
fn the_title_says_that_it_works() {
    let idle = recorded(VERSION, "idle.ansi.txt");
    assert_eq!(CodexScreen.read(&idle.clone().with_title("⠼ shop")).state, Some(ScreenState::Working));
    assert_eq!(CodexScreen.read(&idle.with_title("shop")).state, Some(ScreenState::Idle));
}

#[test]
fn pastes_are_known_by_their_length() {
    let text = format!("{}ü", "x".repeat(2_999));
    assert!(CodexScreen.is_our_paste("[Pasted Content 3000 chars]", &text));
    assert!(!CodexScreen.is_our_paste("[Pasted Content 3002 chars]", &text));
    assert!(CodexScreen.is_our_paste("first\nsecond", "first\nsecond"));
}

#[test]
fn an_update_is_never_what_enter_takes_unasked() {
    let update = dialog_on(&CodexScreen, VERSION, "update-80x24.txt");
    assert_eq!(step_for(&CodexScreen, &update, "Skip"), AnswerStep::Move(ScreenKey::Down));
    let edit = dialog_on(&CodexScreen, VERSION, "waiting-edit-80x24.ansi.txt");
    assert_eq!(step_for(&CodexScreen, &edit, "allow"), takes());
    assert_eq!(step_for(&CodexScreen, &edit, "deny"), AnswerStep::Move(ScreenKey::Down));
    assert!(edit.about.iter().any(|line| line.ends_with("src/lib.rs")), "{:?}", edit.about);
}
