//! The mark of a process in a file name: what it is in the middle of, and may leave behind.

use crate::domain::{Identity, Pid, Place};
use crate::sys::process;

/// Which process a private file belongs to, as a part of its name: pid, start, boot and namespace.
pub fn own_mark() -> &'static str {
    use std::sync::OnceLock;
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| {
        let place = process::place();
        let start = process::identify(process::own_pid()).map_or(0, |own| own.start_ticks);
        let word = |text: &Option<String>| -> String {
            text.iter().flat_map(|text| text.chars()).filter(char::is_ascii_alphanumeric).collect()
        };
        let (boot, ns, machine) = (word(&place.boot_id), word(&place.pid_ns), word(&place.machine_id));
        format!("{}.{start}.{boot}.{ns}.{machine}", process::own_pid())
    })
}

/// The inverse of [`own_mark`]. The words of a place are compared in the short form that the mark has.
pub fn owner_of(file_name: &str) -> Option<Identity> {
    let mut words = file_name.split('.');
    let pid = Pid::new(words.next()?.parse().ok()?).ok()?;
    let start_ticks = words.next()?.parse().ok()?;
    let here = process::place();
    // What stands for a word of ours is put back to that word, so that places can be compared.
    let mut restore = |ours: &Option<String>| -> Option<Option<String>> {
        let word = words.next()?;
        let short: String =
            ours.iter().flat_map(|text| text.chars()).filter(char::is_ascii_alphanumeric).collect();
        Some(if word == short { ours.clone() } else { Some(word.to_string()) })
    };
    let boot_id = restore(&here.boot_id)?;
    let pid_ns = restore(&here.pid_ns)?;
    let machine_id = restore(&here.machine_id)?;
    Some(Identity { pid, start_ticks, place: Place { boot_id, machine_id, pid_ns } })
}
