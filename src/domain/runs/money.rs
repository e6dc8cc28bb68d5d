//! Amounts of money, as whole millionths of a dollar, so that sums are exact.

use std::fmt;

/// Millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MicroUsd(u64);

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is not an amount in dollars: a number such as `2.50`, at most {MAX_DOLLARS}", .0.escape_debug())]
pub struct MoneyError(String);

const MILLION: u64 = 1_000_000;
/// Nobody has a larger budget, and sums of such amounts don't overflow.
const MAX_DOLLARS: u64 = 1_000_000_000;

impl MicroUsd {
    pub const ZERO: Self = Self(0);

    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    pub const fn micros(self) -> u64 {
        self.0
    }

    /// An amount in dollars, such as `2.50`. Digits beyond a millionth are cut.
    pub fn parse(text: &str) -> Result<Self, MoneyError> {
        let error = || MoneyError(text.chars().take(40).collect());
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() && fraction.is_empty() || !is_number(whole) || !is_number(fraction) {
            return Err(error());
        }
        let dollars: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| error())? };
        if dollars > MAX_DOLLARS {
            return Err(error());
        }
        let micros = fraction.bytes().chain(std::iter::repeat(b'0')).take(6);
        let micros = micros.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        Ok(Self(dollars * MILLION + micros))
    }

    /// The number of dollars that a program reported, to the nearest millionth. `None` if it is not an amount.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        if !(0.0..=MAX_DOLLARS as f64).contains(&dollars) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was checked to be in this range"
        )]
        Some(Self((dollars * MILLION as f64).round() as u64))
    }

    /// The amount in dollars, for JSON.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / MILLION as f64
    }

    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// `$2.50`, `$0.0003`: cents, and smaller amounts with the digits that they have.
impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, micros) = (self.0 / MILLION, self.0 % MILLION);
        if self.0 >= MILLION / 100 || self.0 == 0 {
            let cents = (micros + 5_000) / 10_000;
            return write!(f, "${}.{:02}", dollars + cents / 100, cents % 100);
        }
        write!(f, "$0.{}", format!("{micros:06}").trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly() {
        let micros = |text| MicroUsd::parse(text).map(MicroUsd::micros);
        assert_eq!(micros("2.50"), Ok(2_500_000));
        assert_eq!(micros("0.1"), Ok(100_000));
        assert_eq!(micros(".000001"), Ok(1));
        assert_eq!(micros("3."), Ok(3_000_000));
        assert_eq!(micros("1000000000"), Ok(1_000_000_000_000_000));
        for wrong in ["", ".", "-1", "1e3", "1,5", "2usd", "1000000001", "99999999999999999999", "٣"] {
            assert!(micros(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_reported_is_rounded_to_a_millionth() {
        assert_eq!(MicroUsd::from_dollars(0.000_244_000_000_000_000_02), Some(MicroUsd(244)));
        assert_eq!(MicroUsd::from_dollars(12.0), Some(MicroUsd(12_000_000)));
        for wrong in [-0.1, 1e300, f64::NAN, f64::INFINITY] {
            assert_eq!(MicroUsd::from_dollars(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn small_amounts_keep_their_digits() {
        let shown =
            [0, 1, 244, 9_999, 10_000, 2_500_000, 2_999_999].map(|micros| MicroUsd(micros).to_string());
        assert_eq!(shown, ["$0.00", "$0.000001", "$0.000244", "$0.009999", "$0.01", "$2.50", "$3.00"]);
    }
}
