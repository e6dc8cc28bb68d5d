//! `msg notify`: what is set, what works here, and trying it.

use crate::domain::alert::{Alert, AlertKind, AlertWay};
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::ops::person_required;
use crate::sys::signals::StopRequest;
use crate::sys::{clock, time_zone};

use super::ways::{AlertOutput, AlertTools, WayProblem};

/// What the settings say, and which ways work here.
#[derive(Clone, Debug)]
pub struct NotifyOverview {
    /// The ways of each kind; `None` if nothing is said about it.
    pub kinds: Vec<(AlertKind, Option<Vec<AlertWay>>)>,
    /// The command of the old form of `notify`, which hears of every change of a run.
    pub run_command: Vec<String>,
    /// Why that can't be run.
    pub run_problem: Option<WayProblem>,
    /// The setting `notifyCommand`.
    pub command: Vec<String>,
    /// The quiet hours, and whether it is quiet now.
    pub quiet: Option<(String, bool)>,
    pub ways: Vec<WayState>,
    /// Without a feed, events of runs and agents are told only if they come as mail.
    pub is_feed_off: bool,
}

/// A way, and why it can't work here.
#[derive(Clone, Debug)]
pub struct WayState {
    pub way: AlertWay,
    /// A kind uses it.
    pub is_used: bool,
    pub problem: Option<WayProblem>,
}

/// A way that was tried.
#[derive(Clone, Debug)]
pub struct TriedWay {
    pub way: AlertWay,
    /// What went wrong; `None`: `msg` has done its part.
    pub failure: Option<String>,
    /// What to do about it.
    pub fix: Option<&'static str>,
}

/// What is set, and what works for a command that writes to there.
pub fn notify_overview(ctx: &Context, output: AlertOutput) -> NotifyOverview {
    let tools = AlertTools::of(ctx);
    let settings = &ctx.settings;
    let is_used = |way| settings.alert_ways().iter().any(|(_, ways)| ways.contains(&way));
    let state = |way| WayState { way, is_used: is_used(way), problem: tools.problem(way, output) };
    let local = clock::now().to_zoned(time_zone::user_zone().clone()).time();
    NotifyOverview {
        kinds: AlertKind::ALL.map(|kind| (kind, settings.ways_of(kind).map(<[_]>::to_vec))).to_vec(),
        run_command: settings.run_command().to_vec(),
        run_problem: tools.run_problem(settings.run_command()),
        command: settings.notify_command().to_vec(),
        quiet: settings.quiet_hours().map(|hours| (hours.text(), hours.contains(local))),
        ways: AlertWay::ALL.map(state).to_vec(),
        is_feed_off: settings.feed_retention() == 0,
    }
}

/// Tells a test in every way that works here, whatever is set and whatever the time. Only for a person.
pub fn try_ways(
    ctx: &Context,
    output: AlertOutput,
    terminal: &dyn Fn(&str),
) -> Result<Vec<TriedWay>, CommandError> {
    person_required::required(|| "msg notify --test".to_string())?;
    let tools = AlertTools::of(ctx);
    let (stop, _trigger) = StopRequest::manual();
    let alert = test_alert();
    let tried = AlertWay::ALL.map(|way| match tools.problem(way, output) {
        Some(problem) => TriedWay { way, failure: Some(problem.text), fix: Some(problem.fix) },
        None => {
            let failure =
                tools.tell(way, &[&alert], terminal, &stop).err().map(|failure| failure.to_string());
            TriedWay { way, failure, fix: None }
        }
    });
    Ok(tried.to_vec())
}

fn test_alert() -> Alert {
    Alert {
        kinds: vec![AlertKind::Mail],
        key: "test".to_string(),
        at: clock::now(),
        from: "msg".to_string(),
        id: None,
        line: "this is a test of msg notify".to_string(),
        told_by_feed: None,
    }
}
