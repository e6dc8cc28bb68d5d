//! The type of the setting `prices`: what models cost, in dollars for a million tokens.

use super::model_price::ModelPrice;
use super::value_types::{Mismatch, RawValue, SettingType, SettingValue, expected};

const SHAPE: &str = "{\"MODEL\": {\"input\": 3, \"output\": 15, \"cacheRead\": 0.3, \"cacheWrite\": 3.75}}: dollars for a million tokens, from 0 to 1000000; `input` and `output` are needed";
/// The highest price that is believed.
const MOST: f64 = 1_000_000.0;
/// How many models may have a price.
const MOST_MODELS: usize = 1000;

/// Prices in the order of the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct PriceMap(pub(super) Vec<ModelPrice>);

impl SettingType for PriceMap {
    fn check(raw: &RawValue, current: &Self) -> Result<Self, Mismatch> {
        let RawValue::Object(members) = raw else { return expected(SHAPE) };
        let mut prices = current.0.clone();
        for (model, value) in members {
            let price = price(model, value)?;
            match prices.iter_mut().find(|known| known.model == *model) {
                Some(known) => *known = price,
                None => prices.push(price),
            }
        }
        if prices.len() > MOST_MODELS { expected(SHAPE) } else { Ok(Self(prices)) }
    }

    fn shown(&self) -> SettingValue {
        SettingValue::Prices(self.0.clone())
    }
}

fn price(model: &str, value: &RawValue) -> Result<ModelPrice, Mismatch> {
    let RawValue::Object(members) = value else { return expected(SHAPE) };
    let mut price = ModelPrice { model: model.to_string(), ..ModelPrice::default() };
    let (mut has_input, mut has_output) = (false, false);
    for (name, value) in members {
        let RawValue::Number(dollars) = value else { return expected(SHAPE) };
        if !(0.0..=MOST).contains(dollars) {
            return expected(SHAPE);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was checked to be in this range"
        )]
        let micros = (dollars * 1e6).round() as u64;
        match name.as_str() {
            "input" => (price.input, has_input) = (micros, true),
            "output" => (price.output, has_output) = (micros, true),
            "cacheRead" => price.cache_read = Some(micros),
            "cacheWrite" => price.cache_write = Some(micros),
            _ => return expected(SHAPE),
        }
    }
    if has_input && has_output { Ok(price) } else { expected(SHAPE) }
}

impl PriceMap {
    /// The price of a model: the one with its name, else the one with the longest beginning of it.
    pub(super) fn of(&self, model: &str) -> Option<&ModelPrice> {
        let beginning =
            |price: &&ModelPrice| price.model.strip_suffix('*').is_some_and(|it| model.starts_with(it));
        let exact = self.0.iter().find(|price| price.model == model);
        exact.or_else(|| self.0.iter().filter(beginning).max_by_key(|price| price.model.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(members: &[(&str, f64)]) -> RawValue {
        let member = |(name, value): &(&str, f64)| ((*name).to_string(), RawValue::Number(*value));
        RawValue::Object(members.iter().map(member).collect())
    }

    fn prices(models: &[(&str, &[(&str, f64)])]) -> PriceMap {
        let raw = RawValue::Object(
            models.iter().map(|(model, members)| ((*model).to_string(), object(members))).collect(),
        );
        PriceMap::check(&raw, &PriceMap(Vec::new())).ok().unwrap()
    }

    #[test]
    fn tokens_times_prices() {
        let prices = prices(&[("m", &[("input", 3.0), ("output", 15.0), ("cacheRead", 0.3)])]);
        let price = prices.of("m").unwrap();
        assert_eq!(price.micros([1_000_000, 0, 0, 0]), 3_000_000);
        assert_eq!(price.micros([1000, 100, 1000, 10]), 3000 + 1500 + 300 + 30);
        assert_eq!(price.micros([0, 0, 1, 0]), 1, "it is rounded up");
        assert_eq!(price.micros([u64::MAX; 4]), u64::MAX);
    }

    #[test]
    fn the_longest_beginning_counts_and_the_whole_name_before_it() {
        let both = |input: f64| [("input", input), ("output", 0.0)];
        let prices =
            prices(&[("a-*", &both(1.0)), ("a-b*", &both(2.0)), ("a-b", &both(3.0)), ("*", &both(4.0))]);
        for (model, input) in [("a-c", 1), ("a-bc", 2), ("a-b", 3), ("x", 4), ("", 4)] {
            assert_eq!(prices.of(model).unwrap().input, input * 1_000_000, "{model}");
        }
    }

    #[test]
    fn what_is_no_price() {
        for wrong in [
            object(&[("input", 3.0)]),
            object(&[("input", -1.0), ("output", 1.0)]),
            object(&[("input", f64::NAN), ("output", 1.0)]),
            object(&[("input", 1e7), ("output", 1.0)]),
            object(&[("in", 1.0), ("input", 1.0), ("output", 1.0)]),
            RawValue::Number(3.0),
        ] {
            let raw = RawValue::Object(vec![("m".to_string(), wrong)]);
            assert!(PriceMap::check(&raw, &PriceMap(Vec::new())).is_err());
        }
    }
}
