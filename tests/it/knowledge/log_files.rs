//! The files of the log as they are on disk, read and written without the program's own code.

use std::fs;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"ravenry-knowledge\n";
const MARK: [u8; 4] = [0xf5, b'k', b'f', b'r'];

/// The log files of a project, in the order of names.
pub(super) fn log_files(project: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(project.join(".ravenry/knowledge")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    paths.sort();
    paths
}

/// The payloads of the frames of a file; the first is the header.
pub(super) fn frames(content: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = content.strip_prefix(MAGIC).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = rest.strip_prefix(&MARK) {
        let length = u32::from_le_bytes(frame[..4].try_into().unwrap()) as usize;
        frames.push(frame[8..8 + length].to_vec());
        rest = &frame[8 + length..];
    }
    assert!(rest.is_empty(), "{} bytes are left", rest.len());
    frames
}

pub(super) fn frame(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    let sum = crc32fast::hash(&[&length[..], payload].concat()).to_le_bytes();
    [&MARK[..], &length, &sum, payload].concat()
}

/// A file with these updates, which nobody appends to.
pub(super) fn file(version: u32, updates: &[Vec<u8>]) -> Vec<u8> {
    let header = serde_json::json!({ "version": version, "writer": "copied" }).to_string();
    let frames = updates.iter().flat_map(|update| frame(update));
    MAGIC.iter().copied().chain(frame(header.as_bytes())).chain(frames).collect()
}
