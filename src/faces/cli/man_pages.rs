//! The man pages, made of the grammar: the same texts as `--help`.

use clap::Command;
use clap_mangen::Man;

use crate::ops::setup::man_pages::ManPage;

use super::grammar;

/// The pages of `msg` and of each command, in the order of the commands.
pub(super) fn all() -> Vec<ManPage> {
    let mut pages = Vec::new();
    add(&program(), &mut pages);
    pages
}

/// The whole grammar, as pages name it: nothing is written about `help`, which has no options of its own.
pub(super) fn program() -> Command {
    let mut program = grammar().disable_help_subcommand(true);
    program.build();
    program
}

pub(super) fn page(command: &Command) -> ManPage {
    let man = Man::new(command.clone());
    let mut roff = Vec::new();
    // Writing to memory can't fail.
    drop(man.render(&mut roff));
    ManPage { file: man.get_filename(), roff }
}

fn add(command: &Command, pages: &mut Vec<ManPage>) {
    pages.push(page(command));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        add(inner, pages);
    }
}
