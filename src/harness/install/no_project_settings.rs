//! The error of a harness that has nowhere to install hooks for one project.

/// Why a project has no settings of a harness that stay out of its repository.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub enum NoProjectSettings {
    #[error("`{0}` is one file for all who work on the project")]
    Shared(&'static str),
    #[error("it reads hooks from the user's settings alone")]
    UserOnly,
}
