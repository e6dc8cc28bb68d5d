//! `SECURITY.md` names a test for every defence. These tests must exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `tests/it/safety/planted.rs` → `safety::planted`, as `cargo test` names it.
fn tests_in(dir: &Path, module: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let own =
            if stem == "main" || stem == "mod" { module.to_string() } else { format!("{module}{stem}::") };
        if path.is_dir() {
            tests_in(&path, &own, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let after_mark = text.split("#[test]").skip(1);
            let names = after_mark.filter_map(|rest| rest.split_once("fn ")?.1.split('(').next());
            found.extend(names.map(|name| format!("{own}{name}")));
        }
    }
}

#[test]
fn every_test_that_the_threat_model_names_is_there() {
    let mut there = BTreeSet::new();
    tests_in(&root().join("tests/it"), "", &mut there);
    tests_in(&root().join("tests/model"), "", &mut there);
    tests_in(&root().join("tests/link"), "", &mut there);
    tests_in(&root().join("src/domain/link/server_config"), "", &mut there);
    tests_in(&root().join("src/faces"), "", &mut there);
    tests_in(&root().join("src/harness"), "", &mut there);
    tests_in(&root().join("src/ops/workers"), "", &mut there);
    tests_in(&root().join("src/ops/runs"), "runs::", &mut there);
    tests_in(&root().join("src/domain/knowledge"), "", &mut there);
    tests_in(&root().join("src/store/knowledge"), "knowledge::", &mut there);
    tests_in(&root().join("src/store/wire"), "", &mut there);
    tests_in(&root().join("src/sys/git"), "", &mut there);
    tests_in(&root().join("src/sys/nats"), "nats::", &mut there);
    tests_in(&root().join("src/sys/outline"), "outline::", &mut there);
    let text = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let heads = ["| threat ", "| --- "];
    let table = text
        .lines()
        .filter(|line| line.starts_with("| ") && !heads.iter().any(|head| line.starts_with(head)));
    let mut rows = 0;
    for row in table {
        let named: Vec<&str> = row.split('`').skip(1).step_by(2).filter(|word| word.contains("::")).collect();
        assert!(!named.is_empty(), "no test is named in: {row}");
        for name in named {
            assert!(there.contains(name), "there is no test `{name}`");
        }
        rows += 1;
    }
    assert!(rows > 15, "only {rows} lines of the table were understood");
}
