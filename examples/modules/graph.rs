//! Which file of `src` needs which, read from the syntax: comments don't count, and aliases and re-exports are followed
//! to the file that defines the item.
//!
//! Calls of methods don't show, because the syntax does not tell the type. So the `impl` blocks of one type may be
//! spread over files and call each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::Visit;

/// The names on the way to a module or an item. What is in the program starts with `crate`.
pub type Segments = Vec<String>;

/// The layers, lowest first.
pub const LAYERS: [&str; 6] = ["domain", "sys", "harness", "store", "ops", "faces"];

/// What one file mentions outside of its tests.
#[derive(Debug, Default)]
pub struct Module {
    /// Names that it has from elsewhere, and where they come from.
    uses: BTreeMap<String, Segments>,
    /// All other paths in its code, in macros too, each with the function that it is in.
    paths: Vec<(Option<String>, Segments)>,
    /// Its modules that are compiled for tests only.
    tests: BTreeSet<Segments>,
}

/// The files of the program by the names of their modules.
pub type Modules = BTreeMap<Segments, Module>;

/// An item that a file names.
#[derive(Clone, Debug)]
pub struct NamedItem {
    /// The function in which it is named.
    pub within: Option<String>,
    /// The file that defines it.
    pub file: Segments,
    pub item: String,
}

/// For each file those that it needs, each with an item that it needs it for.
pub type Needs = BTreeMap<Segments, BTreeMap<Segments, NamedItem>>;

impl Module {
    /// Reads a file whose modules lead to `here`.
    pub fn read(here: &[String], source: &str) -> Self {
        let mut reader = Reader { here: here.to_vec(), within: None, module: Self::default() };
        reader.visit_file(&syn::parse_file(source).unwrap());
        reader.module
    }

    /// A path in the code of `here`, with the alias at its start replaced by what it stands for.
    pub fn follow(&self, here: &[String], path: Segments) -> Segments {
        match self.uses.get(&path[0]) {
            Some(from) => [from, &path[1..]].concat(),
            None => absolute(here, path),
        }
    }

    /// Every path that the file mentions, with the function that it is in.
    pub fn mentions(&self) -> impl Iterator<Item = (Option<&String>, &Segments)> {
        let uses = self.uses.values().map(|path| (None, path));
        self.paths.iter().map(|(within, path)| (within.as_ref(), path)).chain(uses)
    }
}

/// The path with `crate` at its start if it is in the program, as far as the path itself tells.
fn absolute(here: &[String], path: Segments) -> Segments {
    match path.first().map(String::as_str) {
        Some("ravenry") => [&["crate".to_string()], &path[1..]].concat(),
        Some("self") => [here, &path[1..]].concat(),
        Some("super") => {
            let up = path.iter().take_while(|segment| *segment == "super").count();
            [&here[..here.len().saturating_sub(up)], &path[up..]].concat()
        }
        _ => path,
    }
}

struct Reader {
    /// The path of the current module.
    here: Segments,
    /// The current function.
    within: Option<String>,
    module: Module,
}

impl Reader {
    /// Notes a path.
    fn add(&mut self, path: Segments) {
        let resolved = self.module.follow(&self.here, path);
        self.module.paths.push((self.within.clone(), resolved));
    }

    fn add_tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (path, alias) = match tree {
            syn::UseTree::Path(path) => return self.add_tree(&with(&path.ident), &path.tree),
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add_tree(before, tree));
            }
            syn::UseTree::Glob(_) => return self.add([before, &["*".to_string()]].concat()),
            syn::UseTree::Name(name) if name.ident == "self" => {
                (before.to_vec(), before.last().cloned().unwrap_or_default())
            }
            syn::UseTree::Name(name) => (with(&name.ident), name.ident.to_string()),
            syn::UseTree::Rename(rename) => (with(&rename.ident), rename.rename.to_string()),
        };
        let path = absolute(&self.here, path);
        self.module.uses.insert(alias, path);
    }

    /// Notes the paths among the words of a macro.
    fn add_words(&mut self, mut at: Cursor<'_>) {
        let mut path = Segments::new();
        loop {
            if let Some((name, after)) = at.ident() {
                path.push(name.to_string());
                let colons = after.punct().filter(|(first, _)| first.as_char() == ':');
                let colons = colons.and_then(|(_, second)| second.punct());
                if let Some((_, after)) = colons.filter(|(second, _)| second.as_char() == ':') {
                    at = after;
                    continue;
                }
                at = after;
            }
            if !path.is_empty() {
                self.add(std::mem::take(&mut path));
            } else if let Some((inside, _, _, after)) = at.any_group() {
                self.add_words(inside);
                at = after;
            } else if let Some((_, after)) = at.token_tree() {
                at = after;
            } else {
                return;
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.here.push(module.ident.to_string());
        let is_test = |attribute: &syn::Attribute| {
            attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
        };
        if module.attrs.iter().any(is_test) {
            self.module.tests.insert(self.here.clone());
        } else {
            syn::visit::visit_item_mod(self, module);
        }
        self.here.pop();
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.within.get_or_insert_with(|| signature.ident.to_string());
        syn::visit::visit_signature(self, signature);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let before = self.within.clone();
        syn::visit::visit_item_fn(self, function);
        self.within = before;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        let before = self.within.clone();
        syn::visit::visit_impl_item_fn(self, function);
        self.within = before;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_tree(&[], &item.tree);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in crate::ops)` needs nothing.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_words(TokenBuffer::new2(call.tokens.clone()).begin());
        syn::visit::visit_macro(self, call);
    }
}

/// Reads files, by the names of their modules. Files of tests are left out.
pub fn read(files: &[(Segments, String)]) -> Modules {
    let mut modules: Modules =
        files.iter().map(|(here, source)| (here.clone(), Module::read(here, source))).collect();
    let tests: Vec<Segments> = modules.values().flat_map(|module| module.tests.clone()).collect();
    modules.retain(|here, _| !tests.iter().any(|test| here.starts_with(test)));
    modules
}

/// The file that defines what `here` names by this path, also if other modules re-export it, and the item in that file.
fn home(modules: &Modules, here: &[String], path: &[String], depth: usize) -> (Segments, Segments) {
    let is_below = path[0] != "crate" && modules.contains_key(&[here, &path[..1]].concat());
    let path = if is_below { [here, path].concat() } else { path.to_vec() };
    let Some(end) = (1..=path.len()).rev().find(|end| modules.contains_key(&path[..*end])) else {
        // It is an item of this file, or of another crate.
        return (here.to_vec(), path);
    };
    let (file, item) = path.split_at(end);
    let passed_on = item.first().and_then(|name| modules[file].uses.get(name)).filter(|_| depth < 8);
    match passed_on {
        Some(from) if from[0] == "crate" || modules.contains_key(&[file, &from[..1]].concat()) => {
            home(modules, file, &[from, &item[1..]].concat(), depth + 1)
        }
        _ => (file.to_vec(), item.to_vec()),
    }
}

/// What the code of `here` names by a path whose alias is followed.
pub fn named_item(
    modules: &Modules,
    here: &[String],
    within: Option<&String>,
    path: &[String],
) -> Option<NamedItem> {
    let (file, item) = home(modules, here, path, 0);
    // A module alone is only the way to an item, which is a mention of its own.
    (!item.is_empty()).then(|| NamedItem { within: within.cloned(), file, item: item.join("::") })
}

/// The items that a file names, its own ones among them.
pub fn named_items(modules: &Modules, here: &Segments) -> Vec<NamedItem> {
    let mentions = modules[here].mentions();
    mentions.filter_map(|(within, path)| named_item(modules, here, within, path)).collect()
}

/// Which file needs which.
pub fn needs(modules: &Modules) -> Needs {
    let mut needs = Needs::new();
    for here in modules.keys() {
        let needed = needs.entry(here.clone()).or_default();
        for named in named_items(modules, here).into_iter().filter(|named| named.file != *here) {
            needed.entry(named.file.clone()).or_insert(named);
        }
    }
    needs
}

/// The name of a file's module, as in `ops::wake`.
pub fn name(file: &[String]) -> String {
    file[1..].join("::")
}

/// The groups of files that need each other in a circle.
///
/// A file and its submodules are a family. In it, a submodule may use what the file above it defines, and the file may
/// use the submodule: `mod.rs` has what its folder shares, and calls what is in it. Everything else is a circle: files
/// of different families, and files of one family without the help of those above them.
pub fn circles(needs: &Needs) -> BTreeSet<Vec<&Segments>> {
    let is_above = |other: &Segments, file: &Segments| file.starts_with(other);
    let is_family = |group: &Vec<&Segments>| group.iter().all(|file| is_above(group[0], file));
    let mut circles = groups(needs, |_, _| true);
    circles.retain(|group| !is_family(group));
    circles.extend(groups(needs, |file, other| !is_above(other, file)));
    circles
}

/// Says which file of a circle needs which, and for what.
pub fn explain(needs: &Needs, circle: &[&Segments]) -> String {
    let mut lines = Vec::new();
    for file in circle {
        for (other, NamedItem { within, item, .. }) in
            needs[*file].iter().filter(|(other, _)| circle.contains(other))
        {
            let place = within.as_ref().map_or(String::new(), |within| format!(" in `{within}`"));
            lines.push(format!("{} needs {} for `{item}`{place}", name(file), name(other)));
        }
    }
    lines.join("\n")
}

/// The groups of files that can be reached from each other by those needs that count.
fn groups(needs: &Needs, counts: impl Fn(&Segments, &Segments) -> bool) -> BTreeSet<Vec<&Segments>> {
    let reached = |start: &Segments| {
        let mut seen: BTreeSet<&Segments> = BTreeSet::new();
        let mut next = vec![needs.get_key_value(start).unwrap().0];
        while let Some(file) = next.pop() {
            let needed = needs[file].keys().filter(|other| counts(file, other));
            next.extend(needed.filter(|other| seen.insert(other)));
        }
        seen
    };
    let all: BTreeMap<&Segments, BTreeSet<&Segments>> =
        needs.keys().map(|file| (file, reached(file))).collect();
    let mut groups = BTreeSet::new();
    for (file, reached) in &all {
        let group: Vec<_> = reached.iter().copied().filter(|other| all[other].contains(file)).collect();
        if !group.is_empty() {
            groups.insert(group);
        }
    }
    groups
}

/// All files with Rust code under a folder, in order.
pub fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The files of `src` with their text, by the names of their modules.
pub fn sources() -> Vec<(Segments, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let named = |path: &PathBuf| {
        let file = path.strip_prefix(&src).unwrap().with_extension("").display().to_string();
        let names = file.split('/').filter(|name| !["lib", "mod"].contains(name));
        (
            std::iter::once("crate").chain(names).map(str::to_string).collect(),
            fs::read_to_string(path).unwrap(),
        )
    };
    rust_files(&src).iter().map(named).collect()
}
