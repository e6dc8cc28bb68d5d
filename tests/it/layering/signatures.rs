//! Signatures say what they mean: no `bool` among the parameters of a public function, whose call would not tell what
//! `true` stands for; no text as an error; no `Option` in an `Option`.

use std::fs;
use std::path::Path;

use syn::visit::Visit;

use super::rust_files;

/// What stays as it is, and why.
const ALLOWED: [(&str, &str); 1] = [
    // An assertion takes a condition; the call reads as a sentence.
    ("ops/selftest/check_environment.rs", "`demand` takes a bool"),
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
    }
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

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
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

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.check(&function.vis, &function.sig);
        syn::visit::visit_impl_item_fn(self, function);
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
    let mut faults = Vec::new();
    for path in rust_files(&src) {
        let file = path.strip_prefix(&src).unwrap().display().to_string();
        if file.ends_with("tests.rs") || file.contains("/tests/") {
            continue;
        }
        for fault in faults_in(&fs::read_to_string(&path).unwrap()) {
            let is_it = |(place, allowed): &(&str, &str)| *place == file && *allowed == fault;
            if ALLOWED.iter().any(is_it) {
                unused.retain(|allowed| !is_it(allowed));
            } else {
                faults.push(format!("{file}: {fault}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(unused.is_empty(), "allowed, but not there any more: {unused:?}");
}

/// The test above would find these.
#[test]
fn every_vague_signature_is_seen() {
    let is_vague = |source: &str| !faults_in(source).is_empty();
    assert!(is_vague("pub fn f(x: u8, yes: bool) {}"));
    assert!(is_vague("impl X { pub(crate) fn f(&self, yes: Option<bool>) {} }"));
    assert!(is_vague("mod m { pub(in crate::x) fn f(yes: &bool) {} }"));
    assert!(is_vague("fn f() -> Result<u8, String> { loop {} }"));
    assert!(is_vague("fn f() { let x: std::result::Result<u8, std::string::String>; }"));
    assert!(is_vague("struct X { x: Option<Option<u8>> }"));
    assert!(is_vague("fn f(read: impl Fn() -> Option<Option<u8>>) {}"));
    assert!(!is_vague("fn f(yes: bool) {}"));
    assert!(!is_vague("pub fn f(is_it: impl Fn(&str) -> bool) -> bool { loop {} }"));
    assert!(!is_vague("pub fn f() -> Result<String, Error> { loop {} }"));
    assert!(!is_vague("#[cfg(test)] mod tests { pub fn f(yes: bool) -> Result<u8, String> { loop {} } }"));
}
