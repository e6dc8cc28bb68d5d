//! Makes the outline of a text, within limits of time and depth.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser};

use super::SourceLanguage;
use super::grammar::{self, NodeRole};
use crate::domain::knowledge::{Outline, OutlineSymbol, SymbolKind};

/// The deepest nesting of nodes that is looked at.
const MAX_DEPTH: usize = 24;
/// The most symbols of one file.
const MAX_SYMBOLS: usize = 10_000;

/// `None` if it takes longer than `limit`.
pub(super) fn parse(language: SourceLanguage, text: &str, limit: Duration) -> Option<Outline> {
    let mut parser = Parser::new();
    parser.set_language(&grammar::language(language)).ok()?;
    let end = Instant::now() + limit;
    let mut on_progress = |_: &tree_sitter::ParseState| {
        if Instant::now() < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut on_progress);
    let mut read = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options))?;
    let mut walk = OutlineWalk { language, text, path: Vec::new(), symbols: Vec::new() };
    walk.children(tree.root_node(), 0, 0);
    Some(Outline { symbols: walk.symbols })
}

struct OutlineWalk<'t> {
    language: SourceLanguage,
    text: &'t str,
    /// The names of what is around.
    path: Vec<String>,
    symbols: Vec<OutlineSymbol>,
}

impl OutlineWalk<'_> {
    fn children(&mut self, node: Node<'_>, depth: u16, level: usize) {
        if level >= MAX_DEPTH {
            return;
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            if self.symbols.len() >= MAX_SYMBOLS {
                return;
            }
            match grammar::role(self.language, child) {
                NodeRole::Container(kind) => {
                    let Some(added) = self.add(child, kind, depth) else { continue };
                    let outer = self.path.len();
                    self.path.extend(added);
                    // An `if` or a list of declarations may be between a class and what is in it.
                    self.children(child, depth + 1, level + 1);
                    self.path.truncate(outer);
                }
                NodeRole::Leaf(kind) => drop(self.add(child, kind, depth)),
                NodeRole::Wrapper => self.children(child, depth, level + 1),
                NodeRole::Other => {}
            }
        }
    }

    /// Adds a symbol. Returns what it adds to the qualified names of what is in it; `None` if it has no name.
    fn add(&mut self, node: Node<'_>, kind: SymbolKind, depth: u16) -> Option<Vec<String>> {
        let names = grammar::names(self.language, node, self.text)?;
        let around = self.path.iter().chain(&names.path).map(String::as_str);
        let qualified = match kind {
            SymbolKind::Impl => names.name.clone(),
            _ => around.collect::<Vec<_>>().join(grammar::separator(self.language)),
        };
        let whole = decorated(node);
        let line = |row: usize| u32::try_from(row + 1).unwrap_or(u32::MAX);
        self.symbols.push(OutlineSymbol {
            name: names.name,
            qualified,
            kind,
            first_line: line(whole.start_position().row),
            last_line: last_line(whole, line),
            depth,
        });
        Some(names.path)
    }
}

/// The symbol with its decorators, or with the statement that it is alone in: `export const x = …`.
fn decorated(node: Node<'_>) -> Node<'_> {
    let wraps = |parent: &Node<'_>| match parent.kind() {
        "decorated_definition" | "export_statement" => true,
        "lexical_declaration"
        | "variable_declaration"
        | "type_declaration"
        | "const_declaration"
        | "var_declaration" => parent.named_child_count() == 1,
        _ => false,
    };
    let mut whole = node;
    while let Some(parent) = whole.parent().filter(wraps) {
        whole = parent;
    }
    whole
}

/// A node that ends with a line end ends on the line before.
fn last_line(node: Node<'_>, line: impl Fn(usize) -> u32) -> u32 {
    let end = node.end_position();
    let is_over = end.column == 0 && end.row > node.start_position().row;
    line(if is_over { end.row - 1 } else { end.row })
}

#[cfg(test)]
mod tests;
