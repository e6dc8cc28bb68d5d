//! What can be read without asking for it: who is there, the tasks, the mail. Reading takes nothing.

use rmcp::model::{Resource, ResourceContents};

use crate::ops::{CommandError, Context};

use super::answer::Answer;
use super::tools;

/// Something that can be read, and changes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Topic {
    Agents,
    Tasks,
    Inbox,
}

impl Topic {
    pub(super) const ALL: [Self; 3] = [Self::Agents, Self::Tasks, Self::Inbox];

    pub(super) fn uri(self) -> &'static str {
        match self {
            Self::Agents => "ravenry://agents",
            Self::Tasks => "ravenry://tasks",
            Self::Inbox => "ravenry://inbox",
        }
    }

    pub(super) fn parse(uri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.uri() == uri)
    }

    pub(super) fn describe(self) -> Resource {
        let (name, about) = match self {
            Self::Agents => ("agents", "Who is there"),
            Self::Tasks => ("tasks", "The tasks of your spec"),
            Self::Inbox => ("inbox", "Your mail, left where it is"),
        };
        Resource::new(self.uri(), name).with_description(about).with_mime_type("application/json")
    }

    pub(super) fn read(self, ctx: &Context) -> Result<Answer, CommandError> {
        match self {
            Self::Agents => tools::agents(ctx),
            Self::Tasks => tools::tasks(ctx),
            Self::Inbox => tools::look(ctx),
        }
    }

    pub(super) fn contents(self, answer: &Answer) -> ResourceContents {
        ResourceContents::text(answer.structured().to_string(), self.uri()).with_mime_type("application/json")
    }
}
