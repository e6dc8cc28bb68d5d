//! `graves/<Name>-<hash of the session>/`: what an agent that is gone left behind, until its session comes back.
//!
//! ```text
//! grave.json           who, when and why
//! registration.json    as it was
//! inbox/               mail that it never read
//! ```

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::layout::{Layout, session_hash};
use super::registry::{self, Record};
use super::wire::time;
use crate::domain::{Agent, AgentName, SessionId};
use crate::sys::files::{self, FileError};

/// The name of a grave's directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GraveId(String);

impl GraveId {
    pub(super) fn of(agent: &Agent) -> Self {
        Self(format!("{}-{}", agent.name, short_hash(&agent.session)))
    }

    /// Where mail goes that lay in the inbox of a name that nobody had.
    pub(super) fn of_lost_mail(name: &AgentName, now: Timestamp) -> Self {
        Self(format!("{name}-lost-{}", now.as_millisecond()))
    }

    /// A grave's name as a registration tells it; whatever else stands there leads nowhere.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once('-')?;
        let plain =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        (AgentName::new(name).is_ok() && plain(rest)).then(|| Self(text.to_string()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GraveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn short_hash(session: &SessionId) -> String {
    session_hash(session)[..12].to_string()
}

/// Why an agent is no longer there.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// Its process ended.
    Died,
    Left,
    Evicted,
    /// Mail that lay in the inbox of nobody.
    Lost,
}

/// What is known of an agent that is gone.
#[derive(Clone, Debug)]
pub struct Grave {
    pub id: GraveId,
    pub why: Why,
    pub at: Timestamp,
    /// Who evicted it.
    pub by: Option<String>,
    /// Not there for lost mail, nor while burying is under way.
    pub record: Option<Record>,
    pub unread: usize,
}

#[derive(Deserialize, Serialize)]
pub(super) struct Inscription {
    pub(super) why: Why,
    #[serde(with = "time")]
    pub(super) at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<String>,
}

/// The graves of that session, whatever name it had.
pub(super) fn of_session(layout: &Layout, session: &SessionId) -> Result<Vec<GraveId>, FileError> {
    let ending = format!("-{}", short_hash(session));
    let names = files::list(&layout.graves())?;
    Ok(names
        .into_iter()
        .filter(|name| name.ends_with(&ending))
        .filter_map(|name| GraveId::parse(&name))
        .collect())
}

/// Every grave; those without an inscription are of a burial that was cut short and is not counted yet.
pub(super) fn all(layout: &Layout) -> Result<Vec<Grave>, FileError> {
    let mut graves = Vec::new();
    for name in files::list(&layout.graves())? {
        if let Some(id) = GraveId::parse(&name) {
            graves.extend(read(layout, id)?);
        }
    }
    Ok(graves)
}

fn read(layout: &Layout, id: GraveId) -> Result<Option<Grave>, FileError> {
    let dir = layout.grave(&id);
    let Some(bytes) = files::read(&dir.join("grave.json"))? else { return Ok(None) };
    let Ok(Inscription { why, at, by }) = serde_json::from_slice(&bytes) else { return Ok(None) };
    let stem = id.0.rsplit_once('-').map_or("", |(name, _)| name).to_string();
    let record = registry::read(&dir.join("registration.json"), &stem)?.and_then(Result::ok);
    let unread = files::list(&dir.join("inbox"))?.iter().filter(|name| name.ends_with(".json")).count();
    Ok(Some(Grave { id, why, at, by, record, unread }))
}

#[cfg(test)]
mod tests {
    use super::GraveId;

    #[test]
    fn a_grave_is_in_its_graveyard() {
        for bad in ["", "..", "../x", "a/b-c", "-x", "SwiftRaven", "SwiftRaven-../..", "Swift Raven-1"] {
            assert_eq!(GraveId::parse(bad), None, "{bad:?}");
        }
        assert!(GraveId::parse("SwiftRaven-0123456789ab").is_some());
        assert!(GraveId::parse("a-b-0123456789ab").is_some(), "names may have dashes");
    }
}
