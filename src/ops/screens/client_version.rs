//! Which version of its harness an agent runs, as far as that is known without asking the program.

use std::path::Path;

use jiff::Timestamp;

use crate::domain::Agent;
use crate::domain::runs::Run;
use crate::harness::{self, ancestry};
use crate::ops::effects::Op;
use crate::store::ProbeCache;
use crate::sys::{process, program};

use super::sight::{AgentSight, reader_of};

/// How many processes are examined: that of the agent, and one that may have started it only to find the right program.
const MOST_PROCESSES: usize = 2;

/// A sentence for whoever looks at a screen of a version whose screens were not recorded. `None` if they were, if the
/// version is not known, and if no screen was read.
pub(super) fn unknown_version(op: &Op, sight: &AgentSight, run: Option<&Run>) -> Option<String> {
    sight.reading.as_ref()?;
    let agent = sight.agent.as_ref()?;
    let version = run.and_then(|run| run.version.clone()).or_else(|| probed_version(op, agent))?;
    if reader_of(agent)?.is_known(&version) {
        return None;
    }
    let title = harness::support(agent.harness?)?.title();
    Some(format!(
        "screens of {title} {version} are not known: its hooks count first, and what its screen says may be misread"
    ))
}

/// The version that its program told when it was asked last, if the agent runs that very program and not one that was
/// replaced since.
fn probed_version(op: &Op, agent: &Agent) -> Option<String> {
    let harness = agent.harness?;
    let record = ProbeCache::of(&op.home).load()?;
    let probed = record.harnesses.into_iter().find(|probed| probed.name == harness.name())?;
    let pid = agent.process.pid();
    let written = Timestamp::try_from(probed.stamp.newest()).ok()?;
    let is_older = process::started_at(pid).is_none_or(|started| started < written);
    if is_older || !probed.is_unchanged() {
        return None;
    }
    let runs_it = ancestry::above(pid).into_iter().take(MOST_PROCESSES).any(|pid| {
        let Some(details) = process::details(pid) else { return false };
        let mut paths = details.look.exe.as_deref().into_iter().chain(details.look.script());
        paths.any(|path| program::is_same(Path::new(path), &probed.path))
    });
    probed.version.filter(|_| runs_it)
}
