//! Names that a newcomer can rely on: one public type per name, one purpose per file, files of a readable length.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use syn::{Item, Visibility};

use super::graph::rust_files;

/// The longest file, in lines. A longer one has more than one purpose.
const MAX_LINES: usize = 500;

fn sources() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let named = |path: &Path| path.strip_prefix(&src).unwrap().display().to_string();
    rust_files(&src).iter().map(|path| (named(path), fs::read_to_string(path).unwrap())).collect()
}

/// The types that a file defines for others.
fn public_types(source: &str) -> Vec<String> {
    let is_public = |visibility: &Visibility| !matches!(visibility, Visibility::Inherited);
    let public = |item: Item| {
        let (visibility, name) = match item {
            Item::Struct(it) => (it.vis, it.ident),
            Item::Enum(it) => (it.vis, it.ident),
            Item::Trait(it) => (it.vis, it.ident),
            Item::Type(it) => (it.vis, it.ident),
            _ => return None,
        };
        is_public(&visibility).then(|| name.to_string())
    };
    syn::parse_file(source).unwrap().items.into_iter().filter_map(public).collect()
}

#[test]
fn no_two_public_types_share_a_name() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, source) in sources() {
        for name in public_types(&source) {
            places.entry(name).or_default().push(file.clone());
        }
    }
    assert!(places.len() > 300, "only {} types were seen", places.len());
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
    let twice = "pub(crate) struct Place; pub mod x { pub struct Inner; } pub enum Place {} struct Own;";
    assert_eq!(public_types(twice), ["Place", "Place"]);
}

#[test]
fn every_file_says_first_what_it_is_for() {
    for (file, source) in sources() {
        let first = source.lines().next().unwrap_or_default();
        assert!(first.starts_with("//! "), "{file} begins with `{first}`");
    }
}

#[test]
fn files_are_short_enough_to_be_read() {
    for (file, source) in sources() {
        let lines = source.lines().count();
        assert!(lines <= MAX_LINES, "{file} has {lines} lines, {MAX_LINES} is the most");
    }
}
