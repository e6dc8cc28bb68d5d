//! MCP resources: agents, tasks and mail. Reading a resource takes no mail.

use rmcp::model::{Resource, ResourceContents};

use crate::ops::{CommandError, MeshChange, Op};

use super::tool_answer::ToolAnswer;
use super::tools;

/// A resource that can be read and subscribed to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct ResourceTopic(MeshChange);

impl ResourceTopic {
    pub(super) const ALL: [Self; 3] =
        [Self(MeshChange::Agents), Self(MeshChange::Tasks), Self(MeshChange::Mail)];

    pub(super) fn uri(self) -> &'static str {
        match self.0 {
            MeshChange::Agents => "ravenry://agents",
            MeshChange::Tasks => "ravenry://tasks",
            MeshChange::Mail => "ravenry://inbox",
        }
    }

    pub(super) fn of(matter: MeshChange) -> Self {
        Self(matter)
    }

    pub(super) fn parse(uri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.uri() == uri)
    }

    pub(super) fn describe(self) -> Resource {
        let (name, about) = match self.0 {
            MeshChange::Agents => ("agents", "Who is there"),
            MeshChange::Tasks => ("tasks", "The tasks of your spec"),
            MeshChange::Mail => ("inbox", "Your mail, left where it is"),
        };
        Resource::new(self.uri(), name).with_description(about).with_mime_type("application/json")
    }

    pub(super) fn read(self, op: &Op) -> Result<ToolAnswer, CommandError> {
        match self.0 {
            MeshChange::Agents => tools::agents(op),
            MeshChange::Tasks => tools::tasks(op),
            MeshChange::Mail => tools::look(op),
        }
    }

    pub(super) fn contents(self, answer: &ToolAnswer) -> ResourceContents {
        ResourceContents::text(answer.structured().to_string(), self.uri()).with_mime_type("application/json")
    }
}
