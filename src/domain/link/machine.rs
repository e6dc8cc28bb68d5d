//! Names of machines, and the epochs of their leases.

use std::fmt;

use jiff::Timestamp;

use crate::domain::RootCommit;

/// The longest name of a machine, in bytes.
const MAX_NAME: usize = 32;

/// The name of a machine in a linked mesh: lower-case letters, digits and `-`. It is a part of subjects and file names.
///
/// ```
/// use ravenry::domain::link::MachineName;
/// assert!(MachineName::new("build-box2").is_ok());
/// assert!(MachineName::new("Build.Box").is_err());
/// assert_eq!(MachineName::of_host("Annas-MacBook.local").unwrap().as_str(), "annas-macbook");
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MachineName(String);

/// Why a text is not the name of a machine.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{}` can't be the name of a machine: use 1 to 32 lower-case letters, digits and `-`, beginning with a letter or digit",
    .0.escape_debug()
)]
pub struct MachineNameError(String);

impl MachineName {
    pub fn new(text: impl Into<String>) -> Result<Self, MachineNameError> {
        let text = text.into();
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let fits = (1..=MAX_NAME).contains(&text.len())
            && text.bytes().all(|byte| is_plain(byte) || byte == b'-')
            && text.bytes().next().is_some_and(is_plain);
        if fits { Ok(Self(text)) } else { Err(MachineNameError(text.chars().take(40).collect())) }
    }

    /// The name that a host has by itself: the first part of its host name, with other characters replaced.
    pub fn of_host(host: &str) -> Option<Self> {
        let first = host.split('.').next().unwrap_or(host).to_lowercase();
        let plain: String = first.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let text: String = plain.trim_matches('-').chars().take(MAX_NAME).collect();
        Self::new(text).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MachineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One unbroken hold of a machine's lease. A machine that loses its lease gets it back with a new epoch, so records of
/// the old one count no more.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct LeaseEpoch(String);

impl LeaseEpoch {
    /// `None`: the text can't be an epoch.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        ((1..=64).contains(&text.len()) && text.bytes().all(is_plain)).then_some(Self(text))
    }

    /// One that no lease ever has: what names it is free for everybody.
    pub fn of_nobody() -> Self {
        Self("nobody".to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Somebody who may be on another machine: `Anna on laptop`.
pub fn on_machine(agent: &str, machine: Option<&MachineName>) -> String {
    machine.map_or_else(|| agent.to_string(), |machine| format!("{agent} on {machine}"))
}

/// The machine of an agent that is not on this one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RemoteMachine {
    pub name: MachineName,
    /// The repository that the agent works in there, by its first commit.
    pub repository: Option<RootCommit>,
    /// Since when its lease is over: it does not reach the server, or is off. It then holds nothing.
    pub away_since: Option<Timestamp>,
    /// When that machine last said how the agent is doing, if it ever was heard.
    pub heard_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_machines() {
        for good in ["a", "0", "build-box2", &"a".repeat(32)] {
            assert!(MachineName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "A", "a.b", "a*", "a b", "ä", ">", &"a".repeat(33)] {
            assert!(MachineName::new(bad).is_err(), "{bad}");
        }
        assert_eq!(MachineName::of_host("..."), None);
        assert_eq!(MachineName::of_host("x_1.example").unwrap().as_str(), "x-1");
    }
}
