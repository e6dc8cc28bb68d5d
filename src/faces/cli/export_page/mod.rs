//! Writes an exported page, as HTML or as Markdown. Both are pure functions of the page and a time zone.

mod html;
mod markdown;
mod words;

use jiff::tz::TimeZone;

use crate::faces::cli::local_time::LocalTime;
use crate::ops::export::ExportPage;

pub(super) use words::count;

/// What the page is written in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PageFormat {
    Html,
    Markdown,
}

impl PageFormat {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "markdown",
        }
    }

    /// The end of the name of a file.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
        }
    }

    /// The format of a file with that name, if its ending tells.
    pub(super) fn of_file(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Self::Html),
            "md" | "markdown" => Some(Self::Markdown),
            _ => None,
        }
    }
}

/// The whole page.
pub(super) fn written(page: &ExportPage, format: PageFormat, zone: &TimeZone) -> String {
    let time = LocalTime::new(zone.clone());
    match format {
        PageFormat::Html => html::document(page, &time),
        PageFormat::Markdown => markdown::document(page, &time),
    }
}

#[cfg(test)]
mod tests;
