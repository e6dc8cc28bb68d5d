//! `msg workers`: lists profiles, harnesses and local models.

mod trust;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use crate::domain::workers::{Isolation, Profile, ProfileOrigin, WorkerProgram};
use crate::domain::{escape_invisible, shell_word};
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::json;
use crate::harness::worker::LoginState;
use crate::ops::workers::{self, FoundHarness, ProbeMode, RunnableProfile, WorkersReport};
use crate::ops::{CommandError, Op, format_age};
use crate::store::worker_files::FileTrust;
use crate::sys::clock;
use crate::sys::environment::Home;
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

/// The most characters of a command line on a terminal; a longer one is cut.
const LONGEST_COMMAND: usize = 30;
/// The most models of one server on a terminal.
const SHOWN_MODELS: usize = 8;

/// List the kinds of workers, and the harnesses and local models for them
///
/// A profile is a kind of worker: its harness, instructions and limits. Yours are in `workers.toml` in your
/// configuration directory, those of a project in `.ravenry/workers.toml`. Versions and models are as they were last
/// found out, unless you ask now with `--probe`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  msg workers
  msg workers --probe                  ask programs and local model servers now
  msg workers trust                    let the project's workers.toml name programs
  msg workers --json | jq -r '.profiles[].name'"
)]
pub(in crate::faces::cli) struct WorkersArgs {
    #[command(subcommand)]
    action: Option<WorkersAction>,
    /// Ask programs for their versions and local servers for their models, now
    #[arg(long)]
    probe: bool,
}

#[derive(Debug, Subcommand)]
enum WorkersAction {
    Trust(trust::TrustArgs),
}

pub(super) fn run(op: &Op, args: WorkersArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    if let Some(WorkersAction::Trust(args)) = args.action {
        return trust::run(op, &args, ui);
    }
    let report = match args.probe {
        true => {
            let stop = StopRequest::listen().map_err(FileError::from)?;
            let mut progress = |done: usize, of: usize, name: &str| ui.progress(done, of, name);
            let report = workers::workers(op, ProbeMode::Now { stop: &stop, progress: &mut progress });
            ui.end_progress();
            report?
        }
        false => workers::workers(op, ProbeMode::Cached)?,
    };
    let error = workers::problems_error(&report.loaded);
    let page = WorkersPage { report, home: op.home.clone(), cwd: op.folder(), was_asked_now: args.probe };
    Ok(CommandOutput { report: Some(Box::new(page)), error })
}

struct WorkersPage {
    report: WorkersReport,
    home: Home,
    cwd: String,
    /// Then its age is of no interest.
    was_asked_now: bool,
}

impl Report for WorkersPage {
    fn json(&self) -> Map<String, Value> {
        json::worker::workers(&self.report)
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            return self.report.profiles.iter().for_each(|it| page.line(&it.profile.name));
        }
        let mut table = Table::default();
        self.report.profiles.iter().for_each(|runnable| table.row(profile_row(runnable, page)));
        section(page, "Profiles", table);
        let mut table = Table::default();
        self.report.harnesses.iter().for_each(|found| table.row(self.harness_row(found)));
        page.line("");
        match self.report.harnesses.is_empty() {
            true => page.nothing(
                "No supported harness is on your PATH.",
                "`msg install --help` names them; a profile can also have a `command` of its own.",
            ),
            false => section(page, "Harnesses", table),
        }
        if !self.report.servers.is_empty() {
            page.line("");
            section(page, "Local models", self.models(page));
        }
        let remarks = self.remarks();
        if !remarks.is_empty() {
            page.line("");
        }
        remarks.into_iter().for_each(|remark| page.line(remark));
    }
}

fn section(page: &mut Page, heading: &str, table: Table) {
    page.line(style::bold(heading));
    table.lines().into_iter().for_each(|line| page.line(format!("  {line}")));
}

fn profile_row(runnable: &RunnableProfile, page: &Page) -> Vec<TableCell> {
    let profile = &runnable.profile;
    let mut runs = what_runs(runnable);
    if page.is_terminal && runs.chars().count() > LONGEST_COMMAND {
        runs = runs.chars().take(LONGEST_COMMAND - 1).chain(['…']).collect();
    }
    let untrusted: Vec<&str> = profile.untrusted.iter().map(|key| key.name()).collect();
    let runs = match profile.needs_trust() {
        true => TableCell::styled(&format!("needs trust: {}", untrusted.join(", ")), style::warn),
        false => TableCell::plain(&escape_invisible(&runs)),
    };
    let origins: Vec<&str> = profile.described_in.iter().map(|origin| origin.name()).collect();
    let is_shipped = profile.described_in == [ProfileOrigin::Shipped];
    let from = if is_shipped { style::dim } else { str::to_string };
    vec![
        TableCell::styled(&profile.name, style::bold),
        runs,
        TableCell::plain(&escape_invisible(&notes(profile))),
        TableCell::styled(&origins.join(" + "), from),
    ]
}

/// The program and its model.
fn what_runs(runnable: &RunnableProfile) -> String {
    let program = match (&runnable.profile.program, runnable.harness) {
        (WorkerProgram::Command(argv), _) => {
            argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
        }
        (WorkerProgram::Harness(harness), _) => harness.name().to_string(),
        (WorkerProgram::FirstInstalled, Some(harness)) => format!("{harness} (first installed)"),
        (WorkerProgram::FirstInstalled, None) => "no harness installed".to_string(),
    };
    match &runnable.profile.model {
        Some(model) => format!("{program}, {model}"),
        None => program,
    }
}

/// `read-only, 10m, 2.50usd`.
fn notes(profile: &Profile) -> String {
    let isolation = (profile.isolation == Isolation::Worktree).then(|| profile.isolation.name().to_string());
    let timeout = profile.timeout.map(|timeout| match timeout.as_secs() {
        seconds if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    });
    let notes = [
        profile.is_readonly.then(|| "read-only".to_string()),
        isolation,
        timeout,
        (!profile.budget.is_unlimited()).then(|| profile.budget.to_string()),
        profile.review.as_ref().map(|review| format!("review by {review}")),
    ];
    notes.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

impl WorkersPage {
    fn harness_row(&self, found: &FoundHarness) -> Vec<TableCell> {
        let version = match (&found.version, &found.trouble) {
            (Some(version), _) => TableCell::plain(&escape_invisible(version)),
            (None, Some(trouble)) => TableCell::styled(&escape_invisible(trouble), style::warn),
            (None, None) => TableCell::styled("not asked yet", style::dim),
        };
        let known = match found.is_known {
            _ if !found.can_work => TableCell::styled("not as a worker", style::dim),
            Some(true) => TableCell::styled("known", style::good),
            Some(false) => TableCell::styled("unknown version", style::warn),
            None => TableCell::plain(""),
        };
        let login = match found.login {
            LoginState::LoggedIn => TableCell::styled("logged in", style::good),
            LoginState::LoggedOut => TableCell::styled("not logged in", style::warn),
            LoginState::Unknown => TableCell::plain(""),
        };
        let path = self.home.shorten(&found.path.to_string_lossy());
        vec![
            TableCell::styled(found.harness.name(), style::bold),
            version,
            known,
            login,
            TableCell::styled(&escape_invisible(&path), style::dim),
        ]
    }

    fn models(&self, page: &Page) -> Table {
        let mut table = Table::default();
        for server in &self.report.servers {
            let most = if page.is_terminal { SHOWN_MODELS } else { usize::MAX };
            let more = server.models.len().saturating_sub(most);
            let names = server.models.iter().take(most).map(|name| escape_invisible(name).into_owned());
            let rest = (more > 0).then(|| format!("and {more} more"));
            let none = server.models.is_empty().then(|| "no models".to_string());
            for (index, name) in names.chain(rest).chain(none).enumerate() {
                let (server, url) =
                    if index == 0 { (server.name.as_str(), server.url.as_str()) } else { ("", "") };
                table.row(vec![
                    TableCell::styled(server, style::bold),
                    TableCell::plain(&name),
                    TableCell::styled(&escape_invisible(url), style::dim),
                ]);
            }
        }
        table
    }

    /// What else there is to know, a line each.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for problem in &self.report.loaded.problems {
            let text = self.shown(&problem.to_string());
            remarks.push(format!("{} {}", style::bad("problem:"), escape_invisible(&text)));
        }
        if let FileTrust::Untrusted(file) = &self.report.loaded.trust {
            let what =
                if file.was_trusted_before { "changed since it was trusted" } else { "is not trusted" };
            let keys: Vec<String> = file.keys.iter().map(ToString::to_string).collect();
            let path = self.shown(&file.path.to_string_lossy());
            let trust = style::warn("trust:");
            let path = escape_invisible(&path);
            remarks.push(format!("{trust} {path} {what}, so these keys do not count:"));
            remarks.push(format!("       {}", escape_invisible(&keys.join(", "))));
            remarks.push("       A person who has read it can run `msg workers trust`.".to_string());
        }
        let asked = match (self.report.asked_at, self.report.is_being_refreshed) {
            _ if self.was_asked_now => return remarks,
            (Some(at), is_refreshed) => {
                let age = format_age(at, clock::now());
                let again = if is_refreshed { "; they are being asked again" } else { "" };
                format!("Versions and models as of {age} ago{again}. To ask now: msg workers --probe")
            }
            (None, _) => {
                "Versions and models are being asked. To wait for them: msg workers --probe".to_string()
            }
        };
        remarks.push(style::dim(&asked));
        remarks
    }

    /// A text that begins with a path: relative to the working directory if it is below it.
    fn shown(&self, text: &str) -> String {
        let below = text.strip_prefix(self.cwd.as_str()).and_then(|rest| rest.strip_prefix('/'));
        below.map_or_else(|| self.home.shorten(text), str::to_string)
    }
}
