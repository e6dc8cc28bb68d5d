//! Detects whether the shell that runs a hook still has a reader for its output.
//!
//! Hooks are called as `o=$(msg hook …) && printf %s "$o"`. The reader of our own pipe is then the shell, whether or
//! not the harness has closed the pipe that the shell writes to. On Linux we can examine that pipe.
//!
//! This narrows a gap and does not close it: the harness can close its pipe between our end and the shell's `printf`.
//! If a harness talks to its hooks through sockets, as Node does, nothing can be detected.

use std::os::fd::AsFd;

/// Whether the pipe that our shell writes to has lost its reader. `false` if unknown.
#[cfg(target_os = "linux")]
pub fn is_shell_output_closed(input: &impl AsFd, output: &impl AsFd) -> bool {
    is_pipe_of_shell_unheard(input, output).unwrap_or(false)
}

#[cfg(not(target_os = "linux"))]
pub fn is_shell_output_closed(_: &impl AsFd, _: &impl AsFd) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn is_pipe_of_shell_unheard(input: &impl AsFd, output: &impl AsFd) -> Option<bool> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

    use nix::libc::O_NONBLOCK;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::stat::{SFlag, fstat};

    let parent = nix::unistd::getppid();
    let [from, to] = [0, 1].map(|number| format!("/proc/{parent}/fd/{number}"));
    let is_pipe = |mode: u32| SFlag::from_bits_truncate(mode) & SFlag::S_IFMT == SFlag::S_IFIFO;
    // The shell of a hook has the same standard input as we do. A harness that starts us itself gives us an input of
    // our own, and its own output does not show whether it listens to us.
    let (ours, theirs) = (fstat(input).ok()?, fs_err::metadata(&from).ok()?);
    let is_same_input = (ours.st_dev, ours.st_ino) == (theirs.dev(), theirs.ino());
    let (ours, theirs) = (fstat(output).ok()?, fs_err::metadata(&to).ok()?);
    let is_same_output = (ours.st_dev, ours.st_ino) == (theirs.dev(), theirs.ino());
    if !is_same_input || is_same_output || !is_pipe(ours.st_mode) || !is_pipe(theirs.mode()) {
        return Some(false);
    }
    let writer = std::fs::File::options().write(true).custom_flags(O_NONBLOCK).open(&to).ok()?;
    let mut polled = [PollFd::new(writer.as_fd(), PollFlags::POLLOUT)];
    poll(&mut polled, PollTimeout::ZERO).ok()?;
    Some(polled[0].revents()?.contains(PollFlags::POLLERR))
}
