//! What agents may do in a repository now.

/// A mode of a repository. Only people set it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ProjectMode {
    /// All.
    #[default]
    Build,
    /// No runs, and no edits.
    Plan,
    /// Runs of profiles that only read, and no edits.
    Review,
    /// As `Review`; and agents may change the settings and profiles of the project.
    Admin,
}

impl ProjectMode {
    pub const ALL: [Self; 4] = [Self::Build, Self::Plan, Self::Review, Self::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Plan => "plan",
            Self::Review => "review",
            Self::Admin => "admin",
        }
    }

    /// The mode with that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// What agents may do, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Build => "agents may edit files and start runs",
            Self::Plan => "agents may neither edit files nor start runs",
            Self::Review => "agents may not edit files, and may start only runs that read",
            Self::Admin => {
                "agents may not edit files except settings and profiles, and may start only runs that read"
            }
        }
    }

    /// Whether agents may edit files, and start runs whose workers do.
    pub fn allows_edits(self) -> bool {
        self == Self::Build
    }

    /// Whether runs may be started whose workers only read.
    pub fn allows_reading_runs(self) -> bool {
        self != Self::Plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_only_build_allows_edits() {
        for mode in ProjectMode::ALL {
            assert_eq!(ProjectMode::of_name(mode.name()), Some(mode));
            assert!(!mode.allows_edits() || mode.allows_reading_runs(), "{mode:?}");
        }
        assert!(ProjectMode::Build.allows_edits() && !ProjectMode::Admin.allows_edits());
        assert!(!ProjectMode::Plan.allows_reading_runs() && ProjectMode::Review.allows_reading_runs());
    }
}
