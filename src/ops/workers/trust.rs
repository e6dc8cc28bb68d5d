//! `msg workers trust`: a person lets what a project's `workers.toml` says about programs count.

use crate::domain::shell_word;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::person_required;
use crate::store::TrustKind;
use crate::store::worker_files::{self, FileTrust, LoadedWorkers, PROJECT_FILE, UntrustedFile};
use crate::sys::clock;

use super::list::problems_error;

/// What there is to trust.
#[derive(Clone, Debug)]
pub enum TrustSubject {
    /// The file says nothing that needs trust, or there is no file.
    Nothing,
    AlreadyTrusted,
    /// This text, which has to be shown to the person.
    File(UntrustedFile),
}

/// What became of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TrustOutcome {
    NotNeeded,
    AlreadyTrusted,
    Trusted,
    /// It was trusted, and is not any more.
    Revoked,
    /// There was nothing to revoke.
    WasNotTrusted,
}

/// What a person would trust now. Refused inside a harness.
pub fn trust_subject(op: &Op) -> Result<TrustSubject, CommandError> {
    let loaded = worker_files::load(&op.home, &op.cwd);
    needs_person(&loaded, "")?;
    // What is wrong would be trusted unseen, and count once it is understood.
    let of_project = loaded.problems.iter().any(|problem| problem.path == loaded.project_file);
    if let Some(error) = problems_error(&loaded).filter(|_| of_project) {
        return Err(error);
    }
    loaded.warnings.iter().for_each(|warning| op.warn(warning.clone()));
    Ok(match loaded.trust {
        FileTrust::NotNeeded => TrustSubject::Nothing,
        FileTrust::Trusted { .. } => TrustSubject::AlreadyTrusted,
        FileTrust::Untrusted(file) => TrustSubject::File(file),
    })
}

/// Trusts exactly the text that was shown, even if the file has changed meanwhile.
pub fn trust(op: &Op, shown: &UntrustedFile) -> Result<(), CommandError> {
    let loaded = worker_files::load(&op.home, &op.cwd);
    needs_person(&loaded, "")?;
    let records = worker_files::trust_records(&op.home, &loaded.root);
    Ok(records.trust(TrustKind::Workers, PROJECT_FILE, &shown.text, clock::now())?)
}

/// Takes back what was trusted in this project.
pub fn revoke_trust(op: &Op) -> Result<TrustOutcome, CommandError> {
    let loaded = worker_files::load(&op.home, &op.cwd);
    needs_person(&loaded, " --revoke")?;
    let records = worker_files::trust_records(&op.home, &loaded.root);
    Ok(match records.revoke(TrustKind::Workers, PROJECT_FILE)? {
        Some(_) => TrustOutcome::Revoked,
        None => TrustOutcome::WasNotTrusted,
    })
}

fn needs_person(loaded: &LoadedWorkers, flags: &str) -> Result<(), CommandError> {
    person_required::required(|| {
        let root = loaded.root.to_string_lossy();
        format!("cd {} && msg workers trust{flags}", shell_word(&root))
    })
}
