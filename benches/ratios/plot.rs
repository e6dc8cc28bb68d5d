//! Draws the growth curves as a self-contained SVG that is readable on light and dark pages.

use std::fmt::Write as _;

use crate::growth::{Curve, Growth};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 60.0;
/// Leaves room for the names at the ends of the curves.
const RIGHT: f64 = 210.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 50.0;
/// Vertical space for a name.
const LINE: f64 = 16.0;
/// Distinguishable for colour-blind readers, too (Okabe and Ito).
const COLOURS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];

pub fn draw(growth: &Growth) -> String {
    let scale = Scale::of(growth);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <title>How it grows with the number of {}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        growth.of
    );
    grid(&mut svg, growth, &scale);
    for (curve, colour) in growth.curves.iter().zip(COLOURS) {
        line(&mut svg, curve, colour, &scale);
    }
    names(&mut svg, growth, &scale);
    svg.push_str("</svg>\n");
    svg
}

/// Sizes are equally spaced; values are on a logarithmic scale.
struct Scale {
    steps: usize,
    lowest: f64,
    highest: f64,
}

impl Scale {
    fn of(growth: &Growth) -> Self {
        let values = || growth.curves.iter().flat_map(|curve| curve.values.iter().copied());
        let lowest = values().fold(1.0, f64::min).log10().floor();
        let highest = values().fold(10.0, f64::max).log10().ceil();
        Self { steps: growth.sizes.len() - 1, lowest, highest }
    }

    fn x(&self, place: usize) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * place as f64 / self.steps as f64
    }

    fn y(&self, value: f64) -> f64 {
        let part = (value.log10() - self.lowest) / (self.highest - self.lowest);
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part
    }
}

fn grid(svg: &mut String, growth: &Growth, scale: &Scale) {
    let right = scale.x(scale.steps);
    for power in scale.lowest as i32..=scale.highest as i32 {
        let value = 10f64.powi(power);
        let y = scale.y(value);
        writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{right:.1}\" stroke=\"#dddddd\"/>").unwrap();
        let label = format!("{value}×");
        writeln!(svg, "{}", text(LEFT - 8.0, y + 4.0, "end", "#555555", &label)).unwrap();
    }
    for (place, size) in growth.sizes.iter().enumerate() {
        let label = grouped(*size);
        writeln!(svg, "{}", text(scale.x(place), HEIGHT - BOTTOM + 20.0, "middle", "#555555", &label))
            .unwrap();
    }
    let middle = (LEFT + right) / 2.0;
    writeln!(svg, "{}", text(middle, HEIGHT - 10.0, "middle", "#555555", growth.of)).unwrap();
}

fn line(svg: &mut String, curve: &Curve, colour: &str, scale: &Scale) {
    let points = || curve.values.iter().enumerate().map(|(place, value)| (scale.x(place), scale.y(*value)));
    let path: Vec<String> = points().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    let path = path.join("L");
    writeln!(svg, "<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>").unwrap();
    for (x, y) in points() {
        writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>").unwrap();
    }
}

/// Writes each name as close to the end of its curve as the other names permit.
fn names(svg: &mut String, growth: &Growth, scale: &Scale) {
    let end = |curve: &Curve| scale.y(curve.values.last().copied().unwrap_or(1.0));
    let mut ends: Vec<(f64, &str, &str)> =
        growth.curves.iter().zip(COLOURS).map(|(curve, colour)| (end(curve), curve.name, colour)).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = TOP;
    for (y, name, colour) in ends {
        let y = y.max(free);
        free = y + LINE;
        writeln!(svg, "{}", text(scale.x(scale.steps) + 10.0, y + 4.0, "start", colour, name)).unwrap();
    }
}

fn text(x: f64, y: f64, anchor: &str, colour: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>")
}

/// Formats a number as `20,000`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}
