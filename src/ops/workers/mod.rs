//! Workers: which profiles there are and what they would run, what is installed on this machine, and what a person
//! trusts.

mod discovery;
mod list;
mod local_models;
mod probe;
mod trust;

pub use discovery::{FoundHarness, first_installed, harness_program};
pub use list::{ProbeMode, RunnableProfile, WorkersReport, problems_error, workers};
pub(super) use probe::refresh;
pub use trust::{TrustOutcome, TrustSubject, revoke_trust, trust, trust_subject};
