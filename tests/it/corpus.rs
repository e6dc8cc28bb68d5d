//! Replays `fuzz/corpus/`: the seeds, and everything the fuzzer ever found.
//!
//! `MSG_UPDATE_CORPUS=1 cargo test --test it corpus` regenerates the seeds from `fixtures/hooks/` and from the tables
//! that the shell reader is tested with.

use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

mod checks;

type Check = fn(&[u8]);

const TARGETS: [(&str, Check); 17] = [
    ("claude", checks::claude),
    ("codex", checks::codex),
    ("gemini", checks::gemini),
    ("opencode", checks::opencode),
    ("pi", checks::pi),
    ("copilot", checks::copilot),
    ("kimi", checks::kimi),
    ("qwen", checks::qwen),
    ("shell", checks::shell),
    ("patch", checks::patch),
    ("pattern", checks::pattern),
    ("settings", checks::settings),
    ("feed", checks::feed),
    ("mcp", checks::mcp),
    ("expression", checks::expression),
    ("outline", checks::outline),
    ("log", checks::log),
];

/// One in this many commands of the tables becomes a seed.
const EVERY: usize = 9;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files_in(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] })
        .collect();
    files.sort();
    files
}

/// Whether the fuzz crate is here. A package can't contain another one, so a downloaded package has nothing to replay.
fn is_there() -> bool {
    here("fuzz").is_dir()
}

#[test]
fn the_corpus_holds() {
    if !is_there() {
        return;
    }
    if std::env::var_os("MSG_UPDATE_CORPUS").is_some() {
        write_seeds();
    }
    for (target, check) in TARGETS {
        let files = files_in(&here("fuzz/corpus").join(target));
        assert!(files.len() >= 8, "{target} has {} seeds", files.len());
        for file in files {
            let data = fs::read(&file).unwrap();
            let held = std::panic::catch_unwind(|| check(&data));
            assert!(held.is_ok(), "{} does not hold", file.display());
        }
    }
}

/// The fuzz targets, the replayed targets and the corpus directories are the same.
#[test]
fn every_target_is_replayed() {
    if !is_there() {
        return;
    }
    let names = |dir: &str| -> Vec<String> {
        let entries = fs::read_dir(here(dir)).unwrap().map(|entry| entry.unwrap().path());
        let mut names: Vec<String> =
            entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let mut targets = TARGETS.map(|(target, _)| target.to_string());
    targets.sort();
    assert_eq!(names("fuzz/fuzz_targets"), targets);
    assert_eq!(names("fuzz/corpus"), targets);
}

fn write_seeds() {
    let seed = |target: &str, name: &str, data: &[u8]| {
        let dir = here("fuzz/corpus").join(target);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(name), data).unwrap();
    };
    for file in files_in(&here("fixtures/hooks")) {
        let path = file.strip_prefix(here("fixtures/hooks")).unwrap().with_extension("");
        let name = path.to_string_lossy().replace('/', "-");
        let target = name.split('-').next().unwrap();
        let stem = file.file_stem().unwrap().to_string_lossy();
        let (_, events) = checks::EVENTS.iter().find(|(harness, _)| harness.name() == target).unwrap();
        let Some(event) = events.iter().position(|event| stem.split('-').next() == Some(event)) else {
            continue;
        };
        // A letter that selects the event.
        let letter = (b'A'..=b'z').find(|letter| usize::from(*letter) % events.len() == event).unwrap();
        let data = fs::read(&file).unwrap();
        if data.len() < 4096 {
            seed(target, &name, &[&[letter], data.as_slice()].concat());
        }
    }
    for file in files_in(&here("src/domain/shell/tests")) {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let mut commands = Commands::default();
        commands.visit_file(&syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap());
        for (nth, command) in commands.0.iter().enumerate().step_by(EVERY) {
            seed("shell", &format!("{stem}-{nth:03}"), command.as_bytes());
        }
    }
}

/// The first text of each pair in a file.
#[derive(Default)]
struct Commands(Vec<String>);

impl<'ast> Visit<'ast> for Commands {
    fn visit_expr_tuple(&mut self, tuple: &'ast syn::ExprTuple) {
        if let Some(syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })) = tuple.elems.first() {
            self.0.push(text.value());
        }
    }
}
