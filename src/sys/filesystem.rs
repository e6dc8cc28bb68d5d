//! The kind of file system that a directory is on.

use std::path::Path;

/// A kind of file system, as far as it matters to a mesh.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileSystemKind {
    pub name: String,
    /// Whether other machines may share it. Their changes raise no events here.
    pub is_network: bool,
}

/// The kind of file system that `path` is on; `None` if the system doesn't report it.
pub fn kind(path: &Path) -> Option<FileSystemKind> {
    imp::kind(path)
}

#[cfg(target_os = "linux")]
mod imp {
    use std::path::Path;

    use super::FileSystemKind;

    /// Magic numbers of `statfs(2)`: the common ones, and all that are shared between machines.
    const KINDS: [(u64, &str, bool); 20] = [
        (0xef53, "ext4", false),
        (0x9123_683e, "btrfs", false),
        (0x5846_5342, "xfs", false),
        (0x0102_1994, "tmpfs", false),
        (0x794c_7630, "overlayfs", false),
        (0x2fc1_2fc1, "zfs", false),
        (0xf2f5_2010, "f2fs", false),
        (0xca45_1a4e, "bcachefs", false),
        (0xf15f, "ecryptfs", false),
        (0x4d44, "fat", false),
        (0x2011_bab0, "exfat", false),
        (0x6969, "nfs", true),
        (0xff53_4d42, "cifs", true),
        (0xfe53_4d42, "smb2", true),
        (0x517b, "smb", true),
        (0x6573_5546, "fuse", true),
        (0x0102_1997, "9p", true),
        (0x00c3_6400, "ceph", true),
        (0x5346_414f, "afs", true),
        (0x0bd0_0bd0, "lustre", true),
    ];

    pub(super) fn kind(path: &Path) -> Option<FileSystemKind> {
        let magic = nix::sys::statfs::statfs(path).ok()?.filesystem_type().0 as u64 & 0xffff_ffff;
        let known = KINDS.iter().find(|(number, ..)| *number == magic);
        Some(match known {
            Some((_, name, network)) => FileSystemKind { name: (*name).to_string(), is_network: *network },
            None => FileSystemKind { name: format!("kind {magic:#x}"), is_network: false },
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::path::Path;

    use super::FileSystemKind;

    const NETWORK: [&str; 6] = ["nfs", "smbfs", "afpfs", "webdav", "macfuse", "osxfuse"];

    pub(super) fn kind(path: &Path) -> Option<FileSystemKind> {
        let statfs = nix::sys::statfs::statfs(path).ok()?;
        let name = statfs.filesystem_type_name().to_string();
        let network = NETWORK.contains(&name.as_str());
        Some(FileSystemKind { name, network })
    }
}
