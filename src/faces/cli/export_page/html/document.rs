//! The frame of the page: its head, what is on top and at the end, and the way to its sections.

use super::super::words::{self, Remarks};
use super::markup::text;
use super::policy::content_policy;
use super::section::Section;
use super::{LocalTime, Sheet, lists, tables, timeline};
use crate::ops::export::ExportPage;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole file.
pub(in crate::faces::cli::export_page) fn document(page: &ExportPage, time: &LocalTime) -> String {
    let sheet = Sheet::new(page, time);
    let sections = [
        ("timeline", "Timeline", timeline::section(&sheet)),
        ("agents", "Agents", tables::agents(&sheet)),
        ("reservations", "Reservations", tables::holds(&sheet)),
        ("tasks", "Tasks", tables::tasks(&sheet)),
        ("runs", "Runs", tables::runs(&sheet)),
        ("messages", "Messages", lists::messages(&sheet)),
        ("events", "Events", lists::events(&sheet)),
    ];
    let sections: Vec<(&str, &str, Section)> =
        sections.into_iter().filter_map(|(id, title, section)| Some((id, title, section?))).collect();
    let mut out = String::new();
    head(&mut out, page, time);
    top(&mut out, &sheet);
    bar(&mut out, &sheet, &sections);
    out.push_str("<main id=\"main\">\n");
    if sections.is_empty() {
        out.push_str(
            "<section id=\"nothing\"><p class=\"empty\">Nothing happened in this time.</p></section>\n",
        );
    }
    for (id, title, Section { remark, body }) in &sections {
        let remark =
            if remark.is_empty() { String::new() } else { format!(" <small>{}</small>", text(remark)) };
        out.push_str(&format!(
            "<section id=\"{id}\" aria-labelledby=\"h-{id}\">\n<h2 id=\"h-{id}\">{title}{remark}</h2>\n{body}"
        ));
        if *id != "timeline" {
            out.push_str("<p class=\"none\" hidden=\"hidden\">Nothing here matches.</p>\n");
        }
        out.push_str("</section>\n");
    }
    out.push_str("</main>\n");
    foot(&mut out, page, time);
    out.push_str(&format!("<script>{SCRIPT}</script>\n</body>\n</html>\n"));
    out
}

fn head(out: &mut String, page: &ExportPage, time: &LocalTime) {
    let policy = content_policy(STYLE, SCRIPT);
    let title = text(&format!("{}: {}", words::TITLE, words::period(page, time)));
    out.push_str(&format!(
        r##"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{policy}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="referrer" content="no-referrer"/>
<meta name="robots" content="noindex"/>
<meta name="color-scheme" content="light dark"/>
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
"##
    ));
}

fn top(out: &mut String, sheet: &Sheet<'_>) {
    let figures = words::figures(sheet.page).into_iter();
    let figures: String = figures
        .map(|(number, name)| format!("<li><b>{}</b><span>{name}</span></li>\n", words::grouped(number)))
        .collect();
    out.push_str(&format!(
        "<header>\n<h1>{}</h1>\n<p class=\"period\">{}</p>\n<ul class=\"figures\">\n{figures}</ul>\n</header>\n",
        words::TITLE,
        text(&words::period(sheet.page, sheet.time)),
    ));
}

/// The sections, and what to look for; that is of use only with the script, which shows it.
fn bar(out: &mut String, sheet: &Sheet<'_>, sections: &[(&str, &str, Section)]) {
    let links: String =
        sections.iter().map(|(id, title, _)| format!("<li><a href=\"#{id}\">{title}</a></li>\n")).collect();
    let agents: String = sheet
        .page
        .agents
        .iter()
        .enumerate()
        .map(|(number, agent)| format!("<option value=\"{number}\">{}</option>\n", text(&agent.name)))
        .collect();
    out.push_str(&format!(
        r#"<div class="bar">
<nav aria-label="Sections"><ul>
{links}</ul></nav>
<div id="filter" role="search" hidden="hidden">
<label><span class="hide">Agent</span><select id="who">
<option value="">Everybody</option>
{agents}</select></label>
<label><span class="hide">Search this page</span><input id="find" type="search" placeholder="Search (press /)" autocomplete="off" spellcheck="false"/></label>
<span id="said" role="status" aria-live="polite"></span>
</div>
</div>
"#
    ));
}

fn foot(out: &mut String, page: &ExportPage, time: &LocalTime) {
    let Remarks { about, left_out } = Remarks::of(page, time);
    out.push_str(&format!("<footer>\n<p>{}</p>\n", text(&about)));
    if !left_out.is_empty() {
        let lines: String = left_out.iter().map(|line| format!("<li>{}</li>\n", text(line))).collect();
        out.push_str(&format!("<ul>\n{lines}</ul>\n"));
    }
    out.push_str("</footer>\n");
}
