//! How long judging anchors takes when nothing was looked at for the first time.

use std::time::Instant;

use ravenry::domain::knowledge::{Anchor, AnchorTarget};
use ravenry::ops::knowledge::anchors::AnchorJudge;
use ravenry::sys::environment::Home;

use crate::figure::{Aim, Figure, Spread};

const FILES: usize = 1_000;
const ROUNDS: usize = 15;

/// 1,000 anchored functions in as many files, half of which were changed elsewhere, against a `stat` of each.
pub fn measure() -> Vec<Figure> {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("project");
    let home = dir.path().join("home");
    let home = Home { config: home.join("c"), state: home.join("s"), cache: home.join("cache"), home };
    let path = |number: usize| format!("src/part{}/file{number}.rs", number % 20);
    let text = |number: usize| format!("fn before() {{}}\n\nfn work{number}() {{\n    go({number});\n}}\n");
    for number in 0..FILES {
        let file = root.join(path(number));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text(number)).unwrap();
    }
    let mut judge = AnchorJudge::new(&root, &home);
    let target = |number: usize| AnchorTarget::parse(&format!("{}#work{number}", path(number))).unwrap();
    let anchors: Vec<Anchor> = (0..FILES).map(|number| judge.capture(&target(number)).unwrap()).collect();
    for number in (0..FILES).step_by(2) {
        std::fs::write(root.join(path(number)), text(number).replace("before", "earlier")).unwrap();
    }
    // What is younger than two seconds is not kept.
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    let round = || {
        let started = Instant::now();
        let mut judge = AnchorJudge::new(&root, &home);
        let alarms = anchors.iter().filter(|anchor| judge.judge(anchor).is_alarm()).count();
        judge.save();
        assert_eq!(alarms, 0);
        started.elapsed().as_secs_f64() * 1000.0
    };
    round();
    let (mut ours, mut stats) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(round());
        let started = Instant::now();
        let found = (0..FILES).filter(|number| std::fs::symlink_metadata(root.join(path(*number))).is_ok());
        assert_eq!(found.count(), FILES);
        stats.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    vec![Figure {
        name: "1,000 anchored files judged, warm",
        ours: format!("{:.2} ms", Spread::of(ours.iter().copied()).median),
        baseline: format!("{:.2} ms (stat)", Spread::of(stats.iter().copied()).median),
        result: Spread::of(ours),
        unit: " ms",
        aim: Aim::Below(30.0),
    }]
}
