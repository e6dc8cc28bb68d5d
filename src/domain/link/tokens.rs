//! The keys of records. Names and paths become part of a subject only as hashes: a subject has characters of its own.

use super::records::TaskKey;
use crate::domain::sha256::sha256;
use crate::domain::{AgentName, RootCommit};

/// How many digits of a hash are used: 128 bits.
const DIGITS: usize = 32;

/// The key of a name. Names that differ only in case have one.
pub fn name_token(name: &AgentName) -> String {
    format!("name.{}", short(&name.as_str().to_ascii_lowercase()))
}

pub fn task_token(key: &TaskKey) -> String {
    format!("task.{}", short(&format!("{}\0{}\0{}", key.repository.as_str(), key.spec, key.task)))
}

pub fn paths_token(repository: &RootCommit) -> String {
    format!("paths.{}", short(repository.as_str()))
}

fn short(text: &str) -> String {
    sha256(text.as_bytes()).chars().take(DIGITS).collect()
}
