//! A stand-in for a client in a terminal: it draws its prompt line, dialogs and turns as Claude Code does, takes pastes
//! and keys, calls its hooks, and logs what it takes. The program of these tests itself, started again in a pane.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use ravenry::domain::Harness;
use ravenry::domain::screens::{PromptLine, ScreenReading, ScreenState, ScreenText};
use ravenry::sys::test_switches;
use ravenry::sys::tmux::TmuxPane;
use ravenry::sys::tmux::server::NewWindow;
use serde_json::{Value, json};

use super::{SESSION, Tmux};
use crate::support::environment::wait_until;

/// The name of the agent, the directory with its files, and the program `msg`, if this process is a stand-in.
const VARIABLE: &str = "STAND_IN";
const RULE: &str = "────────────────────────────────────────────────────────────";
/// A line that is longer is shown by its length alone.
const LONGEST_LINE: usize = 100;

/// A stand-in in a pane, as a test sees it.
pub struct StandIn {
    pub name: String,
    pub pane: TmuxPane,
    dir: PathBuf,
}

impl StandIn {
    /// Starts one that joins under that name.
    pub fn start(tmux: &Tmux, name: &str) -> Self {
        Self::start_as("claude", tmux, name)
    }

    /// The same under the name of another program. It looks the same, as far as a prompt line is concerned.
    pub fn start_as(program: &str, tmux: &Tmux, name: &str) -> Self {
        let called = program;
        let dir = tmux.env.path().join(format!("stand-in-{name}"));
        fs::create_dir(&dir).unwrap();
        nix::unistd::mkfifo(&dir.join("orders"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let program = std::env::current_exe().unwrap();
        let line = format!("stty raw -echo; exec -a {called} \"$0\" \"$@\" >/dev/null 2>&1");
        let test = "panes::stand_in::a_stand_in_looks_as_it_is_read";
        let argv = ["bash", "-c", &line, program.to_str().unwrap(), "--exact", test, "--nocapture"];
        let argv: Vec<&OsStr> = argv.into_iter().map(OsStr::new).collect();
        let own = format!("{name}\n{}\n{}", dir.display(), env!("CARGO_BIN_EXE_msg"));
        let msg = tmux.env.msg();
        let text = |text: &OsStr| text.to_str().unwrap().to_string();
        let mut variables: Vec<(String, String)> =
            msg.get_envs().filter_map(|(key, value)| Some((text(key), text(value?)))).collect();
        variables.push((VARIABLE.to_string(), own));
        variables.push((test_switches::NO_HOOK_LIMIT.to_string(), "1".to_string()));
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let work = tmux.env.work();
        let window = NewWindow { session: SESSION, name, dir: &work, argv: &argv, variables: &variables };
        let info = tmux.server.new_window(&window).unwrap();
        let stand_in = Self { name: name.to_string(), pane: tmux.server.pane(info.id), dir };
        stand_in.wait_for("❯\u{a0}");
        wait_until("it has joined", || tmux.env.names().iter().any(|joined| joined == name));
        stand_in
    }

    /// Gives it an order: `dialog QUESTION|CHOICE|…`, `work`, `idle`, `tool COMMAND`, `end-tool COMMAND`; `deaf`: it ignores
    /// the next Escape; `ask-on-escape QUESTION|CHOICE|…`: the next one opens a dialog; `dialog-there …`: a dialog that
    /// leaves the cursor where it is; `rest`: the hook at the end of a turn runs; `no-enter`: it ignores Enter;
    /// `type-at-paste TEXT`: somebody types that in front of the next paste; `type-at-removal TEXT`: somebody types that when
    /// three characters were removed.
    pub fn order(&self, order: &str) {
        let obeyed = || fs::metadata(self.dir.join("obeyed")).map_or(0, |file| file.len());
        let before = obeyed();
        let mut pipe = File::options().write(true).open(self.dir.join("orders")).unwrap();
        writeln!(pipe, "{order}").unwrap();
        wait_until("the order is obeyed", || obeyed() > before);
    }

    pub fn screen(&self) -> String {
        self.pane.plain_text().unwrap()
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        wait_until(&format!("the screen shows {text}"), || {
            self.pane.plain_text().is_ok_and(|screen| screen.contains(text))
        });
    }

    /// What it took, in order.
    pub fn log(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// What a stand-in is at.
enum Mode {
    Idle,
    Working { until: Option<Instant> },
    Dialog { question: String, choices: Vec<String>, selected: usize },
}

enum News {
    Typed(Vec<u8>),
    Order(String),
    HungUp,
}

/// A stand-in, in its own process.
struct Client {
    name: String,
    dir: PathBuf,
    msg: PathBuf,
    mode: Mode,
    conversation: Vec<String>,
    draft: String,
    /// What the line shows instead of a long draft.
    collapsed: Option<String>,
    pastes: usize,
    /// What was typed and is not understood yet.
    typed: Vec<u8>,
    is_deaf: bool,
    /// The dialog that the next Escape opens.
    asks_on_escape: Option<String>,
    ignores_enter: bool,
    types_at_paste: String,
    types_at_removal: String,
    removed: usize,
    /// Where a dialog has the cursor, if not at its choice.
    dialog_cursor: Option<(usize, usize)>,
}

impl Client {
    fn new(name: &str, dir: &Path, msg: &Path) -> Self {
        Self {
            name: name.to_string(),
            dir: dir.to_path_buf(),
            msg: msg.to_path_buf(),
            mode: Mode::Idle,
            conversation: vec!["● Hello.".to_string()],
            draft: String::new(),
            collapsed: None,
            pastes: 0,
            typed: Vec::new(),
            is_deaf: false,
            asks_on_escape: None,
            ignores_enter: false,
            types_at_paste: String::new(),
            types_at_removal: String::new(),
            removed: 0,
            dialog_cursor: None,
        }
    }

    /// The lines of its screen, and the row and column of the cursor.
    fn lines(&self) -> (Vec<String>, usize, usize) {
        let kept = self.conversation.len().saturating_sub(15);
        let mut lines: Vec<String> = self.conversation[kept..].to_vec();
        lines.push(String::new());
        if let Mode::Dialog { question, choices, selected } = &self.mode {
            lines.extend([
                RULE.to_string(),
                " Bash command".to_string(),
                String::new(),
                format!(" {question}"),
            ]);
            let cursor = lines.len() + selected;
            for (at, choice) in choices.iter().enumerate() {
                let mark = if at == *selected { '❯' } else { ' ' };
                lines.push(format!(" {mark} {}. {choice}", at + 1));
            }
            lines.extend([String::new(), " Esc to cancel · Tab to amend".to_string()]);
            let (row, column) = self.dialog_cursor.unwrap_or((cursor, 1));
            return (lines, row, column);
        }
        if let Mode::Working { .. } = self.mode {
            lines.extend(["✻ Churning… (4s · ↓ 25 tokens)".to_string(), String::new()]);
        }
        lines.push(RULE.to_string());
        let shown = self.collapsed.as_deref().unwrap_or(&self.draft);
        for (at, line) in shown.split('\n').enumerate() {
            lines.push(format!("{}{line}", if at == 0 { "❯\u{a0}" } else { "  " }));
        }
        let row = lines.len() - 1;
        let last = shown.rsplit('\n').next().unwrap_or_default();
        let column = 2 + unicode_width::UnicodeWidthStr::width(last);
        let footer = match self.mode {
            Mode::Working { .. } => "  esc to interrupt",
            _ => "  ? for shortcuts",
        };
        lines.extend([RULE.to_string(), footer.to_string()]);
        (lines, row, column)
    }

    fn draw(&self, terminal: &mut File) {
        let (lines, row, column) = self.lines();
        let text: String = lines.iter().map(|line| format!("{line}\u{1b}[K\r\n")).collect();
        let all = format!("\u{1b}[H{text}\u{1b}[J\u{1b}[{};{}H", row + 1, column + 1);
        terminal.write_all(all.as_bytes()).unwrap();
    }

    fn log(&self, entry: &Value) {
        let mut log = File::options().append(true).create(true).open(self.dir.join("log")).unwrap();
        writeln!(log, "{entry}").unwrap();
    }

    fn msg(&self, args: &[&str], input: &Value) {
        let mut command = Command::new(&self.msg);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).ok();
        child.wait().unwrap();
    }

    fn hook(&self, event: &str, more: &Value) {
        let mut payload = json!({
            "session_id": self.session(),
            "cwd": std::env::current_dir().unwrap(),
            "hook_event_name": event,
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.msg(&["hook", "claude", event], &payload);
    }

    fn session(&self) -> String {
        format!("session-of-{}", self.name)
    }

    fn serve(mut self) {
        let mut terminal = File::options().read(true).write(true).open("/dev/tty").unwrap();
        let (sender, news) = channel();
        let (typing, orders) = (sender.clone(), sender);
        let mut input = terminal.try_clone().unwrap();
        std::thread::spawn(move || read_keys(&mut input, &typing));
        let pipe = self.dir.join("orders");
        std::thread::spawn(move || read_orders(&pipe, &orders));
        self.msg(&["join", &self.name, "--session", &self.session()], &json!({}));
        terminal.write_all("\u{1b}[?2004h\u{1b}[2J".as_bytes()).unwrap();
        loop {
            self.draw(&mut terminal);
            match news.recv_timeout(Duration::from_millis(10)) {
                Ok(News::HungUp) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(news) => self.take(news, &mut terminal),
                Err(RecvTimeoutError::Timeout) => self.go_on(),
            }
        }
    }

    fn take(&mut self, news: News, terminal: &mut File) {
        match news {
            News::Typed(bytes) => self.typed.extend(bytes),
            News::Order(order) => return self.obey(&order),
            News::HungUp => {}
        }
        while self.take_key(terminal) {}
    }

    /// What happens while nobody does anything.
    fn go_on(&mut self) {
        if self.typed == [0x1b] {
            self.typed.clear();
            return self.escape();
        }
        if let Mode::Working { until: Some(until) } = self.mode
            && until <= Instant::now()
        {
            self.end_turn();
        }
    }

    fn end_turn(&mut self) {
        self.conversation.push("● Done.".to_string());
        self.hook("Stop", &json!({}));
        self.mode = Mode::Idle;
    }

    fn obey(&mut self, order: &str) {
        let (what, rest) = order.split_once(' ').unwrap_or((order, ""));
        let call = json!({"tool_name": "Bash", "tool_input": {"command": rest}});
        match what {
            "work" => self.mode = Mode::Working { until: None },
            "idle" => self.mode = Mode::Idle,
            "tool" => self.hook("PreToolUse", &call),
            "end-tool" => self.hook("PostToolUse", &call),
            "deaf" => self.is_deaf = true,
            "no-enter" => self.ignores_enter = true,
            "type-at-paste" => self.types_at_paste = rest.to_string(),
            "type-at-removal" => self.types_at_removal = rest.to_string(),
            "rest" => {
                self.hook("Stop", &json!({}));
                self.conversation.push("● Rested.".to_string());
            }
            "ask-on-escape" => self.asks_on_escape = Some(rest.to_string()),
            "dialog-there" => {
                let (_, row, column) = self.lines();
                self.dialog_cursor = Some((row, column));
                self.ask(rest);
            }
            _ => self.ask(rest),
        }
        // A byte for each.
        let obeyed = File::options().append(true).create(true).open(self.dir.join("obeyed"));
        obeyed.unwrap().write_all(b".").unwrap();
    }

    fn ask(&mut self, words: &str) {
        let mut parts = words.split('|').map(str::to_string);
        let question = parts.next().unwrap();
        self.mode = Mode::Dialog { question, choices: parts.collect(), selected: 0 };
    }

    /// Acts on the first key that was typed. `false`: there is none that is complete.
    fn take_key(&mut self, terminal: &mut File) -> bool {
        const START: &[u8] = b"\x1b[200~";
        const END: &[u8] = b"\x1b[201~";
        if self.typed.starts_with(START) {
            let Some(end) = self.typed.windows(END.len()).position(|part| part == END) else { return false };
            let text = String::from_utf8(self.typed[START.len()..end].to_vec()).unwrap();
            self.typed.drain(..end + END.len());
            self.paste(&text);
            return true;
        }
        let arrows: [(&[u8], isize); 4] = [(b"\x1b[A", -1), (b"\x1bOA", -1), (b"\x1b[B", 1), (b"\x1bOB", 1)];
        for (keys, step) in arrows {
            if self.typed.starts_with(keys) {
                self.typed.drain(..keys.len());
                if let Mode::Dialog { choices, selected, .. } = &mut self.mode {
                    *selected = selected.saturating_add_signed(step).min(choices.len() - 1);
                }
                return true;
            }
        }
        match self.typed.first().copied() {
            None | Some(0x1b) => return false,
            Some(b'\r') => {
                self.typed.remove(0);
                if !self.ignores_enter {
                    self.enter(terminal);
                }
            }
            Some(0x7f) => {
                self.typed.remove(0);
                self.draft.pop();
                self.removed += 1;
                if self.removed == 3 {
                    self.draft.push_str(&self.types_at_removal);
                }
            }
            Some(_) => {
                let length = std::str::from_utf8(&self.typed)
                    .map_or(1, |text| text.chars().next().map_or(1, char::len_utf8));
                let key = String::from_utf8_lossy(&self.typed[..length]).into_owned();
                self.typed.drain(..length);
                match &self.mode {
                    Mode::Dialog { .. } => self.log(&json!({"typed into a dialog": key})),
                    _ => self.draft.push_str(&key),
                }
            }
        }
        true
    }

    fn paste(&mut self, text: &str) {
        if let Mode::Dialog { .. } = self.mode {
            return self.log(&json!({"pasted into a dialog": text}));
        }
        self.draft.push_str(&std::mem::take(&mut self.types_at_paste));
        let is_long = text.lines().count() > 4 || text.lines().any(|line| line.len() > LONGEST_LINE);
        self.draft.push_str(text);
        if is_long {
            self.pastes += 1;
            let lines = text.matches('\n').count();
            self.collapsed = Some(match lines {
                0 => format!("[Pasted text #{}]", self.pastes),
                _ => format!("[Pasted text #{} +{lines} lines]", self.pastes),
            });
        }
    }

    fn enter(&mut self, terminal: &mut File) {
        match &self.mode {
            Mode::Dialog { choices, selected, .. } => {
                self.log(&json!({"answer": choices[*selected]}));
                self.mode = Mode::Idle;
            }
            _ if self.draft.is_empty() => self.log(&json!({"enter": "on nothing"})),
            Mode::Working { .. } => self.log(&json!({"queued": self.draft})),
            Mode::Idle => {
                let prompt = std::mem::take(&mut self.draft);
                self.collapsed = None;
                let words = prompt.lines().next().unwrap_or_default().chars().take(LONGEST_LINE);
                self.conversation.push(format!("❯ {}", words.collect::<String>()));
                self.log(&json!({"prompt": prompt}));
                let works_on = prompt.starts_with("work on");
                let until = (!works_on).then(|| Instant::now() + Duration::from_millis(20));
                self.mode = Mode::Working { until };
                self.draw(terminal);
                self.hook("UserPromptSubmit", &json!({"prompt": prompt}));
            }
        }
    }

    fn escape(&mut self) {
        if std::mem::take(&mut self.is_deaf) {
            return self.log(&json!({"escape": "not heard"}));
        }
        if let Some(words) = self.asks_on_escape.take() {
            return self.ask(&words);
        }
        match self.mode {
            Mode::Working { .. } => {
                self.conversation.push("  ⎿  Interrupted · What should Claude do instead?".to_string());
                self.log(&json!({"escape": "in a turn"}));
            }
            Mode::Dialog { .. } => self.log(&json!({"escape": "in a dialog"})),
            Mode::Idle => self.log(&json!({"escape": "at the prompt"})),
        }
        self.mode = Mode::Idle;
    }
}

fn read_keys(input: &mut File, news: &Sender<News>) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = input.read(&mut bytes) {
        news.send(News::Typed(bytes[..count].to_vec())).unwrap();
    }
    // The terminal is gone.
    news.send(News::HungUp).unwrap();
}

fn read_orders(pipe: &Path, news: &Sender<News>) {
    // Open for writing, too, so that it never ends, and no order is lost between two writers.
    let pipe = File::options().read(true).write(true).open(pipe).unwrap();
    for line in BufReader::new(pipe).lines() {
        news.send(News::Order(line.unwrap())).unwrap();
    }
}

/// Also the stand-in itself, in a process of its own.
#[test]
fn a_stand_in_looks_as_it_is_read() {
    if let Ok(words) = std::env::var(VARIABLE) {
        let words: Vec<&str> = words.split('\n').collect();
        return Client::new(words[0], Path::new(words[1]), Path::new(words[2])).serve();
    }
    let mut client = Client::new("Robin", Path::new("/"), Path::new("/"));
    let reader = ravenry::harness::support(Harness::named("claude")).unwrap().screen().unwrap();
    let read =
        |client: &Client| -> ScreenReading { reader.read(&ScreenText::plain(&client.lines().0.join("\n"))) };
    assert!(read(&client).takes_prompt());
    let long = "one\ntwo\nthree\nfour\nfive";
    client.paste(long);
    let PromptLine::Draft(draft) = read(&client).prompt else { panic!("no draft") };
    assert!(reader.is_our_paste(&draft, long), "{draft}");
    client.mode = Mode::Working { until: None };
    assert_eq!(read(&client).state, Some(ScreenState::Working));
    client.obey("dialog Do you want to proceed?|Yes|No");
    let dialog = read(&client).dialog.unwrap();
    assert_eq!((dialog.question.as_str(), dialog.choices.len()), ("Do you want to proceed?", 2));
    client.conversation.push("  ⎿  Interrupted · What should Claude do instead?".to_string());
    client.mode = Mode::Idle;
    assert_eq!(read(&client).state, Some(ScreenState::Interrupted));
}
