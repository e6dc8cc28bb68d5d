//! What the configurations of `msg link config` allow and refuse, with a real server.

mod accepted;
mod cluster;
mod confined;
mod machine;
mod tls;
