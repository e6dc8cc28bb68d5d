//! The parts of a mesh, such as `mesh.registry()` and `mesh.inboxes()`: one small type for each directory or file. A
//! part borrows the mesh and is free to make; its methods are in the file of that name.

use super::mesh::Mesh;

/// Declares the handles, and the method of [`Mesh`] that makes each.
macro_rules! handles {
    ($($(#[$doc:meta])* $method:ident: $handle:ident),+ $(,)?) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $handle<'m> {
            pub(super) mesh: &'m Mesh,
        })+

        impl Mesh {
            $($(#[$doc])*
            pub fn $method(&self) -> $handle<'_> {
                $handle { mesh: self }
            })+
        }
    };
}

handles! {
    /// The registrations of agents: `registry/`.
    registry: Registry,
    /// What is known of sessions: `sessions/`.
    sessions: SessionRecords,
    /// Agents that are gone, and the mail that waits for them: `graves/`.
    graves: GraveRecords,
    /// Unread mail: `inbox/`.
    inboxes: Inboxes,
    /// Mail that was handed over or sent: `seen/` and `sent/`.
    archive: Archive,
    /// Sending: stamps, and what was sent: `sent/`.
    outboxes: Outboxes,
    /// Claims and completions of tasks.
    tasks: TaskRecords,
    /// Signs of life: the times of the files in `presence/`.
    presence: PresenceFiles,
    /// What agents did: the content of the files in `presence/`.
    activity: ActivityLogs,
    /// Contests of reservations that their holders have given no sign about: `contests/`.
    contests: ContestTokens,
    /// Whether a session is working or idle, and who wakes it: `hooks/`.
    session_states: SessionStates,
    /// What hooks keep between calls: `hooks/` and `trouble.jsonl`.
    hooks: HookStates,
    /// What agents do in each repository, and what is counted of it: `awareness/`.
    awareness: AwarenessFiles,
    /// Where repositories began, as git said: `repositories/`.
    repositories: RepositoryRecords,
    /// What agents may do in each repository: `modes/`.
    modes: ModeRecords,
    /// Runs of workers: `runs/`.
    runs: RunLedger,
    /// Which alerts a person was told: `told/`.
    told: ToldAlerts,
    /// How the mesh is linked with other machines: `link/`.
    link: LinkFiles,
    /// What is known of agents on other machines, and messages to them: `remote/`.
    remote: RemoteRecords,
    /// What `doctor` and housekeeping look at.
    upkeep: Upkeep,
}
