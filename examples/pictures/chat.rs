//! The pictures of the chat for `docs/chat.md`.
//!
//! Agents join a temporary mesh, talk, reserve and claim, at times a few minutes in the past; then the real program
//! runs on a terminal of its own, and the screen is written as SVG.

use std::fmt::Write as _;
use std::fs::{self, File, FileTimes};
use std::io::{Read, Write as _};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use jiff::{SignedDuration, Timestamp};
use pty_process::{Size, blocking as pty};
use ravenry::sys::test_switches;
use vt100::Color;

const COLUMNS: u16 = 100;
const ROWS: u16 = 20;
const PATIENCE: Duration = Duration::from_secs(30);

pub fn draw_all(docs: &Path) {
    let scene = Scene::new();
    scene.play();
    let mut screen = Screen::open(&scene);
    screen.wait_for("CalmOwl");
    screen.wait_for("unread");
    save(&docs.join("agents.svg"), &screen);
    // The list of conversations, and the one with the latest unread message.
    screen.write("2");
    screen.wait_for("Shall I?");
    screen.write("\r");
    screen.wait_for("─ to ");
    screen.write("Yes. Take src/session/ with it");
    screen.wait_for("with it");
    save(&docs.join("chat.svg"), &screen);
    screen.write("\x03");
    screen.child.wait().unwrap();
}

fn save(path: &Path, screen: &Screen) {
    fs::write(path, svg(screen.emulator.lock().unwrap().screen())).unwrap();
    eprintln!("{}", path.display());
}

/// A project, and agents in it.
struct Scene {
    dir: tempfile::TempDir,
    hosts: Vec<Child>,
    now: Timestamp,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let host = || Command::new("sleep").arg("120").stdin(Stdio::null()).spawn().unwrap();
        let work = dir.path().join("shop");
        fs::create_dir_all(work.join("docs")).unwrap();
        fs::create_dir(work.join(".git")).unwrap();
        fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(work.join("docs/login.md"), SPEC).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the scene lies back from now")]
        let now = Timestamp::now();
        Self { dir, hosts: (0..3).map(|_| host()).collect(), now }
    }

    fn command(&self, minutes_ago: i64) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env_clear().env("HOME", self.dir.path()).env("PATH", std::env::var_os("PATH").unwrap());
        let at = self.now - SignedDuration::from_mins(minutes_ago);
        command
            .env(test_switches::NOW, at.to_string())
            .env(test_switches::ANCESTRY_END, std::process::id().to_string());
        command.current_dir(self.dir.path().join("shop")).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn run(&self, minutes_ago: i64, args: &[&str]) {
        // Refusals are part of the scene.
        self.command(minutes_ago).args(args).stderr(Stdio::null()).status().unwrap();
    }

    fn play(&self) {
        let [swift, gold, calm] = [0, 1, 2].map(|number: usize| self.hosts[number].id().to_string());
        let join = |name, pid: &str, harness, model| {
            self.run(64, &["join", name, "--pid", pid, "--harness", harness, "--model", model]);
        };
        join("SwiftRaven", &swift, "claude", "opus-5");
        join("GoldFalcon", &gold, "codex", "gpt-6");
        join("CalmOwl", &calm, "gemini", "gemini-4");
        self.run(63, &["join", "Robin", "--pid", &std::process::id().to_string(), "--harness", "terminal"]);
        for name in ["SwiftRaven", "GoldFalcon"] {
            self.run(62, &["spec", "docs/login.md", "--as", name]);
        }
        self.run(60, &["claim", "TASK-01", "--reserve", "src/auth/", "--as", "SwiftRaven"]);
        let send = |minutes, from, to, text| self.run(minutes, &["send", to, text, "--as", from]);
        send(59, "SwiftRaven", "Robin", "I take src/auth/ for the new login flow, for about an hour.");
        send(58, "Robin", "SwiftRaven", "Fine. Leave the sessions to GoldFalcon, please.");
        self.run(57, &["read", "--ack", "--as", "SwiftRaven"]);
        self.run(40, &["reserve", "src/auth/login.rs", "--as", "GoldFalcon"]);
        self.run(20, &["complete", "TASK-01", "--notes", "bcrypt", "--as", "SwiftRaven"]);
        send(
            12,
            "SwiftRaven",
            "Robin",
            "Done:\n- hashes in src/auth/hash.rs\n- tests for 漢字 and é in passwords",
        );
        send(11, "Robin", "SwiftRaven", "Thanks!");
        self.run(11, &["read", "--as", "SwiftRaven"]);
        self.run(10, &["read", "--as", "Robin"]);
        self.run(4, &["claim", "TASK-03", "--reason", "it needs the hashes", "--as", "SwiftRaven"]);
        self.run(4, &["reserve", "src/auth/", "--reason", "new login flow", "--as", "SwiftRaven"]);
        self.run(3, &["reserve", "src/auth/login.rs", "--as", "GoldFalcon"]);
        self.run(3, &["set-status", "waits for src/auth/login.rs", "--as", "GoldFalcon"]);
        send(2, "GoldFalcon", "Robin", "May I have src/auth/login.rs for a minute?");
        send(1, "SwiftRaven", "Robin", "TASK-03 touches the sessions, too. Shall I?");
        for (name, minutes) in [("GoldFalcon", 3), ("CalmOwl", 61)] {
            self.set_presence(name, minutes);
        }
    }

    fn set_presence(&self, name: &str, minutes: u64) {
        let path = self.dir.path().join(".local/state/ravenry/presence").join(name);
        #[expect(clippy::disallowed_methods, reason = "the scene lies back from now")]
        let at = SystemTime::now() - Duration::from_secs(minutes * 60);
        File::options().write(true).open(path).unwrap().set_times(FileTimes::new().set_modified(at)).unwrap();
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for host in &mut self.hosts {
            drop(host.kill());
            drop(host.wait());
        }
    }
}

const SPEC: &str = "# Login\n\n- [ ] TASK-01: Store passwords as hashes\n- [ ] TASK-02: Log in, needs TASK-01\n\
                    - [ ] TASK-03: Log out everywhere, needs TASK-01\n- [ ] TASK-04: Forgotten passwords, needs TASK-02\n";

/// The program on a terminal.
struct Screen {
    child: Child,
    terminal: pty::Pty,
    emulator: Arc<Mutex<vt100::Parser>>,
}

impl Screen {
    fn open(scene: &Scene) -> Self {
        let (terminal, pts) = pty::open().unwrap();
        terminal.resize(Size::new(ROWS, COLUMNS)).unwrap();
        let own = scene.command(0);
        let mut command =
            pty::Command::new(own.get_program()).env_clear().current_dir(own.get_current_dir().unwrap());
        for (name, value) in own.get_envs() {
            command = command.env(name, value.unwrap());
        }
        let child = command.env("TERM", "xterm-256color").args(["tui", "--as", "Robin"]).spawn(pts).unwrap();
        let emulator = Arc::new(Mutex::new(vt100::Parser::new(ROWS, COLUMNS, 0)));
        let mut output = File::from(terminal.as_fd().try_clone_to_owned().unwrap());
        let seen = Arc::clone(&emulator);
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                seen.lock().unwrap().process(&bytes[..count]);
            }
        });
        Self { child, terminal, emulator }
    }

    fn write(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
    }

    fn wait_for(&self, text: &str) {
        let started = Instant::now();
        while !self.emulator.lock().unwrap().screen().contents().contains(text) {
            assert!(started.elapsed() < PATIENCE, "no {text:?} on the screen");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

const CELL_WIDTH: f64 = 8.4;
const CELL_HEIGHT: f64 = 18.0;
const MARGIN: f64 = 12.0;
const INK: &str = "#d8dee9";
const PAPER: &str = "#1f2430";
/// The first eight of the terminal's sixteen colours.
const PALETTE: [&str; 8] =
    ["#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9"];

/// The screen as SVG: backgrounds where there are any, and text in runs of one style.
fn svg(screen: &vt100::Screen) -> String {
    let width = f64::from(COLUMNS) * CELL_WIDTH + 2.0 * MARGIN;
    let height = f64::from(ROWS) * CELL_HEIGHT + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-size=\"14\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{PAPER}\"/>\n"
    );
    for row in 0..ROWS {
        let mut column = 0;
        while column < COLUMNS {
            let start = column;
            let style = Style::of(screen, row, column);
            let mut text = String::new();
            while column < COLUMNS && Style::of(screen, row, column) == style {
                let cell = screen.cell(row, column).unwrap();
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
                column += if cell.is_wide() { 2 } else { 1 };
            }
            draw(&mut svg, (row, start, column), &text, style);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

#[derive(Clone, Copy, Eq, PartialEq)]
struct Style {
    ink: &'static str,
    inverse: bool,
    bold: bool,
    faint: bool,
}

impl Style {
    fn of(screen: &vt100::Screen, row: u16, column: u16) -> Self {
        let cell = screen.cell(row, column).unwrap();
        let ink = match cell.fgcolor() {
            Color::Idx(number) => PALETTE[usize::from(number) % PALETTE.len()],
            _ => INK,
        };
        Self { ink, inverse: cell.inverse(), bold: cell.bold(), faint: cell.dim() }
    }
}

fn draw(svg: &mut String, (row, start, end): (u16, u16, u16), text: &str, style: Style) {
    let x = MARGIN + f64::from(start) * CELL_WIDTH;
    let y = MARGIN + f64::from(row) * CELL_HEIGHT;
    let width = f64::from(end - start) * CELL_WIDTH;
    let mut ink = style.ink;
    if style.inverse {
        writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{CELL_HEIGHT}\" fill=\"{INK}\"/>"
        )
        .unwrap();
        ink = if ink == INK { PAPER } else { ink };
    }
    if text.trim().is_empty() {
        return;
    }
    let weight = if style.bold { " font-weight=\"bold\"" } else { "" };
    let opacity = if style.faint { " opacity=\"0.6\"" } else { "" };
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let base = y + CELL_HEIGHT * 0.75;
    writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{base:.1}\" textLength=\"{width:.1}\" fill=\"{ink}\"{weight}{opacity} \
         xml:space=\"preserve\">{text}</text>"
    )
    .unwrap();
}
