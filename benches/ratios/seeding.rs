//! Counting the history of a large repository: the job that a join starts, against git, which lists the same commits.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

const COMMITS: usize = 3_000;
/// How many files a directory has.
const PER_DIRECTORY: usize = 100;
const REPETITIONS: usize = 15;
const LIMIT: Duration = Duration::from_secs(15);

/// Number of files, and the names of the figures.
const SIZES: [(usize, [&str; 2]); 2] = [
    (20_000, ["seeding: 3,000 commits, 20,000 files", "seeding: 3,000 commits, 20,000 files / git log"]),
    (100_000, ["seeding: 3,000 commits, 100,000 files", "seeding: 3,000 commits, 100,000 files / git log"]),
];

pub fn measure() -> Vec<Figure> {
    SIZES.into_iter().flat_map(|(files, names)| of_size(files, names)).collect()
}

fn of_size(files: usize, names: [&'static str; 2]) -> [Figure; 2] {
    let mut scratch = Scratch::new();
    scratch.join("Anna");
    let work = scratch.home().join("work");
    git(&scratch, &["init", "-q", "-b", "main", "work"]);
    import(&scratch, files);
    let mesh = scratch.mesh();
    let mut job = scratch.command(crate::scratch::program());
    job.env("PATH", std::env::var_os("PATH").unwrap());
    job.arg("--mesh").arg(&mesh).args(["background", "counts"]).arg(&work);
    let mut log =
        command(&scratch, &["log", "-z", "--no-merges", "--name-only", "--no-renames", "--format=%B"]);
    log.arg(format!("-n{COMMITS}")).current_dir(&work);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        // Without counts, the history is counted.
        drop(fs::remove_dir_all(mesh.join("awareness")));
        ours.push(time(&mut job).as_secs_f64());
        theirs.push(time(&mut log).as_secs_f64());
    }
    assert!(counted(&mesh) > 10_000, "the history was not counted");
    let seconds = |values: &[f64]| format!("{:.3} s", Spread::of(values.iter().copied()).median);
    let [absolute, ratio] = names;
    let figure = |name, result, unit, aim| Figure {
        name,
        ours: seconds(&ours),
        baseline: seconds(&theirs),
        result,
        unit,
        aim,
    };
    [
        figure(absolute, Spread::of(ours.iter().copied()), " s", Aim::Below(3.0)),
        figure(ratio, Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs), "", Aim::None),
    ]
}

/// The size of the counts, in bytes.
fn counted(mesh: &std::path::Path) -> u64 {
    let files = fs::read_dir(mesh.join("awareness")).unwrap().map(|file| file.unwrap());
    let counts = files.filter(|file| file.path().extension().is_none());
    counts.map(|file| file.metadata().unwrap().len()).sum()
}

/// A first commit with all files, and then commits of three files each.
fn import(scratch: &Scratch, files: usize) {
    let mut stream = String::from("blob\nmark :1\ndata 1\nx\nblob\nmark :2\ndata 1\ny\n");
    let mut commit = |number: usize, subject: &str, changes: &str| {
        let who = format!("Jo <jo@example.org> {} +0000", 1_700_000_000 + 600 * number);
        writeln!(stream, "commit refs/heads/main\nauthor {who}\ncommitter {who}").unwrap();
        writeln!(stream, "data {}\n{subject}\n{changes}", subject.len()).unwrap();
    };
    let all: String = (0..files).map(|file| format!("M 100644 :1 {}\n", path(file))).collect();
    commit(0, "everything", &all);
    for number in 1..=COMMITS {
        // Each file is changed by turns, so that every change is one.
        let content = 1 + number % 2;
        let changed = (0..3).map(|part| (number / 2 * 7_919 + part * part * 31) % files);
        let changes: String = changed.map(|file| format!("M 100644 :{content} {}\n", path(file))).collect();
        let subject = format!("repair the {} of {}", name(number % 700), name(number * 13 % 900));
        commit(number, &subject, &changes);
    }
    let mut import = command(scratch, &["fast-import", "--quiet"]);
    let mut import = import.current_dir(scratch.home().join("work")).stdin(Stdio::piped()).spawn().unwrap();
    import.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success(), "git can't import");
}

fn path(file: usize) -> String {
    let directory = file / PER_DIRECTORY;
    format!("src/{}/{}/{}.rs", name(directory / 20), name(directory), name(file))
}

/// A number in letters: words have none.
fn name(number: usize) -> String {
    let letters = number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect::<String>();
    format!("part{letters}")
}

fn git(scratch: &Scratch, args: &[&str]) {
    time(&mut command(scratch, args));
}

fn command(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = scratch.command("git");
    command.args(args).env("PATH", std::env::var_os("PATH").unwrap());
    command
}
