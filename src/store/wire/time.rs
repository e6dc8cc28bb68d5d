//! Times on disk: ISO-8601 in UTC with milliseconds, as JavaScript writes them.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serializer};

pub use crate::sys::clock::iso;

pub(in crate::store) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&iso(*time))
}

pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Timestamp, D::Error> {
    let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
    text.parse().map_err(|_| serde::de::Error::custom(format!("`{}` is not a time", text.escape_debug())))
}

/// The same for an optional time.
pub(in crate::store) mod option {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::store) fn serialize<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => super::serialize(time, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        #[derive(Deserialize)]
        struct Time(#[serde(deserialize_with = "super::deserialize")] Timestamp);
        Ok(Option::<Time>::deserialize(deserializer)?.map(|time| time.0))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn as_javascript_writes_it() {
        let time = "2026-11-14T23:57:56.0706Z".parse().unwrap();
        assert_eq!(super::iso(time), "2026-11-14T23:57:56.070Z");
    }
}
