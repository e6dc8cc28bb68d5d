//! The result of a check of `doctor` or `selftest`, and the verdict over all of them.

use crate::ops::error::{CommandError, CommandErrorKind};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CheckState {
    Ok,
    Warn,
    Fail,
}

impl CheckState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What `doctor` does about what it finds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DoctorMode {
    CheckOnly,
    /// Repair what is safe to repair.
    Repair,
}

/// The result of one check.
#[derive(Clone, Debug)]
pub struct HealthCheck {
    pub name: &'static str,
    pub state: CheckState,
    pub message: String,
    /// What to do about it.
    pub fix: Option<String>,
    /// It was wrong, and `--repair` has repaired it.
    pub is_repaired: bool,
}

impl HealthCheck {
    pub(in crate::ops) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, state: CheckState::Ok, message: message.into(), fix: None, is_repaired: false }
    }

    pub(in crate::ops) fn repaired(name: &'static str, message: impl Into<String>) -> Self {
        Self { is_repaired: true, ..Self::ok(name, message) }
    }

    pub(in crate::ops) fn warn(name: &'static str, message: impl Into<String>, fix: &str) -> Self {
        Self {
            name,
            state: CheckState::Warn,
            message: message.into(),
            fix: Some(fix.to_string()),
            is_repaired: false,
        }
    }

    pub(in crate::ops) fn fail(name: &'static str, message: impl Into<String>, fix: &str) -> Self {
        Self {
            name,
            state: CheckState::Fail,
            message: message.into(),
            fix: Some(fix.to_string()),
            is_repaired: false,
        }
    }

    pub(in crate::ops) fn failed(name: &'static str, error: impl Into<CommandError>) -> Self {
        let CommandError { message, hints, .. } = error.into();
        Self { name, state: CheckState::Fail, message, fix: hints.into_iter().next(), is_repaired: false }
    }
}

/// The error that `doctor` ends with if a check failed.
pub fn failed_checks_error(checks: &[HealthCheck]) -> Option<CommandError> {
    let mut failed: Vec<&str> = Vec::new();
    let of_failed = checks.iter().filter(|check| check.state == CheckState::Fail);
    let count = of_failed.clone().count();
    for check in of_failed.filter(|check| !failed.contains(&check.name)).collect::<Vec<_>>() {
        failed.push(check.name);
    }
    let checks = if count == 1 { "check" } else { "checks" };
    let text = format!("{count} {checks} failed: {}", failed.join(", "));
    (count > 0).then(|| CommandError::new(CommandErrorKind::UnhealthyMesh, text))
}
