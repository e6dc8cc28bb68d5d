//! `msg selftest`: tests the promises on this disk.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::ops::doctor::CheckState;
use crate::ops::selftest::{self, PromiseCheck, SelftestOptions, SelftestResults};
use crate::ops::{CommandError, GlobalOptions};
use crate::sys::files::FileError;
use crate::sys::signals::{self, StopRequest};

/// Test the promises on this disk
///
/// Makes throw-away meshes beside yours, so on the same file system, lets real processes race for names, tasks, paths
/// and messages there, kills them, damages files, and reports which promises held, with counts. Takes about ten
/// seconds. Your own mesh and configuration are not touched, and nothing is left behind. Exit code 4 if a promise
/// broke.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg selftest
  msg selftest --in /mnt/share    would a mesh be safe there?
  msg selftest --promise 1        only that no message is lost
  msg selftest --json             the same, for a program to look at")]
pub(in crate::faces::cli) struct SelftestArgs {
    /// Test in this directory instead of beside the mesh
    #[arg(long = "in", value_name = "DIR")]
    place: Option<PathBuf>,
    /// Only this promise; may be given several times
    #[arg(long = "promise", value_name = "N", value_parser = clap::value_parser!(u8).range(1..=7))]
    promises: Vec<u8>,
    /// If a promise broke, keep the throw-away meshes for inspection
    #[arg(long)]
    keep: bool,
    /// What the test's own children are there for
    #[arg(long, hide = true)]
    role: Option<RoleArg>,
    /// The lock that a holder holds
    #[arg(long, hide = true, value_name = "FILE")]
    lock: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RoleArg {
    Host,
    Holder,
}

pub(super) fn run(
    globals: &GlobalOptions,
    args: SelftestArgs,
    ui: &Ui,
) -> Result<CommandOutput, CommandError> {
    if let Some(role) = args.role {
        let role = match (role, &args.lock) {
            (RoleArg::Holder, Some(path)) => selftest::WorkerRole::Holder(path),
            _ => selftest::WorkerRole::Host,
        };
        // If the output is not read, the parent waits for this child in vain and kills it.
        selftest::work(role, |text| {
            let _ = ui.say(text);
        })?;
        return Ok(CommandOutput::said(None));
    }
    // It takes minutes: what was started with `nohup` goes on without its terminal.
    let stop = match signals::is_hangup_ignored() {
        true => StopRequest::listen(),
        false => StopRequest::listen_with_hangup(),
    };
    let stop = stop.map_err(FileError::from)?;
    let options = SelftestOptions { place: args.place, promises: args.promises, keeps_broken: args.keep };
    let tested = selftest::selftest(globals, &options, &stop, &mut |progress| {
        ui.progress(progress.done, progress.of, progress.name);
    });
    ui.end_progress();
    let tested = tested?;
    let error = selftest::broken_promises_error(&tested);
    Ok(CommandOutput { report: Some(Box::new(SelftestReport(tested))), error })
}

struct SelftestReport(SelftestResults);

impl Report for SelftestReport {
    fn json(&self) -> Map<String, Value> {
        let check = |check: &PromiseCheck| {
            json!({
                "promise": check.promise,
                "name": check.name,
                "state": check.state.name(),
                "held": check.state != CheckState::Fail,
                "message": check.message,
                "fix": check.fix,
                "ms": u64::try_from(check.took.as_millis()).unwrap_or(u64::MAX),
            })
        };
        let SelftestResults { directory, file_system, checks, kept } = &self.0;
        Map::from_iter([
            ("fileSystem".to_string(), json!(file_system)),
            ("directory".to_string(), json!(directory.to_string_lossy())),
            ("kept".to_string(), json!(kept.as_ref().map(|kept| kept.to_string_lossy()))),
            ("checks".to_string(), checks.iter().map(check).collect()),
        ])
    }

    fn text(&self, page: &mut Page) {
        let SelftestResults { directory, file_system, checks, kept } = &self.0;
        let disk = file_system.as_deref().unwrap_or("a file system of an unknown kind");
        page.line(style::bold(&escape_invisible(&format!(
            "The promises in {}, on {disk}",
            directory.display()
        ))));
        let mut table = Table::default();
        for check in checks.iter().filter(|check| !page.is_quiet || check.state != CheckState::Ok) {
            let (word, paint): (&str, fn(&str) -> String) = match check.state {
                CheckState::Ok => ("held", style::good),
                CheckState::Warn => ("held, but", style::warn),
                CheckState::Fail => ("broke", style::bad),
            };
            table.row(vec![
                TableCell::plain(&check.promise.to_string()),
                TableCell::styled(check.name, style::bold),
                TableCell::styled(word, paint),
                TableCell::styled(&format!("{:.1} s", check.took.as_secs_f64()), style::dim),
                TableCell::plain(&escape_invisible(&check.message)),
            ]);
            if let Some(fix) = &check.fix {
                let empty = || TableCell::plain("");
                table.row(vec![
                    empty(),
                    empty(),
                    empty(),
                    empty(),
                    TableCell::styled(&format!("→ {fix}"), style::dim),
                ]);
            }
        }
        table.lines().into_iter().for_each(|line| page.line(line));
        if !page.is_quiet && checks.iter().all(|check| check.state != CheckState::Fail) {
            let took: f64 = checks.iter().map(|check| check.took.as_secs_f64()).sum();
            page.line(style::good(&format!("Everything that was tested held, in {took:.0} s.")));
        }
        if let Some(kept) = kept {
            page.line(escape_invisible(&format!("What broke can be looked at in `{}`.", kept.display())));
        }
    }
}
