//! Two agents in two panes: Alice reserves a directory, Bob's edit in it is refused, Alice releases it, Bob is told.
//!
//! Everything in the panes is real output of `msg` on a temporary mesh with a fixed clock. So two runs give the same
//! picture, and `tests/it/picture.rs` notices if the program prints something else.
//!
//! The picture is SVG with CSS animations and no script. Without animations (`prefers-reduced-motion`, or a viewer
//! that has none) it shows the final state.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ravenry::sys::test_switches;
use serde_json::{Value, json};

/// The path of the picture in the repository.
pub const PATH: &str = "docs/demo.svg";

/// A line of a pane, and the second at which it appears.
struct Line {
    at: f64,
    mark: Mark,
    text: String,
    /// The time of day, shown next to an agent's actions.
    clock: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    /// A command, typed letter by letter.
    Command,
    /// A tool call of the harness.
    Tool,
    Allowed,
    Denied,
    /// Output of a command.
    Said,
    /// Text that the harness gives to the model.
    Mail,
    Blank,
}

impl Mark {
    /// The text before the line, and its class.
    fn sign(self) -> (&'static str, &'static str) {
        match self {
            Self::Command => ("$ ", "dim"),
            Self::Tool => ("● ", "blue"),
            Self::Allowed => ("  ✓ ", "good"),
            Self::Denied => ("  ✗ ", "bad"),
            Self::Said | Self::Mail | Self::Blank => ("", ""),
        }
    }

    /// The class of the background.
    fn ground(self) -> Option<&'static str> {
        match self {
            Self::Denied => Some("denied"),
            Self::Mail => Some("mail"),
            _ => None,
        }
    }
}

/// The lines of both panes at the end.
struct Panes {
    alice: Vec<Line>,
    bob: Vec<Line>,
}

/// The steps below the panes: text, class and the second at which each is reached.
const STEPS: [(&str, &str, f64); 4] = [
    ("Alice reserves a directory", "good", RESERVED),
    ("Bob’s edit in it is refused", "bad", REFUSED),
    ("Alice releases it", "good", RELEASED),
    ("Bob is told, and goes on", "good", TOLD),
];
const RESERVED: f64 = 2.6;
const REFUSED: f64 = 6.2;
const RELEASED: f64 = 11.6;
const TOLD: f64 = 13.4;

/// Plays the scene with this `msg` and draws it.
pub fn draw(msg: &Path) -> String {
    let scene = Scene::set(msg);
    svg(&scene.play())
}

/// A project in a temporary directory, and a process for each of two agents.
struct Scene<'a> {
    msg: &'a Path,
    dir: tempfile::TempDir,
    hosts: [Child; 2],
}

impl<'a> Scene<'a> {
    fn set(msg: &'a Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("shop/src/auth")).unwrap();
        let host = || Command::new("sleep").arg("120").stdin(Stdio::null()).spawn().unwrap();
        let scene = Self { msg, dir, hosts: [host(), host()] };
        for (number, name, harness) in [(0, "Alice", "claude"), (1, "Bob", "codex")] {
            let pid = scene.hosts[number].id().to_string();
            let args = ["join", name, "--harness", harness, "--session", name, "--pid", &pid];
            scene.run("10:00", &args, None);
        }
        scene
    }

    fn run(&self, clock: &str, args: &[&str], payload: Option<&Value>) -> String {
        let mut command = Command::new(self.msg);
        command.args(args).env_clear().env("HOME", self.dir.path()).current_dir(self.dir.path().join("shop"));
        command.env(test_switches::NOW, format!("2026-11-16T{clock}:00Z")).env(test_switches::SEED, "7");
        command.env(test_switches::ANCESTRY_END, std::process::id().to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = payload.map(Value::to_string).unwrap_or_default();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "msg {args:?} failed");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A command as the agent types it, without `--as`, which its harness makes unnecessary.
    fn command(&self, at: f64, clock: &'static str, name: &str, args: &[&str]) -> Vec<Line> {
        let shown = args.iter().map(|arg| match arg.contains(' ') {
            true => format!("\"{arg}\""),
            false => (*arg).to_string(),
        });
        let text = format!("msg {}", shown.collect::<Vec<_>>().join(" "));
        let answered = at + text.chars().count() as f64 * LETTER + 0.35;
        let said = self.run(clock, &[args, &["--as", name]].concat(), None);
        let mut lines = vec![Line { at, mark: Mark::Command, text, clock: Some(clock) }];
        lines.extend(said.lines().map(|line| shown_line(answered, Mark::Said, line)));
        lines
    }

    /// Calls the hook of the harness, as before an edit.
    fn edit(&self, at: f64, clock: &'static str, edit: &Edit) -> Vec<Line> {
        let answer = self.hook(clock, edit, "PreToolUse");
        let decision = &answer["hookSpecificOutput"];
        let verdict = match decision["permissionDecision"].as_str() {
            None => shown_line(at + 0.6, Mark::Allowed, "allowed"),
            Some(word) => {
                let reason = decision["permissionDecisionReason"].as_str().unwrap();
                shown_line(at + 1.0, Mark::Denied, &format!("{word}: {reason}"))
            }
        };
        let text = format!("{} {}", edit.tool, edit.path);
        vec![Line { at, mark: Mark::Tool, text, clock: Some(clock) }, verdict]
    }

    fn hook(&self, clock: &str, edit: &Edit, event: &str) -> Value {
        let payload = json!({
            "session_id": edit.agent,
            "cwd": self.dir.path().join("shop"),
            "hook_event_name": event,
            "tool_name": edit.tool,
            "tool_input": edit.input,
        });
        let said = self.run(clock, &["hook", edit.harness, event], Some(&payload));
        if said.is_empty() { Value::Null } else { serde_json::from_str(&said).unwrap() }
    }

    fn play(&self) -> Panes {
        let bobs = Edit::of_bob("src/auth/login.rs");
        let reserve = ["reserve", "src/auth/", "--reason", "login flow"];
        let mut alice = self.command(0.6, "10:01", "Alice", &reserve);
        alice.push(blank());
        alice.extend(self.edit(3.4, "10:02", &Edit::of_alice("src/auth/hash.rs")));
        let mut bob = self.edit(5.2, "10:05", &bobs);
        bob.push(blank());
        alice.extend(self.edit(8.6, "10:08", &Edit::of_alice("src/auth/login.rs")));
        alice.push(blank());
        alice.extend(self.command(10.6, "10:12", "Alice", &["release"]));
        // The text that Bob's harness gives to its model after its next tool call.
        let told = self.hook("10:12", &bobs, "PostToolUse");
        let told = told["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        bob.extend(told.lines().map(|line| shown_line(TOLD, Mark::Mail, line)));
        bob.push(blank());
        bob.extend(self.edit(15.4, "10:13", &bobs));
        assert!(bob[1].mark == Mark::Denied && bob.last().unwrap().mark == Mark::Allowed);
        Panes { alice, bob }
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        for host in &mut self.hosts {
            drop(host.kill());
            drop(host.wait());
        }
    }
}

/// An edit, as the harness reports it.
struct Edit {
    agent: &'static str,
    harness: &'static str,
    tool: &'static str,
    path: &'static str,
    input: Value,
}

impl Edit {
    fn of_alice(path: &'static str) -> Self {
        let input = json!({ "file_path": path, "content": "" });
        Self { agent: "Alice", harness: "claude", tool: "Write", path, input }
    }

    fn of_bob(path: &'static str) -> Self {
        let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n-old\n+new\n*** End Patch");
        let input = json!({ "command": patch });
        Self { agent: "Bob", harness: "codex", tool: "apply_patch", path, input }
    }
}

fn shown_line(at: f64, mark: Mark, text: &str) -> Line {
    Line { at, mark, text: text.to_string(), clock: None }
}

fn blank() -> Line {
    shown_line(0.0, Mark::Blank, "")
}

/// Characters in a line of a pane.
const COLUMNS: usize = 52;
const CELL: f64 = 7.2;
const ROW: f64 = 18.0;
const PADDING: f64 = 16.0;
const BAR: f64 = 34.0;
const GAP: f64 = 14.0;
const PANE: f64 = COLUMNS as f64 * CELL + 2.0 * PADDING;
const WIDTH: f64 = 2.0 * PANE + GAP + 2.0;
const FOOT: f64 = 46.0;
/// Seconds for a typed letter, and between two lines of output.
const LETTER: f64 = 0.03;
const NEXT_LINE: f64 = 0.09;

const STYLE: &str = "\
text{font:12px ui-monospace,SFMono-Regular,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}
.pane{fill:#fff;stroke:#d0d7de}.bar{fill:#f6f8fa}.rule{stroke:#d0d7de}
.name{font-weight:700}.dim{fill:#656d76}.blue{fill:#0969da}.good{fill:#1a7f37}.bad{fill:#cf222e}
.pill rect{fill:#fff8c5;stroke:#d4a72c}.pill text{fill:#7d4e00}.pill{opacity:0}
.denied{fill:#ffebe9}.mail{fill:#ddf4ff}
.step text{font:13px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}
.step .number{fill:#fff;font-weight:700;font-size:12px;text-anchor:middle}
.typed tspan{animation:typed 1ms both}
.shown{animation:shown .3s ease-out both}
.step{animation:reached .4s ease-out both}
.pill{animation:taken .3s forwards,given .3s forwards}
@keyframes typed{from{visibility:hidden}}
@keyframes shown{from{opacity:0}}
@keyframes reached{from{opacity:.25}}
@keyframes taken{to{opacity:1}}
@keyframes given{from{opacity:1}to{opacity:0}}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.pane{fill:#0d1117;stroke:#30363d}.bar{fill:#161b22}.rule{stroke:#30363d}
.dim{fill:#8b949e}.blue{fill:#58a6ff}.good{fill:#3fb950}.bad{fill:#f85149}
.pill rect{fill:#3a2d00;stroke:#9e7700}.pill text{fill:#e3b341}
.denied{fill:#361214}.mail{fill:#0c2744}.step .number{fill:#0d1117}}
@media (prefers-reduced-motion:reduce){*,.typed tspan{animation:none!important}}
";

fn svg(panes: &Panes) -> String {
    let rows = |lines: &[Line]| lines.iter().map(|line| wrapped(line).len()).sum::<usize>();
    let most = rows(&panes.alice).max(rows(&panes.bob));
    let pane_height = BAR + 2.0 * PADDING + most as f64 * ROW - 4.0;
    let height = pane_height + FOOT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" xml:space=\"preserve\" \
         role=\"img\" aria-labelledby=\"title\">\n<title id=\"title\">Alice reserves src/auth/; Bob’s edit in \
         it is refused; Alice releases it; Bob is told and goes on</title>\n<style>\n{STYLE}</style>\n"
    );
    pane(&mut svg, 1.0, pane_height, ("Alice", "Claude Code"), &panes.alice);
    pill(&mut svg, 1.0 + PANE - PADDING, "holds src/auth/");
    pane(&mut svg, 1.0 + PANE + GAP, pane_height, ("Bob", "Codex"), &panes.bob);
    let share = WIDTH / STEPS.len() as f64;
    for (number, (text, class, at)) in STEPS.iter().enumerate() {
        let (x, y) = (number as f64 * share + 14.0, pane_height + 28.0);
        writeln!(
            svg,
            "<g class=\"step\"{}><circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"9\"/><text class=\"number\" \
             x=\"{x:.1}\" y=\"{y:.1}\">{}</text><text x=\"{:.1}\" y=\"{y:.1}\">{text}</text></g>",
            delay(*at),
            y - 4.2,
            number + 1,
            x + 16.0,
        )
        .unwrap();
    }
    svg.push_str("</svg>\n");
    svg
}

fn pane(svg: &mut String, x: f64, height: f64, (name, harness): (&str, &str), lines: &[Line]) {
    let text_x = x + PADDING;
    writeln!(
        svg,
        "<rect class=\"pane\" x=\"{x:.1}\" y=\"1\" width=\"{PANE:.1}\" height=\"{height:.1}\" rx=\"8\"/>\n<path \
         class=\"bar\" d=\"M{:.1} {BAR}V9a7.5 7.5 0 0 1 7.5-7.5H{:.1}a7.5 7.5 0 0 1 7.5 7.5V{BAR}z\"/>\n<path \
         class=\"rule\" d=\"M{x:.1} {BAR}h{PANE:.1}\"/>\n<text x=\"{text_x:.1}\" y=\"22\"><tspan \
         class=\"name\">{name}</tspan><tspan class=\"dim\"> · {harness}</tspan></text>",
        x + 0.5,
        x + PANE - 8.0,
    )
    .unwrap();
    let mut y = BAR + PADDING + ROW * 0.6;
    for line in lines {
        let rows = wrapped(line);
        if let Some(class) = line.mark.ground() {
            let (x, top, width) = (x + PADDING / 2.0, y - ROW * 0.72, PANE - PADDING);
            writeln!(
                svg,
                "<rect class=\"shown {class}\"{} x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
                delay(line.at),
                rows.len() as f64 * ROW
            )
            .unwrap();
        }
        if let Some(clock) = line.clock {
            let (x, delay) = (text_x + (COLUMNS - clock.len()) as f64 * CELL, delay(line.at));
            writeln!(svg, "<text class=\"shown dim\"{delay} x=\"{x:.1}\" y=\"{y:.1}\">{clock}</text>")
                .unwrap();
        }
        for (number, text) in rows.iter().enumerate() {
            row(svg, (text_x, y), line, number, text);
            y += ROW;
        }
    }
}

/// One row of a line. A command appears letter by letter, anything else row by row.
fn row(svg: &mut String, (x, y): (f64, f64), line: &Line, number: usize, text: &str) {
    let at = line.at + number as f64 * NEXT_LINE;
    let (class, whole, sign_alone, words) = match line.mark {
        Mark::Blank => return,
        Mark::Command => ("typed", String::new(), delay(at), typed(text, at)),
        _ => ("shown", delay(at), String::new(), escaped(text)),
    };
    let (sign, sign_class) = if number == 0 { line.mark.sign() } else { ("", "") };
    // A row has the expected length, whichever font the viewer has.
    let length = (sign.chars().count() + text.chars().count()) as f64 * CELL;
    let sign = match sign {
        "" => String::new(),
        sign => format!("<tspan class=\"{sign_class}\"{sign_alone}>{sign}</tspan>"),
    };
    writeln!(
        svg,
        "<text class=\"{class}\"{whole} x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\">{sign}{words}</text>"
    )
    .unwrap();
}

fn delay(at: f64) -> String {
    format!(" style=\"animation-delay:{at:.2}s\"")
}

/// The label with Alice's reservation in the title bar of her pane, shown while she holds it. `x` is its right end.
fn pill(svg: &mut String, x: f64, text: &str) {
    let width = text.chars().count() as f64 * CELL + 16.0;
    writeln!(
        svg,
        "<g class=\"pill\" style=\"animation-delay:{RESERVED:.2}s,{RELEASED:.2}s\"><rect x=\"{:.1}\" y=\"8\" \
         width=\"{width:.1}\" height=\"20\" rx=\"10\"/><text x=\"{:.1}\" y=\"22\">{text}</text></g>",
        x - width,
        x - width + 8.0,
    )
    .unwrap();
}

/// The text, one letter at a time.
fn typed(text: &str, at: f64) -> String {
    let letter = |(number, letter): (usize, char)| {
        let at = at + 0.3 + number as f64 * LETTER;
        format!("<tspan{}>{}</tspan>", delay(at), escaped(&letter.to_string()))
    };
    text.chars().enumerate().map(letter).collect()
}

/// The rows in which a pane shows the text; all but the first are indented.
fn wrapped(line: &Line) -> Vec<String> {
    let sign = line.mark.sign().0.chars().count();
    let indent = " ".repeat(sign.max(2));
    let mut rows = vec![String::new()];
    let mut left = COLUMNS - sign;
    for word in line.text.split(' ') {
        let row = rows.last_mut().unwrap();
        let length = word.chars().count();
        if row.trim().is_empty() {
            row.push_str(word);
        } else if length < left {
            row.push(' ');
            row.push_str(word);
            left -= 1;
        } else {
            rows.push(format!("{indent}{word}"));
            left = COLUMNS - indent.len();
        }
        left = left.saturating_sub(length);
    }
    rows
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
