//! The small part of HTTP that is needed to call a client in its server mode.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The whole response, including the head; empty if nobody answers.
pub fn get(address: &str, path: &str) -> String {
    ask(address, "GET", path, "")
}

pub fn post(address: &str, path: &str, json: &str) -> String {
    ask(address, "POST", path, json)
}

fn ask(address: &str, method: &str, path: &str, body: &str) -> String {
    let mut answer = Vec::new();
    let asked = TcpStream::connect(address.trim_end_matches('/')).and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(150)))?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )?;
        stream.read_to_end(&mut answer)
    });
    drop(asked);
    String::from_utf8_lossy(&answer).into_owned()
}
