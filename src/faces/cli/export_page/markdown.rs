//! The page as Markdown. What others wrote can neither end its place nor become markup: in a line, every character that
//! means something is escaped, and texts of several lines are in fences that are longer than any in them.

use super::LocalTime;
use super::words::{self, Remarks};
use crate::domain::{Event, escape_invisible, escape_invisible_line};
use crate::ops::export::{ExportMessage, ExportPage, ExportSpec, ExportTask};

/// The whole file.
pub(super) fn document(page: &ExportPage, time: &LocalTime) -> String {
    let mut out = format!("# {}\n\n{}\n\n", words::TITLE, plain(&words::period(page, time)));
    let figures = words::figures(page).into_iter();
    let figures: Vec<String> =
        figures.map(|(number, name)| format!("{} {name}", words::grouped(number))).collect();
    out.push_str(&format!("{}\n", figures.join(" · ")));
    agents(&mut out, page, time);
    holds(&mut out, page, time);
    let specs = page.specs.shown.iter().filter(|spec| spec.problem.is_some() || spec.tasks.total > 0);
    for (place, spec) in specs.enumerate() {
        if place == 0 {
            out.push_str("\n## Tasks\n");
        }
        tasks(&mut out, spec, page, time);
    }
    runs(&mut out, page, time);
    messages(&mut out, page, time);
    events(&mut out, page, time);
    let Remarks { about, left_out } = Remarks::of(page, time);
    out.push_str(&format!("\n---\n\n{}\n", plain(&about)));
    if !left_out.is_empty() {
        out.push('\n');
        left_out.iter().for_each(|line| out.push_str(&format!("- {}\n", plain(line))));
    }
    out
}

/// One line of text, in which nothing is markup.
fn plain(raw: &str) -> String {
    let shown = escape_invisible(raw);
    let shown = shown.trim();
    let mut safe = String::with_capacity(shown.len() + shown.len() / 8);
    for (at, c) in shown.char_indices() {
        let (before, after) = (&shown[..at], &shown[at + c.len_utf8()..]);
        let is_number_before = !before.is_empty() && before.bytes().all(|byte| byte.is_ascii_digit());
        let is_markup = match c {
            // At the beginning they make a list or a heading.
            '-' | '+' | '=' => before.is_empty(),
            // `1.` begins a list, and `www.` and `://` make an address.
            '.' => is_number_before || before.to_ascii_lowercase().ends_with("www"),
            ':' => before.is_empty() || after.starts_with('/'),
            ',' | ';' | '/' | '"' | '\'' | '%' | '?' | '^' => false,
            c => c.is_ascii_punctuation(),
        };
        if is_markup {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// Several lines, as they are.
fn fenced(raw: &str) -> String {
    let lines: Vec<String> = raw.trim_end().split('\n').map(escape_invisible_line).collect();
    let longest =
        lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", lines.join("\n"))
}

/// A table with these columns; nothing if it has no rows.
fn table(out: &mut String, columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    out.push_str(&format!("\n| {} |\n|{}\n", columns.join(" | "), " --- |".repeat(columns.len())));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

fn number(count: usize) -> String {
    if count == 0 { String::new() } else { words::grouped(count) }
}

fn agents(out: &mut String, page: &ExportPage, time: &LocalTime) {
    if page.agents.is_empty() {
        out.push_str("\nNothing happened in this time.\n");
        return;
    }
    out.push_str("\n## Agents\n");
    let rows = page.agents.iter().map(|agent| {
        vec![
            agent.name.clone(),
            words::presence(agent).to_string(),
            words::kind_of(agent),
            words::there(&agent.there, page, time),
            number(agent.sent),
            number(agent.received),
            number(agent.refused),
            number(agent.completed),
        ]
    });
    table(out, &["Agent", "State", "What", "There", "Wrote", "Got", "Refused", "Done"], rows);
}

fn holds(out: &mut String, page: &ExportPage, time: &LocalTime) {
    if page.holds.shown.is_empty() {
        return;
    }
    out.push_str(&format!("\n## Reservations ({})\n", words::share(&page.holds)));
    let rows = page.holds.shown.iter().map(|hold| {
        vec![
            hold.pattern.clone(),
            hold.agent.clone(),
            time.moment(hold.from, page.shown.to),
            words::end(hold, page, time),
            hold.reason.clone().unwrap_or_default(),
        ]
    });
    table(out, &["Path", "Held by", "From", "To", "Why"], rows);
}

fn tasks(out: &mut String, spec: &ExportSpec, page: &ExportPage, time: &LocalTime) {
    let total = spec.done + spec.claimed + spec.open + spec.blocked;
    out.push_str(&format!("\n### {}\n\n{} of {total} done.\n", plain(&spec.spec), spec.done));
    if let Some(problem) = &spec.problem {
        out.push_str(&format!("\nThe spec can't be read: {}\n", plain(problem)));
    }
    if spec.tasks.shown.is_empty() {
        return;
    }
    let row = |task: &ExportTask| {
        let state = if task.state == "open" { "ready" } else { task.state };
        let waits =
            (!task.blocked_by.is_empty()).then(|| format!("waits for {}", task.blocked_by.join(", ")));
        let reopened =
            (task.reopened > 0).then(|| format!("reopened {}", words::count(task.reopened, "time", "times")));
        let notes = task.notes.as_ref().map(|notes| one_line(notes));
        let remarks: Vec<String> =
            waits.into_iter().chain(notes).chain(task.evidence.iter().cloned()).chain(reopened).collect();
        vec![
            format!("{} {}", task.id, task.title),
            [Some(state), task.proof].into_iter().flatten().collect::<Vec<_>>().join(", "),
            task.agent.clone().unwrap_or_default(),
            task.at.map(|at| time.moment(at, page.shown.to)).unwrap_or_default(),
            remarks.join("; "),
        ]
    };
    table(out, &["Task", "State", "Who", "When", "Remarks"], spec.tasks.shown.iter().map(row));
    if !spec.tasks.is_complete() {
        let rest = spec.tasks.total - spec.tasks.shown.len();
        out.push_str(&format!("\n{} more.\n", words::count(rest, "task", "tasks")));
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn runs(out: &mut String, page: &ExportPage, time: &LocalTime) {
    if page.runs.shown.is_empty() {
        return;
    }
    out.push_str(&format!("\n## Runs ({})\n", words::share(&page.runs)));
    let rows = page.runs.shown.iter().map(|run| {
        let crew = run.crew.as_ref().map(|crew| format!("crew {crew}"));
        let worker = [run.agent.clone(), Some(run.profile.clone()), Some(run.worker.clone()), crew];
        let worker: Vec<String> = worker.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        let review = run.review.as_ref().map(|review| format!("review: {review}"));
        let state: Vec<String> = std::iter::once(run.outcome.clone())
            .chain(run.remark.as_deref().map(one_line))
            .chain(review)
            .collect();
        let used: Vec<String> = std::iter::once(run.took.clone()).chain(run.used.iter().cloned()).collect();
        vec![
            format!("{} ({})", run.title, run.id),
            state.join("; "),
            worker.join(" · "),
            time.moment(run.at, page.shown.to),
            used.join(", "),
        ]
    });
    table(out, &["Task", "State", "Worker", "When", "Took"], rows);
}

fn messages(out: &mut String, page: &ExportPage, time: &LocalTime) {
    if page.messages.shown.is_empty() {
        return;
    }
    out.push_str(&format!("\n## Messages ({})\n", words::share(&page.messages)));
    let mut day = None;
    for message in &page.messages.shown {
        if day != Some(time.day(message.at)) {
            day = Some(time.day(message.at));
            out.push_str(&format!("\n### {}\n", time.long_day(message.at)));
        }
        out.push_str(&self::message(message, page, time));
    }
}

fn message(message: &ExportMessage, page: &ExportPage, time: &LocalTime) -> String {
    let badges = words::badges(message).into_iter().map(|(_, word)| plain(&word));
    let answered = message.replies_to.and_then(|place| page.messages.shown.get(place));
    let answers =
        answered.map(|first| format!("answers {}", plain(&format!("{} {}", first.from, first.short_id))));
    let badges: Vec<String> =
        std::iter::once(message.short_id.clone()).map(|id| plain(&id)).chain(badges).chain(answers).collect();
    let cut = words::cut(message).map_or(String::new(), |cut| format!("\n{}\n", plain(&cut)));
    format!(
        "\n{} **{}** → {} ({})\n\n{}{cut}",
        plain(&time.clock(message.at)),
        plain(&message.from),
        plain(&words::recipients(message)),
        badges.join(", "),
        fenced(&message.text),
    )
}

fn events(out: &mut String, page: &ExportPage, time: &LocalTime) {
    if page.events.shown.is_empty() {
        return;
    }
    out.push_str(&format!("\n## Events ({})\n", words::share(&page.events)));
    let mut day = None;
    for (event, times) in Event::folded(&page.events.shown) {
        if day != Some(time.day(event.at)) {
            day = Some(time.day(event.at));
            out.push_str(&format!("\n### {}\n\n", time.long_day(event.at)));
        }
        let phrase = plain(&words::repeated(event, times));
        out.push_str(&format!("- {} {} {phrase}\n", plain(&time.clock(event.at)), plain(&event.subject())));
    }
}
