//! `msg config`: shows and changes settings.

use clap::{Args, Subcommand};
use serde_json::{Map, Value as Json, json};

use crate::domain::alert::AlertWay;
use crate::domain::awareness::work_domain::ConfiguredDomain;
use crate::domain::escape_invisible;
use crate::domain::settings::{ModelPrice, SettingSource, SettingValue};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::ops::setup::config::{self, SettingEntry};
use crate::ops::{CommandError, Context};
use crate::store::config_files::{ConfigScope, number_json, variable_of};

/// Show and change settings
///
/// Later files override earlier ones: pi-messenger's own, ~/.config/ravenry/config.json,
/// pi-messenger's in the project, .ravenry/config.json in the project; then variables such as $MSG_MAIL_TURNS, then
/// flags.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg config                             every key, its value and where that comes from
  msg config get mesh
  msg config set nameTheme space
  msg config set --project stuckThreshold 600
  msg config unset nameTheme")]
pub(in crate::faces::cli) struct ConfigArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List every key, its value and where it comes from
    List,
    /// Print one value
    Get {
        /// One of those that `msg config` lists
        key: String,
    },
    /// Change a value in your own file, or in the project's
    Set {
        /// One of those that `msg config` lists
        key: String,
        /// Text, a number, true or false, or JSON
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// In the project's .ravenry/config.json
        #[arg(long)]
        project: bool,
    },
    /// Remove a value from your own file, or from the project's
    Unset {
        /// One of those that `msg config` lists
        key: String,
        /// In the project's .ravenry/config.json
        #[arg(long)]
        project: bool,
    },
}

/// `errors` are the files and variables that cannot be used. Reading shows the rest and still fails. An invalid value
/// can be corrected with this command, a file that cannot be parsed cannot.
pub(super) fn run(
    ctx: &Context,
    args: ConfigArgs,
    errors: Vec<CommandError>,
) -> Result<CommandOutput, CommandError> {
    let scope = |project| if project { ConfigScope::Project } else { ConfigScope::User };
    let looked = |entries, shape| CommandOutput {
        report: Some(Box::new(ConfigReport { entries, shape })),
        error: errors.first().cloned(),
    };
    let unparsed = errors.iter().find(|error| error.facts.iter().any(|(name, _)| *name == "line"));
    let changed = |(entry, file)| ConfigReport { entries: vec![entry], shape: Shape::Changed(file) }.into();
    match (args.action, unparsed) {
        (None | Some(Action::List), _) => Ok(looked(config::list(ctx), Shape::List)),
        (Some(Action::Get { key }), _) => Ok(looked(vec![config::get(ctx, &key)?], Shape::One)),
        (Some(_), Some(error)) => Err(error.clone()),
        (Some(Action::Set { key, value, project }), None) => {
            config::set(ctx, scope(project), &key, &value).map(changed)
        }
        (Some(Action::Unset { key, project }), None) => {
            let (entry, file) = config::unset(ctx, scope(project), &key)?;
            Ok(ConfigReport { entries: vec![entry], shape: Shape::Unset(file) }.into())
        }
    }
}

enum Shape {
    List,
    One,
    /// Changed in this file.
    Changed(String),
    /// Removed from this file.
    Unset(String),
}

struct ConfigReport {
    entries: Vec<SettingEntry>,
    shape: Shape,
}

impl Report for ConfigReport {
    fn json(&self) -> Map<String, Json> {
        let entry = |entry: &SettingEntry| {
            (entry.key.to_string(), json!({ "value": value_json(&entry.value), "from": from(&entry.source) }))
        };
        let mut object = Map::new();
        object.insert("values".to_string(), Json::Object(self.entries.iter().map(entry).collect()));
        if let Shape::Changed(file) | Shape::Unset(file) = &self.shape {
            object.insert("file".to_string(), json!(file));
        }
        object
    }

    fn text(&self, page: &mut Page) {
        match &self.shape {
            Shape::List => {
                let mut table = Table::default();
                for entry in &self.entries {
                    let mut row = vec![
                        TableCell::styled(entry.key, style::bold),
                        TableCell::plain(&escape_invisible(&shown(&entry.value))),
                        TableCell::styled(&escape_invisible(&from(&entry.source)), style::dim),
                    ];
                    if page.is_verbose {
                        row.push(TableCell::styled(&variable_of(entry.key), style::dim));
                        row.push(TableCell::plain(entry.about));
                    }
                    table.row(row);
                }
                table.lines().into_iter().for_each(|line| page.line(line));
            }
            Shape::One => {
                self.entries.iter().for_each(|entry| page.line(escape_invisible(&shown(&entry.value))));
            }
            Shape::Unset(_) => {
                for entry in &self.entries {
                    let (key, value) = (style::bold(entry.key), shown(&entry.value));
                    page.line(match &entry.source {
                        SettingSource::Default => {
                            format!("{key} is {} again (the default).", escape_invisible(&value))
                        }
                        source => format!(
                            "{key} is {} (from {}).",
                            escape_invisible(&value),
                            escape_invisible(&from(source))
                        ),
                    });
                }
            }
            Shape::Changed(file) => {
                for entry in &self.entries {
                    page.line(format!(
                        "{} is {} now.",
                        style::bold(entry.key),
                        escape_invisible(&shown(&entry.value))
                    ));
                    if !matches!(&entry.source, SettingSource::File(source) if source == file) {
                        let source = from(&entry.source);
                        page.line(style::dim(&format!("saved in `{file}`, but {source} overrides it")));
                    }
                }
            }
        }
    }

    fn is_answer(&self) -> bool {
        !matches!(self.shape, Shape::Changed(_) | Shape::Unset(_))
    }
}

fn value_json(value: &SettingValue) -> Json {
    match value {
        SettingValue::Unset => Json::Null,
        SettingValue::Bool(yes) => json!(yes),
        SettingValue::Number(number) => number_json(*number),
        SettingValue::Text(text) => json!(text),
        SettingValue::List(items) => json!(items),
        SettingValue::Words { adjectives, nouns } => json!({ "adjectives": adjectives, "nouns": nouns }),
        SettingValue::Domains(domains) => {
            let one = |domain: &ConfiguredDomain| {
                (domain.name.clone(), json!({ "words": domain.words, "paths": domain.paths }))
            };
            Json::Object(domains.iter().map(one).collect())
        }
        SettingValue::Groups(groups) => {
            Json::Object(groups.iter().map(|group| (group.name.clone(), json!(group.members))).collect())
        }
        SettingValue::Notify(ways) => {
            let names = |ways: &[AlertWay]| json!(ways.iter().map(|way| way.name()).collect::<Vec<_>>());
            Json::Object(ways.iter().map(|(kind, ways)| (kind.name().to_string(), names(ways))).collect())
        }
        SettingValue::Prices(prices) => Json::Object(prices.iter().map(price_json).collect()),
        SettingValue::Wake { is_enabled: enabled, may_paste: paste } => {
            json!({ "enabled": enabled, "paste": paste })
        }
    }
}

/// The price of a model, as it is written in the file.
fn price_json(price: &ModelPrice) -> (String, Json) {
    let parts = [
        ("input", Some(price.input)),
        ("output", Some(price.output)),
        ("cacheRead", price.cache_read),
        ("cacheWrite", price.cache_write),
    ];
    let known = parts.into_iter().filter_map(|(name, micros)| Some((name, micros? as f64 / 1e6)));
    let members = known.map(|(name, dollars)| (name.to_string(), number_json(dollars)));
    (price.model.clone(), Json::Object(members.collect()))
}

fn shown(value: &SettingValue) -> String {
    match value {
        SettingValue::Unset => "(not set)".to_string(),
        SettingValue::Text(text) => text.clone(),
        other => value_json(other).to_string(),
    }
}

pub(super) fn from(source: &SettingSource) -> String {
    match source {
        SettingSource::Default => "default".to_string(),
        SettingSource::File(file) => file.clone(),
        SettingSource::Remembered(file) => format!("{file} when it was last readable"),
        SettingSource::Variable(name) => format!("${name}"),
        SettingSource::Flag(flag) => (*flag).to_string(),
        SettingSource::Implied(key) => (*key).to_string(),
    }
}
