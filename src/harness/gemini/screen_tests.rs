//! What is read from recorded screens of Gemini CLI.

use crate::domain::screens::{PromptLine, ScreenKey, ScreenState};
use crate::harness::screen::{AnswerStep, ScreenReader};
use crate::harness::screen_fixture::{
    check_quote, check_table, dialog_on, recorded, step_for, takes, with_cursor,
};

use super::screen::GeminiScreen;

const VERSION: &str = "gemini-0.61.0";

/// What each screen says. A killed or ended program leaves a screen that says nothing.
const TABLE: &[(&str, &str)] = &[
    ("background.txt", "background · empty"),
    ("draft-below-answered-trust.ansi.txt", r#"idle · draft "please look at the half-written thi""#),
    ("draft-multiline-80x24.txt", r#"idle · draft "first line\nsecond line\nthird; line""#),
    ("ended.txt", "none · hidden"),
    ("help-shortcuts.txt", "idle · empty"),
    ("idle-80x24.txt", "idle · empty"),
    ("idle-below-answered-trust.txt", "idle · empty"),
    ("idle.ansi.txt", "idle · empty"),
    ("interrupted-80x24.txt", "interrupted · empty"),
    ("killed.ansi.txt", "none · hidden"),
    (
        "limited.ansi.txt",
        "limited · hidden · other: Usage limit reached for all Pro models. [*Keep trying|Stop]",
    ),
    (
        "login-400.txt",
        r#"idle · empty · login: [API Error: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]"#,
    ),
    ("pasted-lines.ansi.txt", r#"idle · draft "[Pasted Text: 6 lines]""#),
    ("pasted-longline.txt", r#"idle · draft "[Pasted Text: 3003 chars]""#),
    ("queued-80x24.txt", "working · empty"),
    ("shell-mode-below-answered-trust.txt", r#"idle · draft "!""#),
    ("slash-menu.txt", r#"idle · draft "/""#),
    (
        "trust.txt",
        "waiting · hidden · trust: Do you trust the files in this folder? [*Trust folder (shop)|Trust parent folder (demo)|Don't trust]",
    ),
    (
        "waiting-edit-80x24.txt",
        "waiting · hidden · permission: Apply this change? [*Allow once|Allow for this session|Modify with external editor|No, suggest changes (esc)]",
    ),
    ("waiting-model.txt", "waiting · hidden · other: Select Model [Auto|*Manual (gemini-2.5-pro)]"),
    (
        "waiting-permission-80x24.txt",
        "waiting · hidden · permission: Allow execution of [Shell]? [*Allow once|Allow for this session|No, suggest changes (esc)]",
    ),
    (
        "waiting-permission.txt",
        "waiting · hidden · permission: Allow execution of [Shell]? [*Allow once|Allow for this session|No, suggest changes (esc)]",
    ),
    (
        "waiting-question.txt",
        "waiting · hidden · question: Which database should the shop use? [*SQLite|Postgres|Enter a custom value]",
    ),
    ("working-draft-80x24.ansi.txt", r#"working · draft "and the names""#),
    ("working-tool-80x24.txt", "working · empty"),
    ("working.txt", "working · empty"),
];

#[test]
fn every_recorded_screen_is_read() {
    check_table(&GeminiScreen, VERSION, TABLE);
}

#[test]
fn a_model_that_quotes_a_dialog_asks_nothing() {
    let idle = ("interrupted-80x24.txt", "ℹ Request cancelled.");
    let dialog = "✦ It asked this:\n  ╭──────────────╮\n  │ Allow execution of [Shell]? │\n  │ ● 1. Allow once │\n  ╰──────────────╯";
    check_quote(&GeminiScreen, VERSION, idle, dialog);
    check_quote(&GeminiScreen, VERSION, idle, "✦ ⠹ Thinking... (esc to cancel, 3s)");
}

#[test]
fn an_error_is_over_when_the_model_has_gone_on() {
    let said = ("background.txt", "✦ The server runs.");
    check_quote(&GeminiScreen, VERSION, said, "✕ [API Error: quota]\n\n✦ The server runs.");
    check_quote(&GeminiScreen, VERSION, said, "✕ [API Error: 500]\n\n✦ The server runs.");
}

#[test]
fn a_placeholder_is_told_by_the_cursor() {
    let read = |name, cursor| with_cursor(&GeminiScreen, VERSION, name, cursor);
    assert_eq!(read("idle.ansi.txt", (3, 19)), PromptLine::Empty);
    assert_ne!(read("idle.ansi.txt", (37, 19)), PromptLine::Empty);
}

#[test]
fn the_title_says_that_it_works() {
    let idle = recorded(VERSION, "idle.ansi.txt");
    assert_eq!(
        GeminiScreen.read(&idle.clone().with_title("✦  Working… (shop)")).state,
        Some(ScreenState::Working)
    );
    assert_eq!(GeminiScreen.read(&idle.with_title("◇  Ready (shop)")).state, Some(ScreenState::Idle));
    let limited = recorded(VERSION, "limited.ansi.txt").with_title("✦  Working… (shop)");
    assert_eq!(GeminiScreen.read(&limited).state, Some(ScreenState::Limited));
}

#[test]
fn pastes_are_known_by_their_length() {
    assert!(GeminiScreen.is_our_paste("[Pasted Text: 6 lines]", "1\n2\n3\n4\n5\n6"));
    assert!(!GeminiScreen.is_our_paste("[Pasted Text: 5 lines]", "1\n2\n3\n4\n5\n6"));
    assert!(GeminiScreen.is_our_paste("[Pasted Text: 3003 chars]", &"z".repeat(3003)));
    assert!(!GeminiScreen.is_our_paste("[Pasted Text: 3003]", &"z".repeat(3003)));
}

#[test]
fn answers() {
    let asked = dialog_on(&GeminiScreen, VERSION, "waiting-permission-80x24.txt");
    assert_eq!(step_for(&GeminiScreen, &asked, "allow"), takes());
    assert_eq!(step_for(&GeminiScreen, &asked, "deny"), AnswerStep::Move(ScreenKey::Down));
    assert_eq!(asked.id(), dialog_on(&GeminiScreen, VERSION, "waiting-permission.txt").id());
    let trust = dialog_on(&GeminiScreen, VERSION, "trust.txt");
    assert_eq!(step_for(&GeminiScreen, &trust, "allow"), takes());
    assert_eq!(step_for(&GeminiScreen, &trust, "don't"), AnswerStep::Move(ScreenKey::Down));
}
