//! What must be unique over all machines of a linked mesh: the server decides before it counts here. A scripted thread
//! stands for the link process; the real one is tested in `tests/link`.

mod completing;
mod crew;
mod fixture;
mod names;
mod paths;
mod tasks;
mod wishes;
