//! A server that is none: it greets and answers pings.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

/// Serves with that greeting until the tests are over. Returns the port.
pub fn impostor(info: &str) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let info = info.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // A client that looks and goes is served, too.
            if write!(stream, "INFO {info}\r\n").is_err() {
                continue;
            }
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            for line in lines.map_while(Result::ok) {
                if line.starts_with("PING") && stream.write_all(b"PONG\r\n").is_err() {
                    break;
                }
            }
        }
    });
    port
}

/// The greeting of a server that is too old.
pub const OLD: &str =
    r#"{"server_id":"x","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576,"jetstream":true}"#;
