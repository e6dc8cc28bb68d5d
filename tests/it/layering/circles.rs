//! Files of `ops` don't need each other in a circle, so each can be read after those that it builds on.
//!
//! A file and its submodules count as one neighbourhood: edges between them are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::visit::Visit;

use super::rust_files;

type Segments = Vec<String>;

/// What one file mentions.
#[derive(Default)]
struct Module {
    /// Names that it has from elsewhere, and where they come from.
    uses: BTreeMap<String, Segments>,
    /// Those of them that it passes on.
    exports: BTreeSet<String>,
    paths: Vec<Segments>,
}

/// Reads a file whose modules lead to `here`.
struct Reader {
    here: Segments,
    module: Module,
}

impl Reader {
    fn absolute(&self, path: Segments) -> Segments {
        match path.first().map(String::as_str) {
            Some("crate") => path[1..].to_vec(),
            Some("self") => [self.here.clone(), path[1..].to_vec()].concat(),
            Some("super") => {
                let up = path.iter().take_while(|segment| *segment == "super").count();
                [self.here[..self.here.len().saturating_sub(up)].to_vec(), path[up..].to_vec()].concat()
            }
            _ => path,
        }
    }

    fn add_tree(&mut self, before: &[String], tree: &syn::UseTree, is_public: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (path, alias) = match tree {
            syn::UseTree::Path(path) => return self.add_tree(&with(&path.ident), &path.tree, is_public),
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add_tree(before, tree, is_public));
            }
            syn::UseTree::Glob(_) => return self.module.paths.push(self.absolute(before.to_vec())),
            syn::UseTree::Name(name) if name.ident == "self" => {
                (before.to_vec(), before.last().cloned().unwrap_or_default())
            }
            syn::UseTree::Name(name) => (with(&name.ident), name.ident.to_string()),
            syn::UseTree::Rename(rename) => (with(&rename.ident), rename.rename.to_string()),
        };
        let path = self.absolute(path);
        if is_public {
            self.module.exports.insert(alias.clone());
        }
        self.module.uses.insert(alias, path);
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {
        // Unit tests, which may use what they like.
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_public = !matches!(item.vis, syn::Visibility::Inherited);
        self.add_tree(&[], &item.tree, is_public);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in crate::ops)` needs nothing.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let absolute = match self.module.uses.get(&segments[0]) {
            Some(from) => [from.clone(), segments[1..].to_vec()].concat(),
            None => self.absolute(segments),
        };
        self.module.paths.push(absolute);
        syn::visit::visit_path(self, path);
    }
}

type Modules = BTreeMap<Segments, Module>;

/// The file that defines the item of this path, also if other modules re-export it.
fn home(modules: &Modules, path: &[String], depth: usize) -> Option<Segments> {
    let found = (1..=path.len()).rev().find(|end| modules.contains_key(&path[..*end]))?;
    let (module, rest) = (&modules[&path[..found]], &path[found..]);
    let passed_on = rest.first().filter(|name| module.exports.contains(*name) && depth < 8);
    let elsewhere = passed_on.and_then(|name| {
        let from = &module.uses[name];
        // A name of a submodule's may be said without the way to it.
        let inside = [&path[..found], from].concat();
        let target = [from.clone(), rest[1..].to_vec()].concat();
        let target = if modules.contains_key(&inside[..found + 1]) {
            [inside, rest[1..].to_vec()].concat()
        } else {
            target
        };
        home(modules, &target, depth + 1)
    });
    Some(elsewhere.unwrap_or_else(|| path[..found].to_vec()))
}

fn read(files: &[(Segments, String)]) -> Modules {
    let module = |(here, source): &(Segments, String)| {
        let mut reader = Reader { here: here.clone(), module: Module::default() };
        reader.visit_file(&syn::parse_file(source).unwrap());
        (here.clone(), reader.module)
    };
    files.iter().map(module).collect()
}

/// Which file needs which.
fn needs(modules: &Modules) -> BTreeMap<Segments, BTreeSet<Segments>> {
    let of_one = |(here, module): (&Segments, &Module)| {
        let named = module.paths.iter().chain(module.uses.values());
        let homes = named.filter_map(|path| home(modules, path, 0));
        // A file and its submodules are one neighbourhood.
        let is_near = |other: &Segments| other.starts_with(here) || here.starts_with(other);
        (here.clone(), homes.filter(|other| !is_near(other)).collect())
    };
    modules.iter().map(of_one).collect()
}

/// Those that can be reached from themselves.
fn in_circles(needs: &BTreeMap<Segments, BTreeSet<Segments>>) -> Vec<String> {
    let reaches_itself = |start: &Segments| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&Segments> = needs[start].iter().collect();
        while let Some(one) = next.pop() {
            if one == start {
                return true;
            }
            if seen.insert(one) {
                next.extend(&needs[one]);
            }
        }
        false
    };
    needs.keys().filter(|start| reaches_itself(start)).map(|start| start.join("::")).collect()
}

#[test]
fn files_of_ops_form_no_circle() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let named = |path: &std::path::PathBuf| {
        let file = path.strip_prefix(&src).unwrap().with_extension("").display().to_string();
        let mut name: Segments = file.split('/').map(str::to_string).collect();
        name.retain(|module| module != "mod");
        (name, fs::read_to_string(path).unwrap())
    };
    let files: Vec<_> = rust_files(&src.join("ops")).iter().map(named).collect();
    let circles = in_circles(&needs(&read(&files)));
    assert!(circles.is_empty(), "these need each other:\n{}", circles.join("\n"));
}

/// The test above would find these.
#[test]
fn circles_are_seen() {
    let check = |files: &[(&str, &str)]| {
        let named = |(name, source): &(&str, &str)| {
            (name.split("::").map(str::to_string).collect(), source.to_string())
        };
        !in_circles(&needs(&read(&files.iter().map(named).collect::<Vec<_>>()))).is_empty()
    };
    let a = ("ops::x::a", "use crate::ops::y::b; fn f() { b::g() }");
    assert!(check(&[a, ("ops::y::b", "use crate::ops::x::a::f;")]));
    assert!(check(&[a, ("ops::y::b", "fn g() { crate::ops::x::a::f() }")]));
    assert!(check(&[a, ("ops::y::b", "use crate::ops::x::f;"), ("ops::x", "mod a; pub use a::f;"),]));
    assert!(!check(&[a, ("ops::y::b", "use crate::domain::Agent;")]));
    assert!(!check(&[("ops::x", "mod a; pub use a::f; struct S;"), ("ops::x::a", "use super::S;")]));
}
