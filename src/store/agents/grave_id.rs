//! The name of a grave's directory: `<Name>-<hash of the session>`, or `<Name>-lost-<time>` for lost mail.

use std::fmt;

use jiff::Timestamp;

use super::session_hash::session_hash;
use crate::domain::{Agent, AgentName, SessionId};

/// Number of hex digits of the session's hash in a grave's name.
const HASH: usize = 12;

/// The name of a grave's directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GraveId(String);

impl GraveId {
    pub(in crate::store) fn of(agent: &Agent) -> Self {
        Self(format!("{}-{}", agent.name, short_hash(&agent.session)))
    }

    /// Whether it is the grave of this session, under whatever name.
    pub(in crate::store) fn is_of(&self, session: &SessionId) -> bool {
        self.0.ends_with(&format!("-{}", short_hash(session)))
    }

    /// The grave for mail that was in the inbox of an unregistered name.
    pub(in crate::store) fn of_lost_mail(name: &AgentName, now: Timestamp) -> Self {
        Self(format!("{name}-lost-{}", now.as_millisecond()))
    }

    /// Parses a grave's name as found in a directory or a registration. `None`: it is not valid, so no path is built
    /// from it.
    pub fn parse(text: &str) -> Option<Self> {
        let grave = Self(text.to_string());
        AgentName::new(grave.name_part()?).is_ok().then_some(grave)
    }

    /// When lost mail was put there; `None` for the grave of a session.
    pub(in crate::store) fn lost_at(&self) -> Option<Timestamp> {
        let (name, ending) = self.0.rsplit_once('-')?;
        if !name.ends_with("-lost") {
            return None;
        }
        Timestamp::from_millisecond(ending.parse().ok()?).ok()
    }

    /// Whether it holds mail from the inbox of an unregistered name.
    pub fn is_of_lost_mail(&self) -> bool {
        self.lost_at().is_some()
    }

    /// The name of the buried agent. Names may contain dashes, so the ending is split off from the end.
    pub fn name(&self) -> &str {
        self.name_part().unwrap_or(&self.0)
    }

    fn name_part(&self) -> Option<&str> {
        let (name, ending) = self.0.rsplit_once('-')?;
        if let Some(name) = name.strip_suffix("-lost")
            && ending.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Some(name);
        }
        (ending.len() == HASH && ending.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(name)
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
    session_hash(session)[..HASH].to_string()
}

#[cfg(test)]
mod tests {
    use super::GraveId;

    #[test]
    fn a_grave_is_in_its_graveyard() {
        for bad in
            ["", "..", "../x", "a/b-0123456789ab", "-0123456789ab", "SwiftRaven", "SwiftRaven-../..", "x-1"]
        {
            assert_eq!(GraveId::parse(bad), None, "{bad:?}");
        }
        for (text, name) in [
            ("SwiftRaven-0123456789ab", "SwiftRaven"),
            ("all-star-0123456789ab", "all-star"),
            ("gold-falcon-lost-1794700676113", "gold-falcon"),
        ] {
            assert_eq!(GraveId::parse(text).unwrap().name(), name);
        }
    }
}
