//! `msg workers`: the profiles and what each would run, the harnesses and local models that were found.

use std::time::Duration;

use jiff::Timestamp;

use super::discovery::{self, FoundHarness};
use super::probe;
use crate::domain::Harness;
use crate::domain::workers::{Profile, WorkerProgram};
use crate::ops::background::{BackgroundJob, JobKind};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind, ErrorDetail};
use crate::store::worker_files::{self, LoadedWorkers};
use crate::store::{ProbeCache, ProbedServer};
use crate::sys::clock;
use crate::sys::signals::StopRequest;

/// How old what is known may be before it is asked again in the background. Model servers come and go.
const FRESH: Duration = Duration::from_secs(15 * 60);

/// Whether programs and servers are asked now.
pub enum ProbeMode<'a> {
    /// What was found out last is shown, and nothing is started. If it is old, a background job asks again.
    Cached,
    /// All are asked. `progress` gets how many have answered, how many there are, and who was the last.
    Now { stop: &'a StopRequest, progress: &'a mut dyn FnMut(usize, usize, &str) },
}

impl std::fmt::Debug for ProbeMode<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cached => "Cached",
            Self::Now { .. } => "Now",
        })
    }
}

/// A profile, and the harness that a run of it would use now.
#[derive(Clone, Debug)]
pub struct RunnableProfile {
    pub profile: Profile,
    /// `None` for a command, and if no harness is installed.
    pub harness: Option<Harness>,
}

/// Everything about workers on this machine and in this project.
#[derive(Clone, Debug)]
pub struct WorkersReport {
    pub profiles: Vec<RunnableProfile>,
    pub loaded: LoadedWorkers,
    /// Those on `PATH`.
    pub harnesses: Vec<FoundHarness>,
    /// Model servers that answered.
    pub servers: Vec<ProbedServer>,
    /// When programs and servers were asked; `None` if never.
    pub asked_at: Option<Timestamp>,
    /// Whether a background job asks again.
    pub is_being_refreshed: bool,
}

/// Lists them. What is wrong with the files is in the report, see [`problems_error`].
pub fn workers(op: &Op, mode: ProbeMode<'_>) -> Result<WorkersReport, CommandError> {
    let loaded = worker_files::load(&op.home, &op.cwd);
    loaded.warnings.iter().for_each(|warning| op.warn(warning.clone()));
    let cache = ProbeCache::of(&op.home);
    let is_asked = matches!(mode, ProbeMode::Now { .. });
    let record = match mode {
        ProbeMode::Cached => cache.load(),
        ProbeMode::Now { stop, progress } => {
            let record = probe::probe(stop, progress)?;
            cache.keep(&record)?;
            Some(record)
        }
    };
    let mut is_old = record.as_ref().is_none_or(|record| !is_fresh(record.at, clock::now()));
    let harnesses = discovery::installed().into_iter().map(|program| {
        let known = record.as_ref().map_or(&[][..], |record| &record.harnesses);
        let probed = known.iter().find(|probed| program.is_probed_in(probed));
        is_old |= probed.is_none();
        program.found(&op.home, probed)
    });
    let harnesses: Vec<FoundHarness> = harnesses.collect();
    let is_being_refreshed = is_old && !is_asked;
    if is_being_refreshed {
        op.start_job(BackgroundJob { kind: JobKind::Workers, dir: loaded.root.clone() });
    }
    let first = harnesses.iter().find(|found| found.can_work).map(|found| found.harness);
    let profiles = loaded.profiles.iter().map(|profile| RunnableProfile {
        harness: match &profile.program {
            WorkerProgram::Harness(harness) => Some(*harness),
            WorkerProgram::FirstInstalled => first,
            WorkerProgram::Command(_) => None,
        },
        profile: profile.clone(),
    });
    Ok(WorkersReport {
        profiles: profiles.collect(),
        harnesses,
        asked_at: record.as_ref().map(|record| record.at),
        servers: record.map(|record| record.servers).unwrap_or_default(),
        is_being_refreshed,
        loaded,
    })
}

/// Whether something that was found out then still counts. A clock may have been set back.
fn is_fresh(then: Timestamp, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(then)).is_ok_and(|age| age <= FRESH)
}

/// The error if something is wrong with the files. No worker may be started then: what was meant is not known.
pub fn problems_error(loaded: &LoadedWorkers) -> Option<CommandError> {
    let first = loaded.problems.first()?;
    let more = match loaded.problems.len() - 1 {
        0 => String::new(),
        1 => " (and 1 more problem)".to_string(),
        more => format!(" (and {more} more problems)"),
    };
    let rows = loaded.problems.iter().map(|problem| {
        let number = |number: usize| Some(ErrorDetail::Number(number as u64));
        vec![
            ("file", Some(ErrorDetail::Text(problem.path.display().to_string()))),
            ("line", problem.at.and_then(|at| number(at.line))),
            ("column", problem.at.and_then(|at| number(at.column))),
            ("message", Some(ErrorDetail::Text(problem.message.clone()))),
        ]
    });
    let rows = ErrorDetail::Rows(rows.collect());
    let mut error = CommandError::new(CommandErrorKind::BadConfig, format!("{first}{more}"))
        .hint("fix the file; `msg workers` shows all that is wrong with it");
    error.facts.push(("problems", rows));
    Some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_gets_old() {
        let then: Timestamp = "2026-11-17T12:00:00Z".parse().unwrap();
        let after = |seconds: i64| then + jiff::SignedDuration::from_secs(seconds);
        assert!(is_fresh(then, then) && is_fresh(then, after(900)));
        assert!(!is_fresh(then, after(901)) && !is_fresh(then, after(-1)));
    }
}
