//! `msg notify`: shows how a person is told of what happens, and tries it.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::alert::AlertWay;
use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::ops::alerts::{AlertOutput, NotifyOverview, TriedWay, notify_overview, try_ways};
use crate::ops::{CommandError, Op};

/// Show how you are told of what happens
///
/// While `msg watch` or `msg tui` is open, you are told of mail, questions, runs, stuck agents and conflicts by a bell, a
/// notification, tmux or a command: `msg config set notify`. This lists what is set and which ways work here.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg notify
  msg notify --test              try every way that works here
  msg config set notify '{\"urgent\": [\"bell\", \"osc9\"], \"questions\": [\"bell\"], \"runs\": [\"command\"]}'
  msg config set notifyCommand '[\"sh\", \"-c\", \"notify-send msg \\\"$MSG_ALERT\\\"\"]'
  msg config set quietHours '22:00-07:00 except urgent'")]
pub(in crate::faces::cli) struct NotifyArgs {
    /// Try every way that works here
    #[arg(long)]
    test: bool,
}

pub(super) fn run(op: &Op, args: NotifyArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let output = if ui.is_terminal() { AlertOutput::Terminal } else { AlertOutput::Elsewhere };
    if args.test {
        let tried = try_ways(op, output, &|sequence| ui.signal_terminal(sequence))?;
        return Ok(TestReport(tried).into());
    }
    Ok(NotifyReport(notify_overview(op, output)).into())
}

struct NotifyReport(NotifyOverview);

impl Report for NotifyReport {
    fn json(&self) -> Map<String, Value> {
        let names = |ways: &Vec<AlertWay>| ways.iter().map(|way| way.name()).collect::<Vec<_>>();
        let kinds = self.0.kinds.iter();
        let kinds = kinds.map(|(kind, ways)| (kind.name().to_string(), json!(ways.as_ref().map(names))));
        let ways = self.0.ways.iter().map(|state| {
            json!({
                "way": state.way.name(),
                "used": state.is_used,
                "works": state.problem.is_none(),
                "problem": state.problem.as_ref().map(|problem| &problem.text),
                "fix": state.problem.as_ref().map(|problem| problem.fix),
            })
        });
        let quiet = self.0.quiet.as_ref().map(|(hours, is_now)| json!({ "hours": hours, "now": is_now }));
        Map::from_iter([
            ("kinds".to_string(), Value::Object(kinds.collect())),
            ("ways".to_string(), ways.collect()),
            ("command".to_string(), json!(self.0.command)),
            ("runCommand".to_string(), json!(self.0.run_command)),
            ("quiet".to_string(), json!(quiet)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let set = |ways: &Option<Vec<AlertWay>>| ways.as_ref().is_some_and(|ways| !ways.is_empty());
        if self.0.run_command.is_empty() && !self.0.kinds.iter().any(|(_, ways)| set(ways)) {
            page.line("You are not told of anything. To hear a bell for what is urgent:");
            page.line("  msg config set notify '{\"urgent\": [\"bell\"], \"questions\": [\"bell\"]}'");
        } else {
            self.kinds(page);
        }
        self.settings(page);
        page.line("");
        let mut table = Table::default();
        for state in &self.0.ways {
            let (word, paint): (_, fn(&str) -> String) = match &state.problem {
                None => ("works here", style::good),
                Some(_) if state.is_used => ("does not work here", style::bad),
                Some(_) => ("does not work here", style::dim),
            };
            let why = state.problem.as_ref().map_or(String::new(), |problem| {
                format!("{}; {}", escape_invisible(&problem.text), problem.fix)
            });
            table.row(vec![
                TableCell::styled(state.way.name(), style::bold),
                TableCell::styled(word, paint),
                TableCell::plain(&why),
            ]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
    }
}

impl NotifyReport {
    fn kinds(&self, page: &mut Page) {
        if !self.0.run_command.is_empty() {
            let words = self.0.run_command.join(" ");
            page.line(format!("Each change of a run starts the command: {}", escape_invisible(&words)));
            if let Some(problem) = &self.0.run_problem {
                let text = format!("It does not work: {}; {}", problem.text, problem.fix);
                page.line(style::bad(&escape_invisible(&text)));
            }
            return;
        }
        page.line("While `msg watch` or `msg tui` is open, you are told of:");
        let mut table = Table::default();
        for (kind, ways) in &self.0.kinds {
            let names: Vec<&str> = ways.iter().flatten().map(|way| way.name()).collect();
            let names = if names.is_empty() { "-".to_string() } else { names.join(", ") };
            table.row(vec![
                TableCell::styled(kind.name(), style::bold),
                TableCell::plain(&names),
                TableCell::styled(kind.about(), style::dim),
            ]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
    }

    fn settings(&self, page: &mut Page) {
        if !self.0.command.is_empty() {
            page.line(format!("The command: {}", escape_invisible(&self.0.command.join(" "))));
        }
        if let Some((hours, is_now)) = &self.0.quiet {
            let now = if *is_now { "; it is quiet now" } else { "" };
            page.line(format!("Quiet hours: {hours}{now}"));
        }
        if self.0.is_feed_off {
            page.line("The feed is off, so you are told of runs and agents only by mail to you.");
        }
    }
}

struct TestReport(Vec<TriedWay>);

impl Report for TestReport {
    fn json(&self) -> Map<String, Value> {
        let tried = self.0.iter().map(|tried| {
            json!({
                "way": tried.way.name(),
                "tried": tried.failure.is_none(),
                "failure": tried.failure,
                "fix": tried.fix,
            })
        });
        Map::from_iter([("tried".to_string(), tried.collect())])
    }

    fn text(&self, page: &mut Page) {
        let mut table = Table::default();
        for tried in &self.0 {
            let said = match (&tried.failure, tried.fix) {
                (None, _) => expectation(tried.way).to_string(),
                (Some(failure), Some(fix)) => format!("not tried: {failure}; {fix}"),
                (Some(failure), None) => format!("failed: {failure}"),
            };
            let paint = if tried.failure.is_none() { style::good } else { style::dim };
            table.row(vec![
                TableCell::styled(tried.way.name(), paint),
                TableCell::plain(&escape_invisible(&said)),
            ]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
    }
}

/// What a person should have noticed.
fn expectation(way: AlertWay) -> &'static str {
    match way {
        AlertWay::Bell => "sent: you hear or see the bell, unless your terminal has it off",
        AlertWay::Osc9 => {
            "sent: a notification, in iTerm2, WezTerm, Ghostty, kitty, Windows Terminal and others"
        }
        AlertWay::Osc777 => "sent: a notification, in urxvt, foot, WezTerm, Ghostty and others",
        AlertWay::Tmux => "sent: a line at the bottom of tmux",
        AlertWay::Command => "the command ran and succeeded",
    }
}
