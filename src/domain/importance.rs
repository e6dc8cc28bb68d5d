//! How important a message is.

/// How important a message is. `Low` never wakes anyone; `High` and `Urgent` are delivered first.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Importance {
    Low,
    #[default]
    Normal,
    High,
    Urgent,
}

impl Importance {
    pub const ALL: [Self; 4] = [Self::Low, Self::Normal, Self::High, Self::Urgent];

    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|importance| importance.name() == text)
    }

    /// Whether it is delivered before other waiting messages.
    pub fn goes_first(self) -> bool {
        self >= Self::High
    }
}
