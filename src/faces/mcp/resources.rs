//! MCP resources: agents, tasks and mail. Reading a resource takes no mail.

use rmcp::model::{Resource, ResourceContents};

use crate::ops::{CommandError, Matter, Op};

use super::answer::Answer;
use super::tools;

/// A resource that can be read and subscribed to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Topic(Matter);

impl Topic {
    pub(super) const ALL: [Self; 3] = [Self(Matter::Agents), Self(Matter::Tasks), Self(Matter::Mail)];

    pub(super) fn uri(self) -> &'static str {
        match self.0 {
            Matter::Agents => "ravenry://agents",
            Matter::Tasks => "ravenry://tasks",
            Matter::Mail => "ravenry://inbox",
        }
    }

    pub(super) fn of(matter: Matter) -> Self {
        Self(matter)
    }

    pub(super) fn parse(uri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.uri() == uri)
    }

    pub(super) fn describe(self) -> Resource {
        let (name, about) = match self.0 {
            Matter::Agents => ("agents", "Who is there"),
            Matter::Tasks => ("tasks", "The tasks of your spec"),
            Matter::Mail => ("inbox", "Your mail, left where it is"),
        };
        Resource::new(self.uri(), name).with_description(about).with_mime_type("application/json")
    }

    pub(super) fn read(self, op: &Op) -> Result<Answer, CommandError> {
        match self.0 {
            Matter::Agents => tools::agents(op),
            Matter::Tasks => tools::tasks(op),
            Matter::Mail => tools::look(op),
        }
    }

    pub(super) fn contents(self, answer: &Answer) -> ResourceContents {
        ResourceContents::text(answer.structured().to_string(), self.uri()).with_mime_type("application/json")
    }
}
