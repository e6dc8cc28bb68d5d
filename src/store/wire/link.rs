//! The formats between machines: the records that the server keeps, and what is in a message from one link to another.
//!
//! What comes from the network is checked here as a foreign file is: whatever does not parse is refused whole. Keys of
//! later versions are skipped.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::link_runs::LetterKeys;
use super::registration::{self, ReservationKeys};
use super::{message, pretty, time};
use crate::domain::MAX_TEXT as MAX_MESSAGE;
use crate::domain::link::{
    LeaseEpoch, MachineName, MachineRecord, NameRecord, PathTable, RecordOwner, RemoteMachine, RunLetter,
    SharedPath, shared,
};
use crate::domain::{
    ActivityCounts, Agent, AgentName, Message, PidScope, ProcessIdentity, RecordedProcess, Reservation,
    RootCommit, SessionId,
};
use crate::store::error::ParseError;
use crate::store::messages::message_files::{MessageStem, SeenRecord};

/// The version of these formats.
pub(super) const VERSION: u32 = 1;
/// The longest reason or note that is taken from another machine, in characters.
pub(super) const MAX_TEXT: usize = 2_000;
/// The most paths in one record.
pub const MAX_PATHS: usize = 5_000;
/// The longest name of a record that is taken from another machine.
const MAX_RECORD: usize = 200;

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnerKeys {
    machine: String,
    epoch: String,
    agent: String,
    session: String,
}

impl OwnerKeys {
    pub(super) fn of(owner: &RecordOwner) -> Self {
        Self {
            machine: owner.machine.to_string(),
            epoch: owner.epoch.as_str().to_string(),
            agent: owner.agent.to_string(),
            session: owner.session.to_string(),
        }
    }

    pub(super) fn read(self) -> Result<RecordOwner, ParseError> {
        Ok(RecordOwner {
            machine: MachineName::new(self.machine).map_err(ParseError::new)?,
            epoch: epoch(self.epoch)?,
            agent: AgentName::new(self.agent).map_err(ParseError::new)?,
            session: SessionId::new(self.session).map_err(ParseError::new)?,
        })
    }
}

fn epoch(text: String) -> Result<LeaseEpoch, ParseError> {
    LeaseEpoch::new(text).ok_or_else(|| ParseError::new("it has no epoch"))
}

pub(super) fn commit(text: &str) -> Result<RootCommit, ParseError> {
    RootCommit::new(text).ok_or_else(|| ParseError::new("it names no repository"))
}

pub(super) fn bounded(text: Option<String>) -> Option<String> {
    text.map(|text| text.chars().take(MAX_TEXT).collect())
}

pub(super) fn check_version(version: u32) -> Result<(), ParseError> {
    match version {
        VERSION => Ok(()),
        later => Err(ParseError::new(format!("it is of version {later}, which this msg does not know"))),
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct MachineKeys {
    version: u32,
    machine: String,
    epoch: String,
    installation: String,
    msg: String,
    #[serde(with = "time")]
    since: Timestamp,
    /// Whether it knows requests for runs.
    #[serde(default)]
    knows_runs: bool,
}

/// The lease of a machine.
pub fn machine_bytes(record: &MachineRecord) -> Vec<u8> {
    pretty(&MachineKeys {
        version: VERSION,
        machine: record.machine.to_string(),
        epoch: record.epoch.as_str().to_string(),
        installation: record.installation.clone(),
        msg: record.version.clone(),
        since: record.since,
        knows_runs: record.knows_runs,
    })
}

pub fn parse_machine(bytes: &[u8]) -> Result<MachineRecord, ParseError> {
    let keys: MachineKeys = serde_json::from_slice(bytes).map_err(ParseError::new)?;
    check_version(keys.version)?;
    Ok(MachineRecord {
        machine: MachineName::new(keys.machine).map_err(ParseError::new)?,
        epoch: epoch(keys.epoch)?,
        installation: keys.installation.chars().take(80).collect(),
        version: keys.msg.chars().take(40).collect(),
        since: keys.since,
        knows_runs: keys.knows_runs,
    })
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct NameKeys {
    version: u32,
    name: String,
    owner: OwnerKeys,
    #[serde(skip_serializing_if = "Option::is_none")]
    registration: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
}

/// A name, with what other machines show of the agent that has it.
#[derive(Clone, Debug)]
pub struct SharedName {
    pub record: NameRecord,
    /// `None` for a former name.
    pub agent: Option<Agent>,
}

/// An agent of ours as other machines show it: without what is true on this machine alone.
pub fn shared_agent(agent: &Agent) -> Agent {
    let reservations = agent.reservations.iter().filter_map(|held| shared(held, &agent.cwd)).collect();
    Agent {
        tmux: None,
        reservations,
        waits_for: Vec::new(),
        waits_for_tasks: Vec::new(),
        contests: Vec::new(),
        restores: None,
        last_activity: None,
        counts: ActivityCounts::default(),
        ..agent.clone()
    }
}

/// The record of a name. `agent` is [`shared_agent`], or `None` for a former name.
pub fn name_bytes(
    name: &AgentName,
    owner: &RecordOwner,
    agent: Option<&Agent>,
    repository: Option<&RootCommit>,
) -> Vec<u8> {
    let registration = agent.map(|agent| {
        let mut document = Map::new();
        registration::overlay(&mut document, agent);
        // Another machine can do nothing with a process of this one.
        document.shift_remove("process");
        document
    });
    pretty(&NameKeys {
        version: VERSION,
        name: name.to_string(),
        owner: OwnerKeys::of(owner),
        registration,
        repository: repository.map(|commit| commit.as_str().to_string()),
    })
}

pub fn parse_name(bytes: &[u8]) -> Result<SharedName, ParseError> {
    let keys: NameKeys = serde_json::from_slice(bytes).map_err(ParseError::new)?;
    check_version(keys.version)?;
    let name = AgentName::new(keys.name).map_err(ParseError::new)?;
    let owner = keys.owner.read()?;
    let repository = keys.repository.as_deref().map(commit).transpose()?;
    let agent = match &keys.registration {
        Some(document) => {
            let agent = remote_agent(document, &owner, repository)?;
            if !agent.name.is_spelled_as(&name) || agent.session != owner.session {
                return Err(ParseError::new("its registration is that of another agent"));
            }
            Some(agent)
        }
        None => None,
    };
    Ok(SharedName { record: NameRecord { name, owner }, agent })
}

/// The agent of a registration from another machine. What it says about that machine binds nothing here: its process
/// can't be looked up, and of its reservations only those of repositories count.
fn remote_agent(
    document: &Map<String, Value>,
    owner: &RecordOwner,
    repository: Option<RootCommit>,
) -> Result<Agent, ParseError> {
    let agent = registration::parse_value(document)?;
    let reservations = agent.reservations.iter().filter_map(|held| shared(held, &agent.cwd)).collect();
    let last_activity = agent.last_activity;
    let machine = RemoteMachine { name: owner.machine.clone(), repository, away_since: None, heard_at: None };
    Ok(Agent {
        process: process_elsewhere(&agent, owner),
        machine: Some(machine),
        reservations,
        last_activity,
        ..shared_agent(&agent)
    })
}

/// A process of which nothing can be said here, and which is no other one.
fn process_elsewhere(agent: &Agent, owner: &RecordOwner) -> RecordedProcess {
    let place = PidScope {
        boot_id: Some(format!("linked:{}:{}", owner.machine, owner.epoch.as_str())),
        machine_id: Some(format!("linked:{}", owner.machine)),
        pid_ns: None,
    };
    RecordedProcess::Pinned(ProcessIdentity { pid: agent.process.pid(), start_ticks: 0, place })
}

/// The file of a mirrored agent: its registration and the machine. Other programs don't read it.
pub(in crate::store) fn mirrored_bytes(agent: &Agent) -> Vec<u8> {
    let mut document = Map::new();
    registration::overlay(&mut document, agent);
    if let Some(machine) = &agent.machine {
        let keys = MirrorKeys {
            name: machine.name.to_string(),
            repository: machine.repository.as_ref().map(|commit| commit.as_str().to_string()),
            away_since: machine.away_since,
        };
        document.insert("machine".to_string(), serde_json::to_value(keys).unwrap_or_default());
    }
    pretty(&document)
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct MirrorKeys {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(default, with = "time::option", skip_serializing_if = "Option::is_none")]
    away_since: Option<Timestamp>,
}

pub(in crate::store) fn parse_mirrored(bytes: &[u8]) -> Result<Agent, ParseError> {
    let document: Map<String, Value> = serde_json::from_slice(bytes).map_err(ParseError::new)?;
    let keys = document.get("machine").cloned().ok_or_else(|| ParseError::new("it names no machine"))?;
    let keys: MirrorKeys = serde_json::from_value(keys).map_err(ParseError::new)?;
    let machine = RemoteMachine {
        name: MachineName::new(keys.name).map_err(ParseError::new)?,
        repository: keys.repository.as_deref().map(commit).transpose()?,
        away_since: keys.away_since,
        heard_at: None,
    };
    let agent = registration::parse_value(&document)?;
    if matches!(agent.process, RecordedProcess::Bare { .. }) {
        return Err(ParseError::new("its process could be one of this machine"));
    }
    Ok(Agent { machine: Some(machine), ..agent })
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct PathsKeys {
    version: u32,
    repository: String,
    held: Vec<HeldKeys>,
}

#[derive(Deserialize, Serialize)]
struct HeldKeys {
    owner: OwnerKeys,
    #[serde(flatten)]
    reservation: ReservationKeys,
}

pub fn paths_bytes(table: &PathTable) -> Vec<u8> {
    let held = table.held.iter().map(|held| HeldKeys {
        owner: OwnerKeys::of(&held.owner),
        reservation: ReservationKeys::from(held.reservation.clone()),
    });
    let repository = table.repository.as_str().to_string();
    pretty(&PathsKeys { version: VERSION, repository, held: held.collect() })
}

pub fn parse_paths(bytes: &[u8]) -> Result<PathTable, ParseError> {
    let keys: PathsKeys = serde_json::from_slice(bytes).map_err(ParseError::new)?;
    check_version(keys.version)?;
    let repository = commit(&keys.repository)?;
    if keys.held.len() > MAX_PATHS {
        return Err(ParseError::new(format!("it has more than {MAX_PATHS} paths")));
    }
    let read = |keys: HeldKeys| -> Result<SharedPath, ParseError> {
        let owner = keys.owner.read()?;
        let reservation = shared(&Reservation::from(keys.reservation), "/");
        let reservation = reservation.filter(|held| held.reach.repository() == Some(&repository));
        let reservation = reservation.ok_or_else(|| ParseError::new("a path is not of the repository"))?;
        Ok(SharedPath { owner, reservation })
    };
    let held = keys.held.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok(PathTable { repository, held })
}

/// What one link sends to another.
#[derive(Clone, Debug)]
pub enum Envelope {
    /// A message to an agent there. The stem is its file name.
    Message { stem: MessageStem, message: Message },
    /// What became of a message from there.
    Receipt { stem: MessageStem, to: AgentName, state: ReceiptState },
    /// About a run that one machine asked the other for.
    Run(RunLetter),
}

/// What became of a message on the recipient's machine.
#[derive(Clone, Debug, PartialEq)]
pub enum ReceiptState {
    /// It is in the recipient's inbox.
    Delivered { at: Timestamp },
    /// It was handed over, or it expired.
    Seen(SeenRecord),
    /// It could not be delivered.
    Refused { at: Timestamp, why: String },
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct EnvelopeKeys {
    version: u32,
    /// Every envelope of the first version of `msg` that could link has one: that version puts aside what has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stem: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<LetterKeys>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(default, with = "time::option", skip_serializing_if = "Option::is_none")]
    delivered: Option<Timestamp>,
    /// The file name of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
    #[serde(default, with = "time::option", skip_serializing_if = "Option::is_none")]
    refused: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Envelope {
    pub fn bytes(&self) -> Vec<u8> {
        let empty = |stem: &MessageStem| EnvelopeKeys {
            version: VERSION,
            stem: Some(stem.to_string()),
            run: None,
            message: None,
            to: None,
            delivered: None,
            seen: None,
            refused: None,
            why: None,
        };
        pretty(&match self {
            Self::Run(letter) => EnvelopeKeys {
                version: VERSION,
                stem: None,
                run: Some(LetterKeys::of(letter)),
                message: None,
                to: None,
                delivered: None,
                seen: None,
                refused: None,
                why: None,
            },
            Self::Message { stem, message } => {
                let document = serde_json::from_slice(&message::bytes(message)).unwrap_or_default();
                EnvelopeKeys { message: Some(document), ..empty(stem) }
            }
            Self::Receipt { stem, to, state } => {
                let keys = EnvelopeKeys { to: Some(to.to_string()), ..empty(stem) };
                match state {
                    ReceiptState::Delivered { at } => EnvelopeKeys { delivered: Some(*at), ..keys },
                    ReceiptState::Seen(record) => EnvelopeKeys { seen: Some(record.file()), ..keys },
                    ReceiptState::Refused { at, why } => {
                        EnvelopeKeys { refused: Some(*at), why: Some(why.clone()), ..keys }
                    }
                }
            }
        })
    }

    /// Which message to whom it is, of one that can't be read otherwise, such as one of a later version: its sender is to
    /// know that it was not delivered.
    pub fn message_in(bytes: &[u8]) -> Option<(MessageStem, AgentName)> {
        let document: Value = serde_json::from_slice(bytes).ok()?;
        let stem = MessageStem::of_file(&format!("{}.json", document.get("stem")?.as_str()?))?;
        let to = document.pointer("/message/to")?.as_str()?;
        Some((stem, AgentName::new(to).ok()?))
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let keys: EnvelopeKeys = serde_json::from_slice(bytes).map_err(ParseError::new)?;
        check_version(keys.version)?;
        if let Some(letter) = keys.run {
            return Ok(Self::Run(letter.read()?));
        }
        let stem = MessageStem::of_file(&format!("{}.json", keys.stem.unwrap_or_default()));
        let stem =
            stem.filter(|stem| stem.stamp().is_some()).ok_or_else(|| ParseError::new("it has no stem"))?;
        if let Some(document) = keys.message {
            let message = message::parse(document.to_string().as_bytes())?;
            if message.text.len() > MAX_MESSAGE {
                return Err(ParseError::new("its text is too long"));
            }
            let is_its = stem.stamp().is_some_and(|stamp| stamp.id() == message.id);
            if !is_its {
                return Err(ParseError::new("its stem and its id differ"));
            }
            return Ok(Self::Message { stem, message });
        }
        let to = keys.to.ok_or_else(|| ParseError::new("it is neither a message nor a receipt"))?;
        let to = AgentName::new(to).map_err(ParseError::new)?;
        let state = match (keys.seen, keys.delivered, keys.refused) {
            (Some(file), _, _) => {
                // It becomes the name of a file here.
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.,+=".contains(&byte);
                let fits = file.len() <= MAX_RECORD && file.bytes().all(is_plain);
                let record = SeenRecord::of_file(&file).filter(|record| fits && record.stem == stem);
                ReceiptState::Seen(
                    record.ok_or_else(|| ParseError::new("its record is that of another message"))?,
                )
            }
            (None, Some(at), _) => ReceiptState::Delivered { at },
            (None, None, Some(at)) => {
                ReceiptState::Refused { at, why: bounded(keys.why).unwrap_or_default() }
            }
            (None, None, None) => return Err(ParseError::new("it does not say what became of the message")),
        };
        Ok(Self::Receipt { stem, to, state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::MessageStamp;

    #[test]
    fn a_record_of_a_receipt_can_not_name_another_directory() {
        let stem = MessageStem::of_file(&format!("{}.json", MessageStamp::new(1_700_000_000_000_000, 7)));
        let stem = stem.unwrap();
        let receipt = |seen: &str| {
            let document =
                serde_json::json!({ "version": 1, "stem": stem.to_string(), "to": "Anna", "seen": seen });
            Envelope::parse(document.to_string().as_bytes())
        };
        assert!(receipt(&format!("{stem},1700000000000,read.json")).is_ok());
        for via in ["../../x", "a/b", "x\n", &"x".repeat(300)] {
            assert!(receipt(&format!("{stem},1700000000000,{via}.json")).is_err(), "{via}");
        }
    }

    #[test]
    fn of_a_message_of_a_later_version_it_is_known_which_it_is() {
        let stem = MessageStamp::new(1_700_000_000_000_000, 7).to_string();
        let document =
            serde_json::json!({ "version": 9, "stem": stem, "message": { "to": "Anna", "body": [] } });
        let bytes = document.to_string().into_bytes();
        assert!(Envelope::parse(&bytes).is_err());
        let (found, to) = Envelope::message_in(&bytes).unwrap();
        assert_eq!((found.to_string(), to.as_str()), (stem, "Anna"));
    }
}
