//! Presence: what this machine says of its agents, and what it hears of others. It is lossy on purpose, so nothing waits
//! for it, and whatever is lost is said again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};

use super::streams::Heard;
use super::table::{RecordTable, RecordValue};
use crate::domain::link::{
    AgentPresence, HeardAgent, MachineName, PresenceReport, name_token, without_outside_paths,
};
use crate::domain::{Agent, AgentName, SessionId};
use crate::ops::error::CommandError;
use crate::store::{Mesh, StoreError, presence_format};
use crate::sys::clock;
use crate::sys::nats::Nats;

/// How often it is looked what the agents here do.
const LOOK: Duration = Duration::from_secs(2);
/// The shortest time between two reports: after an agent came, left, began or stopped, or after somebody asked.
const SOON: Duration = Duration::from_secs(1);
/// The same while agents go on with what they do.
const BUSY: Duration = Duration::from_secs(5);
/// How often it is said that nothing has changed, because reports may be lost.
const REPEAT: Duration = Duration::from_secs(10);
/// An agent that was silent for longer and does something has begun again.
const SILENT: SignedDuration = SignedDuration::from_secs(30);
/// The largest message.
const LARGEST: usize = 48 * 1024;
/// How often the file of a machine is written at most.
const WRITE: Duration = Duration::from_secs(3);

/// What this machine says and hears.
#[derive(Debug)]
pub(super) struct SharedPresence {
    teller: PresenceTeller,
    heard: HeardPresence,
}

impl Default for SharedPresence {
    fn default() -> Self {
        Self { teller: PresenceTeller::new(), heard: HeardPresence::default() }
    }
}

impl SharedPresence {
    /// Writes down what was heard of others, as far as it is time. `agents` are those here, if this machine may say how
    /// they do.
    pub(super) async fn share(
        &mut self,
        mesh: &Mesh,
        table: &mut RecordTable,
        nats: &Nats,
        agents: Option<&[Agent]>,
    ) -> Result<(), CommandError> {
        self.heard.write(mesh, table)?;
        if std::mem::take(&mut table.is_machine_new) {
            self.teller.is_asked();
        }
        if let Some(agents) = agents {
            self.teller.speak(mesh, agents, nats).await?;
        }
        Ok(())
    }

    pub(super) fn note(&mut self, table: &RecordTable, heard: Heard) {
        match heard {
            Heard::Listening => self.ask(),
            Heard::Report(machine, report) => {
                self.heard.note(table, &machine, report.agents, clock::now());
                if report.asks {
                    self.teller.is_asked();
                }
            }
        }
    }

    /// This machine may have missed what the others said.
    pub(super) fn ask(&mut self) {
        self.teller.asks = true;
    }

    /// How long nothing is due.
    pub(super) fn pause(&self, agents: Option<&[Agent]>) -> Duration {
        let heard = self.heard.pause().unwrap_or(REPEAT);
        if agents.is_some() { heard.min(self.teller.pause()) } else { heard }
    }

    /// Forgets machines that have no agents any more.
    pub(super) fn prune(&mut self, mesh: &Mesh, table: &RecordTable) -> Result<(), CommandError> {
        self.heard.prune(mesh, table)
    }
}

/// What is known of an agent here.
#[derive(Clone, Debug)]
struct Observed {
    name: AgentName,
    file_time: Option<Timestamp>,
    last_sign: Timestamp,
    activity: Option<String>,
}

/// How much has changed since the last report.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum News {
    Nothing,
    Details,
    State,
}

/// What this machine says.
#[derive(Debug)]
struct PresenceTeller {
    observed: HashMap<SessionId, Observed>,
    news: News,
    /// Whether this machine has just begun to listen.
    asks: bool,
    looked: Option<Instant>,
    said: Option<Instant>,
}

impl PresenceTeller {
    fn new() -> Self {
        Self { observed: HashMap::new(), news: News::State, asks: false, looked: None, said: None }
    }

    /// Somebody would like to know now.
    fn is_asked(&mut self) {
        self.news = News::State;
    }

    /// How long nothing is due.
    fn pause(&self) -> Duration {
        let left = |since: Option<Instant>, pause: Duration| {
            since.map_or(Duration::ZERO, |since| pause.saturating_sub(since.elapsed()))
        };
        left(self.looked, LOOK).min(left(self.said, self.due()))
    }

    fn due(&self) -> Duration {
        match (self.news, self.asks) {
            (News::State, _) | (_, true) => SOON,
            (News::Details, false) => BUSY,
            (News::Nothing, false) => REPEAT,
        }
    }

    /// Looks what the agents here do, and says it if it is time.
    async fn speak(&mut self, mesh: &Mesh, agents: &[Agent], nats: &Nats) -> Result<(), StoreError> {
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.looked = Some(Instant::now());
            self.news = self.news.max(self.observe(mesh, agents)?);
        }
        if self.said.is_some_and(|said| said.elapsed() < self.due()) {
            return Ok(());
        }
        self.said = Some(Instant::now());
        self.news = News::Nothing;
        let report = self.report(clock::now());
        for message in presence_format::report_messages(&report, LARGEST.min(nats.largest_message())) {
            // The next report says it again.
            if nats.say_presence(Bytes::from(message)).await.is_err() {
                return Ok(());
            }
        }
        self.asks = false;
        Ok(())
    }

    fn observe(&mut self, mesh: &Mesh, agents: &[Agent]) -> Result<News, StoreError> {
        let mut news = News::Nothing;
        let mut observed = HashMap::with_capacity(agents.len());
        for agent in agents {
            let before = self.observed.remove(&agent.session);
            let file_time = mesh.presence().file_time(&agent.name)?;
            let is_same = |before: &&Observed| before.file_time == file_time && before.name == agent.name;
            let now = match before.as_ref().filter(is_same) {
                Some(before) => before.clone(),
                None => Observed {
                    name: agent.name.clone(),
                    file_time,
                    last_sign: mesh.presence().last_sign_of_life(agent)?,
                    activity: shown_activity(mesh, agent)?,
                },
            };
            news = news.max(change(before.as_ref(), &now));
            observed.insert(agent.session.clone(), now);
        }
        let has_left = !self.observed.is_empty();
        self.observed = observed;
        Ok(if has_left { News::State } else { news })
    }

    fn report(&self, now: Timestamp) -> PresenceReport {
        let said = |(session, observed): (&SessionId, &Observed)| AgentPresence {
            name: observed.name.clone(),
            session: session.clone(),
            quiet: now.duration_since(observed.last_sign),
            activity: observed.activity.clone(),
        };
        PresenceReport { agents: self.observed.iter().map(said).collect(), asks: self.asks }
    }
}

/// What the agent is doing, for other machines: a path outside of its work tree concerns nobody there.
fn shown_activity(mesh: &Mesh, agent: &Agent) -> Result<Option<String>, StoreError> {
    let activity = mesh.activity().counts(agent)?.activity;
    Ok(activity.map(|activity| without_outside_paths(&activity).into_owned()))
}

fn change(before: Option<&Observed>, now: &Observed) -> News {
    let Some(before) = before else { return News::State };
    let has_begun = now.last_sign.duration_since(before.last_sign) >= SILENT;
    match (before.activity.is_some() == now.activity.is_some(), before.activity == now.activity) {
        _ if before.name != now.name || has_begun => News::State,
        (false, _) => News::State,
        (true, true) if before.last_sign == now.last_sign => News::Nothing,
        (true, _) => News::Details,
    }
}

/// What this machine heard.
#[derive(Debug, Default)]
struct HeardPresence {
    machines: BTreeMap<MachineName, BTreeMap<AgentName, HeardAgent>>,
    /// The machines whose files are out of date.
    unwritten: BTreeSet<MachineName>,
    written: HashMap<MachineName, Instant>,
}

impl HeardPresence {
    /// Takes note of what a machine said. Only agents count whose records name that machine as their owner.
    fn note(
        &mut self,
        table: &RecordTable,
        machine: &MachineName,
        agents: Vec<AgentPresence>,
        now: Timestamp,
    ) {
        for agent in agents {
            let known = table.get(&name_token(&agent.name)).map(|known| &known.value);
            let is_its = matches!(known, Some(RecordValue::Name(name)) if name.record.owner.machine == *machine
                && name.record.owner.session == agent.session
                && name.record.name.is_spelled_as(&agent.name));
            if !is_its {
                continue;
            }
            let mut heard = agent.heard(now);
            let of_machine = self.machines.entry(machine.clone()).or_default();
            // The time on the way varies a little; that is not a sign of life.
            if let Some(before) = of_machine.get(&heard.name)
                && heard.last_sign.duration_since(before.last_sign).abs() < SignedDuration::from_secs(2)
            {
                heard.last_sign = before.last_sign;
            }
            of_machine.insert(heard.name.clone(), heard);
            self.unwritten.insert(machine.clone());
        }
    }

    /// How long no file has to be written.
    fn pause(&self) -> Option<Duration> {
        self.unwritten.iter().map(|machine| self.left(machine)).min()
    }

    fn left(&self, machine: &MachineName) -> Duration {
        self.written.get(machine).map_or(Duration::ZERO, |written| WRITE.saturating_sub(written.elapsed()))
    }

    /// Writes what is due into the mirror.
    fn write(&mut self, mesh: &Mesh, table: &RecordTable) -> Result<(), CommandError> {
        let due: Vec<MachineName> =
            self.unwritten.iter().filter(|machine| self.left(machine).is_zero()).cloned().collect();
        for machine in due {
            self.unwritten.remove(&machine);
            self.written.insert(machine.clone(), Instant::now());
            let Some(agents) = self.machines.get_mut(&machine) else { continue };
            agents.retain(|name, _| table.machine_of_name(name) == Some(&machine));
            mesh.remote().set_presence(&machine, agents.values())?;
        }
        Ok(())
    }

    fn prune(&mut self, mesh: &Mesh, table: &RecordTable) -> Result<(), CommandError> {
        let machines: BTreeSet<MachineName> =
            table.names().map(|name| name.record.owner.machine.clone()).collect();
        self.machines.retain(|machine, _| machines.contains(machine));
        self.unwritten.retain(|machine| machines.contains(machine));
        self.written.retain(|machine, _| machines.contains(machine));
        Ok(mesh.remote().keep_presence_of(&machines)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::link::{LeaseEpoch, RecordOwner};
    use crate::store::link_format::name_bytes;

    fn machine(name: &str) -> MachineName {
        MachineName::new(name).unwrap()
    }

    fn said(name: &str, session: &str, quiet: i64) -> AgentPresence {
        AgentPresence {
            name: AgentName::new(name).unwrap(),
            session: SessionId::new(session).unwrap(),
            quiet: SignedDuration::from_secs(quiet),
            activity: None,
        }
    }

    #[test]
    fn nobody_speaks_for_the_agents_of_another_machine() {
        let mut table = RecordTable::new(machine("here"));
        for (name, owner) in [("Anna", "laptop"), ("Bob", "here")] {
            let name = AgentName::new(name).unwrap();
            let owner = RecordOwner {
                machine: machine(owner),
                epoch: LeaseEpoch::new("e").unwrap(),
                agent: name.clone(),
                session: SessionId::new("s").unwrap(),
            };
            table.put(&name_token(&name), 1, &name_bytes(&name, &owner, None, None));
        }
        let now: Timestamp = "2026-11-14T12:00:00Z".parse().unwrap();
        let mut heard = HeardPresence::default();
        let all =
            || vec![said("Anna", "s", 5), said("Bob", "s", 5), said("Anna", "t", 0), said("Eve", "s", 5)];
        heard.note(&table, &machine("evil"), all(), now);
        assert!(heard.machines.is_empty() && heard.unwritten.is_empty(), "{heard:?}");
        heard.note(&table, &machine("laptop"), all(), now);
        let of_laptop = &heard.machines[&machine("laptop")];
        assert_eq!(of_laptop.keys().map(AgentName::as_str).collect::<Vec<_>>(), ["Anna"]);
        assert_eq!(of_laptop.values().next().unwrap().last_sign, now - SignedDuration::from_secs(5));
        // A second on the way is not a sign of life; ten seconds are.
        for (quiet, expected) in [(4, 5), (0, 0)] {
            heard.note(&table, &machine("laptop"), vec![said("Anna", "s", quiet)], now);
            let last_sign = heard.machines[&machine("laptop")].values().next().unwrap().last_sign;
            assert_eq!(last_sign, now - SignedDuration::from_secs(expected));
        }
    }

    #[test]
    fn what_changes_how_much() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let observed = |last_sign, activity: Option<&str>| Observed {
            name: AgentName::new("Anna").unwrap(),
            file_time: None,
            last_sign: at(last_sign),
            activity: activity.map(str::to_string),
        };
        let before = observed(100, Some("editing a.rs"));
        for (now, expected) in [
            (observed(100, Some("editing a.rs")), News::Nothing),
            (observed(101, Some("editing a.rs")), News::Details),
            (observed(101, Some("editing b.rs")), News::Details),
            (observed(101, None), News::State),
            (observed(140, Some("editing a.rs")), News::State),
        ] {
            assert_eq!(change(Some(&before), &now), expected, "{now:?}");
        }
        assert_eq!(change(None, &before), News::State);
    }
}
