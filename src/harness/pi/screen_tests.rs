//! What is read from recorded screens of pi.

use crate::domain::screens::ScreenText;
use crate::harness::screen::ScreenReader;
use crate::harness::screen_fixture::{check_quote, check_table, recorded_text, summary};

use super::screen::PiScreen;

const VERSION: &str = "pi-0.87.1";

/// What each screen says. A killed or ended program leaves a screen that says nothing.
const TABLE: &[(&str, &str)] = &[
    ("context.txt", "idle · empty · 0% left"),
    ("draft-multiline-80x24.txt", r#"idle · draft "first line\nsecond line\nthird; line" · 100% left"#),
    ("draft.ansi.txt", r#"idle · draft "please look at the half-written thi" · 100% left"#),
    ("ended.txt", "none · hidden"),
    (
        "error-500.txt",
        r#"idle · empty · 99% left · error: Error: Retry failed after 3 attempts: 500: {"code":500,"message":"The server had an error while processing your request.","type":"server_error","status":"INTERNAL"}"#,
    ),
    ("idle-after-80x24.txt", "idle · empty · 100% left"),
    ("idle-after-tool.txt", "idle · empty · 100% left"),
    ("idle.ansi.txt", "idle · empty · 100% left"),
    ("interrupted-80x24.txt", "interrupted · empty · 100% left"),
    ("interrupted.ansi.txt", "interrupted · empty · 100% left"),
    ("killed.ansi.txt", "none · hidden"),
    ("limited.ansi.txt", "limited · empty · 100% left"),
    (
        "login-401.ansi.txt",
        r#"idle · empty · 100% left · login: Error: 401: {"code":401,"message":"Incorrect API key provided: dummy.","type":"invalid_request_error","status":"UNAUTHENTICATED"}"#,
    ),
    ("pasted-60k.ansi.txt", r#"idle · draft "[paste #1 +1000 lines]" · 100% left"#),
    (
        "pasted-lines.txt",
        r#"idle · draft "first\nsecond line\n\nC-c\nEnter\nlast; größer → 日本語 🙂" · 100% left"#,
    ),
    ("pasted-longline.txt", r#"idle · draft "[paste #1 3003 chars]" · 100% left"#),
    ("queued-80x24.txt", "working · empty · 100% left"),
    ("shell-mode.txt", r#"idle · draft "!" · 100% left"#),
    ("slash-menu.txt", r#"idle · draft "/" · 100% left"#),
    (
        "waiting-model.txt",
        "waiting · hidden · other: Only showing models from configured providers. Use /login to add providers. [*✓ fake-model [fake]] · 0% left",
    ),
    ("working-draft-80x24.txt", r#"working · draft "and the names" · 100% left"#),
    ("working-tool-80x24.txt", "working · empty · 100% left"),
    ("working.ansi.txt", "working · empty · 99% left"),
];

#[test]
fn every_recorded_screen_is_read() {
    check_table(&PiScreen, VERSION, TABLE);
}

#[test]
fn a_model_that_quotes_a_screen_does_not_work() {
    let idle = ("idle-after-80x24.txt", " Very well.");
    let busy =
        " It shows this:\n ── ⠹ Working ──────────────────────\n Enter to select · Escape/Ctrl+C to cancel";
    check_quote(&PiScreen, VERSION, idle, busy);
}

#[test]
fn words_about_an_error_are_no_error() {
    let said =
        recorded_text(VERSION, "idle-after-80x24.txt").replace(" Very well.", " Error: 429: is what it says");
    let coloured = ScreenText::of_capture(&format!("\u{1b}[39m{said}"));
    assert_eq!(summary(&PiScreen.read(&coloured)), "idle · empty · 100% left");
}

#[test]
fn pastes_are_known_by_their_length() {
    let lines = "x\n".repeat(999) + "x";
    assert!(PiScreen.is_our_paste("[paste #1 +1000 lines]", &lines));
    assert!(!PiScreen.is_our_paste("[paste #1 +1001 lines]", &lines));
    assert!(PiScreen.is_our_paste("[paste #1 3003 chars]", &"z".repeat(3003)));
    assert!(!PiScreen.is_our_paste("[paste #1]", &lines));
}
