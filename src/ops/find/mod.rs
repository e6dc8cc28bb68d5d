//! Finding what was said and done: messages, events, tasks and completions by their words, and the log of a file or an
//! agent.

mod file_log;
mod log_subject;
mod search;
mod searched_records;

pub use file_log::{LogDeed, LogEntry, LogRequest, WorkLog, work_log};
pub use log_subject::LogSubject;
pub use search::{FoundEntry, SearchFindings, SearchRequest, SearchScope, search};
pub use searched_records::FoundThing;
