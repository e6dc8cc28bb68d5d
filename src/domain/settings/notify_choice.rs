//! The types of the settings `notify` and `quietHours`: what a person is told, how, and when not.

use super::super::alert::{AlertKind, AlertWay, QuietHours};
use super::Settings;
use super::value_types::{CommandWords, Mismatch, RawValue, SettingType, SettingValue, expected, texts};

/// What is told, and how: an object, or, as before there were kinds, a command for changes of runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum NotifyChoice {
    RunCommand(CommandWords),
    /// In the order of [`AlertKind::ALL`].
    Ways(Vec<(AlertKind, Vec<AlertWay>)>),
}

impl SettingType for NotifyChoice {
    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        let RawValue::Object(members) = raw else {
            let none = CommandWords(Vec::new());
            return match CommandWords::check(raw, &none) {
                Ok(words) => match words.0.first().and_then(|word| AlertWay::named(word)) {
                    Some(way) if way != AlertWay::Command => {
                        wrong(&format!("`{}` is a way, which needs a kind", way.name()))
                    }
                    _ => Ok(Self::RunCommand(words)),
                },
                Err(_) => wrong("it is neither"),
            };
        };
        let mut found: Vec<(AlertKind, Vec<AlertWay>)> = Vec::new();
        for (name, value) in members {
            let Some(kind) = AlertKind::named(name) else {
                return wrong(&format!("there is no kind `{}`", name.escape_debug()));
            };
            let names = match value {
                RawValue::Text(way) => vec![way.clone()],
                RawValue::List(items) => match texts(items) {
                    Some(names) => names,
                    None => return wrong(&format!("the ways of `{name}` are not a list of names")),
                },
                _ => return wrong(&format!("the ways of `{name}` are not a list of names")),
            };
            let mut ways: Vec<AlertWay> = Vec::new();
            for name in &names {
                match AlertWay::named(name) {
                    Some(way) if ways.contains(&way) => {}
                    Some(way) => ways.push(way),
                    None => return wrong(&format!("there is no way `{}`", name.escape_debug())),
                }
            }
            found.push((kind, ways));
        }
        let order = |kind: AlertKind| AlertKind::ALL.iter().position(|known| *known == kind);
        found.sort_by_key(|(kind, _)| order(*kind));
        Ok(Self::Ways(found))
    }

    fn shown(&self) -> SettingValue {
        match self {
            Self::RunCommand(words) => words.shown(),
            Self::Ways(ways) => SettingValue::Notify(ways.clone()),
        }
    }

    fn choices() -> Vec<&'static str> {
        vec![
            r#"{"urgent":["bell"],"questions":["bell"]}"#,
            r#"{"mail":["bell"],"runs":["bell"],"stuck":["bell"],"conflicts":["bell"]}"#,
            r#"{"urgent":["osc9"],"questions":["osc9"],"runs":["osc9"]}"#,
            r#"{"urgent":["tmux"],"questions":["tmux"],"runs":["tmux"]}"#,
            r#"{"urgent":["command"],"questions":["command"],"runs":["command"]}"#,
        ]
    }
}

fn wrong<T>(reason: &str) -> Result<T, Mismatch> {
    let kinds = AlertKind::ALL.map(AlertKind::name).join("`, `");
    let ways = AlertWay::ALL.map(AlertWay::name).join("`, `");
    expected(&format!(
        "ways by kind, such as {{\"urgent\": [\"bell\"]}}, or a command for changes of runs, but {reason}; \
         the kinds are `{kinds}`, the ways `{ways}`"
    ))
}

/// Hours in which nothing is told, if there are any.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct QuietHoursChoice(pub(super) Option<QuietHours>);

impl SettingType for QuietHoursChoice {
    const IS_PLAIN_TEXT: bool = true;

    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        let RawValue::Text(text) = raw else { return expected(QUIET_SHAPE) };
        match QuietHours::parse(text) {
            Ok(hours) => Ok(Self(Some(hours))),
            Err(reason) => expected(&format!("{QUIET_SHAPE}, but {reason}")),
        }
    }

    fn shown(&self) -> SettingValue {
        self.0.as_ref().map_or(SettingValue::Unset, |hours| SettingValue::Text(hours.text()))
    }

    fn choices() -> Vec<&'static str> {
        vec!["22:00-07:00", "22:00-07:00 except urgent"]
    }
}

const QUIET_SHAPE: &str = "hours such as `22:00-07:00` or `22:00-07:00 except urgent`";

impl Settings {
    /// The command that hears of changes of runs, as words; none if there is no such command.
    pub fn run_command(&self) -> &[String] {
        match &self.notify {
            NotifyChoice::RunCommand(words) => &words.0,
            NotifyChoice::Ways(_) => &[],
        }
    }

    /// How alerts of this kind are told; `None` if nothing is said about it.
    pub fn ways_of(&self, kind: AlertKind) -> Option<&[AlertWay]> {
        self.alert_ways().iter().find(|(known, _)| *known == kind).map(|(_, ways)| ways.as_slice())
    }

    /// How each kind of alerts is told.
    pub fn alert_ways(&self) -> &[(AlertKind, Vec<AlertWay>)] {
        match &self.notify {
            NotifyChoice::RunCommand(_) => &[],
            NotifyChoice::Ways(ways) => ways,
        }
    }

    /// The command for alerts, as words; none if there is none.
    pub fn notify_command(&self) -> &[String] {
        &self.notify_command.0
    }

    /// When nothing is told.
    pub fn quiet_hours(&self) -> Option<&QuietHours> {
        self.quiet_hours.0.as_ref()
    }
}
