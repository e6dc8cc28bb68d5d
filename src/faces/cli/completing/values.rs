//! What is offered at a place: commands, options, and for each argument what it names.

use std::path::Path;

use clap::{Arg, ArgAction};

use crate::domain::knowledge::{Basis, RecordKind};
use crate::domain::settings::{KEYS, find_key};
use crate::domain::{EventKind, Importance, MessageKind};
use crate::faces::cli::args::overview;
use crate::faces::cli::man_pages;
use crate::harness;
use crate::ops::{self, Context, LiveCandidate, LiveQuestion, LiveValue};
use crate::sys::files;

use super::place::{CompletionPlace, ExpectedWord};

/// What the shell completes besides.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum ElseFiles {
    #[default]
    None,
    Files,
    Directories,
}

impl ElseFiles {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Files => "files",
            Self::Directories => "dirs",
        }
    }
}

/// What is offered.
#[derive(Debug, Default)]
pub(super) struct Offered {
    pub(super) values: Vec<LiveCandidate>,
    pub(super) else_files: ElseFiles,
}

/// What an argument is about.
#[derive(Clone, Copy)]
enum Named {
    Live(&'static [LiveValue]),
    /// Words, each with what it means.
    Words(fn(&CompletionPlace) -> Vec<(String, String)>),
    /// The same, then live values.
    Markdown,
    Paths(&'static [LiveValue]),
    Files,
    Directories,
    Nothing,
}

pub(super) fn offered(ctx: Option<&Context>, place: &CompletionPlace) -> Offered {
    match &place.wanted {
        ExpectedWord::Command => {
            of_words(overview().map(|(name, about)| (name.to_string(), about.to_string())))
        }
        ExpectedWord::Option => of_words(options(place)),
        ExpectedWord::Value(arg) => of_argument(ctx, place, arg),
        ExpectedWord::Next(arg) => {
            let mut offered = of_words(subcommands(place));
            if let Some(arg) = arg {
                let Offered { values, else_files } = of_argument(ctx, place, arg);
                offered.values.extend(values);
                offered.else_files = else_files;
            }
            offered
        }
    }
}

fn of_words(words: impl IntoIterator<Item = (String, String)>) -> Offered {
    let values =
        words.into_iter().map(|(value, about)| LiveCandidate { value, about: about.replace('\n', " ") });
    Offered { values: values.collect(), else_files: ElseFiles::None }
}

fn subcommands(place: &CompletionPlace) -> Vec<(String, String)> {
    match place.command.first().map(String::as_str) {
        Some("help") => return commands_below(&place.arguments),
        _ if !place.arguments.is_empty() => return Vec::new(),
        _ => {}
    }
    let inner = place.grammar.get_subcommands().filter(|inner| !inner.is_hide_set());
    inner.map(|inner| (inner.get_name().to_string(), about(inner.get_about()))).collect()
}

/// For `help` and `man`, whose arguments are the names of commands.
fn commands_below(words: &[String]) -> Vec<(String, String)> {
    if words.is_empty() {
        return overview().map(|(name, about)| (name.to_string(), about.to_string())).collect();
    }
    let program = man_pages::program();
    let found = words.iter().try_fold(&program, |command, word| command.find_subcommand(word));
    let inner = found.into_iter().flat_map(clap::Command::get_subcommands);
    inner.map(|inner| (inner.get_name().to_string(), about(inner.get_about()))).collect()
}

/// The options that are not on the line yet; letters only if nothing but a hyphen was typed.
fn options(place: &CompletionPlace) -> Vec<(String, String)> {
    let is_free = |arg: &&Arg| {
        let is_repeated = matches!(arg.get_action(), ArgAction::Append | ArgAction::Count);
        !arg.is_hide_set() && (is_repeated || !place.has(arg.get_id().as_str()))
    };
    let mut found = Vec::new();
    for arg in place.grammar.get_arguments().filter(is_free) {
        let about = about(arg.get_help());
        found.extend(arg.get_long().map(|long| (format!("--{long}"), about.clone())));
        if place.typed == "-" {
            found.extend(arg.get_short().map(|short| (format!("-{short}"), about.clone())));
        }
    }
    found.push(("--help".to_string(), "Print help".to_string()));
    if place.command.is_empty() {
        found.push(("--version".to_string(), "Print version".to_string()));
    }
    found
}

fn about(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(|text| text.to_string().lines().next().unwrap_or_default().to_string()).unwrap_or_default()
}

fn of_argument(ctx: Option<&Context>, place: &CompletionPlace, arg: &Arg) -> Offered {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        return of_words(shown.map(|value| (value.get_name().to_string(), about(value.get_help()))));
    }
    match named(place, arg) {
        Named::Words(words) => of_words(words(place)),
        Named::Live(kinds) => Offered { values: live(ctx, place, kinds), else_files: ElseFiles::None },
        Named::Paths(kinds) => {
            let mut values = live(ctx, place, kinds);
            if !values.is_empty() {
                // The shell looks for files only if there is nothing else.
                values.extend(paths(ctx, &place.typed, |_| true));
            }
            Offered { values, else_files: ElseFiles::Files }
        }
        Named::Markdown => {
            let mut values = paths(ctx, &place.typed, |name| name.ends_with(".md"));
            values.extend(live(ctx, place, &[LiveValue::Specs]));
            values.dedup_by(|a, b| a.value == b.value);
            Offered { values, else_files: ElseFiles::Files }
        }
        Named::Files => Offered { else_files: ElseFiles::Files, ..Offered::default() },
        Named::Directories => Offered { else_files: ElseFiles::Directories, ..Offered::default() },
        Named::Nothing => Offered::default(),
    }
}

fn live(ctx: Option<&Context>, place: &CompletionPlace, kinds: &[LiveValue]) -> Vec<LiveCandidate> {
    let Some(ctx) = ctx else { return Vec::new() };
    let mut found: Vec<LiveCandidate> = Vec::new();
    for kind in kinds {
        let question =
            LiveQuestion { kind: *kind, spec: place.value_of("spec"), holder: place.value_of("from") };
        // An error has no place in a prompt.
        found.extend(ops::live_values(ctx, question, &place.typed).unwrap_or_default());
    }
    // What is on the line is not offered again.
    found.retain(|one| !place.arguments.contains(&one.value));
    found
}

/// Files whose path begins like that, and all directories.
fn paths(ctx: Option<&Context>, typed: &str, is_wanted: fn(&str) -> bool) -> Vec<LiveCandidate> {
    // A home directory is for the shell to find.
    let Some(ctx) = ctx.filter(|_| !typed.starts_with('~')) else { return Vec::new() };
    let (dir, start) = typed.rsplit_once('/').map_or(("", typed), |(dir, start)| (dir, start));
    let prefix = if typed.contains('/') { format!("{dir}/") } else { String::new() };
    let folder = if prefix.is_empty() { ctx.cwd.clone() } else { ctx.cwd.join(&prefix) };
    let mut found: Vec<LiveCandidate> = Vec::new();
    for entry in files::entries(&folder).unwrap_or_default() {
        let name = entry.name.as_str();
        if !name.starts_with(start) || (name.starts_with('.') && start.is_empty()) || name.starts_with('-') {
            continue;
        }
        let is_dir = !entry.is_file && is_directory(&folder.join(name));
        let value = match is_dir {
            true => format!("{prefix}{name}/"),
            false if is_wanted(name) => format!("{prefix}{name}"),
            false => continue,
        };
        found.push(LiveCandidate { value, about: String::new() });
    }
    found.sort_by(|a, b| a.value.cmp(&b.value));
    found
}

fn is_directory(path: &Path) -> bool {
    files::metadata(path).is_ok_and(|found| found.is_some_and(|metadata| metadata.is_dir()))
}

const AGENTS: Named = Named::Live(&[LiveValue::Agents]);
const KNOWN: Named = Named::Live(&[LiveValue::KnownAgents]);
const RUNS: Named = Named::Live(&[LiveValue::Runs]);
const PROFILES: Named = Named::Live(&[LiveValue::Profiles]);
const RECORDS: Named = Named::Live(&[LiveValue::Records]);

/// What an argument of a command names. Commands that are not listed are matched by the name of the value.
fn named(place: &CompletionPlace, arg: &Arg) -> Named {
    let words: Vec<&str> = place.command.iter().map(String::as_str).collect();
    let id = arg.get_id().as_str();
    match (&words[..], id) {
        (_, "acting_as") | (["look" | "tell" | "topics" | "brief" | "evict" | "handoff"], "name") => AGENTS,
        (["delegate"], "to") | (["release"], "from") | (["wait"], "from" | "agent") => AGENTS,
        (["whois" | "history"], "name") | (["feed"], "agent") | (["search"], "from" | "to") => KNOWN,
        (["log"], "subject") => Named::Paths(&[LiveValue::KnownAgents]),
        (["search" | "history"], "thread") => Named::Live(&[LiveValue::Messages]),
        (["send"], "to") if place.has("hold") => Named::Live(&[LiveValue::KnownAgents, LiveValue::Groups]),
        (["send"], "to") => Named::Live(&[LiveValue::Agents, LiveValue::Groups]),
        (["contest"], "pattern") => Named::Live(&[LiveValue::Contestable]),
        (["release"], "patterns") if place.has("from") => Named::Live(&[LiveValue::Contestable]),
        (["release"], "patterns") => Named::Live(&[LiveValue::OwnReservations]),
        (["check"], "paths") => Named::Paths(&[LiveValue::Reservations]),
        (["claim"], "task") | (["run"], "claim") => Named::Live(&[LiveValue::OpenTasks]),
        (["complete"], "task") => Named::Live(&[LiveValue::UnfinishedTasks]),
        (["unclaim" | "handoff"], "task") => Named::Live(&[LiveValue::ClaimedTasks]),
        (["reopen"], "task") => Named::Live(&[LiveValue::DoneTasks]),
        (["show"], "id") | (_, "reply_to") => Named::Live(&[LiveValue::Messages]),
        (["reply"], "id") => Named::Live(&[LiveValue::Received]),
        (["ack"], "ids") => Named::Live(&[LiveValue::OwedAcks]),
        (["receipt"], "id") => Named::Live(&[LiveValue::Sent]),
        (["overlaps", "dismiss"], "id") => Named::Live(&[LiveValue::Predictions]),
        (["runs", "stop"], "id") => Named::Live(&[LiveValue::OpenRuns]),
        (["runs", _], "id") | (["crew", _], "run") => RUNS,
        (["crew", "review"], "target") => {
            Named::Live(&[LiveValue::Runs, LiveValue::AllTasks, LiveValue::Branches])
        }
        (_, "branch") => Named::Live(&[LiveValue::Branches]),
        (["run" | "batch" | "chain" | "crew", ..], "profile" | "review") => PROFILES,
        (["knowledge", _], "name" | "names") | (["learn"], "name" | "supersedes") => RECORDS,
        (["learn" | "know"] | ["knowledge", _], "kind") => Named::Words(record_kinds),
        (["learn"], "known") => Named::Words(|_| plain(Basis::ALL.iter().map(|basis| basis.as_str()))),
        (["feed"], "kind") => Named::Words(|_| plain(EventKind::ALL.iter().map(|kind| kind.name()))),
        (["send" | "broadcast" | "reply"], "kind") => {
            Named::Words(|_| plain(MessageKind::ALL.iter().map(|kind| kind.name())))
        }
        (_, "importance") => Named::Words(|_| plain(Importance::ALL.iter().map(|level| level.name()))),
        (["hook"], "harness") => Named::Words(|_| plain(harness::supported().map(|one| one.name()))),
        (["join"], "harness") => Named::Words(|_| plain(harness::all().map(|one| one.name()))),
        (["config", _], "key") => Named::Words(|_| keys()),
        (["config", "set"], "value") => Named::Words(setting_values),
        (["man"], "command") => Named::Words(|place| commands_below(&place.arguments)),
        (["crew", "plan"], "source") => Named::Markdown,
        (_, "spec") | (["spec"], "path") => Named::Markdown,
        (["join"], "name") => Named::Nothing,
        _ => by_value_name(arg),
    }
}

fn by_value_name(arg: &Arg) -> Named {
    let name = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    match name {
        "DIR" => Named::Directories,
        "FILE" | "PATH" | "PLACE" | "PATTERN" => Named::Files,
        "PROFILE" => PROFILES,
        _ => Named::Nothing,
    }
}

fn plain<'w>(words: impl Iterator<Item = &'w str>) -> Vec<(String, String)> {
    words.map(|word| (word.to_string(), String::new())).collect()
}

fn record_kinds(_: &CompletionPlace) -> Vec<(String, String)> {
    plain(RecordKind::ALL.iter().map(|kind| kind.as_str()))
}

fn keys() -> Vec<(String, String)> {
    KEYS.iter().map(|key| (key.name.to_string(), key.about.to_string())).collect()
}

fn setting_values(place: &CompletionPlace) -> Vec<(String, String)> {
    let key = place.arguments.first().and_then(|key| find_key(key).ok());
    plain(key.map(|key| (key.choices)()).unwrap_or_default().into_iter())
}
