//! The page as one HTML file that needs nothing else. It is complete without its script, which only hides what is not
//! looked for. It is well-formed XML too, so that a test can read it strictly.

mod document;
mod lists;
mod markup;
mod policy;
mod section;
mod tables;
mod timeline;

pub(super) use document::document;

use std::collections::HashMap;

use jiff::Timestamp;

use crate::ops::export::ExportPage;
use crate::store::iso;

use super::LocalTime;
use markup::text;

/// How many colours there are for agents.
const COLOURS: usize = 8;

/// The page, its clock, and the numbers of the agents on it.
struct Sheet<'p> {
    page: &'p ExportPage,
    time: &'p LocalTime,
    numbers: HashMap<&'p str, usize>,
}

impl<'p> Sheet<'p> {
    fn new(page: &'p ExportPage, time: &'p LocalTime) -> Self {
        let numbers = page.agents.iter().enumerate().map(|(number, agent)| (agent.name.as_str(), number));
        Self { page, time, numbers: numbers.collect() }
    }

    /// The class with the colour of an agent.
    fn colour(&self, name: &str) -> String {
        match self.numbers.get(name) {
            Some(number) => format!("k{}", number % COLOURS),
            None => format!("k{COLOURS}"),
        }
    }

    /// The name of an agent, in its colour.
    fn who(&self, name: &str) -> String {
        format!(r#"<span class="who {}">{}</span>"#, self.colour(name), text(name))
    }

    /// The attribute by which the script finds what is about these agents.
    fn about<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> String {
        let mut numbers: Vec<usize> =
            names.into_iter().filter_map(|name| self.numbers.get(name).copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        format!(r#"data-a="{}""#, numbers.join(" "))
    }

    /// A time of day; its date is in the attribute.
    fn clock(&self, at: Timestamp) -> String {
        element_of_time(at, &self.time.clock(at))
    }

    /// A time of day, with its day if that is not the last of the page.
    fn moment(&self, at: Timestamp) -> String {
        element_of_time(at, &self.time.moment(at, self.page.shown.to))
    }
}

fn element_of_time(at: Timestamp, shown: &str) -> String {
    format!(r#"<time datetime="{}">{}</time>"#, iso(at), text(shown))
}
