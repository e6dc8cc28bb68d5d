//! Where agents are heading: the topics of their prompts, and which files these usually lead to.
//!
//! Comparing the words of two prompts predicts nothing. What works is to ask which files the words of a prompt usually
//! lead to, and whether another agent is in those files now: [`forecast`].

mod brief;
mod brief_page;
pub mod calibration;
pub mod counters;
pub mod fit;
pub mod forecast;
pub mod heads_up;
pub mod learned_domains;
pub mod past_work;
mod path_list;
mod prediction_end;
pub mod recent_events;
pub mod retention;
mod secrets;
pub mod signals;
pub mod topics;
pub mod track;
pub mod trajectory;
pub mod work_domain;
pub mod work_event;
pub mod worktree_conflict;

use super::sha256::sha256;

pub use brief::{
    Brief, BriefCommit, BriefFile, BriefState, BriefTask, ChangeMaker, CommitEvidence, Departure,
    OpenQuestion, UncommittedChange,
};
pub use brief_page::{BriefDetail, MAX_BRIEF_WORDS, brief_lines, word_count};
pub use path_list::{printable_path, quote_path};
pub use prediction_end::PredictionEnd;

/// A repository: a part of the hash of the directory that its work trees share. It is the name of files in the mesh.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RepositoryId(String);

impl RepositoryId {
    pub fn of(directory: &[u8]) -> Self {
        Self(sha256(directory)[..32].to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}
