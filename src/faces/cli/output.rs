//! The only place that prints.
//!
//! A command returns a [`Report`], which is printed as text or as JSON; notices go to standard error. A reader may
//! close the pipe at any time: a broken pipe is not an error.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use crossbeam_channel::{after, select};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::{escape_invisible, escape_invisible_json, escape_invisible_line};
use crate::faces::json;
use crate::ops::{CommandError, ErrorDetail, HandoverOutcome, ReaderKind};
use crate::sys::signals::StopRequest;
use crate::sys::{files, stdin, test_switches};

use super::exit_code::exit_code;
use super::global_args::{ColorWhen, GlobalArgs, OutputFormat};

/// The output of a command.
pub(super) trait Report {
    /// For programs: the members next to `ok`.
    fn json(&self) -> Map<String, Value>;

    /// Writes the members one by one; worth implementing for output that may be long.
    fn write_json(&self, members: &mut JsonMembers) {
        for (name, value) in self.json() {
            members.write(&name, &value);
        }
    }

    /// For people and models.
    fn text(&self, page: &mut Page);

    /// Whether it is printed with `--quiet` too, because it is what was asked for.
    fn is_answer(&self) -> bool {
        true
    }
}

/// A report, and an error if something failed.
pub(super) struct CommandOutput {
    /// `None`: everything was already printed.
    pub(super) report: Option<Box<dyn Report>>,
    pub(super) error: Option<CommandError>,
}

impl CommandOutput {
    /// Everything was already printed.
    pub(super) fn said(error: Option<CommandError>) -> Self {
        Self { report: None, error }
    }
}

impl<R: Report + 'static> From<R> for CommandOutput {
    fn from(report: R) -> Self {
        Self { report: Some(Box::new(report)), error: None }
    }
}

/// Text to be printed on a terminal or to a pipe.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    pub(super) is_verbose: bool,
    pub(super) is_quiet: bool,
    /// A person reads it on a terminal.
    pub(super) is_terminal: bool,
}

impl Page {
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Says that there is nothing to show, and what to do next: a sentence with a command. With `--quiet` nothing is said.
    pub(super) fn nothing(&mut self, what: &str, next: &str) {
        if !self.is_quiet {
            self.line(format!("{what} {next}"));
        }
    }

    /// A text of several lines that somebody else wrote. Its line ends and tabs are kept.
    pub(super) fn foreign_text(&mut self, text: &str) {
        text.lines().for_each(|line| self.line(escape_invisible_line(line)));
    }
}

/// Styles of texts. They are removed on output if colours are not wanted.
pub(super) mod style {
    use anstyle::{AnsiColor, Style};

    const BOLD: Style = Style::new().bold();
    const DIM: Style = Style::new().dimmed();
    const GOOD: Style = AnsiColor::Green.on_default();
    const WARN: Style = AnsiColor::Yellow.on_default();
    const BAD: Style = AnsiColor::Red.on_default().bold();

    fn paint(style: Style, text: &str) -> String {
        format!("{style}{text}{style:#}")
    }

    pub(in crate::faces::cli) fn bold(text: &str) -> String {
        paint(BOLD, text)
    }

    pub(in crate::faces::cli) fn dim(text: &str) -> String {
        paint(DIM, text)
    }

    pub(in crate::faces::cli) fn good(text: &str) -> String {
        paint(GOOD, text)
    }

    pub(in crate::faces::cli) fn warn(text: &str) -> String {
        paint(WARN, text)
    }

    pub(in crate::faces::cli) fn bad(text: &str) -> String {
        paint(BAD, text)
    }
}

/// The exit code when the answer could not be written.
const LOST: u8 = 4;

pub(super) struct Ui {
    lost: Cell<bool>,
    json: bool,
    color: ColorChoice,
    quiet: bool,
    verbose: bool,
}

impl Ui {
    pub(super) fn new(args: &GlobalArgs) -> Self {
        let plain = Self::plain(OutputFormat { wants_json: args.json, color: args.color });
        Self { quiet: args.quiet, verbose: args.verbose, ..plain }
    }

    /// The same for another thread.
    pub(super) fn twin(&self) -> Self {
        Self { lost: Cell::default(), ..*self }
    }

    /// Sends bytes to the terminal that standard output is, such as a bell. They are not output.
    pub(super) fn signal_terminal(&self, sequence: &str) {
        let mut stdout = io::stdout().lock();
        // A terminal that is gone is noticed by the next message.
        drop(stdout.write_all(sequence.as_bytes()).and_then(|()| stdout.flush()));
    }

    /// For use before the arguments are parsed.
    pub(super) fn plain(manner: OutputFormat) -> Self {
        let color = match manner.color {
            ColorWhen::Auto => ColorChoice::Auto,
            ColorWhen::Always => ColorChoice::Always,
            ColorWhen::Never => ColorChoice::Never,
        };
        Self { lost: Cell::default(), json: manner.wants_json, color, quiet: false, verbose: false }
    }

    /// Whether standard output gets colours; never `Auto`.
    pub(super) fn color(&self) -> ColorChoice {
        match self.color {
            ColorChoice::Auto => AutoStream::choice(&std::io::stdout()),
            told => told,
        }
    }

    /// Prints the result of the command, and returns the exit code.
    pub(super) fn finish(
        &self,
        outcome: Result<CommandOutput, CommandError>,
        notices: &[String],
    ) -> ExitCode {
        let (report, error, said) = match outcome {
            Ok(CommandOutput { report, error }) => (report, error, true),
            Err(error) => (None, Some(error), false),
        };
        notices.iter().for_each(|notice| self.note(notice));
        let code = error.as_ref().map_or(0, |error| exit_code(error.kind));
        let is_silent = said && report.is_none();
        let out = if self.json {
            json_text(report.as_deref(), error.as_ref())
        } else {
            self.text(report.as_deref())
        };
        let written = if is_silent { Ok(()) } else { self.write(&out) };
        // An interruption has no message: the user pressed Ctrl-C.
        if let Some(error) = error.filter(|error| !self.json && !error.message.is_empty()) {
            self.complain(&error_text(&error));
        }
        match written {
            Ok(()) if self.lost.get() => ExitCode::from(LOST),
            Ok(()) => ExitCode::from(code),
            Err(failure) => failure,
        }
    }

    /// Prints something before the command ends, and returns whether it got through.
    pub(super) fn say(&self, text: &str) -> HandoverOutcome {
        test_switches::step();
        match self.put(text) {
            Ok(()) => HandoverOutcome::Delivered,
            Err(error) => {
                self.is_lost(&error);
                HandoverOutcome::ReaderGone
            }
        }
    }

    /// [`Ui::say`] for bytes that are not text, as they are.
    pub(super) fn pass_on(&self, bytes: &[u8]) -> HandoverOutcome {
        test_switches::step();
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => HandoverOutcome::Delivered,
            Err(error) => {
                self.is_lost(&error);
                HandoverOutcome::ReaderGone
            }
        }
    }

    /// [`Ui::say`] for mail. Output that is closed or goes to `/dev/null` reaches nobody.
    pub(super) fn hand_over(&self, text: &str) -> HandoverOutcome {
        if files::is_dev_null(&io::stdout()) {
            let text = "nobody reads standard output, so the mail stays unread";
            self.complain(&format!("{}: {text}", style::bad("error")));
            // Sets the exit code, so that a polling script does not take this for mail.
            self.lost.set(true);
            return HandoverOutcome::ReaderGone;
        }
        self.say(text)
    }

    /// The text of a report, in JSON as one object with `ok`.
    pub(super) fn rendered(&self, report: &dyn Report) -> String {
        if self.json { json_text(Some(report), None) } else { self.text(Some(report)) }
    }

    /// The kind of reader that gets the output.
    pub(super) fn reader(&self) -> ReaderKind {
        if self.json { ReaderKind::Program } else { ReaderKind::PersonOrModel }
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a person reads the output and can type.
    pub(super) fn is_with_person(&self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// Asks a person at a terminal, also a quiet one. Anything but yes is no, and so is no answer in ten minutes.
    pub(super) fn is_confirmed(&self, question: &str) -> bool {
        const LONGEST: usize = 1024;
        const LIMIT: Duration = Duration::from_secs(600);
        // What was typed before the question is no answer to it. If that can't be forgotten, nobody is asked.
        if stdin::forget_typed().is_err() {
            return false;
        }
        self.complain(&escape_invisible(question));
        let answer = stdin::read_until(LONGEST, LIMIT, |input| input.ends_with(b"\n")).ok();
        let answer = answer.map(|line| String::from_utf8_lossy(&line).trim().to_ascii_lowercase());
        matches!(answer.as_deref(), Some("y" | "yes"))
    }

    /// The same for a command that listens to Ctrl-C, which means no.
    pub(super) fn is_confirmed_unless(&self, stop: &StopRequest, question: &str) -> bool {
        let answer = self.typed_unless(stop, &escape_invisible(question));
        matches!(answer.as_deref(), Some("y" | "yes"))
    }

    /// The line that a person at a terminal types at a question. `None`: Ctrl-C came first, or nothing can be typed.
    pub(super) fn typed_unless(&self, stop: &StopRequest, question: &str) -> Option<String> {
        const LOOK: Duration = Duration::from_millis(100);
        stdin::forget_typed().ok()?;
        self.complain(question);
        while !stop.is_requested() {
            let line = stdin::typed().ok()?;
            if !line.is_empty() {
                return Some(String::from_utf8_lossy(&line).trim().to_ascii_lowercase());
            }
            select! {
                recv(stop.wake()) -> _ => {}
                recv(after(LOOK)) -> _ => {}
            }
        }
        None
    }

    /// Whether a person reads the output.
    pub(super) fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    pub(super) fn note(&self, notice: &str) {
        if !self.quiet {
            self.complain(&format!("{}: {}", style::warn("note"), escape_invisible(notice)));
        }
    }

    /// A notice with a text of several lines that somebody else wrote.
    pub(super) fn note_text(&self, notice: &str, text: &str) {
        self.note(notice);
        if !self.quiet {
            text.lines().for_each(|line| self.complain(&format!("  {}", escape_invisible_line(line))));
        }
    }

    /// Shows the progress of a long command, to a person at a terminal.
    pub(super) fn progress(&self, done: usize, of: usize, name: &str) {
        const CELLS: usize = 22;
        if !self.shows_progress() {
            return;
        }
        let full = done * CELLS / of.max(1);
        let bar = format!("{}{}", style::good(&"█".repeat(full)), style::dim(&"░".repeat(CELLS - full)));
        // Spaces overwrite a longer name, not an escape sequence: they also work without colours.
        self.show(&format!("\r{bar} {done:>2} of {of}  {name:<12}"));
    }

    /// Shows what goes on, on one line that the next call replaces, to a person at a terminal. An empty text removes it.
    pub(super) fn progress_line(&self, text: &str) {
        if !self.shows_progress() {
            return;
        }
        let width = crossterm::terminal::size().map_or(80, |(width, _)| usize::from(width));
        let text: String = text.chars().take(width.saturating_sub(1)).collect();
        self.show(&format!("\r\x1b[K{}", style::dim(&text)));
    }

    /// Removes the progress bar.
    pub(super) fn end_progress(&self) {
        if self.shows_progress() {
            self.show(&format!("\r{:46}\r", ""));
        }
    }

    /// Tells of one change of a long command: a line of its own, on standard output.
    pub(super) fn progress_change(&self, line: &str) {
        if !self.quiet && !self.json {
            self.say(&format!("{line}\n"));
        }
    }

    pub(super) fn shows_progress(&self) -> bool {
        !self.json && !self.quiet && io::stderr().is_terminal()
    }

    fn show(&self, text: &str) {
        let mut stderr = AutoStream::new(io::stderr().lock(), self.color);
        // Nothing is lost if this fails.
        drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
    }

    pub(super) fn print_version(&self) -> ExitCode {
        self.write(concat!("msg ", env!("CARGO_PKG_VERSION"), "\n")).err().unwrap_or(ExitCode::SUCCESS)
    }

    fn text(&self, report: Option<&dyn Report>) -> String {
        let mut page = Page {
            is_verbose: self.verbose,
            is_quiet: self.quiet,
            is_terminal: self.is_terminal(),
            ..Page::default()
        };
        if let Some(report) = report
            && (report.is_answer() || !self.quiet)
        {
            report.text(&mut page);
        }
        page.text
    }

    fn write(&self, text: &str) -> Result<(), ExitCode> {
        test_switches::step();
        let written = self.put(text);
        test_switches::step();
        match written {
            Err(error) if self.is_lost(&error) => Err(ExitCode::from(LOST)),
            _ => Ok(()),
        }
    }

    /// A reader that closed the pipe is fine. Any other error means that the answer is lost, and is reported.
    fn is_lost(&self, error: &io::Error) -> bool {
        let lost = error.kind() != io::ErrorKind::BrokenPipe;
        if lost {
            self.complain(&format!("{}: the answer could not be written: {error}", style::bad("error")));
            self.lost.set(true);
        }
        lost
    }

    fn put(&self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        if self.json {
            // JSON contains no styles.
            stdout.write_all(escape_invisible_json(text).as_bytes())?;
            return stdout.flush();
        }
        // Made whole first: a stream to standard output would write every line on its own.
        let mut styled = AutoStream::new(Vec::with_capacity(text.len()), self.color());
        styled.write_all(text.as_bytes())?;
        stdout.write_all(&styled.into_inner())?;
        stdout.flush()
    }

    fn complain(&self, text: &str) {
        let mut stderr = AutoStream::new(io::stderr().lock(), self.color);
        // If this fails, there is nobody left to tell.
        drop(writeln!(stderr, "{text}"));
    }
}

/// The members of the JSON object that is printed.
pub(super) struct JsonMembers(String);

impl JsonMembers {
    /// Adds a member; a value that cannot be serialised becomes null.
    pub(super) fn write(&mut self, name: &str, value: &impl Serialize) {
        let value = serde_json::to_string(value).unwrap_or_else(|_| "null".to_string());
        let comma = if self.0.len() > 1 { "," } else { "" };
        self.0.push_str(&format!("{comma}{}:{value}", Value::from(name)));
    }
}

fn json_text(report: Option<&dyn Report>, error: Option<&CommandError>) -> String {
    let mut members = JsonMembers("{".to_string());
    members.write("ok", &error.is_none());
    if let Some(error) = error {
        members.write("error", &json::error(error));
    }
    if let Some(report) = report {
        report.write_json(&mut members);
    }
    members.0.push_str("}\n");
    members.0
}

/// What is wrong with which lines of a file.
fn problem_lines(problems: &ErrorDetail) -> Vec<String> {
    let ErrorDetail::Rows(rows) = problems else { return Vec::new() };
    let member = |row: &'_ [(&str, Option<ErrorDetail>)], name: &str| {
        row.iter().find(|(key, _)| *key == name).and_then(|(_, value)| value.clone())
    };
    let line = |row: &Vec<(&'static str, Option<ErrorDetail>)>| match (
        member(row, "line")?,
        member(row, "message")?,
    ) {
        (ErrorDetail::Number(line), ErrorDetail::Text(message)) => {
            Some(format!("line {line}: {}", escape_invisible(&message)))
        }
        _ => None,
    };
    rows.iter().filter_map(line).collect()
}

fn error_text(error: &CommandError) -> String {
    let mut text = format!("{}: {}", style::bad("error"), escape_invisible(&error.message));
    for (_, problems) in error.facts.iter().filter(|(name, _)| *name == "problems") {
        text.extend(problem_lines(problems).into_iter().map(|line| format!("\n  {line}")));
    }
    for (_, examples) in error.facts.iter().filter(|(name, _)| *name == "examples") {
        if let ErrorDetail::List(examples) = examples {
            text.push_str("\nExamples:");
            examples.iter().for_each(|example| text.push_str(&format!("\n  {example}")));
        }
    }
    for hint in &error.hints {
        text.push_str(&format!("\n{}: {}", style::dim("hint"), escape_invisible(hint)));
    }
    text
}
