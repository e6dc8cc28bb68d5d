//! Tests of the chat without a terminal: keys go in, screens come out.

mod acting;
mod chatting;
mod headings;
mod help;
mod hostile;
mod keys;
mod knowledge;
mod machines;
mod overlaps;
mod pictures;
mod places;
mod runs;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::{SignedDuration, Timestamp};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Size;

use crate::domain::awareness::PredictionEnd;
use crate::domain::{Importance, Presence};

use super::model::{
    ChatMessage, ConflictItem, FeedLine, HeadsUpItem, KnowledgeItem, KnowledgeList, KnowledgePage,
    MeshSnapshot, MessageStatus, OverlapItem, OverlapsView, PeerItem, ReceiptView, ReservationItem, SentCopy,
    SpecView, TaskItem, TaskStateView, Tone,
};
use super::state::{ChatEffect, ChatState, ChatUpdate};
use super::theme::Theme;
use super::update::ChatInput;
use super::view;

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn ago(minutes: i64) -> Timestamp {
    now() - SignedDuration::from_mins(minutes)
}

fn peer(name: &str, presence: Presence) -> PeerItem {
    PeerItem {
        name: name.to_string(),
        presence,
        last_sign: ago(0),
        machine: None,
        harness: "claude".to_string(),
        model: "opus-5".to_string(),
        branch: Some("main".to_string()),
        spec: None,
        spec_path: None,
        task: None,
        status: None,
    }
}

fn world() -> MeshSnapshot {
    let swift = PeerItem {
        spec: Some("./docs/login.md".to_string()),
        task: Some(("TASK-03".to_string(), Some("the hashes are done".to_string()))),
        ..peer("SwiftRaven", Presence::Active)
    };
    let gold = PeerItem {
        spec: Some("./docs/login.md".to_string()),
        harness: "codex".to_string(),
        model: "gpt-6".to_string(),
        branch: Some("feature/log-out-everywhere".to_string()),
        status: Some("waits for src/auth/".to_string()),
        last_sign: ago(4),
        ..peer("GoldFalcon", Presence::Idle)
    };
    let calm = PeerItem { last_sign: ago(190), branch: None, ..peer("CalmOwl", Presence::Away) };
    let task =
        |id: &str, title: &str, state| TaskItem { id: id.to_string(), title: title.to_string(), state };
    let board = SpecView {
        spec: "./docs/login.md".to_string(),
        path: "/shop/docs/login.md".to_string(),
        tasks: vec![
            task(
                "TASK-01",
                "Store passwords as hashes",
                TaskStateView::Done { by: Some("SwiftRaven".into()) },
            ),
            task("TASK-02", "Log in", TaskStateView::Open),
            task(
                "TASK-03",
                "Log out, everywhere and at once",
                TaskStateView::Claimed { by: "SwiftRaven".into(), since: ago(12) },
            ),
            task("TASK-04", "Forgotten passwords", TaskStateView::Blocked(vec!["TASK-02".into()])),
        ],
        trouble: None,
    };
    let hold = |pattern: &str, refused: &[&str]| ReservationItem {
        pattern: pattern.to_string(),
        root: Some("/shop".to_string()),
        reach_note: "",
        holder: "SwiftRaven".to_string(),
        since: ago(12),
        reason: Some("new login flow".to_string()),
        task: None,
        refused: refused.iter().map(|name| name.to_string()).collect(),
        contested: Vec::new(),
        target: format!("/shop/{pattern}"),
        is_one_path: !pattern.contains('*'),
    };
    MeshSnapshot {
        mesh: "~/.local/state/ravenry".to_string(),
        me: "Robin".to_string(),
        peers: vec![calm, gold, swift],
        boards: vec![board],
        holds: vec![hold("src/auth/", &["GoldFalcon"]), hold("src/session/**/*.rs", &[])],
        groups: vec!["backend".to_string()],
    }
}

fn pair(who: &str, with: &str, percent: u8, file: &str, why: &str) -> OverlapItem {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
    OverlapItem {
        who: who.to_string(),
        with: with.to_string(),
        arrow: "→",
        percent,
        file: some(file),
        why: some(why),
        signals: Vec::new(),
    }
}

fn heads_up(id: &str, minutes: i64, percent: u8, end: Option<PredictionEnd>) -> HeadsUpItem {
    HeadsUpItem {
        id: id.to_string(),
        at: ago(minutes),
        who: "GoldFalcon".to_string(),
        with: "SwiftRaven".to_string(),
        percent,
        file: "src/auth/login.rs".to_string(),
        end,
    }
}

/// Overlaps of every kind.
fn near() -> OverlapsView {
    let login = "prompts about `login` usually end there (7 of 9)";
    let in_common = vec!["both go deeper into session, cookie".to_string()];
    let side = |name: &str, change: &str| (name.to_string(), change.to_string());
    OverlapsView {
        place: "~/shop".to_string(),
        is_off: false,
        agents: 3,
        conflicts: vec![ConflictItem {
            file: "src/auth/hash.rs".to_string(),
            sides: vec![side("SwiftRaven", "lines 10–14, 20"), side("GoldFalcon", "removed")],
        }],
        pairs: vec![
            OverlapItem {
                signals: in_common.clone(),
                ..pair("GoldFalcon", "SwiftRaven", 73, "src/auth/login.rs", login)
            },
            OverlapItem { signals: in_common, ..pair("CalmOwl", "GoldFalcon", 8, "", "") },
        ],
        told: vec![
            heads_up("1c2d3e4f", 0, 73, None),
            heads_up("2d3e4f50", 45, 58, Some(PredictionEnd::Prevented)),
            heads_up("3e4f5061", 200, 100, Some(PredictionEnd::Occurred)),
            heads_up("4f506172", 600, 51, Some(PredictionEnd::FalseAlarm)),
        ],
    }
}

fn item(id: &str, marks: &[&str], sentence: &str, place: &str) -> KnowledgeItem {
    let (kind, name) = id.split_once('/').unwrap();
    KnowledgeItem {
        id: id.to_string(),
        kind: kind.to_string(),
        name: name.to_string(),
        marks: marks.iter().map(|mark| mark.to_string()).collect(),
        is_outdated: marks.iter().any(|mark| ["stale", "gone"].contains(mark)),
        sentence: sentence.to_string(),
        place: (!place.is_empty()).then(|| place.to_string()),
    }
}

fn records() -> KnowledgeList {
    let items = vec![
        item("decision/one-lock-guards-all-names", &[], "One lock guards all names", "src/sys/flock.rs#lock"),
        item(
            "tried/caching-the-registry-in-memory",
            &["stale"],
            "Caching the registry in memory does not work, because other processes change it",
            "src/store/mesh.rs:12-40",
        ),
        item("note/tests-run-locked", &[], "Run the tests with --locked", "$ cargo test"),
        item(
            "decision/two-locks",
            &["drifted", "on feature-x, not merged"],
            "Two locks, in a fixed order",
            "",
        ),
        item("file/hash", &["gone"], "漢字 and é in passwords are hashed here, too", "src/auth/hash.rs"),
    ];
    KnowledgeList { words: String::new(), items, total: 340 }
}

fn page() -> KnowledgePage {
    let lines = [
        "“One lock guards all names”",
        "why: “Two locks deadlocked when a process held the one and waited for the other, and nobody could say in which order they were taken.”",
        "at: src/sys/flock.rs#lock stale",
        "by Alice on 2026-11-12, tested, confidence 0.9, confirmed by Bob",
        "changed: `src/sys/flock.rs#lock` 12 lines changed in 2 commits since a1b2c3d, last by Ann: “take it later”",
    ];
    let lines = lines.map(str::to_string).to_vec();
    KnowledgePage { heading: "decision/one-lock-guards-all-names (stale)".to_string(), lines }
}

fn received(number: usize, from: &str, text: &str) -> ChatMessage {
    ChatMessage {
        key: format!("{:013}-aaaaaa", 1_000 + number),
        from: from.to_string(),
        to: "Robin".to_string(),
        text: text.to_string(),
        at: ago(60 - number as i64),
        importance: Importance::Normal,
        kind: None,
        wants_answer: false,
        wants_ack: false,
        is_broadcast: false,
        standing: MessageStatus::Read,
    }
}

fn unread(number: usize, from: &str, text: &str) -> ChatMessage {
    ChatMessage { standing: MessageStatus::Unread, ..received(number, from, text) }
}

fn sent(number: usize, to: &str, text: &str, receipt: ReceiptView) -> ChatMessage {
    let message = received(number, "Robin", text);
    let copy = SentCopy { key: message.key.clone(), to: to.to_string(), receipt };
    ChatMessage { to: to.to_string(), standing: MessageStatus::Mine(vec![copy]), ..message }
}

fn happened(minutes: i64, who: &str, what: &str, tone: Tone) -> FeedLine {
    FeedLine { at: ago(minutes), who: who.to_string(), what: what.to_string(), tone, times: 1 }
}

/// A state with something in every tab.
fn full(width: u16, height: u16) -> ChatState {
    let mut state = empty(width, height);
    state.hear(ChatUpdate::World(Box::new(world())));
    state.hear(ChatUpdate::Messages(vec![
        received(1, "SwiftRaven", "I take src/auth/ for the new login flow, for about an hour."),
        sent(2, "SwiftRaven", "Fine. Leave session.rs to GoldFalcon, please.", ReceiptView::Acked),
        received(
            3,
            "SwiftRaven",
            "Done.\n\n- hashes: src/auth/hash.rs\n- tests: 漢字 and é in passwords, too",
        ),
        sent(4, "SwiftRaven", "Thanks!", ReceiptView::Surfaced),
        unread(5, "SwiftRaven", "TASK-03 is next. Shall I?"),
        ChatMessage {
            importance: Importance::Urgent,
            ..unread(6, "GoldFalcon", "I wait for src/auth/login.rs")
        },
        ChatMessage { is_broadcast: true, ..received(7, "CalmOwl", "main is green again") },
        ChatMessage {
            is_broadcast: true,
            ..sent(8, "SwiftRaven", "Commit by six, please.", ReceiptView::Acked)
        },
        ChatMessage {
            is_broadcast: true,
            at: ago(52),
            ..sent(9, "GoldFalcon", "Commit by six, please.", ReceiptView::Stored)
        },
    ]));
    state.hear(ChatUpdate::Events(vec![
        happened(30, "SwiftRaven", "joined", Tone::Plain),
        happened(12, "SwiftRaven", "reserved src/auth/", Tone::Plain),
        happened(9, "GoldFalcon", "was refused src/auth/login.rs", Tone::Bad),
        happened(2, "SwiftRaven", "completed TASK-01: bcrypt, see src/auth/hash.rs", Tone::Good),
    ]));
    state.hear(ChatUpdate::Overlaps(Box::new(near())));
    state.hear(ChatUpdate::Records(Box::new(records())));
    state.hear(ChatUpdate::Runs(runs::list()));
    state
}

fn empty(width: u16, height: u16) -> ChatState {
    ChatState::new(Size::new(width, height), now())
}

fn press(state: &mut ChatState, code: KeyCode) -> Vec<ChatEffect> {
    press_with(state, code, KeyModifiers::NONE)
}

fn press_with(state: &mut ChatState, code: KeyCode, held: KeyModifiers) -> Vec<ChatEffect> {
    let mut effects = state.update(ChatInput::Key(KeyEvent::new(code, held)));
    effects.retain(|effect| *effect != ChatEffect::SignOfLife);
    effects
}

fn type_in(state: &mut ChatState, text: &str) {
    for letter in text.chars() {
        assert_eq!(press(state, KeyCode::Char(letter)), []);
    }
}

/// Opens the conversation with that agent, or presses Tab until the tab of that name is open.
fn go(state: &mut ChatState, name: &str) {
    if state.conversations.iter().any(|conversation| conversation.is_with(name)) {
        return state.open(name);
    }
    for _ in 0..state.tabs().len() {
        let open = match &state.tab {
            super::state::Tab::Conversation(with) => with.clone(),
            tab => format!("{tab:?}"),
        };
        if open == name {
            return;
        }
        press(state, KeyCode::Tab);
    }
    panic!("there is no tab {name}");
}

fn picture(state: &ChatState) -> String {
    let Size { width, height } = state.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(frame, state, Theme { has_colour: true, ..Theme::PLAIN })).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row = |y: u16| {
        let mut text = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            text.push_str(symbol);
            x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol)).unwrap().max(1);
        }
        text.trim_end().to_string()
    };
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}
