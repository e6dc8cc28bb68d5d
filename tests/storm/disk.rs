//! A disk of its own for the mesh, which can be filled in an instant. Only root can mount one, and not everywhere.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::statvfs::statvfs;
use nix::unistd::{getgid, getuid};

/// Many times what a storm of an hour needs. Memory is used only as it fills.
const ROOM: &str = "2g";

#[derive(Debug)]
pub struct Disk {
    at: PathBuf,
}

impl Disk {
    /// Mounts the disk, or says why it cannot.
    pub fn mount(at: &Path) -> Result<Self, String> {
        let options = format!("size={ROOM},mode=700,uid={},gid={}", getuid(), getgid());
        mount(&["-t", "tmpfs", "-o", &options, "tmpfs"], at)?;
        Ok(Self { at: at.to_path_buf() })
    }

    /// Leaves no free space, except perhaps a page or two.
    pub fn fill(&self) -> bool {
        let Ok(now) = statvfs(&self.at) else { return false };
        let used = (now.blocks() - now.blocks_free()) * now.fragment_size();
        self.resize(&format!("{}", used.max(4096)))
    }

    pub fn free(&self) -> bool {
        self.resize(ROOM)
    }

    fn resize(&self, size: &str) -> bool {
        mount(&["-o", &format!("remount,size={size}")], &self.at).is_ok()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.at).status().ok();
    }
}

fn mount(args: &[&str], at: &Path) -> Result<(), String> {
    let output = Command::new("mount").args(args).arg(at).stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_string()),
    }
}
