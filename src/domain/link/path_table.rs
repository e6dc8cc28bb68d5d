//! The paths of one repository that agents hold over all machines: one record, so that whether two patterns overlap is
//! decided by one compare-and-swap.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::leases::{Leases, OwnerState};
use super::machine::MachineName;
use super::records::RecordOwner;
use crate::domain::pattern::{NormalPath, SearchBudget};
use crate::domain::{Conflict, Reservation, RootCommit};

/// How many steps the comparison of all patterns may take. More than that counts as a conflict.
const STEPS: usize = 20_000_000;

/// A path that is held. The reservation is written below a root that is nowhere, so it binds no file by its place. It
/// expires by the clock of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedPath {
    pub owner: RecordOwner,
    pub reservation: Reservation,
}

impl SharedPath {
    /// Where it is among others.
    fn place(&self) -> (&MachineName, &str, Timestamp, &str) {
        let Reservation { since, pattern, .. } = &self.reservation;
        (&self.owner.machine, self.owner.session.as_str(), *since, pattern)
    }
}

/// What stands in the way of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct PathConflict {
    pub wanted: Reservation,
    pub held: SharedPath,
}

/// All paths of one repository that are held.
#[derive(Clone, Debug, PartialEq)]
pub struct PathTable {
    pub repository: RootCommit,
    pub held: Vec<SharedPath>,
}

impl PathTable {
    pub fn new(repository: RootCommit) -> Self {
        Self { repository, held: Vec::new() }
    }

    /// Removes what nobody holds any more: leases that are over, and times that have passed. `now` is the server's time.
    pub fn prune(&mut self, leases: &Leases, now: Timestamp) {
        self.held
            .retain(|held| leases.state(&held.owner) == OwnerState::Holds && held.reservation.binds(now));
    }

    /// What other agents hold that overlaps with these.
    pub fn conflicts(&self, owner: &RecordOwner, wanted: &[Reservation]) -> Vec<PathConflict> {
        let budget = SearchBudget::new(STEPS);
        let mut conflicts = Vec::new();
        for wanted in wanted {
            let mine = wanted.patterns("/");
            for held in self.held.iter().filter(|held| !held.owner.is_same_agent(owner)) {
                if Conflict::of(&mine, &held.reservation.patterns("/"), &budget) != Conflict::None {
                    conflicts.push(PathConflict { wanted: wanted.clone(), held: held.clone() });
                }
            }
        }
        conflicts
    }

    /// Makes these the paths that the agent holds.
    pub fn set(&mut self, owner: &RecordOwner, reservations: Vec<Reservation>) {
        self.held.retain(|held| !held.owner.is_same_agent(owner));
        let held = |reservation| SharedPath { owner: owner.clone(), reservation };
        self.held.extend(reservations.into_iter().map(held));
        // One order, whoever wrote last: two machines must not rewrite each other's order for ever.
        self.held.sort_by(|a, b| a.place().cmp(&b.place()));
    }

    /// Makes these the paths that agents hold, as many as fit: what they hold already comes first, so that nobody loses
    /// something to a path that was asked for later. The paths that did not fit, of each agent in that order.
    pub fn set_all(
        &mut self,
        wanted: Vec<(RecordOwner, Vec<Reservation>)>,
        before: &Self,
        most: usize,
    ) -> Vec<Vec<Reservation>> {
        let is_of_others =
            |held: &SharedPath| !wanted.iter().any(|(owner, _)| held.owner.is_same_agent(owner));
        self.held.retain(is_of_others);
        let room = most.saturating_sub(self.held.len());
        let mut left = vec![Vec::new(); wanted.len()];
        let mut flagged: Vec<(bool, usize, Reservation)> = Vec::new();
        for (agent, (owner, paths)) in wanted.iter().enumerate() {
            // By hash: of thousands, each is looked up.
            let known: HashSet<&str> =
                before.of(owner).map(|held| held.reservation.pattern.as_str()).collect();
            let flag = |path: &Reservation| (!known.contains(path.pattern.as_str()), agent, path.clone());
            flagged.extend(paths.iter().map(flag));
        }
        flagged.sort_by_key(|(is_new, ..)| *is_new);
        for (_, agent, path) in flagged.drain(room.min(flagged.len())..) {
            left[agent].push(path);
        }
        for (agent, (owner, _)) in wanted.iter().enumerate() {
            let fits = flagged.iter().filter(|(_, of, _)| *of == agent).map(|(.., path)| path.clone());
            self.set(owner, fits.collect());
        }
        left
    }

    /// What the agent holds.
    pub fn of<'t>(&'t self, owner: &'t RecordOwner) -> impl Iterator<Item = &'t SharedPath> {
        self.held.iter().filter(move |held| held.owner.is_same_agent(owner))
    }
}

/// The reservation with times by a clock that is ahead of ours by so much; of a time by that clock, `-ahead` leads back.
pub fn by_clock(reservation: Reservation, ahead: SignedDuration) -> Reservation {
    Reservation { expires_at: reservation.expires_at.map(|at| later(at, ahead)), ..reservation }
}

/// The time by a clock that is ahead of ours by so much.
pub fn later(time: Timestamp, ahead: SignedDuration) -> Timestamp {
    time.saturating_add(ahead).unwrap_or(time)
}

/// The root of patterns that travel: no file can be there, because file names have no NUL.
const SHARED_ROOT: &str = "/\0linked";

/// The reservation as other machines are shown it: only what binds in every clone of a repository, below a root that
/// exists nowhere. `None` if it binds on its own machine alone.
pub fn shared(reservation: &Reservation, cwd: &str) -> Option<Reservation> {
    reservation.reach.repository()?;
    let root = NormalPath::absolute(reservation.root.as_deref().unwrap_or(cwd));
    let inside = |path: &str| NormalPath::absolute(path).relative_to(&root).map(str::to_string);
    let pattern = match reservation.pattern.starts_with('/') {
        // What leaves the work tree is in no clone.
        true => {
            let rest = reservation.pattern.strip_prefix(root.as_str())?.trim_start_matches('/');
            if rest.is_empty() { ".".to_string() } else { rest.to_string() }
        }
        false => reservation.pattern.clone(),
    };
    let head = reservation.head.as_deref().and_then(inside).map(|head| format!("{SHARED_ROOT}/{head}"));
    Some(Reservation {
        pattern,
        head,
        root: Some(SHARED_ROOT.to_string()),
        task: None,
        contest: None,
        passed_by: Vec::new(),
        ..reservation.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::link::{LeaseEpoch, MachineRecord};
    use crate::domain::pattern::LetterCase;
    use crate::domain::{AgentName, ReservationReach, SessionId};

    fn commit() -> RootCommit {
        RootCommit::new("3890d112605d372894a6fab37e3f056c89ad692c").unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn reserved(pattern: &str, root: &str) -> Reservation {
        Reservation {
            pattern: pattern.to_string(),
            reason: None,
            since: at(1),
            root: Some(root.to_string()),
            expires_at: None,
            head: None,
            is_literal: false,
            case: LetterCase::Matters,
            task: None,
            contest: None,
            reach: ReservationReach::Repository(commit()),
            passed_by: Vec::new(),
        }
    }

    fn owner(machine: &str, agent: &str) -> RecordOwner {
        RecordOwner {
            machine: MachineName::new(machine).unwrap(),
            epoch: LeaseEpoch::new("e1").unwrap(),
            agent: AgentName::new(agent).unwrap(),
            session: SessionId::new(agent).unwrap(),
        }
    }

    fn leases(machines: &[&str]) -> Leases {
        let mut leases = Leases::default();
        for machine in machines {
            let (machine, epoch) = (MachineName::new(*machine).unwrap(), LeaseEpoch::new("e1").unwrap());
            let (installation, version) = (String::new(), String::new());
            leases.put(MachineRecord {
                machine,
                epoch,
                installation,
                version,
                since: at(1),
                knows_runs: false,
            });
        }
        leases
    }

    #[test]
    fn paths_meet_wherever_the_clones_are() {
        let mut table = PathTable::new(commit());
        let theirs = shared(&reserved("src/*.rs", "/home/anna/p"), "/").unwrap();
        table.set(&owner("a", "Anna"), vec![theirs]);
        let absolute = shared(&reserved("/w/clone/src/main.rs", "/w/clone"), "/").unwrap();
        let conflicts = table.conflicts(&owner("b", "Bob"), std::slice::from_ref(&absolute));
        assert_eq!(conflicts.len(), 1);
        assert_eq!(conflicts[0].held.owner.agent.as_str(), "Anna");
        assert!(table.conflicts(&owner("a", "Anna"), &[absolute]).is_empty(), "its own");
        let apart = shared(&reserved("docs/", "/w/clone"), "/").unwrap();
        assert!(table.conflicts(&owner("b", "Bob"), &[apart]).is_empty());
    }

    #[test]
    fn the_table_is_the_same_whoever_writes_last() {
        let path = |text: &str| vec![shared(&reserved(text, "/w"), "/").unwrap()];
        let (mut one, mut other) = (PathTable::new(commit()), PathTable::new(commit()));
        for (machine, agent, text) in [("a", "Anna", "src"), ("b", "Bob", "docs"), ("a", "Amy", "tests")] {
            one.set(&owner(machine, agent), path(text));
        }
        for (machine, agent, text) in [("b", "Bob", "docs"), ("a", "Amy", "tests"), ("a", "Anna", "src")] {
            other.set(&owner(machine, agent), path(text));
        }
        assert_eq!(one, other);
    }

    #[test]
    fn what_binds_on_one_machine_is_not_shared() {
        let mut own = reserved("src", "/w");
        own.reach = ReservationReach::WorkTree;
        assert_eq!(shared(&own, "/"), None);
        assert_eq!(shared(&reserved("/elsewhere", "/w"), "/"), None);
        assert_eq!(shared(&reserved("/w", "/w"), "/").unwrap().pattern, ".");
        let led = Reservation { head: Some("/w/real/x".to_string()), ..reserved("link/x", "/w") };
        assert_eq!(shared(&led, "/").unwrap().head.as_deref(), Some("/\0linked/real/x"));
    }

    #[test]
    fn a_lost_lease_holds_nothing() {
        let mut table = PathTable::new(commit());
        table.set(&owner("a", "Anna"), vec![shared(&reserved("src", "/w"), "/").unwrap()]);
        table.prune(&leases(&["a"]), at(2));
        assert_eq!(table.held.len(), 1);
        table.prune(&leases(&["b"]), at(2));
        assert!(table.held.is_empty());
        let timed = Reservation { expires_at: Some(at(5)), ..shared(&reserved("src", "/w"), "/").unwrap() };
        table.set(&owner("a", "Anna"), vec![timed]);
        table.prune(&leases(&["a"]), at(4));
        assert_eq!(table.held.len(), 1);
        table.prune(&leases(&["a"]), at(5));
        assert!(table.held.is_empty());
    }

    #[test]
    fn a_path_expires_by_the_clock_of_the_server_whoever_looks() {
        let ahead = SignedDuration::from_secs;
        let timed = Reservation { expires_at: Some(at(100)), ..reserved("src", "/w") };
        // The holder's clock is 40 seconds behind that of the server.
        let held = by_clock(shared(&timed, "/").unwrap(), ahead(40));
        assert_eq!(held.expires_at, Some(at(140)));
        assert_eq!(by_clock(held.clone(), ahead(-40)).expires_at, Some(at(100)));
        let mut table = PathTable::new(commit());
        table.set(&owner("a", "Anna"), vec![held]);
        // Another machine's clock is an hour ahead of the server: it is 139 there, and 3,739 here.
        table.prune(&leases(&["a"]), later(at(3_739), ahead(-3_600)));
        assert_eq!(table.held.len(), 1);
        table.prune(&leases(&["a"]), later(at(3_740), ahead(-3_600)));
        assert!(table.held.is_empty());
        assert_eq!(later(Timestamp::MAX, ahead(1)), Timestamp::MAX);
    }

    #[test]
    fn of_too_many_paths_those_that_are_held_already_stay() {
        let path = |text: &str| shared(&reserved(text, "/w"), "/").unwrap();
        let patterns = |paths: &[Reservation]| -> Vec<String> {
            paths.iter().map(|path| path.pattern.clone()).collect()
        };
        let (anna, amy, bob) = (owner("a", "Anna"), owner("a", "Amy"), owner("b", "Bob"));
        let mut table = PathTable::new(commit());
        table.set(&bob, vec![path("b1"), path("b2")]);
        table.set(&amy, vec![path("y1")]);
        let before = table.clone();
        let wanted = || {
            vec![(anna.clone(), vec![path("a1"), path("a2")]), (amy.clone(), vec![path("y0"), path("y1")])]
        };
        let left = table.set_all(wanted(), &before, 4);
        assert_eq!([patterns(&left[0]), patterns(&left[1])], [vec!["a2"], vec!["y0"]]);
        let held: Vec<&str> = table.held.iter().map(|held| held.reservation.pattern.as_str()).collect();
        assert_eq!(held, ["y1", "a1", "b1", "b2"]);
        let mut table = before.clone();
        assert!(table.set_all(wanted(), &before, 6).iter().all(Vec::is_empty));
        assert_eq!(table.held.len(), 6);
        // Others have more than that: nothing of theirs is removed.
        let mut table = before.clone();
        assert_eq!(table.set_all(wanted(), &before, 1).concat().len(), 4);
        assert_eq!(table.held.len(), 2);
    }
}
