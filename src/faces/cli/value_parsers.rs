//! Parsers for values that several options take.

use crate::domain::knowledge::{Basis, RecordKind};

/// A count of at least 1.
pub(super) fn count(text: &str) -> Result<usize, &'static str> {
    count_or_none(text).ok().filter(|count| *count > 0).ok_or("expected a whole number, 1 or more")
}

/// A count that may be 0.
pub(super) fn count_or_none(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "expected a whole number")
}

/// A kind of record.
pub(super) fn record_kind(text: &str) -> Result<RecordKind, &'static str> {
    let words = "expected note, tried, decision, principle, pattern, file or relationship";
    RecordKind::parse(text).ok_or(words)
}

/// A kind that `learn` takes. A relationship has two ends, which `record` takes.
pub(super) fn learnable_kind(text: &str) -> Result<RecordKind, &'static str> {
    let kind = RecordKind::parse(text).filter(|kind| *kind != RecordKind::Relationship);
    kind.ok_or("expected note, tried, decision, principle, pattern or file")
}

/// How something is known.
pub(super) fn basis(text: &str) -> Result<Basis, &'static str> {
    Basis::parse(text).ok_or("expected tested, read, told or guessed")
}

/// How sure one is, from 0 to 1.
pub(super) fn confidence(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or("expected a number from 0 to 1, such as 0.8")
}

#[cfg(test)]
mod tests {
    use super::{confidence, count, count_or_none};

    #[test]
    fn a_confidence_is_from_0_to_1() {
        assert_eq!(confidence("0.8"), Ok(0.8));
        for bad in ["1.1", "-0.1", "high", "NaN", ""] {
            assert!(confidence(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn counts_are_whole_numbers() {
        assert_eq!(count("5"), Ok(5));
        assert_eq!(count_or_none("0"), Ok(0));
        for bad in ["0", "-1", "1.5", "many", ""] {
            assert!(count(bad).is_err(), "{bad:?}");
        }
        assert!(count_or_none("-1").is_err());
    }
}
