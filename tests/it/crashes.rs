//! The crash sweep: a command is killed before its first change to the file system, before its second, and so on until
//! it survives. After each death the promises must hold, and the next command must recover; that command is swept as
//! well.

mod agents;
mod contest_signs;
mod contests;
mod messages;
mod reservations;
mod swarm;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ravenry::store::SwarmLockState;
use ravenry::sys::test_switches::CRASH_AT;
use serde_json::Value;

use crate::support::environment::{Ended, TestEnvironment, sweep_stride};

/// Unless the sweep is whole, one pair of deaths in this many is tried.
const STRIDE: usize = 24;

/// A mesh that can be reset to its original state.
struct Scene {
    env: TestEnvironment,
    /// The files of all mail, none of which may be lost or duplicated.
    mail: BTreeSet<String>,
    /// What must hold at any time, besides what holds for every scene.
    promises: fn(&Self, &str),
    told: RefCell<Told>,
}

/// What commands answered since the last reset.
#[derive(Default)]
struct Told {
    /// The ids of accepted messages.
    sent: Vec<String>,
    /// The ids of messages that were handed over, and whether the command was killed.
    handed: Vec<(String, bool)>,
}

/// A command to sweep, and what must hold in the end.
struct Sweep<'a> {
    command: &'a [&'a str],
    /// The command to run after a death, and its possible exit codes: the first command may have been done.
    recovery: &'a [&'a str],
    codes: &'a [i32],
    settled: &'a dyn Fn(&TestEnvironment),
}

impl Scene {
    fn new(build: impl FnOnce(&TestEnvironment)) -> Self {
        Self::with(Self::assert_mail_stays, build)
    }

    fn with(promises: fn(&Self, &str), build: impl FnOnce(&TestEnvironment)) -> Self {
        let env = TestEnvironment::new();
        build(&env);
        let mail = files(&env);
        copy(&env.mesh(), &env.path().join("before"));
        Self { env, mail, promises, told: RefCell::default() }
    }

    fn reset(&self) {
        fs::remove_dir_all(self.env.mesh()).unwrap();
        copy(&self.env.path().join("before"), &self.env.mesh());
        self.told.take();
    }

    /// Runs a command that dies before its n-th change. `None`: it died.
    fn crash(&self, args: &[&str], n: usize) -> Option<Ended> {
        let ended = self.run(args, &[(CRASH_AT, &n.to_string())]);
        if ended.signal == Some(9) { None } else { Some(ended) }
    }

    /// Runs a command and records its answer.
    fn run(&self, args: &[&str], variables: &[(&str, &str)]) -> Ended {
        let ended = self.env.run_with(&[args, &["--json"]].concat(), variables);
        let said: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
        let ids = |key: &str| -> Vec<String> {
            let list = said[key].as_array().into_iter().flatten();
            list.map(|entry| entry["id"].as_str().unwrap().to_string()).collect()
        };
        let mut told = self.told.borrow_mut();
        told.sent.extend(ids("sent"));
        told.handed.extend(ids("messages").into_iter().map(|id| (id, ended.signal.is_some())));
        ended
    }

    /// What must hold at any time, whichever process died.
    #[track_caller]
    fn assert_promises(&self, when: &str) {
        let census = self.env.store().registry().census().unwrap();
        assert!(census.unreadable.is_empty(), "{when}: {:?}", census.unreadable);
        let names: BTreeSet<String> =
            census.records.iter().map(|record| record.agent.name.folded()).collect();
        assert_eq!(names.len(), census.records.len(), "{when}: one owner per name");
        let sessions: BTreeSet<&str> =
            census.records.iter().map(|record| record.agent.session.as_str()).collect();
        assert_eq!(sessions.len(), census.records.len(), "{when}: one registration per session");
        (self.promises)(self, when);
        self.env.store().tasks().claims().unwrap();
    }

    /// Mail that nobody reads or sends is all there, wherever it is moved.
    #[track_caller]
    fn assert_mail_stays(&self, when: &str) {
        assert_eq!(files(&self.env), self.mail, "{when}: no mail is lost: {:?}", self.env.mail());
        assert_eq!(self.env.mail().len(), self.mail.len(), "{when}: or doubled: {:?}", self.env.mail());
    }

    fn sweep(&self, sweep: &Sweep<'_>) {
        let deaths = self.sweep_with(sweep, |_, _, _| {});
        // Every step of the recovery is hit after at least one death.
        let stride = sweep_stride().unwrap_or(STRIDE).min(deaths);
        for n in 1..=deaths {
            self.sweep_recovery(sweep, n, stride);
        }
    }

    /// A sweep without sweeping the recovery, for when another test sweeps the same recovery.
    fn sweep_once(&self, sweep: &Sweep<'_>) {
        self.sweep_with(sweep, |scene, sweep, n| {
            let when = format!("{:?} killed at {n}", sweep.command);
            scene.recover(sweep, &when);
            scene.assert_promises(&when);
            scene.assert_settled(sweep, &when);
        });
    }

    /// Kills the command before each of its changes; returns how many there are.
    fn sweep_with(&self, sweep: &Sweep<'_>, recover: impl Fn(&Self, &Sweep<'_>, usize)) -> usize {
        let mut deaths = 0;
        for n in 1.. {
            self.reset();
            let when = format!("{:?} killed at {n}", sweep.command);
            let survived = self.crash(sweep.command, n);
            self.assert_promises(&when);
            if let Some(ended) = survived {
                ended.expect_code(0);
                self.assert_settled(sweep, &when);
                break;
            }
            deaths = n;
            recover(self, sweep, n);
        }
        assert!(deaths >= 3, "{:?} changes more than {deaths} things", sweep.command);
        deaths
    }

    /// The command died before its n-th change; the recovery is killed too. The steps at which it is killed differ from
    /// one n to the next, so that all are hit, if not after every death.
    fn sweep_recovery(&self, sweep: &Sweep<'_>, n: usize, stride: usize) {
        for m in (1 + n % stride..).step_by(stride) {
            self.reset();
            assert!(self.crash(sweep.command, n).is_none(), "{:?} dies at {n} every time", sweep.command);
            let when = format!("{:?} killed at {n}, {:?} at {m}", sweep.command, sweep.recovery);
            let survived = self.crash(sweep.recovery, m);
            self.assert_promises(&when);
            self.recover(sweep, &when);
            self.assert_promises(&when);
            self.assert_settled(sweep, &when);
            if survived.is_some() {
                break;
            }
        }
    }

    fn recover(&self, sweep: &Sweep<'_>, when: &str) {
        let ended = self.run(sweep.recovery, &[]);
        assert!(sweep.codes.contains(&ended.code.unwrap_or(-1)), "{when}: {ended}");
    }

    fn assert_settled(&self, sweep: &Sweep<'_>, when: &str) {
        let settled = || (sweep.settled)(&self.env);
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(settled)).is_err() {
            panic!("{when}: that is not how it should be in the end");
        }
        // A dead holder's lock may still be there, but blocks nobody.
        let obstacle = self.env.store().tasks().lock_state().unwrap();
        assert!(!matches!(obstacle, Some(SwarmLockState::Held(_))), "{when}: {obstacle:?}");
    }
}

/// The file names of all mail, wherever it is.
fn files(env: &TestEnvironment) -> BTreeSet<String> {
    env.mail().iter().map(|path| path.rsplit('/').next().unwrap().to_string()).collect()
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
