//! The closed sets of words that a record is described with.

/// Declares an enum of words, each with its spelling.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

words! {
    /// What a record is.
    RecordKind {
        /// One sentence.
        Note = "note",
        /// What was tried, and why it failed.
        Tried = "tried",
        /// What was decided, and why.
        Decision = "decision",
        /// A rule, and the evidence for it.
        Principle = "principle",
        /// A form that recurs in the code.
        Pattern = "pattern",
        /// What was understood of one file.
        File = "file",
        /// How two records or files relate.
        Relationship = "relationship",
    }
}

words! {
    /// Whether a decision holds.
    DecisionStatus {
        Active = "active",
        Deprecated = "deprecated",
        Superseded = "superseded",
    }
}

words! {
    /// How two ends of a relationship relate.
    RelationType {
        Implements = "implements",
        Extends = "extends",
        Uses = "uses",
        Contradicts = "contradicts",
        Supports = "supports",
        Supersedes = "supersedes",
    }
}

words! {
    /// How a statement is known.
    Basis {
        /// Somebody ran it.
        Tested = "tested",
        /// Somebody read it in the code.
        Read = "read",
        /// A person said it.
        Told = "told",
        Guessed = "guessed",
    }
}

words! {
    /// What became of the text that an anchor points to. Later ones are worse.
    AnchorVerdict {
        /// The anchored text is unchanged.
        Fresh = "fresh",
        /// It is unchanged, in another place.
        Moved = "moved",
        /// The file changed, the anchored text did not.
        Drifted = "drifted",
        /// The anchored text changed.
        Stale = "stale",
        Gone = "gone",
    }
}

impl RecordKind {
    /// The name of the kind for several records.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Note => "notes",
            Self::Tried => "tried",
            Self::Decision => "decisions",
            Self::Principle => "principles",
            Self::Pattern => "patterns",
            Self::File => "files",
            Self::Relationship => "relationships",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_read_back() {
        for kind in RecordKind::ALL {
            assert_eq!(RecordKind::parse(kind.as_str()), Some(*kind));
        }
        assert_eq!(Basis::parse("tested"), Some(Basis::Tested));
        assert_eq!(DecisionStatus::parse("Active"), None);
    }
}
