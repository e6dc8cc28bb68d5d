//! The sections that are lists by day: messages and events.

use jiff::Timestamp;

use super::super::words;
use super::Sheet;
use super::markup::{lines, text};
use super::section::Section;
use crate::domain::{AnyEventKind, Event, EventKind};
use crate::ops::export::ExportMessage;

/// Entries by day, each day with a heading.
fn by_day(sheet: &Sheet<'_>, entries: impl Iterator<Item = (Timestamp, String)>) -> String {
    let (mut out, mut day) = (String::new(), None);
    for (at, entry) in entries {
        if day != Some(sheet.time.day(at)) {
            if day.is_some() {
                out.push_str("</ul>\n</div>\n");
            }
            day = Some(sheet.time.day(at));
            let name = sheet.time.long_day(at);
            out.push_str(&format!("<div class=\"group\">\n<h3>{name}</h3>\n<ul class=\"list\">\n"));
        }
        out.push_str(&entry);
    }
    if day.is_some() {
        out.push_str("</ul>\n</div>\n");
    }
    out
}

pub(super) fn messages(sheet: &Sheet<'_>) -> Option<Section> {
    let messages = &sheet.page.messages;
    let entries =
        messages.shown.iter().enumerate().map(|(place, entry)| (entry.at, message(sheet, place, entry)));
    let body = by_day(sheet, entries);
    (!messages.shown.is_empty()).then(|| Section { remark: words::share(messages), body })
}

fn message(sheet: &Sheet<'_>, place: usize, message: &ExportMessage) -> String {
    let to = match message.to.as_slice() {
        [one] if !message.is_broadcast => sheet.who(one),
        _ => format!(
            "<span title=\"{}\">{}</span>",
            text(&message.to.join(", ")),
            text(&words::recipients(message))
        ),
    };
    let badges: String = words::badges(message)
        .into_iter()
        .map(|(class, word)| format!(" <span class=\"badge {class}\">{}</span>", text(&word)))
        .collect();
    let answers = message.replies_to.map_or(String::new(), |first| {
        let from = sheet.page.messages.shown.get(first).map_or("", |first| first.from.as_str());
        format!(" <a class=\"soft\" href=\"#m{first}\">answers {}</a>", text(from))
    });
    let cut = words::cut(message)
        .map_or(String::new(), |cut| format!("\n<span class=\"soft\">{}</span>", text(&cut)));
    let about =
        sheet.about(std::iter::once(message.from.as_str()).chain(message.to.iter().map(String::as_str)));
    format!(
        "<li class=\"row message\" id=\"m{place}\" {about}>{}<div>\n<div class=\"head\">{}<span class=\"soft\" aria-hidden=\"true\">→</span><span class=\"hide\">to</span>{to}{badges}{answers} <code class=\"soft\">{}</code></div>\n<div class=\"said {}\">{}{cut}</div>\n</div></li>\n",
        sheet.clock(message.at),
        sheet.who(&message.from),
        text(&message.short_id),
        sheet.colour(&message.from),
        lines(&message.text),
    )
}

pub(super) fn events(sheet: &Sheet<'_>) -> Option<Section> {
    let events = &sheet.page.events;
    let folded = Event::folded(&events.shown);
    let body = by_day(sheet, folded.into_iter().map(|(known, times)| (known.at, event(sheet, known, times))));
    (!events.shown.is_empty()).then(|| Section { remark: words::share(events), body })
}

fn event(sheet: &Sheet<'_>, event: &Event, times: usize) -> String {
    let class = match event.what {
        AnyEventKind::Ours(
            kind @ (EventKind::Refused
            | EventKind::Evict
            | EventKind::Stuck
            | EventKind::Stale
            | EventKind::Complete),
        ) => kind.name(),
        _ => "",
    };
    let others = [event.target.as_deref(), event.preview.as_deref()].into_iter().flatten();
    let about = sheet.about(std::iter::once(event.agent.as_str()).chain(others));
    // The name as it is shown is escaped for a terminal, which a second time would do no harm.
    format!(
        "<li class=\"row event {class}\" {about}>{}{}<span class=\"what\">{}</span></li>\n",
        sheet.clock(event.at),
        sheet.who(&event.agent),
        text(&words::repeated(event, times)),
    )
}
