//! `link/` and `remote/`: how the mesh is linked with other machines, and what is known of them.
//!
//! ```text
//! link/config.json              the address, this machine's name, where credentials are (never what is in them)
//! link/lock                     held by the link process while it lives
//! link/socket                   where it listens
//! link/state.json               what it last said of itself
//! link/started                 its time: when a command last started one
//! link/shared                  there once the server knows what was completed here before
//! remote/agents/<Name>.json     an agent on another machine: its registration, and `machine`
//! remote/index                  an index of them, in the format of `index`
//! remote/presence/<machine>.jsonl   what that machine last said of its agents
//! remote/feed/<number>.jsonl    what happened on other machines, in the order of arrival, as in `feed/`
//! remote/feed-sent.json         how far the feed of this machine was sent to the others
//! remote/feed-received.json     how far that of the others was received
//! remote/tasks/<hash>.json      claims and completions of other machines for one spec of one repository
//! remote/queued/<To>/<stem>.json          a message to an agent elsewhere that is not on the server yet
//! remote/stored/<To>/<stem>.json          it is safe on the server
//! remote/delivered/<To>/<stem>.json       it is in the inbox on the other machine
//! remote/why/<To>/<stem>.json             why the other machine could not deliver it
//! remote/seen/<To>/<stem>,<ms>,<via>….json   its record, as in `seen/`
//! remote/owed/<machine>/<stem>,<Name>,<state>   a message from there to `<Name>` whose receipt is not complete
//! remote/runs, remote/asked      runs that one machine asked another for: see `run_records`
//! ```
//!
//! Only the link process writes in `remote/`, except that senders put messages into `remote/queued/`, and who
//! asks for a run or starts one writes its own files. The mirror is a
//! copy: what it says was true when it was written.

pub mod config;
mod delivery;
pub mod mirror;
mod presence;
pub mod queue;
pub mod remote_delivery;
pub mod run_records;
pub mod shared_feed;
pub mod state;
