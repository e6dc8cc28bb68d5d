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

/// The same for an optional time that another machine may have made up: one that would not read back is refused.
pub(in crate::store) mod foreign_option {
    use std::ops::RangeInclusive;

    use jiff::Timestamp;
    use serde::{Deserializer, de::Error};

    pub(in crate::store) use super::option::serialize;

    /// The years that are written with four digits and no sign in every time zone.
    const YEARS: RangeInclusive<i16> = 1970..=9998;

    pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let time = super::option::deserialize(deserializer)?;
        let year = |time: Timestamp| time.to_zoned(jiff::tz::TimeZone::UTC).year();
        match time {
            Some(time) if !YEARS.contains(&year(time)) => {
                Err(D::Error::custom(format!("a time of the year {} makes no sense", year(time))))
            }
            time => Ok(time),
        }
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
