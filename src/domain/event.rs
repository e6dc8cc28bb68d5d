//! What happens on the mesh, for whoever wants to know.

/// What happened. The names are pi-messenger's where it has one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum EventKind {
    Join,
    Leave,
    Rename,
    Evict,
    Message,
    Reserve,
    Release,
    /// An edit or a reservation that was refused, because another has the path.
    Refused,
    Claim,
    Complete,
    Unclaim,
    Handoff,
    /// A claim whose owner is gone was dropped.
    Stale,
    /// An agent that holds something has given no sign of life for long.
    Stuck,
    Edit,
    Commit,
    /// A run of tests, with its outcome.
    Test,
}

impl EventKind {
    pub const ALL: [Self; 17] = [
        Self::Join,
        Self::Leave,
        Self::Rename,
        Self::Evict,
        Self::Message,
        Self::Reserve,
        Self::Release,
        Self::Refused,
        Self::Claim,
        Self::Complete,
        Self::Unclaim,
        Self::Handoff,
        Self::Stale,
        Self::Stuck,
        Self::Edit,
        Self::Commit,
        Self::Test,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Leave => "leave",
            Self::Rename => "rename",
            Self::Evict => "evict",
            Self::Message => "message",
            Self::Reserve => "reserve",
            Self::Release => "release",
            Self::Refused => "refused",
            Self::Claim => "claim",
            Self::Complete => "complete",
            Self::Unclaim => "unclaim",
            Self::Handoff => "handoff",
            Self::Stale => "stale",
            Self::Stuck => "stuck",
            Self::Edit => "edit",
            Self::Commit => "commit",
            Self::Test => "test",
        }
    }

    /// The kind of that name, if it is one that we know.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::named(kind.name()), Some(kind));
        }
        assert_eq!(EventKind::named("task.start"), None);
    }
}
