//! The paths of one repository that agents hold over all machines: one record, so that whether two patterns overlap is
//! decided by one compare-and-swap.

use jiff::Timestamp;

use super::leases::{Leases, OwnerState};
use super::machine::MachineName;
use super::records::RecordOwner;
use crate::domain::pattern::{NormalPath, SearchBudget};
use crate::domain::{Conflict, Reservation, RootCommit};

/// How many steps the comparison of all patterns may take. More than that counts as a conflict.
const STEPS: usize = 20_000_000;

/// A path that is held. The reservation is written below a root that is nowhere, so it binds no file by its place.
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

    /// Removes what nobody holds any more: leases that are over, and times that have passed.
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

    /// What the agent holds.
    pub fn of<'t>(&'t self, owner: &'t RecordOwner) -> impl Iterator<Item = &'t SharedPath> {
        self.held.iter().filter(move |held| held.owner.is_same_agent(owner))
    }
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
}
