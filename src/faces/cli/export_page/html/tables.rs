//! The sections that are tables: agents, reservations, tasks and runs.

use super::super::words;
use super::Sheet;
use super::markup::{lines, text};
use super::section::Section;
use crate::ops::export::{ExportRun, ExportSpec, ExportTask, HeldPath};

/// A table with these columns. On a narrow screen each row is a card, and cells name their columns.
fn table(caption: &str, columns: &[&str], rows: &str) -> String {
    let heads: String = columns.iter().map(|column| format!("<th scope=\"col\">{column}</th>")).collect();
    format!(
        "<div class=\"scroll\"><table>\n<caption class=\"hide\">{}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
        text(caption)
    )
}

/// A cell of that column. `content` is markup.
fn cell(column: &str, content: &str) -> String {
    match content {
        "" => "<td></td>".to_string(),
        content => format!("<td data-l=\"{column}\">{content}</td>"),
    }
}

/// A number, of which 0 is not worth a word.
fn number(column: &str, number: usize) -> String {
    match number {
        0 => "<td></td>".to_string(),
        number => format!("<td class=\"n\" data-l=\"{column}\">{}</td>", words::grouped(number)),
    }
}

fn code(raw: &str) -> String {
    format!("<code>{}</code>", text(raw))
}

fn badge(class: &str, word: &str) -> String {
    format!("<span class=\"badge {class}\">{}</span>", text(word))
}

pub(super) fn agents(sheet: &Sheet<'_>) -> Option<Section> {
    let page = sheet.page;
    let row = |agent: &crate::ops::export::ExportAgent| {
        let status =
            agent.status.as_deref().map_or(String::new(), |status| format!("<p>{}</p>", text(status)));
        let spec = agent
            .spec
            .as_deref()
            .map_or(String::new(), |spec| format!("<p class=\"soft\">{}</p>", code(spec)));
        let state = words::presence(agent);
        let class = if agent.presence.is_some() { state } else { "gone" };
        let cells = [
            format!("<th scope=\"row\">{}</th>", sheet.who(&agent.name)),
            cell("State", &format!("{}{status}", badge(class, state))),
            cell("What", &format!("{}{spec}", text(&words::kind_of(agent)))),
            cell("There", &text(&words::there(&agent.there, page, sheet.time))),
            number("Wrote", agent.sent),
            number("Got", agent.received),
            number("Refused", agent.refused),
            number("Done", agent.completed),
        ];
        let about = sheet.about([agent.name.as_str()]);
        format!("<tr class=\"row\" {about}>{}</tr>\n", cells.concat())
    };
    let rows: String = page.agents.iter().map(row).collect();
    let columns = ["Agent", "State", "What", "There", "Wrote", "Got", "Refused", "Done"];
    let body = table("Agents", &columns, &rows);
    let remark =
        format!("{}, as of {}", words::grouped(page.agents.len()), sheet.time.date_time(page.made_at));
    (!page.agents.is_empty()).then_some(Section { remark, body })
}

pub(super) fn holds(sheet: &Sheet<'_>) -> Option<Section> {
    let holds = &sheet.page.holds;
    let row = |hold: &HeldPath| {
        let cells = [
            format!("<th scope=\"row\">{}</th>", code(&hold.pattern)),
            cell("Held by", &sheet.who(&hold.agent)),
            cell("From", &sheet.moment(hold.from)),
            cell("To", &text(&words::end(hold, sheet.page, sheet.time))),
            cell("Why", &hold.reason.as_deref().map(text).unwrap_or_default()),
        ];
        let about = sheet.about([hold.agent.as_str()]);
        format!("<tr class=\"row\" {about}>{}</tr>\n", cells.concat())
    };
    let rows: String = holds.shown.iter().map(row).collect();
    let body = table("Reservations", &["Path", "Held by", "From", "To", "Why"], &rows);
    (!holds.shown.is_empty()).then(|| Section { remark: words::share(holds), body })
}

pub(super) fn tasks(sheet: &Sheet<'_>) -> Option<Section> {
    let specs: Vec<&ExportSpec> =
        sheet.page.specs.shown.iter().filter(|spec| spec.problem.is_some() || spec.tasks.total > 0).collect();
    let body: String = specs.iter().map(|spec| tasks_of(sheet, spec)).collect();
    let remark = format!("as of {}", sheet.time.date_time(sheet.page.made_at));
    (!specs.is_empty()).then_some(Section { remark, body })
}

fn tasks_of(sheet: &Sheet<'_>, spec: &ExportSpec) -> String {
    let total = spec.done + spec.claimed + spec.open + spec.blocked;
    let parts = [(spec.claimed, "claimed"), (spec.open, "ready"), (spec.blocked, "blocked")];
    let parts: String = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!(", {count} {name}"))
        .collect();
    let state = format!("{} of {total} done{parts}", spec.done);
    let name = text(&spec.spec);
    let mut out = format!("<div class=\"group\">\n<h3><code>{name}</code></h3>\n");
    if total > 0 {
        out.push_str(&format!(
            "<p class=\"spec\"><progress value=\"{}\" max=\"{total}\" aria-label=\"{state}\"></progress>{state}</p>\n",
            spec.done
        ));
    }
    if let Some(problem) = &spec.problem {
        out.push_str(&format!("<p class=\"empty\">The spec can&#39;t be read: {}</p>\n", text(problem)));
    }
    let rows: String = spec.tasks.shown.iter().map(|task| task_row(sheet, task)).collect();
    if !rows.is_empty() {
        out.push_str(&table(
            &format!("Tasks of {}", spec.spec),
            &["Task", "State", "Who", "When", "Remarks"],
            &rows,
        ));
    }
    if !spec.tasks.is_complete() {
        let rest = spec.tasks.total - spec.tasks.shown.len();
        out.push_str(&format!("<p class=\"empty\">{} more.</p>\n", words::count(rest, "task", "tasks")));
    }
    out.push_str("</div>\n");
    out
}

fn task_row(sheet: &Sheet<'_>, task: &ExportTask) -> String {
    let state = if task.state == "open" { "ready" } else { task.state };
    let proof = task.proof.map_or(String::new(), |proof| format!(" <span class=\"soft\">{proof}</span>"));
    let mut remarks: Vec<String> = Vec::new();
    if !task.blocked_by.is_empty() {
        remarks.push(text(&format!("waits for {}", task.blocked_by.join(", "))));
    }
    remarks.extend(task.notes.as_deref().map(lines));
    remarks.extend(task.evidence.iter().map(|line| text(line)));
    if task.reopened > 0 {
        remarks.push(format!("reopened {}", words::count(task.reopened, "time", "times")));
    }
    let remarks: String = remarks.iter().map(|remark| format!("<p>{remark}</p>")).collect();
    let cells = [
        format!("<th scope=\"row\"><code>{}</code> {}</th>", text(&task.id), text(&task.title)),
        cell("State", &format!("{}{proof}", badge(task.state, state))),
        cell("Who", &task.agent.as_deref().map(|agent| sheet.who(agent)).unwrap_or_default()),
        cell("When", &task.at.map(|at| sheet.moment(at)).unwrap_or_default()),
        cell("Remarks", &remarks),
    ];
    let about = sheet.about(task.agent.as_deref());
    format!("<tr class=\"row\" {about}>{}</tr>\n", cells.concat())
}

pub(super) fn runs(sheet: &Sheet<'_>) -> Option<Section> {
    let runs = &sheet.page.runs;
    let row = |run: &ExportRun| {
        let class = match (run.is_done, run.is_failure) {
            (true, _) => "done",
            (_, true) => "failed",
            _ => "",
        };
        let soft = |part: &String| format!("<p class=\"soft\">{}</p>", text(part));
        let crew = run.crew.as_ref().map(|crew| format!("crew {crew}"));
        let remark = run.remark.iter().map(|remark| format!("<p>{}</p>", text(remark)));
        let review = run.review.iter().map(|review| format!("<p>review: {}</p>", text(review)));
        let by =
            [Some(run.profile.clone()), Some(run.worker.clone()).filter(|worker| !worker.is_empty()), crew];
        let by = by.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        let used: Vec<String> = std::iter::once(run.took.clone()).chain(run.used.iter().cloned()).collect();
        let worker = run.agent.as_deref().map(|agent| sheet.who(agent)).unwrap_or_default();
        let parent = run.parent.as_ref().map_or(String::new(), |parent| soft(&format!("for {parent}")));
        let cells = [
            format!(
                "<th scope=\"row\">{} <code class=\"soft\">{}</code></th>",
                text(&run.title),
                text(&run.id)
            ),
            cell(
                "State",
                &[badge(class, &run.outcome)].into_iter().chain(remark).chain(review).collect::<String>(),
            ),
            cell("Worker", &format!("{worker}{}{parent}", soft(&by))),
            cell("When", &sheet.moment(run.at)),
            cell("Took", &text(&used.join(", "))),
        ];
        let about = sheet.about([run.agent.as_deref(), run.parent.as_deref()].into_iter().flatten());
        format!("<tr class=\"row\" {about}>{}</tr>\n", cells.concat())
    };
    let rows: String = runs.shown.iter().map(row).collect();
    let body = table("Runs", &["Task", "State", "Worker", "When", "Took"], &rows);
    (!runs.shown.is_empty()).then(|| Section { remark: words::share(runs), body })
}
