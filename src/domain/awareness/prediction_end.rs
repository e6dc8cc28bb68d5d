//! How a prediction of a collision ended.

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum PredictionEnd {
    /// Both changed the file, or one was refused it.
    Occurred,
    /// They talked, reserved or handed over, or one turned away after being told.
    Prevented,
    /// The window passed without anything of that.
    FalseAlarm,
    /// One of the two is gone.
    Expired,
    /// A person said that it is of no interest.
    Dismissed,
}

impl PredictionEnd {
    pub const ALL: [Self; 5] =
        [Self::Occurred, Self::Prevented, Self::FalseAlarm, Self::Expired, Self::Dismissed];

    pub fn name(self) -> &'static str {
        match self {
            Self::Occurred => "occurred",
            Self::Prevented => "prevented",
            Self::FalseAlarm => "false_alarm",
            Self::Expired => "expired",
            Self::Dismissed => "dismissed",
        }
    }

    /// The end with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|end| end.name() == name)
    }

    /// For people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Occurred => "happened",
            Self::Prevented => "prevented",
            Self::FalseAlarm => "false alarm",
            Self::Expired => "one is gone",
            Self::Dismissed => "dismissed",
        }
    }
}
