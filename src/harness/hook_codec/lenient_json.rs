//! Lenient parsing of JSON that harnesses write and change with each version.
//!
//! A field whose value has an unexpected type counts as missing. Values that are not needed are skipped without being
//! allocated: a payload may contain a file's whole content.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use super::decode_error::DecodeError;

/// Parses a payload, which must be an object.
pub fn object<T: DeserializeOwned>(input: &[u8]) -> Result<T, DecodeError> {
    let read = |input: &[u8]| serde_json::from_slice::<Maybe<Object<T>>>(input);
    let read =
        read(input).or_else(|error| repaired_json(input).map_or(Err(error), |text| read(text.as_bytes())));
    match read? {
        Maybe(Some(Object(payload))) => Ok(payload),
        Maybe(None) => Err(DecodeError::NotAnObject),
    }
}

/// A value, if it has the expected type.
#[derive(Debug)]
pub struct Maybe<T>(pub Option<T>);

/// An object with the fields of `T`. As a field, anything that is not an object counts as one without fields.
#[derive(Debug, Default)]
pub struct Object<T>(pub T);

/// Conversions from a JSON value, by its type; by default each returns nothing.
pub trait Keep: Sized {
    fn truth(_: bool) -> Option<Self> {
        None
    }

    fn number(_: u64) -> Option<Self> {
        None
    }

    fn text(_: &str) -> Option<Self> {
        None
    }

    fn list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Option<Self>, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// Reads the fields of `T` from an object; most implementations of `Keep::object` use this.
pub fn fields<'de, T: Deserialize<'de>, A: MapAccess<'de>>(object: A) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(object))
}

impl Keep for bool {
    fn truth(truth: bool) -> Option<Self> {
        Some(truth)
    }
}

impl Keep for u64 {
    fn number(number: u64) -> Option<Self> {
        Some(number)
    }
}

impl Keep for String {
    fn text(text: &str) -> Option<Self> {
        Some(text.to_string())
    }
}

/// Elements of another type are left out.
impl<T: Keep> Keep for Vec<T> {
    fn list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        let mut kept = Self::new();
        while let Some(Maybe(element)) = list.next_element()? {
            kept.extend(element);
        }
        Ok(Some(kept))
    }
}

impl<T: DeserializeOwned> Keep for Object<T> {
    fn object<'de, A: MapAccess<'de>>(object: A) -> Result<Option<Self>, A::Error> {
        Ok(Some(Self(fields(object)?)))
    }
}

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Keep> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look(PhantomData)).map(Self)
    }
}

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Maybe::<Self>::deserialize(deserializer)?.0.unwrap_or_default())
    }
}

/// Visitor for a value of any type.
struct Look<T>(PhantomData<T>);

impl<'de, T: Keep> Visitor<'de> for Look<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Self::Value, E> {
        Ok(T::truth(truth))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(T::number(number))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(u64::try_from(number).ok().and_then(T::number))
    }

    /// All numbers in JavaScript are floats.
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok((number >= 0.0).then_some(number as u64).and_then(T::number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(T::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
        T::object(object)
    }
}

/// The payload with U+FFFD in place of invalid text: broken UTF-8, and unpaired surrogates, which JavaScript writes if
/// a text was cut in the middle of a character. `None` if there is nothing to replace.
fn repaired_json(input: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(input);
    let mut mended = String::with_capacity(text.len());
    let mut rest: &str = &text;
    // Only strings contain backslashes.
    while let Some((before, after)) = rest.split_once('\\') {
        mended.push_str(before);
        let length = match (half(after), after.get(5..).and_then(|next| half(next.strip_prefix('\\')?))) {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => 11,
            (Some(_), _) => {
                mended.push_str("\\ufffd");
                rest = &after[5..];
                continue;
            }
            (None, _) => after.chars().next().map_or(0, char::len_utf8),
        };
        mended.push('\\');
        mended.push_str(&after[..length]);
        rest = &after[length..];
    }
    mended.push_str(rest);
    (matches!(text, Cow::Owned(_)) || mended != text).then_some(mended)
}

/// The surrogate that an escape encodes, given what follows the backslash.
fn half(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix('u')?.get(..4)?;
    u32::from_str_radix(digits, 16).ok().filter(|half| (0xD800..0xE000).contains(half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Shape {
        text: Maybe<String>,
        number: Maybe<u64>,
        texts: Maybe<Vec<String>>,
        inner: Object<Inner>,
    }

    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Inner {
        truth: Maybe<bool>,
    }

    fn shape(json: &str) -> Shape {
        object(json.as_bytes()).unwrap_or_else(|error| panic!("{json}: {error}"))
    }

    #[test]
    fn every_value_in_every_place() {
        let values =
            ["null", "true", "7", "-7", "7.5", "-0.5", "\"t\"", "[]", "[1,{},\"t\"]", "{}", "{\"a\":[]}"];
        for value in values {
            let shape = shape(&format!(
                r#"{{"text":{value},"number":{value},"texts":{value},"inner":{value},"other":{value}}}"#
            ));
            assert_eq!(shape.text.0.is_some(), value == "\"t\"", "{value}");
            assert_eq!(shape.number.0, value.starts_with('7').then_some(7), "{value}");
            assert_eq!(shape.texts.0.is_some(), value.starts_with('['), "{value}");
            assert_eq!(shape.inner.0.truth.0, None);
        }
        assert_eq!(shape(r#"{"inner":{"truth":true}}"#).inner.0.truth.0, Some(true));
        assert_eq!(shape(r#"{"texts":["a",1,"b"]}"#).texts.0.unwrap(), ["a", "b"]);
    }

    #[test]
    fn no_object_is_an_error() {
        for input in ["null", "[]", "[{}]", "1", "\"{}\""] {
            let error = object::<Shape>(input.as_bytes()).err().unwrap().to_string();
            assert_eq!(error, "the payload is not a JSON object", "{input}");
        }
        for input in ["", " ", "{", "{}{}", "{\"a\":}", "x", r#"{"text":1,"text":2}"#] {
            let error = object::<Shape>(input.as_bytes()).err().unwrap().to_string();
            assert!(error.starts_with("the payload can't be read: "), "{input}: {error}");
        }
    }

    #[test]
    fn what_is_no_text_is_mended() {
        let read = |json: &[u8]| object::<Shape>(json).unwrap().text.0.unwrap();
        assert_eq!(read(br#"{"text":"a\ud83d"}"#), "a\u{fffd}");
        assert_eq!(read(br#"{"text":"\udc00\ud83db\\ud83d\n"}"#), "\u{fffd}\u{fffd}b\\ud83d\n");
        assert_eq!(read(br#"{"text":"\ud83d\ud83d\ude00\u00e4"}"#), "\u{fffd}\u{1f600}ä");
        assert_eq!(read(b"{\"text\":\"a\xffb\"}"), "a\u{fffd}b");
    }
}
