//! Unpaired surrogates in JSON strings, such as half an emoji.
//!
//! JavaScript may cut a string in the middle of a surrogate pair and write the half as `\ud83d`. It accepts that as
//! JSON; serde_json does not. We read such a half as U+FFFD. In a document that will be written again, it is replaced
//! by a private-use character and written as it was.

use serde::de::DeserializeOwned;

/// `\ufffd` is as long as the escape that it replaces, so offsets in the text stay the same.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// Parses JSON, with unpaired surrogates as U+FFFD.
pub(in crate::store) fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(bytes).or_else(|error| match with_surrogates_replaced(bytes) {
        Some(mended) => serde_json::from_slice(&mended),
        None => Err(error),
    })
}

/// The text with U+FFFD for each unpaired surrogate; `None` if there is none.
pub(in crate::store) fn with_surrogates_replaced(bytes: &[u8]) -> Option<Vec<u8>> {
    let escapes = halves(bytes);
    if escapes.is_empty() {
        return None;
    }
    let mut mended = bytes.to_vec();
    for (at, _) in escapes {
        mended[at..at + REPLACEMENT.len()].copy_from_slice(REPLACEMENT);
    }
    Some(mended)
}

/// Whether a document that will be written again contains unpaired surrogates. They are represented by characters from
/// U+10F800 on, in the last private-use plane.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::store) struct SurrogateEscapes(bool);

impl SurrogateEscapes {
    pub(in crate::store) fn read<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<(T, Self)> {
        let error = match serde_json::from_slice(bytes) {
            Ok(document) => return Ok((document, Self(false))),
            Err(error) => error,
        };
        let escapes = halves(bytes);
        if escapes.is_empty() {
            return Err(error);
        }
        // The text already uses these characters, so they could not be told from surrogates.
        if bytes.windows(3).any(is_carrier) {
            return Ok((from_slice(bytes)?, Self(false)));
        }
        let mut text = Vec::with_capacity(bytes.len());
        let mut rest = 0;
        for (at, unit) in escapes {
            text.extend_from_slice(&bytes[rest..at]);
            text.extend_from_slice(&carrier(unit));
            rest = at + REPLACEMENT.len();
        }
        text.extend_from_slice(&bytes[rest..]);
        Ok((serde_json::from_slice(&text)?, Self(true)))
    }

    /// JSON with the surrogates as they were.
    pub(in crate::store) fn written(self, json: Vec<u8>) -> Vec<u8> {
        if !self.0 {
            return json;
        }
        let mut text = Vec::with_capacity(json.len());
        let mut at = 0;
        while let Some(&byte) = json.get(at) {
            match json.get(at..at + 4) {
                Some(four) if is_carrier(four) => {
                    let unit = 0xd000 | u16::from(four[2] & 0x3f) << 6 | u16::from(four[3] & 0x3f);
                    text.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                    at += 4;
                }
                _ => {
                    text.push(byte);
                    at += 1;
                }
            }
        }
        text
    }
}

/// A string of such a document for display, with U+FFFD for the surrogates.
pub(in crate::store) fn readable(text: &str) -> String {
    text.replace(|c| ('\u{10f800}'..='\u{10ffff}').contains(&c), "\u{fffd}")
}

/// Whether this is UTF-8 of a character from U+10F800 on.
fn is_carrier(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xf4, 0x8f]) && bytes.get(2).is_some_and(|byte| *byte >= 0xa0)
}

fn carrier(unit: u16) -> [u8; 4] {
    let low = unit & 0xfff;
    [0xf4, 0x8f, 0x80 | (low >> 6) as u8, 0x80 | (low & 0x3f) as u8]
}

/// The offsets and values of all escapes that are unpaired surrogates.
fn halves(bytes: &[u8]) -> Vec<(usize, u16)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += next;
        let Some(unit) = escape(bytes, at) else {
            // Skip the backslash and the character that it escapes.
            at += 2;
            continue;
        };
        let is_pair = || escape(bytes, at + 6).is_some_and(|second| (0xdc00..0xe000).contains(&second));
        match unit {
            0xd800..0xdc00 if is_pair() => at += 12,
            0xd800..0xe000 => {
                found.push((at, unit));
                at += 6;
            }
            _ => at += 6,
        }
    }
    found
}

/// The UTF-16 unit of the `\uXXXX` escape at this offset.
fn escape(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn half_a_character_is_read_as_the_replacement_character() {
        for (json, expected) in [
            (r#""busy \ud83d""#, "busy \u{fffd}"),
            (r#""\ude00 \ud83d\ude00 \ud83d\ud83d\ude00""#, "\u{fffd} 😀 \u{fffd}😀"),
            (r#""\uD83D\n""#, "\u{fffd}\n"),
            (r#""\\ud83d""#, r"\ud83d"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
            (r#""plain""#, "plain"),
        ] {
            assert_eq!(from_slice::<String>(json.as_bytes()).unwrap(), expected, "{json}");
        }
        for bad in [r#""\ud83"#, r#""\ud83d"#, r#"\ud83d"#, r#""\ud8zz""#] {
            assert!(from_slice::<String>(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_document_is_written_with_the_halves_that_it_had() {
        let text = r#"{"a":"x \ud83d y","b":["\udfff","😀"],"\ud800":1}"#;
        let (document, escapes) = SurrogateEscapes::read::<Map<String, Value>>(text.as_bytes()).unwrap();
        let written = escapes.written(serde_json::to_vec(&document).unwrap());
        assert_eq!(String::from_utf8(written).unwrap(), text);
        assert_eq!(readable(document["a"].as_str().unwrap()), "x \u{fffd} y");
    }

    #[test]
    fn characters_that_are_used_are_not_taken_for_halves() {
        for text in ["{\"a\":\"\u{10f83d}\"}", "{\"a\":\"\u{10f83d} \\ud83d\"}"] {
            let (document, escapes) = SurrogateEscapes::read::<Map<String, Value>>(text.as_bytes()).unwrap();
            let written = escapes.written(serde_json::to_vec(&document).unwrap());
            assert!(String::from_utf8(written).unwrap().contains('\u{10f83d}'), "{text}");
        }
    }
}
