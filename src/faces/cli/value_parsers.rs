//! Parsers for values that several options take.

/// A count of at least 1.
pub(super) fn count(text: &str) -> Result<usize, &'static str> {
    count_or_none(text).ok().filter(|count| *count > 0).ok_or("expected a whole number, 1 or more")
}

/// A count that may be 0.
pub(super) fn count_or_none(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "expected a whole number")
}

#[cfg(test)]
mod tests {
    use super::{count, count_or_none};

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
