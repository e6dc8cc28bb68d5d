//! Ids of harness sessions.

use std::fmt;

/// Maximum length of a session id, in bytes. Real ones are UUIDs or have about 30 characters.
pub const MAX_SESSION: usize = 256;

/// A harness's id for one of its sessions. It is never used as a path: files are named after its hash.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SessionId(String);

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` can't be a session id: 1 to {MAX_SESSION} characters, none of them a control character", .0.escape_debug())]
pub struct SessionIdError(String);

impl SessionId {
    pub fn new(text: impl Into<String>) -> Result<Self, SessionIdError> {
        let text = text.into();
        if text.is_empty() || text.len() > MAX_SESSION || text.chars().any(char::is_control) {
            return Err(SessionIdError(text.chars().take(40).collect()));
        }
        Ok(Self(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
