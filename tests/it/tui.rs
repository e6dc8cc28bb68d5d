//! Tests of the terminal chat: the real program on a pseudoterminal, read through a terminal emulator.

mod acting;
mod chatting;
mod jumping;
mod knowledge;
mod overlaps;
mod presence;
mod runs;
pub mod screen;
mod terminal;
