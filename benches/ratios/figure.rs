//! One figure of the results, and the tables made of them.

use std::fmt::Write as _;

/// Median and quartiles of repeated measurements.
#[derive(Clone, Copy)]
pub struct Spread {
    /// First and third quartile: half of the values are between them.
    low: f64,
    high: f64,
    pub median: f64,
}

impl Spread {
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |part: f64| values[((values.len() - 1) as f64 * part).round() as usize];
        Self { low: at(0.25), high: at(0.75), median: at(0.5) }
    }

    /// Compares two series measured alternately, pair by pair: a slowdown of the machine then affects both.
    pub fn of_pairs(ours: &[f64], theirs: &[f64], compare: impl Fn(f64, f64) -> f64) -> Self {
        Self::of(ours.iter().zip(theirs).map(|(ours, theirs)| compare(*ours, *theirs)))
    }
}

pub enum Aim {
    Below(f64),
    AtLeast(f64),
    /// For information only.
    None,
}

pub struct Figure {
    pub name: &'static str,
    pub ours: String,
    pub baseline: String,
    pub result: Spread,
    /// Unit of the result; empty for a ratio.
    pub unit: &'static str,
    pub aim: Aim,
}

impl Figure {
    /// The share of its limit that it uses; below 1 the aim is met.
    fn share(&self) -> Option<f64> {
        match self.aim {
            Aim::Below(limit) => Some(self.result.median / limit),
            Aim::AtLeast(limit) => Some(limit / self.result.median),
            Aim::None => None,
        }
    }
}

pub fn table(figures: &[Figure]) -> String {
    let mut rows = vec![["name", "ours", "baseline", "ratio", "middle half", "aim", ""].map(str::to_string)];
    rows.extend(figures.iter().map(row));
    let widths: [usize; 7] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end()).unwrap();
    }
    text
}

/// The table in Markdown, with each figure's share of its limit.
pub fn markdown(figures: &[Figure]) -> String {
    let mut text = String::from("| | ours | baseline | result | aim | of its limit |\n");
    text.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
    for figure in figures {
        let [name, ours, baseline, result, _, aim, _] = row(figure);
        let share = figure.share().map_or(String::new(), |share| {
            if share < 1.0 { format!("{share:.2}") } else { format!("**{share:.2}**") }
        });
        writeln!(text, "| {name} | {ours} | {baseline} | {result} | {aim} | {share} |").unwrap();
    }
    text
}

fn row(figure: &Figure) -> [String; 7] {
    let Figure { name, ours, baseline, result, unit, aim } = figure;
    let (aim, met) = match *aim {
        Aim::Below(limit) => (format!("< {limit}{unit}"), Some(result.median < limit)),
        Aim::AtLeast(limit) => (format!("≥ {limit}{unit}"), Some(result.median >= limit)),
        Aim::None => (String::new(), None),
    };
    let verdict = match met {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "",
    };
    [
        name.to_string(),
        ours.clone(),
        baseline.clone(),
        format!("{:.2}{unit}", result.median),
        format!("{:.2}–{:.2}", result.low, result.high),
        aim,
        verdict.to_string(),
    ]
}
