//! Cost of one more agent for a command that lists agents. A mesh with 10 agents is the baseline; subtracting it
//! leaves the cost per agent, without the start of the process.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

const FEW: usize = 10;
const SOME: usize = 100;
const MANY: usize = 1000;

const REPETITIONS: usize = 150;
const LIMIT: Duration = Duration::from_secs(12);

pub fn measure() -> Vec<Figure> {
    let sizes = [FEW, SOME, MANY];
    let meshes = sizes.map(crowd);
    let mut commands = meshes.each_ref().map(|scratch| scratch.msg(&["agents", "--json"]));
    let mut times = sizes.map(|_| Vec::new());
    let started = Instant::now();
    while times[0].len() < REPETITIONS && started.elapsed() < LIMIT {
        for (command, times) in commands.iter_mut().zip(&mut times) {
            times.push(time(command).as_secs_f64());
        }
    }
    let [few, some, many] = times;
    let each = |times: &[f64], size: usize| -> Vec<f64> {
        times.iter().zip(&few).map(|(more, few)| (more - few) * 1e6 / (size - FEW) as f64).collect()
    };
    let (of_some, of_many) = (each(&some, SOME), each(&many, MANY));
    let median = |values: &[f64]| Spread::of(values.iter().copied()).median;
    let milliseconds = |times: &[f64]| format!("{:.2} ms", median(times) * 1e3);
    let share = |name, times: &[f64], each: &[f64]| Figure {
        name,
        ours: milliseconds(times),
        baseline: milliseconds(&few),
        result: Spread::of(each.iter().copied()),
        unit: " µs",
        aim: Aim::Below(15.0),
    };
    vec![
        share("agents: each of 100 beyond 10", &some, &of_some),
        share("agents: each of 1,000 beyond 10", &many, &of_many),
        Figure {
            name: "agents: each of 1,000 / each of 100",
            ours: format!("{:.2} µs", median(&of_many)),
            baseline: format!("{:.2} µs", median(&of_some)),
            result: Spread::of_pairs(&of_many, &of_some, |many, some| many / some),
            unit: "",
            // 1,000 agents exceed the processor caches; quadratic growth would be close to 10.
            aim: Aim::Below(1.5),
        },
    ]
}

/// A mesh with that many registrations: one agent that really joined, and copies of it under other names.
pub fn crowd(size: usize) -> Scratch {
    let mut scratch = Scratch::new();
    scratch.join("Original");
    copies(scratch, size)
}

/// The same, with an agent whose hooks this process starts.
pub fn crowd_here(size: usize) -> Scratch {
    let mut scratch = Scratch::new();
    scratch.join_here("Original");
    copies(scratch, size)
}

fn copies(scratch: Scratch, size: usize) -> Scratch {
    let mesh = scratch.mesh();
    let joined = std::fs::read(mesh.join("registry/Original.json")).unwrap();
    let registration: Value = serde_json::from_slice(&joined).unwrap();
    for number in 1..size {
        copy(&mesh, registration.clone(), &format!("Copy{number}"));
    }
    let listed = scratch.msg(&["agents", "--json"]).stdout(std::process::Stdio::piped()).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["agents"].as_array().unwrap().len(), size, "not everyone is listed");
    scratch
}

fn copy(mesh: &Path, mut registration: Value, name: &str) {
    registration["name"] = name.into();
    registration["sessionId"] = format!("session-of-{name}").into();
    let text = serde_json::to_string_pretty(&registration).unwrap();
    std::fs::write(mesh.join(format!("registry/{name}.json")), text).unwrap();
    std::fs::write(mesh.join(format!("presence/{name}")), "").unwrap();
    std::fs::create_dir(mesh.join(format!("inbox/{name}"))).unwrap();
}
