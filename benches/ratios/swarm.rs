//! Cost of claiming and completing a task, against the minimum: taking both locks twice, replacing the claims twice
//! and the completions once.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ravenry::domain::AgentName;
use ravenry::ops::tasks::{ClaimRequest, CompleteRequest, TaskChoice, claim, complete};
use ravenry::ops::{Context, GlobalOptions, Op, carry_out, run};
use ravenry::store::Mesh;

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

const REPETITIONS: usize = 150;
const LIMIT: Duration = Duration::from_secs(8);
const CONTENDERS: usize = 8;

pub fn measure() -> Vec<Figure> {
    vec![in_one_process(), whole_processes(), contended(), completed(5_000), completed(20_000), listed()]
}

/// A mesh in memory with one agent per name, and a spec with that many tasks.
struct Stage {
    scratch: Scratch,
    spec: PathBuf,
}

impl Stage {
    fn new(names: &[String], tasks: usize) -> Self {
        let mut scratch = Scratch::in_memory();
        names.iter().for_each(|name| scratch.join(name));
        let spec = scratch.home().join("spec.md");
        let lines: String = (0..tasks).map(|number| format!("- [ ] T-{number}: do it\n")).collect();
        std::fs::write(&spec, lines).unwrap();
        Self { scratch, spec }
    }

    /// Acts as that agent, in one process.
    fn act_as<T>(&self, name: &str, work: impl FnOnce(&Op) -> T) -> T {
        let globals = GlobalOptions {
            mesh: Some(self.scratch.mesh().to_str().unwrap().to_string()),
            acting_as: Some(AgentName::new(name).unwrap()),
            cwd: Some(self.scratch.home().to_path_buf()),
            ..GlobalOptions::default()
        };
        run(Context::tolerant(globals).unwrap().0, work).into_parts().0
    }

    /// Claims and completes one task.
    fn round(&self, op: &Op) {
        let spec = Some(self.spec.to_str().unwrap().to_string());
        let request = ClaimRequest {
            choice: TaskChoice::Next,
            spec: spec.clone(),
            reason: None,
            reserve: Vec::new(),
            broad: ravenry::ops::BroadPatterns::Refuse,
            is_adhoc: false,
        };
        let claimed = claim(op, &request).unwrap();
        complete(op, &CompleteRequest { task: Some(claimed.claim.task), spec, ..CompleteRequest::default() })
            .unwrap();
        carry_out(op);
    }
}

/// The minimum that claiming and completing a task can take.
fn bare(mesh: &Mesh) {
    for finish in [false, true] {
        bare_change(mesh, finish);
    }
}

fn bare_change(mesh: &Mesh, finish: bool) {
    let mut locked = mesh.lock().unwrap();
    let mut change = locked.change();
    let claims = change.claims().unwrap();
    if finish {
        let completions = change.completions().unwrap();
        change.set_completions(&completions).unwrap();
    }
    change.set_claims(&claims).unwrap();
    change.commit().unwrap();
}

fn seconds(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

fn microseconds(values: &[f64]) -> String {
    format!("{:.0} µs", Spread::of(values.iter().copied()).median * 1e6)
}

fn in_one_process() -> Figure {
    let stage = Stage::new(&["Anna".to_string()], REPETITIONS);
    let mesh = stage.scratch.open();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    stage.act_as("Anna", |op| {
        for _ in 0..REPETITIONS {
            ours.push(seconds(|| stage.round(op)));
            theirs.push(seconds(|| bare(&mesh)));
        }
    });
    Figure {
        name: "task: claim and complete / bare locks and files",
        ours: microseconds(&ours),
        baseline: microseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(2.0),
    }
}

fn whole_processes() -> Figure {
    let stage = Stage::new(&["Anna".to_string()], REPETITIONS);
    let mesh = stage.scratch.open();
    let spec = stage.spec.to_str().unwrap();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut nothing = stage.scratch.command("/bin/true");
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        let id = format!("T-{}", ours.len());
        let mut claim = stage.scratch.msg(&["claim", &id, "--spec", spec, "--as", "Anna"]);
        let mut complete = stage.scratch.msg(&["complete", &id, "--spec", spec, "--as", "Anna"]);
        ours.push((time(&mut claim) + time(&mut complete)).as_secs_f64());
        let started = time(&mut nothing) + time(&mut nothing);
        theirs.push(started.as_secs_f64() + seconds(|| bare(&mesh)));
    }
    Figure {
        name: "task: msg claim and msg complete / two × true and bare",
        ours: microseconds(&ours),
        baseline: microseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(2.0),
    }
}

/// Eight agents at once must reach at least half the total rate of one alone.
fn contended() -> Figure {
    const EACH: usize = 40;
    let names: Vec<String> = (0..CONTENDERS).map(|number| format!("Agent{number}")).collect();
    let alone = Stage::new(&names[..1], CONTENDERS * EACH);
    let one = alone.act_as(&names[0], |op| seconds(|| (0..CONTENDERS * EACH).for_each(|_| alone.round(op))));
    let together = Stage::new(&names, CONTENDERS * EACH);
    let all = seconds(|| {
        std::thread::scope(|scope| {
            for name in &names {
                let together = &together;
                scope.spawn(move || {
                    together.act_as(name, |op| (0..EACH).for_each(|_| together.round(op)));
                });
            }
        });
    });
    let rate = |seconds: f64| format!("{:.0} per s", (CONTENDERS * EACH) as f64 / seconds);
    Figure {
        name: "task: rate of 8 contenders / of one alone",
        ours: rate(all),
        baseline: rate(one),
        result: Spread::of([one / all]),
        unit: "",
        aim: Aim::AtLeast(0.5),
    }
}

/// What each completion on file adds to completing one more task.
fn completed(count: usize) -> Figure {
    let (few, many) = (Stage::new(&["Anna".to_string()], 1), Stage::new(&["Anna".to_string()], 1));
    fill(&many.scratch.mesh(), &many.spec, count);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for number in 0..30 {
        ours.push(complete_one(&many, number));
        theirs.push(complete_one(&few, number));
    }
    let each = ours.iter().zip(&theirs).map(|(many, few)| (many - few) * 1e6 / count as f64);
    Figure {
        name: if count == 5_000 {
            "task: complete, each of 5,000 on file"
        } else {
            "task: complete, each of 20,000 on file"
        },
        ours: microseconds(&ours),
        baseline: microseconds(&theirs),
        result: Spread::of(each),
        unit: " µs",
        aim: Aim::Below(1.0),
    }
}

/// Seconds for completing one more task with that many on file, and for the minimum.
pub struct Completing {
    pub complete: f64,
    pub bare: f64,
}

pub fn completing(count: usize) -> Completing {
    let stage = Stage::new(&["Anna".to_string()], 1);
    fill(&stage.scratch.mesh(), &stage.spec, count);
    let mesh = stage.scratch.open();
    let (complete, bare): (Vec<f64>, Vec<f64>) =
        (0..30).map(|number| (complete_one(&stage, number), seconds(|| bare_change(&mesh, true)))).unzip();
    Completing { complete: Spread::of(complete).median, bare: Spread::of(bare).median }
}

fn complete_one(stage: &Stage, number: usize) -> f64 {
    let spec = Some(stage.spec.to_str().unwrap().to_string());
    let id = format!("more-{number}");
    let request = ClaimRequest {
        choice: TaskChoice::This(id.clone()),
        spec: spec.clone(),
        reason: None,
        reserve: Vec::new(),
        broad: ravenry::ops::BroadPatterns::Refuse,
        is_adhoc: true,
    };
    let finish = CompleteRequest { task: Some(id), spec, ..CompleteRequest::default() };
    stage.act_as("Anna", |op| {
        claim(op, &request).unwrap();
        carry_out(op);
        seconds(|| {
            drop(complete(op, &finish).unwrap());
            carry_out(op);
        })
    })
}

fn fill(mesh: &Path, spec: &Path, count: usize) {
    let entry =
        r#"{"completedBy": "SwiftRaven", "completedAt": "2026-11-15T00:00:00.000Z", "notes": "as usual"}"#;
    let entries: Vec<String> = (0..count).map(|number| format!("\"OLD-{number}\": {entry}")).collect();
    let text = format!("{{\"{}\": {{{}}}}}", spec.display(), entries.join(","));
    std::fs::write(mesh.join("completions.json"), text).unwrap();
}

fn listed() -> Figure {
    let (large, small) = (Stage::new(&["Anna".to_string()], 10_000), Stage::new(&["Anna".to_string()], 1));
    let command =
        |stage: &Stage| stage.scratch.msg(&["tasks", "--json", "--spec", stage.spec.to_str().unwrap()]);
    let (mut many, mut few) = (command(&large), command(&small));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        ours.push(time(&mut many).as_secs_f64());
        theirs.push(time(&mut few).as_secs_f64());
    }
    let each = ours.iter().zip(&theirs).map(|(many, few)| (many - few) * 1e6 / 10_000.0);
    Figure {
        name: "tasks: each of 10,000",
        ours: microseconds(&ours),
        baseline: microseconds(&theirs),
        result: Spread::of(each),
        unit: " µs",
        aim: Aim::Below(10.0),
    }
}
