//! What a worker used, as far as its harness reports it. What is not reported is not known, which is not 0.

use super::money::MicroUsd;

/// Tokens and turns.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// Tokens that the model read, without those of its cache.
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub turns: Option<u64>,
}

impl Usage {
    /// The sum. A part that neither reports stays unknown.
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Self {
            input: sum(self.input, other.input),
            output: sum(self.output, other.output),
            cache_read: sum(self.cache_read, other.cache_read),
            cache_write: sum(self.cache_write, other.cache_write),
            turns: sum(self.turns, other.turns),
        }
    }

    /// What is more than in `before`, where both are known. A part that is not reported stays unknown.
    pub fn since(self, before: Self) -> Self {
        let more =
            |all: Option<u64>, before: Option<u64>| all.map(|all| all.saturating_sub(before.unwrap_or(0)));
        Self {
            input: more(self.input, before.input),
            output: more(self.output, before.output),
            cache_read: more(self.cache_read, before.cache_read),
            cache_write: more(self.cache_write, before.cache_write),
            turns: more(self.turns, before.turns),
        }
    }

    /// All tokens that count against a budget: read, written and put into the cache, but not read from there. `None`
    /// if none are reported.
    pub fn tokens(self) -> Option<u64> {
        let parts = [self.input, self.output, self.cache_write];
        let known = parts.into_iter().flatten();
        parts.iter().any(Option::is_some).then(|| known.fold(0, u64::saturating_add))
    }
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Cost {
    /// Its harness said so.
    Reported(MicroUsd),
    /// Its tokens times configured prices.
    Computed(MicroUsd),
    #[default]
    Unknown,
}

impl Cost {
    pub fn amount(self) -> Option<MicroUsd> {
        match self {
            Self::Reported(amount) | Self::Computed(amount) => Some(amount),
            Self::Unknown => None,
        }
    }

    /// The same without what was paid before. What is unknown stays unknown.
    pub fn since(self, before: MicroUsd) -> Self {
        match self {
            Self::Reported(amount) => Self::Reported(amount.saturating_sub(before)),
            Self::Computed(amount) => Self::Computed(amount.saturating_sub(before)),
            Self::Unknown => Self::Unknown,
        }
    }

    /// The sum. Nothing before it counts as nothing, and what is unknown makes the sum unknown.
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, other) => other,
            (_, Self::Unknown) => Self::Unknown,
            (Self::Reported(one), Self::Reported(other)) => Self::Reported(one.saturating_add(other)),
            (one, other) => {
                let amount = |cost: Self| cost.amount().unwrap_or(MicroUsd::ZERO);
                Self::Computed(amount(one).saturating_add(amount(other)))
            }
        }
    }

    /// What the amount rests on: `reported`, `computed` or `unknown`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reported(_) => "reported",
            Self::Computed(_) => "computed",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_before_is_taken_off_and_never_below_zero() {
        let all = Usage { input: Some(120), output: Some(3), cache_read: Some(9), ..Usage::default() };
        let before = Usage { input: Some(100), output: Some(5), turns: Some(2), ..Usage::default() };
        let rest = Usage { input: Some(20), output: Some(0), cache_read: Some(9), ..Usage::default() };
        assert_eq!(all.since(before), rest);
        let cost = Cost::Reported(MicroUsd::from_micros(7)).since(MicroUsd::from_micros(3));
        assert_eq!(cost, Cost::Reported(MicroUsd::from_micros(4)));
        assert_eq!(Cost::Unknown.since(MicroUsd::from_micros(3)), Cost::Unknown);
    }

    #[test]
    fn what_nobody_reports_stays_unknown() {
        let one = Usage { input: Some(3), ..Usage::default() };
        let sum = one.plus(Usage { input: Some(4), output: Some(1), ..Usage::default() });
        assert_eq!(sum, Usage { input: Some(7), output: Some(1), ..Usage::default() });
        assert_eq!(sum.tokens(), Some(8));
        assert_eq!(Usage { cache_read: Some(9), turns: Some(1), ..Usage::default() }.tokens(), None);
    }
}
