//! What this repository is made of is not mistaken for secrets.

use std::fs;
use std::path::{Path, PathBuf};

use ravenry::domain::knowledge::find_secret;

/// Files that contain made-up secrets, because they test that secrets are found.
const WITH_SECRETS: [&str; 6] = [
    "src/domain/secret_file.rs",
    "src/domain/awareness/secrets.rs",
    "src/domain/knowledge/page/tests.rs",
    "src/domain/knowledge/plan/tests.rs",
    "src/domain/knowledge/secret_scan.rs",
    "src/domain/masked_text.rs",
];

fn files_below(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { files_below(&path, extension) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

#[test]
fn nothing_in_our_pages_and_sources_looks_like_a_secret() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = files_below(&root.join("docs"), "md");
    assert!(files.len() > 5, "{files:?}");
    files.extend(files_below(&root.join("src"), "rs"));
    files.extend(["ARCHITECTURE.md", "CHANGELOG.md", "README.md", "Cargo.toml"].map(|name| root.join(name)));
    let mut found = Vec::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap().display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate().filter(|_| !WITH_SECRETS.contains(&name.as_str())) {
            if let Some(secret) = find_secret(line) {
                found.push(format!("{name}:{}: {} {}", number + 1, secret.what, secret.start));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
