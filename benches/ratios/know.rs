//! What a question to the knowledge of a project costs as a whole process, with warm caches.
//!
//! The records are those of `fixtures/search`, repeated with other words, in a repository with up to 1,000 anchored files
//! and 50 commits.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};
use crate::search::own_set;

const MOST_FILES: usize = 1_000;
const COMMITS: usize = 50;
/// The most actions of a batch.
const BATCH: usize = 1_000;
const REPETITIONS: usize = 100;
const LIMIT: Duration = Duration::from_secs(6);

pub fn measure() -> Vec<Figure> {
    let sizes = [
        (100, ["know: 100 records / true", "know: 100 records / whoami"]),
        (1_000, ["know: 1,000 records / true", "know: 1,000 records / whoami"]),
        (10_000, ["know: 10,000 records / true", "know: 10,000 records / whoami"]),
    ];
    sizes.into_iter().flat_map(|(records, names)| figures(records, names)).collect()
}

fn figures(records: usize, [against_true, against_whoami]: [&'static str; 2]) -> Vec<Figure> {
    let mut scratch = Scratch::in_memory();
    scratch.join("Asker");
    project(&scratch, records);
    let set = own_set().unwrap();
    let (mut ours, mut least, mut whoami) = (Vec::new(), Vec::new(), Vec::new());
    let started = Instant::now();
    // The first round fills the caches.
    for (number, query) in set.queries.iter().cycle().take(REPETITIONS).enumerate() {
        let taken = time(&mut scratch.msg(&["know", &query.words])).as_secs_f64();
        if number < set.queries.len() {
            continue;
        }
        ours.push(taken);
        least.push(time(&mut scratch.command("/bin/true")).as_secs_f64());
        whoami.push(time(&mut scratch.msg(&["whoami", "--as", "Asker"])).as_secs_f64());
        if started.elapsed() > LIMIT && ours.len() > 10 {
            break;
        }
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    let figure = |name, baseline: &[f64]| Figure {
        name,
        ours: milliseconds(&ours),
        baseline: milliseconds(baseline),
        result: Spread::of_pairs(&ours, baseline, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::None,
    };
    let mut figures = vec![figure(against_true, &least), figure(against_whoami, &whoami)];
    if records == 10_000 {
        figures.push(Figure {
            name: "know: 10,000 records",
            result: Spread::of(ours.iter().map(|seconds| seconds * 1e3)),
            unit: " ms",
            aim: Aim::Below(60.0),
            ..figure("", &least)
        });
    }
    figures
}

/// A repository with files, commits and records.
pub fn project(scratch: &Scratch, records: usize) {
    let root = scratch.home();
    let git = |args: &[&str]| {
        let mut command = scratch.command("git");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.args(["-c", "user.name=J", "-c", "user.email=j@example.org"]).args(args);
        assert!(command.status().unwrap().success(), "git {args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    let path = |number: usize| format!("src/part{}/file{number}.rs", number % 20);
    let files = records.min(MOST_FILES);
    for number in 0..files {
        let file = root.join(path(number));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = format!("fn before() {{}}\n\nfn work{number}() {{\n    go({number});\n}}\n");
        std::fs::write(&file, text).unwrap();
    }
    git(&["add", "src"]);
    git(&["commit", "-q", "-m", "files"]);
    let set = own_set().unwrap();
    let action = |number: usize| {
        let record = &set.records[number % set.records.len()];
        let text = format!("{} Part {number} of module{}.", record.statement.description, number % 97);
        let file = number % files;
        json!(["record-note", {
            "name": format!("{}-{number}", record.id.name),
            "description": text,
            "rationale": Some(&record.statement.rationale).filter(|text| !text.is_empty()),
            "anchors": [format!("{}#work{file}", path(file))],
            "new": true,
        }])
    };
    let actions: Vec<Value> = (0..records).map(action).collect();
    for number in 0..COMMITS {
        git(&["commit", "-q", "--allow-empty", "-m", &format!("commit {number}")]);
        for batch in actions.chunks(BATCH.min(records.div_ceil(COMMITS))).skip(number).step_by(COMMITS) {
            let mut child = scratch.msg(&["record", "-"]).stdin(Stdio::piped()).spawn().unwrap();
            child
                .stdin
                .take()
                .unwrap()
                .write_all(json!({ "actions": batch }).to_string().as_bytes())
                .unwrap();
            assert!(child.wait().unwrap().success());
        }
    }
    // What is younger than two seconds is not kept.
    std::thread::sleep(Duration::from_millis(2_100));
}
