//! What a supervisor tells the keeper in a tmux pane: which program to start, and how.
//!
//! It goes through a socket, because everybody can read the arguments of a process, tmux keeps variables that it is
//! given, and it refuses commands of more than 16 KB.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The most bytes that are accepted. The kernel allows much less for arguments and environment.
const MOST: u32 = 64 * 1024 * 1024;

/// A program that is to be started in a pane.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct PaneCall {
    pub(super) dir: PathBuf,
    /// The program and its arguments.
    pub(super) words: Vec<OsString>,
    /// The whole environment.
    pub(super) env: Vec<(OsString, OsString)>,
}

impl PaneCall {
    /// The length of what follows; the directory; the words and the variables, each with their number before them.
    /// Every text has its length before it.
    pub(super) fn send(&self, to: &mut impl Write) -> io::Result<()> {
        let mut content = Vec::new();
        put(&mut content, self.dir.as_os_str())?;
        put_number(&mut content, self.words.len())?;
        for word in &self.words {
            put(&mut content, word)?;
        }
        put_number(&mut content, self.env.len())?;
        for (name, value) in &self.env {
            put(&mut content, name)?;
            put(&mut content, value)?;
        }
        let mut frame = Vec::with_capacity(content.len() + 4);
        put_number(&mut frame, content.len())?;
        frame.append(&mut content);
        to.write_all(&frame)
    }

    /// Reads one, and not a byte more.
    pub(super) fn receive(from: &mut impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length);
        if length > MOST {
            return Err(cut_short());
        }
        let mut content = Vec::new();
        from.take(length.into()).read_to_end(&mut content)?;
        if content.len() as u64 != u64::from(length) {
            return Err(cut_short());
        }
        let mut rest = content.as_slice();
        let dir = take(&mut rest)?.into();
        let words = (0..take_number(&mut rest)?).map(|_| take(&mut rest)).collect::<io::Result<_>>()?;
        let count = take_number(&mut rest)?;
        let env = (0..count).map(|_| Ok((take(&mut rest)?, take(&mut rest)?))).collect::<io::Result<_>>()?;
        Ok(Self { dir, words, env })
    }
}

fn put_number(to: &mut Vec<u8>, number: usize) -> io::Result<()> {
    let number = u32::try_from(number).ok().filter(|number| *number <= MOST);
    let number = number.ok_or_else(|| io::Error::other("the arguments and variables are too long"))?;
    to.extend_from_slice(&number.to_be_bytes());
    Ok(())
}

fn put(to: &mut Vec<u8>, text: &OsStr) -> io::Result<()> {
    put_number(to, text.len())?;
    to.extend_from_slice(text.as_bytes());
    Ok(())
}

fn take_number(from: &mut &[u8]) -> io::Result<usize> {
    let (number, rest) = from.split_first_chunk::<4>().ok_or_else(cut_short)?;
    *from = rest;
    usize::try_from(u32::from_be_bytes(*number)).map_err(io::Error::other)
}

fn take(from: &mut &[u8]) -> io::Result<OsString> {
    let length = take_number(from)?;
    let (text, rest) = from.split_at_checked(length).ok_or_else(cut_short)?;
    *from = rest;
    Ok(OsString::from_vec(text.to_vec()))
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "its supervisor did not say what to start")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call() -> PaneCall {
        PaneCall {
            dir: "/tmp/\u{fc}".into(),
            words: vec!["sh".into(), "".into(), OsString::from_vec(vec![0xff, b'\n', b';'])],
            env: vec![("A".into(), "1=2".into()), ("EMPTY".into(), "".into())],
        }
    }

    #[test]
    fn what_is_sent_is_received() {
        let mut sent = Vec::new();
        call().send(&mut sent).unwrap();
        sent.extend_from_slice(b"t");
        let mut from = sent.as_slice();
        assert_eq!(PaneCall::receive(&mut from).unwrap(), call());
        assert_eq!(from, b"t", "what follows is left");
    }

    #[test]
    fn half_of_it_is_an_error() {
        let mut sent = Vec::new();
        call().send(&mut sent).unwrap();
        for length in 0..sent.len() {
            assert!(PaneCall::receive(&mut &sent[..length]).is_err(), "{length}");
        }
        for damaged in [[0xff; 64], [0; 64]] {
            assert!(PaneCall::receive(&mut damaged.as_slice()).is_err());
        }
    }
}
