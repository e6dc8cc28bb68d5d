//! The drawing in ARCHITECTURE.md: the folders of each layer, and which of them need which.

use std::collections::BTreeSet;

use super::graph::{LAYERS, Needs};

/// The page with the drawing.
pub const PAGE: &str = "ARCHITECTURE.md";

const START: &str = "<!-- drawn by `cargo run --example modules folders` -->\n";
const END: &str = "<!-- end of the drawing -->\n";

/// What the harnesses share. The other folders of that layer are one for each harness, and are drawn as one.
pub const SHARED_BY_HARNESSES: [&str; 2] = ["hook_codec", "install"];

/// The page with the present drawing in the place of the one that it has.
pub fn draw_in(page: &str, needs: &Needs) -> String {
    let (before, rest) = page.split_once(START).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    format!("{before}{START}\n```mermaid\n{}```\n\n{END}{after}", drawing(needs))
}

/// The folder that a file belongs to; `None` if it is directly in its layer.
fn folder<'a>(needs: &Needs, file: &'a [String]) -> Option<&'a str> {
    let folder = file.get(..3)?;
    let is_folder = needs.keys().any(|other| other.len() > 3 && other.starts_with(folder));
    let is_harness = folder[1] == "harness" && !SHARED_BY_HARNESSES.contains(&folder[2].as_str());
    is_folder.then_some(if is_harness { "a harness" } else { &folder[2] })
}

fn drawing(needs: &Needs) -> String {
    let layer_of =
        |file: &[String]| LAYERS.iter().position(|layer| file.get(1).is_some_and(|it| it == layer));
    let mut folders = BTreeSet::new();
    let mut arrows = BTreeSet::new();
    let mut lower = BTreeSet::new();
    for (file, needed) in needs {
        let Some(layer) = layer_of(file) else { continue };
        let here = folder(needs, file);
        folders.extend(here.map(|here| (layer, here)));
        for other in needed.keys() {
            let there = layer_of(other).unwrap();
            if there < layer {
                lower.insert((layer, there));
            } else if let (Some(here), Some(other)) = (here, folder(needs, other))
                && here != other
            {
                arrows.insert((layer, here, other));
            }
        }
    }
    let mut text = "flowchart TB\n".to_string();
    for (layer, name) in LAYERS.iter().enumerate().rev() {
        text.push_str(&format!("  subgraph {name}\n"));
        for (_, folder) in folders.iter().filter(|(it, _)| *it == layer) {
            text.push_str(&format!("    {}[\"{folder}\"]\n", id(name, folder)));
        }
        for (_, from, to) in arrows.iter().filter(|(it, ..)| *it == layer) {
            let is_mutual = arrows.contains(&(layer, *to, *from));
            let arrow = if is_mutual { "<-->" } else { "-->" };
            if !is_mutual || from < to {
                text.push_str(&format!("    {} {arrow} {}\n", id(name, from), id(name, to)));
            }
        }
        text.push_str("  end\n");
        // Each layer may need all below it; the nearest is enough to see the order.
        if let Some((_, next)) = lower.iter().rfind(|(it, _)| *it == layer) {
            text.push_str(&format!("  {name} ==> {}\n", LAYERS[*next]));
        }
    }
    text
}

/// The name of a box in the text of the drawing.
fn id(layer: &str, folder: &str) -> String {
    format!("{layer}_{}", folder.replace(' ', "_"))
}
