//! The id of a harness. The layer `harness` has what differs from one to the next.

use std::fmt;

/// The program that hosts an agent. Two with one name are the same.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Harness(&'static str);

impl Harness {
    /// A person.
    pub const TERMINAL: Self = Self("terminal");
    pub const OTHER: Self = Self("other");

    pub const fn named(name: &'static str) -> Self {
        Self(name)
    }

    pub fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
