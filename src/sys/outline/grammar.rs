//! What counts as a symbol in each language, by the names of tree-sitter's nodes.

use tree_sitter::{Language, Node};

use super::SourceLanguage;
use crate::domain::knowledge::SymbolKind;

/// How a node takes part in an outline.
pub(super) enum NodeRole {
    /// A symbol, with what is in it.
    Container(SymbolKind),
    /// A symbol that is not looked into.
    Leaf(SymbolKind),
    /// Not a symbol, but there may be some in it.
    Wrapper,
    Other,
}

pub(super) fn language(language: SourceLanguage) -> Language {
    match language {
        SourceLanguage::Go => tree_sitter_go::LANGUAGE.into(),
        SourceLanguage::Python => tree_sitter_python::LANGUAGE.into(),
        SourceLanguage::Rust => tree_sitter_rust::LANGUAGE.into(),
        SourceLanguage::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        SourceLanguage::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    }
}

/// What is between the parts of a qualified name.
pub(super) fn separator(language: SourceLanguage) -> &'static str {
    if language == SourceLanguage::Rust { "::" } else { "." }
}

pub(super) fn role(language: SourceLanguage, node: Node<'_>) -> NodeRole {
    match language {
        SourceLanguage::Go => go(node.kind()),
        SourceLanguage::Python => python(node),
        SourceLanguage::Rust => rust(node.kind()),
        SourceLanguage::Tsx | SourceLanguage::TypeScript => typescript(node),
    }
}

fn rust(kind: &str) -> NodeRole {
    match kind {
        "mod_item" => NodeRole::Container(SymbolKind::Module),
        "impl_item" => NodeRole::Container(SymbolKind::Impl),
        "trait_item" => NodeRole::Container(SymbolKind::Trait),
        "function_item" | "function_signature_item" => NodeRole::Leaf(SymbolKind::Function),
        "struct_item" | "union_item" => NodeRole::Leaf(SymbolKind::Struct),
        "enum_item" => NodeRole::Leaf(SymbolKind::Enum),
        "type_item" | "associated_type" => NodeRole::Leaf(SymbolKind::Type),
        "const_item" => NodeRole::Leaf(SymbolKind::Constant),
        "static_item" => NodeRole::Leaf(SymbolKind::Variable),
        "macro_definition" => NodeRole::Leaf(SymbolKind::Macro),
        "declaration_list" | "foreign_mod_item" => NodeRole::Wrapper,
        _ => NodeRole::Other,
    }
}

fn go(kind: &str) -> NodeRole {
    match kind {
        "function_declaration" | "method_declaration" => NodeRole::Leaf(SymbolKind::Function),
        "type_spec" | "type_alias" => NodeRole::Leaf(SymbolKind::Type),
        "const_spec" => NodeRole::Leaf(SymbolKind::Constant),
        "var_spec" => NodeRole::Leaf(SymbolKind::Variable),
        "type_declaration" | "const_declaration" | "var_declaration" | "var_spec_list" => NodeRole::Wrapper,
        _ => NodeRole::Other,
    }
}

fn python(node: Node<'_>) -> NodeRole {
    match node.kind() {
        "class_definition" => NodeRole::Container(SymbolKind::Class),
        "function_definition" => NodeRole::Leaf(SymbolKind::Function),
        "assignment" if has_plain_name(node, "left") => NodeRole::Leaf(SymbolKind::Variable),
        "type_alias_statement" => NodeRole::Leaf(SymbolKind::Type),
        "block"
        | "decorated_definition"
        | "if_statement"
        | "elif_clause"
        | "else_clause"
        | "try_statement"
        | "except_clause"
        | "finally_clause"
        | "with_statement"
        | "expression_statement" => NodeRole::Wrapper,
        _ => NodeRole::Other,
    }
}

fn typescript(node: Node<'_>) -> NodeRole {
    match node.kind() {
        "class_declaration" | "abstract_class_declaration" => NodeRole::Container(SymbolKind::Class),
        "internal_module" | "module" => NodeRole::Container(SymbolKind::Module),
        "function_declaration"
        | "generator_function_declaration"
        | "method_definition"
        | "abstract_method_signature" => NodeRole::Leaf(SymbolKind::Function),
        "interface_declaration" => NodeRole::Leaf(SymbolKind::Interface),
        "type_alias_declaration" => NodeRole::Leaf(SymbolKind::Type),
        "enum_declaration" => NodeRole::Leaf(SymbolKind::Enum),
        "public_field_definition" => NodeRole::Leaf(SymbolKind::Variable),
        "variable_declarator" if has_plain_name(node, "name") => NodeRole::Leaf(variable_kind(node)),
        "export_statement"
        | "ambient_declaration"
        | "lexical_declaration"
        | "variable_declaration"
        | "class_body"
        | "statement_block"
        | "expression_statement" => NodeRole::Wrapper,
        _ => NodeRole::Other,
    }
}

/// `const f = () => …` defines a function.
fn variable_kind(node: Node<'_>) -> SymbolKind {
    match node.child_by_field_name("value").map(|value| value.kind()) {
        Some("arrow_function" | "function_expression" | "generator_function") => SymbolKind::Function,
        Some("class") => SymbolKind::Class,
        _ => SymbolKind::Variable,
    }
}

fn has_plain_name(node: Node<'_>, field: &str) -> bool {
    node.child_by_field_name(field).is_some_and(|name| name.kind() == "identifier")
}

/// The name of a symbol, and the parts before it in its qualified name.
pub(super) struct SymbolNames {
    pub(super) name: String,
    /// What this symbol adds to the qualified names of what is in it.
    pub(super) path: Vec<String>,
}

pub(super) fn names(language: SourceLanguage, node: Node<'_>, text: &str) -> Option<SymbolNames> {
    let field = |name: &str| node.child_by_field_name(name).map(|node| one_line(&text[node.byte_range()]));
    if node.kind() == "impl_item" {
        let of = field("type")?;
        let path = [Some(bare(&of)), field("trait").map(|name| bare(&name))].into_iter().flatten().collect();
        let name = field("trait").map_or(format!("impl {of}"), |name| format!("impl {name} for {of}"));
        return Some(SymbolNames { name, path });
    }
    let name = field("name").or_else(|| field("left"))?;
    let receiver = (language == SourceLanguage::Go && node.kind() == "method_declaration")
        .then(|| field("receiver"))
        .flatten()
        .map(|receiver| receiver_type(&receiver));
    let path = receiver.into_iter().chain([name.clone()]).collect();
    Some(SymbolNames { name, path })
}

/// A type without its path and its parameters: `Guard` of `sync::Guard<'a, T>`.
fn bare(name: &str) -> String {
    let name = name.split('<').next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name).trim_start_matches(['&', ' ']).trim().to_string()
}

/// The type of `(s *Server[T])`.
fn receiver_type(receiver: &str) -> String {
    let inner = receiver.trim_start_matches('(').trim_end_matches(')').trim();
    let named = inner.split('[').next().unwrap_or(inner);
    named.rsplit([' ', '*']).next().unwrap_or(named).to_string()
}

/// At most 120 characters, without line ends and tabs, which separate what is in the cache.
fn one_line(name: &str) -> String {
    let words = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = words.chars().filter(|c| !c.is_control()).take(120).collect();
    line.trim().to_string()
}
