//! Whom a broadcast reaches: the agents of this project, of this folder, or of the whole machine.

use std::path::{Path, PathBuf};

use crate::domain::Agent;
use crate::domain::settings::BroadcastScope;
use crate::ops::context::{Context, is_same_folder};
use crate::ops::link::elsewhere::RepositoryHere;
use crate::ops::project_scope::ProjectScope;

/// The agents that a broadcast reaches, and the groups that are not about something else.
#[derive(Clone, Debug)]
pub(in crate::ops) enum BroadcastReach {
    Everywhere,
    Project(ProjectScope),
    /// `scopeToFolder` confines commands to this folder.
    Folder(PathBuf),
}

impl BroadcastReach {
    /// As wanted, else as configured. `scopeToFolder` makes a project smaller.
    pub(in crate::ops) fn of(ctx: &Context, wanted: Option<BroadcastScope>) -> Self {
        match (wanted, wanted.unwrap_or(ctx.settings.broadcast_scope)) {
            (Some(BroadcastScope::Everywhere), _) => Self::Everywhere,
            _ if ctx.settings.scope_to_folder => Self::Folder(ctx.cwd.clone()),
            (_, BroadcastScope::Everywhere) => Self::Everywhere,
            (_, BroadcastScope::Project) => Self::Project(ProjectScope::around(&ctx.cwd)),
        }
    }

    fn includes(&self, dir: &str) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Project(project) => project.includes(Path::new(dir)),
            Self::Folder(folder) => is_same_folder(Path::new(dir), folder),
        }
    }

    /// Whether that agent is meant. The folder of an agent on another machine is none of this one.
    pub(in crate::ops) fn includes_agent(&self, here: &RepositoryHere<'_>, agent: &Agent) -> bool {
        match self {
            _ if !agent.is_remote() => self.includes(&agent.cwd),
            Self::Everywhere => true,
            Self::Project(_) => here.is_of(agent),
            Self::Folder(_) => false,
        }
    }

    /// Its name in JSON.
    pub(in crate::ops) fn name(&self) -> &'static str {
        match self {
            Self::Everywhere => "everywhere",
            Self::Project(_) => "project",
            Self::Folder(_) => "folder",
        }
    }
}
