//! The network between one machine and the server: it can be cut, wholly or in one direction, slowed down, and healed.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A way to the server that can be cut.
pub struct Proxy {
    pub port: u16,
    state: Arc<State>,
}

/// One direction of the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    ToServer,
    FromServer,
}

struct State {
    is_cut: AtomicBool,
    /// In that direction nothing arrives, and nothing is lost: it arrives when the network is healed.
    is_stalled: [AtomicBool; 2],
    /// How long everything takes in each direction.
    delay_millis: AtomicU64,
    is_over: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            is_cut: AtomicBool::new(false),
            is_stalled: [AtomicBool::new(false), AtomicBool::new(false)],
            delay_millis: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            open: Mutex::new(Vec::new()),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if shared.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(client) = client else { continue };
                if shared.is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(upstream) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                drop((client.set_nodelay(true), upstream.set_nodelay(true)));
                let mut open = shared.open.lock().unwrap();
                open.extend([client.try_clone().unwrap(), upstream.try_clone().unwrap()]);
                let (from, to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
                pass_on(from, to, Direction::ToServer, Arc::clone(&shared));
                pass_on(upstream, client, Direction::FromServer, Arc::clone(&shared));
            }
        });
        Self { port, state }
    }

    /// Ends all connections; new ones are closed at once.
    pub fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for stream in self.state.open.lock().unwrap().drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Nothing arrives in that direction any more.
    pub fn stall(&self, direction: Direction) {
        self.state.is_stalled[direction as usize].store(true, Ordering::SeqCst);
    }

    /// Everything takes so long from now on, in each direction.
    pub fn delay(&self, time: Duration) {
        self.state.delay_millis.store(time.as_millis() as u64, Ordering::SeqCst);
    }

    pub fn heal(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
        self.state.is_stalled.iter().for_each(|stalled| stalled.store(false, Ordering::SeqCst));
        self.state.delay_millis.store(0, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        self.cut();
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, direction: Direction, state: Arc<State>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            std::thread::sleep(Duration::from_millis(state.delay_millis.load(Ordering::SeqCst)));
            let is_stalled = || state.is_stalled[direction as usize].load(Ordering::SeqCst);
            while is_stalled() && !state.is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
    });
}
