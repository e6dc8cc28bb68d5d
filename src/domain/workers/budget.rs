//! Budgets of workers: money and tokens, exactly as they are written.

use std::fmt;

use crate::domain::runs::MicroUsd;

/// The most decimal places of an amount of money.
const DECIMALS: usize = 6;
const MICROS: u64 = 1_000_000;
/// The most micro-dollars or tokens.
const MOST: u64 = 1_000_000_000 * MICROS;

/// What a budget must look like.
const EXPECTED: &str = "expected for example 2.50usd, 200ktok or 2.50usd,1.5mtok";

/// What a worker may use up. `None`: no limit of that kind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Budget {
    pub usd: Option<MicroUsd>,
    pub tokens: Option<u64>,
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BudgetError {
    #[error("`{0}` is not a budget: {EXPECTED}")]
    Malformed(String),
    #[error("`{0}` has more than {DECIMALS} decimal places")]
    TooPrecise(String),
    #[error("`{0}` is not a whole number of tokens")]
    PartOfToken(String),
    #[error("a budget must be more than 0")]
    Nothing,
    #[error("`{0}` is too large")]
    TooLarge(String),
    #[error("`{0}` sets the same limit twice: {EXPECTED}")]
    Twice(String),
}

impl Budget {
    /// Dollars such as `2`, `2.5` or `0.000001`, more than 0. Nothing is rounded or cut.
    pub(super) fn parse_usd(text: &str) -> Result<MicroUsd, BudgetError> {
        scaled(text, MICROS).map(MicroUsd::from_micros)
    }

    /// Whether it limits nothing.
    pub fn is_unlimited(&self) -> bool {
        self.usd.is_none() && self.tokens.is_none()
    }

    /// Parses `2.50usd`, `200ktok`, `1.5mtok`, `5000tok`, or one of each joined by a comma.
    pub fn parse(text: &str) -> Result<Self, BudgetError> {
        let mut budget = Self::default();
        for part in text.split(',').map(str::trim) {
            let lower = part.to_ascii_lowercase();
            let unit_of = |unit: &str| lower.strip_suffix(unit).map(str::trim_end);
            let twice = || BudgetError::Twice(shown(text));
            if let Some(number) = unit_of("usd") {
                let usd = Self::parse_usd(number).map_err(|error| error.about(part))?;
                if budget.usd.replace(usd).is_some() {
                    return Err(twice());
                }
                continue;
            }
            let units = [("ktok", 1_000), ("mtok", 1_000_000), ("tok", 1)];
            let found = units.into_iter().find_map(|(unit, size)| Some((unit_of(unit)?, size)));
            let Some((number, size)) = found else { return Err(BudgetError::Malformed(shown(part))) };
            let tokens = scaled(number, size).map_err(|error| match error {
                BudgetError::TooPrecise(_) => BudgetError::PartOfToken(shown(part)),
                error => error.about(part),
            })?;
            if budget.tokens.replace(tokens).is_some() {
                return Err(twice());
            }
        }
        Ok(budget)
    }
}

impl fmt::Display for Budget {
    /// As it is typed: `2.50usd,200000tok`; nothing if there is no limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = |tokens: u64| match tokens {
            tokens if tokens % 1_000_000 == 0 => format!("{}mtok", tokens / 1_000_000),
            tokens if tokens % 1_000 == 0 => format!("{}ktok", tokens / 1_000),
            tokens => format!("{tokens}tok"),
        };
        let usd = |usd: MicroUsd| {
            let fraction = format!("{:0DECIMALS$}", usd.micros() % MICROS);
            let shown = fraction.trim_end_matches('0');
            format!("{}.{shown:0<2}usd", usd.micros() / MICROS)
        };
        let parts = [self.usd.map(usd), self.tokens.map(tokens)];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

impl BudgetError {
    /// The same error, about the whole of what was typed.
    fn about(self, part: &str) -> Self {
        match self {
            Self::Malformed(_) => Self::Malformed(shown(part)),
            Self::TooPrecise(_) => Self::TooPrecise(shown(part)),
            Self::TooLarge(_) => Self::TooLarge(shown(part)),
            error => error,
        }
    }
}

/// A decimal number times `size`, which is a power of ten. It must be whole and more than 0.
fn scaled(text: &str, size: u64) -> Result<u64, BudgetError> {
    let malformed = || BudgetError::Malformed(shown(text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = !whole.is_empty() && (!text.contains('.') || !fraction.is_empty());
    if !is_number(whole) || !is_number(fraction) || !has_digits {
        return Err(malformed());
    }
    let fraction = fraction.trim_end_matches('0');
    let places = size.ilog10() as usize;
    if fraction.len() > places {
        return Err(BudgetError::TooPrecise(shown(text)));
    }
    let digits = format!("{whole}{fraction:0<places$}");
    // Only digits are left, so it can only be too large.
    let number = digits.parse::<u64>().map_err(|_| BudgetError::TooLarge(shown(text)))?;
    // Nobody has a larger budget, and sums of such numbers don't overflow.
    if number > MOST {
        return Err(BudgetError::TooLarge(shown(text)));
    }
    if number == 0 { Err(BudgetError::Nothing) } else { Ok(number) }
}

/// What was typed, safe to show.
fn shown(text: &str) -> String {
    text.chars().take(60).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type() {
        for (text, micros, tokens, shown) in [
            ("2.50usd", Some(2_500_000), None, "2.50usd"),
            ("2usd", Some(2_000_000), None, "2.00usd"),
            ("0.000001usd", Some(1), None, "0.000001usd"),
            ("200ktok", None, Some(200_000), "200ktok"),
            ("1.5mtok", None, Some(1_500_000), "1500ktok"),
            ("12345tok", None, Some(12_345), "12345tok"),
            ("3 USD, 2Mtok", Some(3_000_000), Some(2_000_000), "3.00usd,2mtok"),
            ("1mtok,0.10usd", Some(100_000), Some(1_000_000), "0.10usd,1mtok"),
        ] {
            let budget = Budget::parse(text).unwrap();
            assert_eq!(budget.usd.map(MicroUsd::micros), micros, "{text}");
            assert_eq!(budget.tokens, tokens, "{text}");
            assert_eq!(budget.to_string(), shown);
            assert_eq!(Budget::parse(&budget.to_string()), Ok(budget), "{text}");
        }
    }

    /// A float would make 0.30000000000000004 of it.
    #[test]
    fn money_is_exact() {
        let [one, two] = ["0.1", "0.2"].map(|text| Budget::parse_usd(text).unwrap());
        assert_eq!(Ok(one.saturating_add(two)), Budget::parse_usd("0.3"));
    }

    #[test]
    fn what_is_not_a_budget() {
        for text in [
            "",
            "2.50",
            "usd",
            "-1usd",
            "+1usd",
            ".5usd",
            "1.usd",
            "1e3usd",
            "1_0usd",
            "2,50usd",
            "1usd,",
            "nanusd",
            "infusd",
            "0usd",
            "0tok",
            "0.0usd",
            "1.5tok",
            "0.0001ktok",
            "0.0000001usd",
            "1usd,2usd",
            "1tok,1ktok",
            "99999999999999999999usd",
            "1000000001usd",
            "1 usd usd",
            "１usd",
            "1\u{1b}usd",
        ] {
            assert!(Budget::parse(text).is_err(), "{text}");
        }
        let told = Budget::parse("1\u{1b}[31musd").unwrap_err().to_string();
        assert!(!told.contains('\u{1b}'), "{told}");
        assert!(Budget::parse("2.50").unwrap_err().to_string().contains("2.50usd"));
    }
}
