//! Draws the modules of the program: which file needs which, and where they need each other in a circle.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool that reads the sources and prints, not a part of msg"
)]

mod folders;
mod graph;

use std::path::Path;
use std::process::ExitCode;

use graph::{LAYERS, Needs, Segments, name};

const USAGE: &str = "\
Draws the modules of the program as Mermaid text, grouped by layer.

usage: cargo run --example modules [files|folders]

  files    Print every file and the files that it needs (the default).
           Exits with 1 and names the files if some need each other in a circle.
  folders  Draw the folders into ARCHITECTURE.md.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let needs = || graph::needs(&graph::read(&graph::sources()));
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["files"] => print_files(&needs()),
        ["folders"] => {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folders::PAGE);
            let page = std::fs::read_to_string(&path).unwrap();
            std::fs::write(path, folders::draw_in(&page, &needs())).unwrap();
            ExitCode::SUCCESS
        }
        ["--help" | "-h" | "help"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Prints all files, and the circles among them to standard error.
fn print_files(needs: &Needs) -> ExitCode {
    println!("flowchart LR");
    for layer in LAYERS.iter().rev() {
        println!("  subgraph {layer}");
        for file in needs.keys().filter(|file| file.get(1).is_some_and(|it| it == layer)) {
            println!("    {}[\"{}\"]", id(file), name(file));
        }
        println!("  end");
    }
    for (file, needed) in needs {
        needed.keys().for_each(|other| println!("  {} --> {}", id(file), id(other)));
    }
    let circles = graph::circles(needs);
    for circle in &circles {
        eprintln!("these files need each other in a circle:\n{}", graph::explain(needs, circle));
    }
    if circles.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The name of a file's box in the text of the drawing.
fn id(file: &Segments) -> String {
    file.join("_")
}
