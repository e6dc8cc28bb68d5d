//! Identifies processes and decides whether a recorded one is still alive.
//!
//! A pid alone is not enough: it is reused, it means another process in another container, and after a reboot it means
//! nothing. [`ProcessIdentity`] identifies a process uniquely. [`liveness_of`] is the only place that decides whether a
//! process is alive, from the record and what can be observed now.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

/// A valid process id: positive, and not larger than any kernel assigns.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Pid(i32);

/// 2^22, the limit of 64-bit Linux; other systems stay far below it.
const MAX_PID: i64 = 1 << 22;

#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0} can't be the id of a process")]
pub struct PidError(pub i64);

impl Pid {
    /// Rejects zero and negative numbers, because `kill` would take them for process groups.
    pub fn new(number: i64) -> Result<Self, PidError> {
        if (1..=MAX_PID).contains(&number) { Ok(Self(number as i32)) } else { Err(PidError(number)) }
    }

    pub fn get(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The machine, boot and pid namespace in which a pid is valid. `None` where the system does not report it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PidScope {
    pub boot_id: Option<String>,
    pub machine_id: Option<String>,
    pub pid_ns: Option<String>,
}

/// Identifies one process uniquely, across reboots and machines.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProcessIdentity {
    pub pid: Pid,
    /// Start time in clock ticks of its system. Together with the pid it is unique within a boot.
    pub start_ticks: u64,
    pub place: PidScope,
}

/// A process as recorded in a file.
#[derive(Clone, Debug)]
pub enum RecordedProcess {
    /// With everything that identifies it.
    Pinned(ProcessIdentity),
    /// Only a pid, as pi-messenger writes it, and a time at which that process was already running, if known.
    Bare { pid: Pid, ran_at: Option<Timestamp> },
}

impl RecordedProcess {
    pub fn bare(pid: Pid) -> Self {
        Self::Bare { pid, ran_at: None }
    }

    pub fn pid(&self) -> Pid {
        match self {
            Self::Pinned(identity) => identity.pid,
            Self::Bare { pid, .. } => *pid,
        }
    }
}

/// `ran_at` is ignored: when a process was seen does not change which process it is.
impl PartialEq for RecordedProcess {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pinned(one), Self::Pinned(other)) => one == other,
            (Self::Bare { pid: one, .. }, Self::Bare { pid: other, .. }) => one == other,
            _ => false,
        }
    }
}

impl Eq for RecordedProcess {}

/// Tolerance for adjustments of the wall clock.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_secs(60);

/// Whether the pid was reused: the present process started more than 60 s after the recorded one was
/// running. A process that may be the recorded program is not counted as another: the clock may have been set
/// forward.
pub fn is_reused(ran_at: Timestamp, started: Timestamp, may_be_the_program: impl FnOnce() -> bool) -> bool {
    started.duration_since(ran_at) > CLOCK_SLACK && !may_be_the_program()
}

/// What the system reports about a pid now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProcessStatus {
    /// No process has this pid.
    Absent,
    /// It has exited and its parent has not reaped it yet.
    Zombie,
    /// It is running, sleeping or stopped, and started at this time.
    Running { start_ticks: u64 },
    /// A process has this pid, but we are not permitted to inspect it.
    Hidden,
}

/// Whether a process is alive. Only [`Liveness::Gone`] is proof of death; an `Unknown` agent keeps everything it has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Liveness {
    Alive,
    Gone,
    Unknown,
}

/// Whether a recorded pid can be looked up here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PidLocality {
    /// Same boot and pid namespace: the pid means the same here.
    Here,
    /// Same machine, but it was rebooted since.
    EarlierBoot,
    /// Another machine or pid namespace: nothing we observe says anything about it.
    Elsewhere,
}

pub fn pid_locality(recorded: &PidScope, here: &PidScope) -> PidLocality {
    fn same(a: &Option<String>, b: &Option<String>) -> bool {
        a.is_some() && a == b
    }
    if same(&recorded.boot_id, &here.boot_id) {
        if recorded.pid_ns == here.pid_ns { PidLocality::Here } else { PidLocality::Elsewhere }
    } else if same(&recorded.machine_id, &here.machine_id)
        && recorded.boot_id.is_some()
        && here.boot_id.is_some()
    {
        PidLocality::EarlierBoot
    } else {
        PidLocality::Elsewhere
    }
}

/// Decides whether `recorded` is alive, given where we are and a function that looks up a pid.
pub fn liveness_of(
    recorded: &RecordedProcess,
    here: &PidScope,
    look: impl FnOnce(Pid) -> ProcessStatus,
) -> Liveness {
    match recorded {
        RecordedProcess::Bare { pid, .. } => match look(*pid) {
            ProcessStatus::Absent | ProcessStatus::Zombie => Liveness::Gone,
            ProcessStatus::Running { .. } | ProcessStatus::Hidden => Liveness::Alive,
        },
        RecordedProcess::Pinned(identity) => match pid_locality(&identity.place, here) {
            PidLocality::EarlierBoot => Liveness::Gone,
            PidLocality::Elsewhere => Liveness::Unknown,
            PidLocality::Here => match look(identity.pid) {
                ProcessStatus::Absent | ProcessStatus::Zombie => Liveness::Gone,
                ProcessStatus::Running { start_ticks } if start_ticks != identity.start_ticks => {
                    Liveness::Gone
                }
                ProcessStatus::Running { .. } | ProcessStatus::Hidden => Liveness::Alive,
            },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(boot: &str, machine: &str, ns: &str) -> PidScope {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
        PidScope { boot_id: some(boot), machine_id: some(machine), pid_ns: some(ns) }
    }

    fn check(recorded_place: PidScope, sighting: ProcessStatus, expected: Liveness) {
        let recorded = RecordedProcess::Pinned(ProcessIdentity {
            pid: Pid(7),
            start_ticks: 100,
            place: recorded_place.clone(),
        });
        let verdict = liveness_of(&recorded, &place("b1", "m1", "ns1"), |_| sighting);
        assert_eq!(verdict, expected, "{recorded_place:?}, {sighting:?}");
    }

    #[test]
    fn verdicts() {
        use Liveness::*;
        let here = || place("b1", "m1", "ns1");
        check(here(), ProcessStatus::Running { start_ticks: 100 }, Alive);
        check(here(), ProcessStatus::Running { start_ticks: 101 }, Gone);
        check(here(), ProcessStatus::Absent, Gone);
        check(here(), ProcessStatus::Zombie, Gone);
        check(here(), ProcessStatus::Hidden, Alive);
        check(place("b0", "m1", "ns1"), ProcessStatus::Running { start_ticks: 100 }, Gone);
        check(place("b0", "m2", "ns1"), ProcessStatus::Absent, Unknown);
        check(place("b1", "m1", "ns2"), ProcessStatus::Absent, Unknown);
        check(place("b0", "", "ns1"), ProcessStatus::Absent, Unknown);
        check(place("", "m1", "ns1"), ProcessStatus::Absent, Unknown);
    }

    #[test]
    fn two_places_that_tell_nothing_are_not_the_same_place() {
        let recorded = RecordedProcess::Pinned(ProcessIdentity {
            pid: Pid(7),
            start_ticks: 1,
            place: PidScope::default(),
        });
        assert_eq!(
            liveness_of(&recorded, &PidScope::default(), |_| ProcessStatus::Absent),
            Liveness::Unknown
        );
    }

    #[test]
    fn a_bare_pid_is_judged_as_pi_judges_it() {
        let bare = RecordedProcess::bare(Pid(7));
        let here = place("b1", "m1", "ns1");
        assert_eq!(liveness_of(&bare, &here, |_| ProcessStatus::Absent), Liveness::Gone);
        assert_eq!(liveness_of(&bare, &here, |_| ProcessStatus::Zombie), Liveness::Gone);
        assert_eq!(liveness_of(&bare, &here, |_| ProcessStatus::Hidden), Liveness::Alive);
        assert_eq!(liveness_of(&bare, &here, |_| ProcessStatus::Running { start_ticks: 3 }), Liveness::Alive);
    }

    #[test]
    fn a_process_that_is_clearly_younger_than_its_record_is_another() {
        let ran_at: Timestamp = "2026-11-14T10:00:00Z".parse().unwrap();
        for (later, expected) in [(-86_400, false), (0, false), (59, false), (61, true), (86_400, true)] {
            let started = ran_at + SignedDuration::from_secs(later);
            assert_eq!(is_reused(ran_at, started, || false), expected, "{later} s later");
            assert!(!is_reused(ran_at, started, || true), "the clock may have been set: {later} s later");
        }
    }

    #[test]
    fn absurd_pids_are_errors() {
        for number in [0, -1, i64::MIN, MAX_PID + 1, i64::MAX] {
            assert_eq!(Pid::new(number), Err(PidError(number)));
        }
        assert_eq!(Pid::new(1).map(Pid::get), Ok(1));
    }
}
