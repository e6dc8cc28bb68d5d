//! Signatures say what they mean: no `bool` among the parameters of a public function, whose call would not tell what
//! `true` stands for; no `bool` as a field or a result whose name does not say it; no text as an error; no `Option` in
//! an `Option`.

use std::fs;
use std::path::Path;

use syn::visit::Visit;

use super::graph::rust_files;

/// What stays as it is, and why.
const ALLOWED: [(&str, &str); 2] = [
    // A value of JSON, which is neither true nor false of anything.
    ("harness/hook_codec/lenient_json.rs", "`truth` takes a bool"),
    // An assertion takes a condition; the call reads as a sentence.
    ("ops/selftest/check_environment.rs", "`demand` takes a bool"),
];

/// First words of a name that say what `true` means, besides verbs in the third person: `is_open`, `covers`.
const PREDICATES: [&str; 9] = ["are", "can", "in", "may", "was", "would", "as", "must", "at"];

/// Words that end in an `s` and are not verbs.
const NOUNS: [&str; 3] = ["success", "access", "alias"];

/// Actions that return how they went, as `HashSet::insert` does, and what `true` means.
const ACTIONS: [(&str, &str); 34] = [
    ("ack", "it was not acked before"),
    ("add", "the link can be tracked"),
    ("answer_ping", "there was a ping"),
    ("append", "it is counted"),
    ("arm", "the watch was armed just now, so the caller has to look"),
    ("begin", "the answer may be written"),
    ("begin_stuck_check_if_due", "the caller makes the check"),
    ("claim_wake", "the caller wakes the session"),
    ("down", "the cursor was not on the last line"),
    ("insert", "the draft has room for it"),
    ("mark_box", "the box shows it"),
    ("next", "there is another round"),
    ("note_activity", "it was written"),
    ("note_refused_because", "the message was not refused before"),
    ("note_reminder", "the agent was not reminded before"),
    ("paste", "the draft has room for it"),
    ("post_owed", "the notice was posted"),
    ("replace_record", "nobody else has changed the record"),
    ("refresh", "there is such a file"),
    ("remove", "there was such a file"),
    ("remove_dir", "there was such a directory"),
    ("remove_through", "there was such a file"),
    ("retract", "it was still in the inbox"),
    ("scroll", "the beginning is reached"),
    ("set_idle_again", "it was still being woken"),
    ("spend", "there are steps left"),
    ("take", "it was there, and nobody else was first"),
    ("take_back", "the text is gone"),
    ("take_into", "it was there, and nobody else was first"),
    ("take_pong", "there was an answer"),
    ("try_to_carry_over", "it is done"),
    ("until", "it came true in time"),
    ("up", "the cursor was not on the first line"),
    ("write_through_if", "the condition held, and it was written"),
];

/// The violations in one file, outside of its tests.
#[derive(Default)]
struct Signatures {
    faults: Vec<String>,
}

impl Signatures {
    fn check(&mut self, visibility: &syn::Visibility, signature: &syn::Signature) {
        let takes_bool = |input: &syn::FnArg| match input {
            syn::FnArg::Typed(input) => is_bool(&input.ty),
            syn::FnArg::Receiver(_) => false,
        };
        if !matches!(visibility, syn::Visibility::Inherited) && signature.inputs.iter().any(takes_bool) {
            self.faults.push(format!("`{}` takes a bool", signature.ident));
        }
        let name = signature.ident.to_string();
        if !matches!(visibility, syn::Visibility::Inherited)
            && matches!(&signature.output, syn::ReturnType::Type(_, ty) if has_tuple_with_bool(ty))
        {
            self.faults.push(format!("`{name}` returns a bool without a name, in a tuple"));
        }
        let is_action = ACTIONS.iter().any(|(action, _)| *action == name);
        if !matches!(visibility, syn::Visibility::Inherited)
            && matches!(&signature.output, syn::ReturnType::Type(_, ty) if returns_bool(ty))
            && !(is_action || is_predicate(&name))
        {
            self.faults.push(format!("`{name}` returns a bool, and its name does not say what it means"));
        }
    }

    fn check_field(&mut self, field: &syn::Field) {
        let Some(name) = field.ident.as_ref().map(ToString::to_string) else { return };
        if is_bool(&field.ty) && !is_predicate(&name) {
            self.faults
                .push(format!("the field `{name}` is a bool, and its name does not say what it means"));
        }
    }
}

/// Whether a name reads as a statement: `is_open`, `wants_ack`, `covers`.
fn is_predicate(name: &str) -> bool {
    let first = name.split('_').next().unwrap_or(name);
    PREDICATES.contains(&first) || first.ends_with('s') && !NOUNS.contains(&first)
}

/// Whether a tuple with a `bool` in it is somewhere in the type.
fn has_tuple_with_bool(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Tuple(tuple) => tuple.elems.iter().any(|ty| is_bool(ty) || has_tuple_with_bool(ty)),
        syn::Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| arguments(last).iter().any(|ty| has_tuple_with_bool(ty))),
        _ => false,
    }
}

/// Whether it is `bool`, or an option or a result of it.
fn returns_bool(ty: &syn::Type) -> bool {
    let is_result_of_it = |last: &syn::PathSegment| {
        last.ident == "Result" && arguments(last).first().is_some_and(|ty| is_bool(ty))
    };
    is_bool(ty)
        || matches!(ty, syn::Type::Path(path) if path.path.segments.last().is_some_and(is_result_of_it))
}

/// Whether it is a struct that clap fills: its fields have the names of the flags.
fn is_for_flags(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("derive")).any(|attribute| {
        let mut is_it = false;
        // A derive is a list of paths, so there is nothing to refuse here.
        let read = attribute.parse_nested_meta(|meta| {
            is_it |= ["Args", "Parser", "Subcommand"].iter().any(|name| meta.path.is_ident(name));
            Ok(())
        });
        read.is_ok() && is_it
    })
}

/// Whether it is `bool`, or an option of it.
fn is_bool(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Reference(reference) => is_bool(&reference.elem),
        syn::Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            last.ident == "bool" || last.ident == "Option" && arguments(last).iter().any(|ty| is_bool(ty))
        }),
        _ => false,
    }
}

fn arguments(segment: &syn::PathSegment) -> Vec<&syn::Type> {
    match &segment.arguments {
        syn::PathArguments::AngleBracketed(given) => given
            .args
            .iter()
            .filter_map(
                |argument| if let syn::GenericArgument::Type(ty) = argument { Some(ty) } else { None },
            )
            .collect(),
        _ => Vec::new(),
    }
}

fn is_called(ty: &syn::Type, name: &str) -> bool {
    matches!(ty, syn::Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

pub(super) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
    })
}

impl<'ast> Visit<'ast> for Signatures {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.check(&function.vis, &function.sig);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        for function in &item.items {
            if let syn::TraitItem::Fn(function) = function {
                self.check(&item.vis, &function.sig);
            }
        }
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.check(&function.vis, &function.sig);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if !is_for_flags(&item.attrs) {
            let is_public = |field: &&syn::Field| !matches!(field.vis, syn::Visibility::Inherited);
            item.fields.iter().filter(is_public).for_each(|field| self.check_field(field));
        }
        syn::visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if !matches!(item.vis, syn::Visibility::Inherited) && !is_for_flags(&item.attrs) {
            item.variants.iter().flat_map(|it| &it.fields).for_each(|field| self.check_field(field));
        }
        syn::visit::visit_item_enum(self, item);
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        match arguments(segment).as_slice() {
            [_, error] if segment.ident == "Result" && is_called(error, "String") => {
                self.faults.push("a `Result` has text as its error".to_string());
            }
            [inner] if segment.ident == "Option" && is_called(inner, "Option") => {
                self.faults.push("an `Option` is in an `Option`".to_string());
            }
            _ => {}
        }
        syn::visit::visit_path_segment(self, segment);
    }
}

fn faults_in(source: &str) -> Vec<String> {
    let mut signatures = Signatures::default();
    signatures.visit_file(&syn::parse_file(source).unwrap());
    signatures.faults
}

#[test]
fn types_say_what_values_mean() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut unused = ALLOWED.to_vec();
    let mut idle: Vec<&str> = ACTIONS.iter().map(|(action, _)| *action).collect();
    let mut faults = Vec::new();
    for path in rust_files(&src) {
        let file = path.strip_prefix(&src).unwrap().display().to_string();
        if file.ends_with("tests.rs") || file.contains("/tests/") {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        idle.retain(|action| !source.contains(&format!("fn {action}(")));
        for fault in faults_in(&source) {
            let is_it = |(place, allowed): &(&str, &str)| *place == file && *allowed == fault;
            if ALLOWED.iter().any(is_it) {
                unused.retain(|allowed| !is_it(allowed));
            } else {
                faults.push(format!("{file}: {fault}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(unused.is_empty() && idle.is_empty(), "allowed, but not there any more: {unused:?} {idle:?}");
}

/// The test above would find these.
#[test]
fn every_vague_signature_is_seen() {
    let is_vague = |source: &str| !faults_in(source).is_empty();
    assert!(is_vague("pub fn f(x: u8, yes: bool) {}"));
    assert!(is_vague("impl X { pub(crate) fn f(&self, yes: Option<bool>) {} }"));
    assert!(is_vague("pub trait X { fn f(&self, yes: bool); }"));
    assert!(is_vague("mod m { pub(in crate::x) fn f(yes: &bool) {} }"));
    assert!(is_vague("fn f() -> Result<u8, String> { loop {} }"));
    assert!(is_vague("fn f() { let x: std::result::Result<u8, std::string::String>; }"));
    assert!(is_vague("struct X { x: Option<Option<u8>> }"));
    assert!(is_vague("fn f(read: impl Fn() -> Option<Option<u8>>) {}"));
    assert!(is_vague("pub struct X { pub open: bool }"));
    assert!(is_vague("struct X { pub(super) open: Option<bool> }"));
    assert!(is_vague("pub enum X { Y { open: bool } }"));
    assert!(is_vague("pub fn same_place() -> bool { loop {} }"));
    assert!(is_vague("impl X { pub fn put(&self) -> Result<bool, Error> { loop {} } }"));
    assert!(is_vague("pub fn is_it() -> Result<Vec<(u8, bool)>, Error> { loop {} }"));
    assert!(!is_vague("#[derive(Debug, clap::Args, Args)] pub struct X { pub open: bool }"));
    assert!(!is_vague("pub struct X { pub is_open: bool, open: bool }"));
    assert!(!is_vague("enum X { Y { open: bool } }"));
    assert!(!is_vague("pub fn covers() -> bool { loop {} }"));
    assert!(!is_vague("fn f(yes: bool) {}"));
    assert!(!is_vague("pub fn is_it(is_it: impl Fn(&str) -> bool) -> bool { loop {} }"));
    assert!(!is_vague("pub fn f() -> Result<String, Error> { loop {} }"));
    assert!(!is_vague("#[cfg(test)] mod tests { pub fn f(yes: bool) -> Result<u8, String> { loop {} } }"));
}
