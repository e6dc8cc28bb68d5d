//! Hours in which nobody is told anything, except for what is named.

use jiff::civil::Time;

use super::AlertKind;

/// A part of every day, by the clock on the wall, and the kinds of alerts that are told all the same.
///
/// ```
/// use ravenry::domain::alert::{AlertKind, QuietHours};
/// let hours = QuietHours::parse("22:00-07:00 except urgent").unwrap();
/// let at = |text: &str| text.parse::<jiff::civil::Time>().unwrap();
/// assert!(hours.is_silent_for(&[AlertKind::Mail], at("23:30")) && hours.is_silent_for(&[AlertKind::Mail], at("06:59")));
/// assert!(!hours.is_silent_for(&[AlertKind::Urgent, AlertKind::Mail], at("23:30")));
/// assert!(!hours.is_silent_for(&[AlertKind::Mail], at("07:00")));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QuietHours {
    from: Time,
    until: Time,
    except: Vec<AlertKind>,
}

/// Why a text is not hours.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum QuietHoursError {
    #[error("there is no `-` between two times")]
    NoRange,
    #[error("`{}` is not a time such as `22:00`", .0.escape_debug())]
    NotATime(String),
    #[error("it begins and ends at the same time")]
    Empty,
    #[error("no kind follows `except`")]
    NoKind,
    #[error("there is no kind `{}`: the kinds are `{}`", .0.escape_debug(), AlertKind::ALL.map(AlertKind::name).join("`, `"))]
    UnknownKind(String),
}

impl QuietHours {
    /// Reads `22:00-07:00` and `22:00-07:00 except urgent, questions`.
    pub fn parse(text: &str) -> Result<Self, QuietHoursError> {
        let (hours, except) = match text.split_once(" except ") {
            Some((hours, kinds)) => (hours, kinds),
            None => (text, ""),
        };
        let (from, until) = hours.split_once('-').ok_or(QuietHoursError::NoRange)?;
        let (from, until) = (time(from.trim())?, time(until.trim())?);
        if from == until {
            return Err(QuietHoursError::Empty);
        }
        let names = except.split([',', ' ']).filter(|name| !name.is_empty());
        let except = names.map(kind).collect::<Result<Vec<_>, _>>()?;
        if text.contains(" except ") && except.is_empty() {
            return Err(QuietHoursError::NoKind);
        }
        Ok(Self { from, until, except })
    }

    /// As it is written.
    pub fn text(&self) -> String {
        let hours = format!("{}-{}", self.from.strftime("%H:%M"), self.until.strftime("%H:%M"));
        match self.except.as_slice() {
            [] => hours,
            kinds => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                format!("{hours} except {}", names.join(", "))
            }
        }
    }

    /// Whether that time is in them.
    pub fn contains(&self, now: Time) -> bool {
        match self.from < self.until {
            true => (self.from..self.until).contains(&now),
            // Over midnight.
            false => now >= self.from || now < self.until,
        }
    }

    /// Whether an alert of these kinds is not told at that time.
    pub fn is_silent_for(&self, kinds: &[AlertKind], now: Time) -> bool {
        self.contains(now) && !kinds.iter().any(|kind| self.except.contains(kind))
    }
}

fn time(text: &str) -> Result<Time, QuietHoursError> {
    let wrong = || QuietHoursError::NotATime(text.to_string());
    let (hour, minute) = text.split_once(':').ok_or_else(wrong)?;
    let number = |text: &str, width: std::ops::RangeInclusive<usize>| {
        let is_number = width.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<i8>().ok()).flatten()
    };
    let (hour, minute) = number(hour, 1..=2).zip(number(minute, 2..=2)).ok_or_else(wrong)?;
    Time::new(hour, minute, 0, 0).map_err(|_| wrong())
}

fn kind(name: &str) -> Result<AlertKind, QuietHoursError> {
    AlertKind::named(name).ok_or_else(|| QuietHoursError::UnknownKind(name.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Time {
        text.parse().unwrap()
    }

    #[test]
    fn hours_within_a_day_and_over_midnight() {
        let night = QuietHours::parse("22:00-07:00").unwrap();
        let noon = QuietHours::parse("12:00 - 13:30").unwrap();
        for (time, in_night, in_noon) in [
            ("00:00", true, false),
            ("06:59:59", true, false),
            ("07:00", false, false),
            ("12:00", false, true),
            ("13:30", false, false),
            ("21:59:59", false, false),
            ("22:00", true, false),
        ] {
            assert_eq!((night.contains(at(time)), noon.contains(at(time))), (in_night, in_noon), "{time}");
        }
    }

    #[test]
    fn what_is_named_comes_through() {
        let hours = QuietHours::parse("22:00-7:00 except urgent, questions").unwrap();
        assert_eq!(hours.text(), "22:00-07:00 except urgent, questions");
        assert_eq!(QuietHours::parse(&hours.text()), Ok(hours.clone()));
        assert!(hours.is_silent_for(&[AlertKind::Runs], at("23:00")));
        assert!(!hours.is_silent_for(&[AlertKind::Questions, AlertKind::Mail], at("23:00")));
        assert!(!hours.is_silent_for(&[AlertKind::Runs], at("12:00")));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, wrong) in [
            ("", "there is no `-` between two times"),
            ("22:00", "there is no `-` between two times"),
            ("22-07", "`22` is not a time such as `22:00`"),
            ("24:00-07:00", "`24:00` is not a time such as `22:00`"),
            ("22:60-07:00", "`22:60` is not a time such as `22:00`"),
            ("+2:00-07:00", "`+2:00` is not a time such as `22:00`"),
            ("22:00-07:00pm", "`07:00pm` is not a time such as `22:00`"),
            ("22:00-22:00", "it begins and ends at the same time"),
            ("22:00-07:00 except ", "no kind follows `except`"),
            (
                "22:00-07:00 except mial",
                "there is no kind `mial`: the kinds are `mail`, `urgent`, `questions`, `runs`, `stuck`, `conflicts`",
            ),
        ] {
            assert_eq!(QuietHours::parse(text).unwrap_err().to_string(), wrong, "{text}");
        }
    }
}
