//! `msg feed`: shows or follows the feed of events.

use clap::Args;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::domain::{AnyEventKind, Event, EventKind, suggestions};
use crate::faces::cli::local_time::LocalTime;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::cli::value_parsers::count_or_none;
use crate::faces::json::event as event_json;
use crate::ops::feed::{self, FeedFilter, FeedMachines, RecentEvents};
use crate::ops::{CommandError, CommandErrorKind, HandoverOutcome, Op, WatchEnd, format_age};
use crate::sys::clock;
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

/// Show what happened, oldest first
///
/// Who came and went, wrote to whom, reserved, was refused, claimed or finished a task. The text of direct messages is
/// hidden unless `feedPrivacy` is `text`. Events from pi-messenger's own feed are included, and in a linked mesh those of
/// other machines. With `--follow` it
/// runs until it is stopped; with `--json` too, it prints one event per line.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg feed
  msg feed --follow
  msg feed --agent SwiftRaven --kind reserve,refused
  msg feed --local             only what happened on this machine
  msg feed --follow --json | jq -r 'select(.type == \"complete\") | .target'")]
pub(in crate::faces::cli) struct FeedArgs {
    /// Show at most N events; with `--follow` also 0
    #[arg(short = 'n', long, value_name = "N", default_value = "20", value_parser = count_or_none, allow_negative_numbers = true)]
    limit: usize,
    /// Keep running and show new events
    #[arg(short, long)]
    follow: bool,
    /// Only events by or about this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only events of these kinds, such as `message` or `claim`
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<String>,
    /// In a linked mesh, only events on this machine
    #[arg(long)]
    local: bool,
}

pub(super) fn run(op: &Op, args: FeedArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    args.kind.iter().try_for_each(|kind| refuse_typo(kind))?;
    if args.limit == 0 && !args.follow {
        return Err(CommandError::new(
            CommandErrorKind::InvalidValue,
            "`--limit 0` shows nothing without `--follow`",
        )
        .hint("give a number of 1 or more"));
    }
    let machines = if args.local { FeedMachines::ThisOne } else { FeedMachines::All };
    let wanted = FeedFilter { agent: args.agent, kinds: args.kind, machines };
    if args.follow {
        return follow(op, ui, args.limit, &wanted);
    }
    let recent = feed::recent(op, args.limit, &wanted)?;
    recent.complain(op);
    if let Some(agent) = wanted.agent.as_deref().filter(|_| recent.events.is_empty()) {
        feed::must_be_known(op, agent)?;
    }
    Ok(FeedReport { recent, now: clock::now(), has_mesh: op.mesh()?.is_some() }.into())
}

/// Rejects an unknown kind. Kinds of pi-messenger contain a dot, and are not all known to us.
fn refuse_typo(kind: &str) -> Result<(), CommandError> {
    if EventKind::named(kind).is_some() || kind.contains('.') {
        return Ok(());
    }
    let names = EventKind::ALL.map(EventKind::name);
    let error =
        CommandError::new(CommandErrorKind::InvalidValue, format!("there is no kind of event `{kind}`"));
    Err(match suggestions(kind, names).first() {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("one of `{}`", names.join("`, `"))),
    })
}

fn follow(op: &Op, ui: &Ui, limit: usize, wanted: &FeedFilter) -> Result<CommandOutput, CommandError> {
    let stop = StopRequest::listen().map_err(FileError::from)?;
    let recent = feed::recent(op, limit, wanted)?;
    recent.complain(op);
    let mut hand_over = |events: &[Event]| {
        op.take_warnings().iter().for_each(|notice| ui.note(notice));
        let said: String =
            events.iter().filter(|event| wanted.is(event)).map(|event| line(ui, event)).collect();
        if said.is_empty() { HandoverOutcome::Delivered } else { ui.say(&said) }
    };
    let end = match hand_over(&recent.events) {
        HandoverOutcome::ReaderGone => WatchEnd::Closed,
        HandoverOutcome::Delivered => feed::follow(op, recent.cursor, &stop, &mut hand_over)?,
    };
    Ok(CommandOutput::said(match end {
        WatchEnd::Closed => None,
        WatchEnd::Stopped => Some(CommandError::new(CommandErrorKind::Interrupted, "")),
    }))
}

/// One event as it happens, with the time instead of an age.
fn line(ui: &Ui, event: &Event) -> String {
    if ui.is_json() {
        return format!("{}\n", event_json(event));
    }
    let time = style::dim(&LocalTime::of_user().moment(event.at, clock::now()));
    format!("{time}  {}\n", sentence(event).1)
}

/// The sentence without and with styles.
fn sentence(event: &Event) -> (String, String) {
    let (subject, phrase) = (event.subject(), event.phrase());
    let told = match event.what {
        AnyEventKind::Ours(
            EventKind::Refused | EventKind::Stale | EventKind::Stuck | EventKind::Evict | EventKind::Gap,
        ) => style::warn(&phrase),
        AnyEventKind::Ours(EventKind::Complete) => style::good(&phrase),
        _ => phrase.clone(),
    };
    (format!("{subject} {phrase}"), format!("{} {told}", style::bold(&subject)))
}

struct FeedReport {
    recent: RecentEvents,
    now: Timestamp,
    has_mesh: bool,
}

impl Report for FeedReport {
    fn json(&self) -> Map<String, Value> {
        let events = self.recent.events.iter().map(event_json).collect();
        Map::from_iter([
            ("events".to_string(), events),
            ("unreadable".to_string(), json!(self.recent.unreadable)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let mut table = Table::default();
        for (event, count) in Event::folded(&self.recent.events) {
            let (mut plain, mut marked) = sentence(event);
            if count > 1 {
                let times = format!(" ×{count}");
                plain.push_str(&times);
                marked.push_str(&style::dim(&times));
            }
            let when = format!("{} ago", format_age(event.at, self.now));
            table.row(vec![TableCell::styled(&when, style::dim), TableCell::marked(&plain, marked)]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
        match (self.recent.events.is_empty(), self.has_mesh) {
            (true, true) => page.nothing("Nothing happened yet.", "`msg feed --follow` shows what will."),
            (true, false) => page.nothing("Nobody has joined this mesh yet.", "`msg join` joins it."),
            (false, _) => {}
        }
    }
}
