//! Ports for servers of tests. A process hands out each port once, and none from the range that the system takes ports of
//! connections from, so a server that is killed finds its port free when it starts again.

use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Linux takes ports of connections from 32768 on, macOS from 49152 on.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;
/// How far apart test processes with consecutive ids begin.
const STRIDE: u32 = 397;

static HANDED_OUT: AtomicU32 = AtomicU32::new(0);

/// A port on which nobody listens, and which this process has not used before.
pub fn free_port() -> u16 {
    let start = process::id() % COUNT * STRIDE;
    loop {
        let number = HANDED_OUT.fetch_add(1, Ordering::SeqCst);
        assert!(number < COUNT, "this process has used all ports");
        let port = u16::try_from(FIRST + (start + number) % COUNT).unwrap();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
