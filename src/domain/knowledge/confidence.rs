//! How sure a record is, unless somebody said so.

use super::kinds::Basis;

/// What each confirmation leaves of the doubt.
const DOUBT_LEFT: f64 = 0.6;
/// Nothing is surer than this by being confirmed.
const SUREST: f64 = 0.98;

/// The confidence that follows from how a thing is known, and how many others confirmed it.
pub(super) fn confidence(basis: Basis, confirmations: usize) -> f64 {
    let first: f64 = match basis {
        Basis::Tested => 0.9,
        Basis::Read => 0.75,
        Basis::Told => 0.7,
        Basis::Guessed => 0.4,
    };
    let doubt = (1.0 - first) * DOUBT_LEFT.powi(confirmations.min(64) as i32);
    ((1.0 - doubt).min(SUREST) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confirmations_raise_it() {
        assert_eq!(confidence(Basis::Guessed, 0), 0.4);
        assert_eq!(confidence(Basis::Guessed, 1), 0.64);
        assert_eq!(confidence(Basis::Tested, 1000), SUREST);
    }
}
