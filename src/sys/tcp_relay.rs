//! A relay for TCP connections to a port of this machine. It can be cut, like a cable.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Passes on what clients say to it, until it is dropped.
#[derive(Debug)]
pub struct TcpRelay {
    port: u16,
    state: Arc<Mutex<RelayState>>,
}

#[derive(Debug, Default)]
struct RelayState {
    is_cut: bool,
    is_over: bool,
    /// Both ends of the connections.
    open: Vec<TcpStream>,
}

impl TcpRelay {
    /// Listens on a free port of the loopback address, and passes on to that one.
    pub fn to(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let relay =
            Self { port: listener.local_addr()?.port(), state: Arc::new(Mutex::new(RelayState::default())) };
        let state = Arc::clone(&relay.state);
        // It ends with the relay, whose end knocks once more.
        std::thread::Builder::new().name("relay".to_string()).spawn(move || {
            for client in listener.incoming().flatten() {
                if state.lock().unwrap_or_else(PoisonError::into_inner).is_over {
                    return;
                }
                // A client that can't be served is closed, as by a network that is cut.
                drop(connect(&state, client, port));
            }
        })?;
        Ok(relay)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends all connections. New ones are closed at once.
    pub fn cut(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_cut = true;
        for stream in state.open.drain(..) {
            // One that is closed already is fine.
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Serves new connections again.
    pub fn heal(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_cut = false;
    }
}

impl Drop for TcpRelay {
    fn drop(&mut self) {
        self.cut();
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

/// Connects a client, unless the relay is cut.
fn connect(state: &Mutex<RelayState>, client: TcpStream, port: u16) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ways = [(client.try_clone()?, server.try_clone()?), (server.try_clone()?, client.try_clone()?)];
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    if state.is_cut {
        return Ok(());
    }
    state.open.extend([client, server]);
    drop(state);
    for (from, to) in ways {
        std::thread::Builder::new().name("relay".to_string()).spawn(move || pass_on(from, to))?;
    }
    Ok(())
}

/// Passes on until one of the two has ended; then the other is told.
fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers each connection with one line.
    fn server() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut client = client;
                    client.write_all(b"hello\n").unwrap();
                    // Until the other end is closed.
                    drop(client.read(&mut [0; 1]));
                });
            }
        });
        port
    }

    fn said(stream: &mut TcpStream) -> Option<String> {
        let mut buffer = [0; 6];
        stream.read_exact(&mut buffer).ok()?;
        Some(String::from_utf8_lossy(&buffer).into_owned())
    }

    #[test]
    fn a_cut_ends_connections_and_healing_serves_new_ones() {
        let relay = TcpRelay::to(server()).unwrap();
        let dial = || TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port())).unwrap();
        let mut first = dial();
        assert_eq!(said(&mut first).as_deref(), Some("hello\n"));
        relay.cut();
        assert_eq!(said(&mut first), None, "what was open is closed");
        assert_eq!(said(&mut dial()), None, "and nothing new is served");
        relay.heal();
        assert_eq!(said(&mut dial()).as_deref(), Some("hello\n"));
        let port = relay.port();
        drop(relay);
        let later =
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok().and_then(|mut dialled| said(&mut dialled));
        assert_eq!(later, None, "nobody listens afterwards");
    }
}
