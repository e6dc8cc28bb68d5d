//! Marks in file names that identify the process using the file, so that leftovers of dead processes can be removed.

use crate::domain::{Pid, PidScope, ProcessIdentity};
use crate::sys::process;

/// The mark of this process: pid, start time, boot, pid namespace and machine.
pub fn own_mark() -> &'static str {
    use std::sync::OnceLock;
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| {
        let place = process::pid_scope();
        let start_ticks = process::identify(process::own_pid()).map_or(0, |own| own.start_ticks);
        mark_of(&ProcessIdentity { pid: process::own_pid(), start_ticks, place: place.clone() })
    })
}

/// The mark of any process.
pub fn mark_of(process: &ProcessIdentity) -> String {
    let ProcessIdentity { pid, start_ticks, place } = process;
    let (boot, ns, machine) = (short(&place.boot_id), short(&place.pid_ns), short(&place.machine_id));
    format!("{pid}.{start_ticks}.{boot}.{ns}.{machine}")
}

/// A component of a place in the form used in marks; empty if it is not known.
fn short(word: &Option<String>) -> String {
    word.iter().flat_map(|text| text.chars()).filter(char::is_ascii_alphanumeric).collect()
}

/// The process that a mark identifies: the inverse of [`mark_of`].
pub fn owner_of(file_name: &str) -> Option<ProcessIdentity> {
    let mut words = file_name.split('.');
    let pid = Pid::new(words.next()?.parse().ok()?).ok()?;
    let start_ticks = words.next()?.parse().ok()?;
    let here = process::pid_scope();
    // A component that equals our own in the short form gets its full form back, so that places can be compared.
    let restore = |word: &str, ours: &Option<String>| {
        let theirs = || (!word.is_empty()).then(|| word.to_string());
        if word == short(ours) { ours.clone() } else { theirs() }
    };
    let boot_id = restore(words.next()?, &here.boot_id);
    let pid_ns = restore(words.next()?, &here.pid_ns);
    let machine_id = restore(words.next()?, &here.machine_id);
    Some(ProcessIdentity { pid, start_ticks, place: PidScope { boot_id, machine_id, pid_ns } })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unknown component does not mean another boot or another machine.
    #[test]
    fn a_word_that_is_missing_is_not_known() {
        let owner = owner_of("12.34..ns.machine").unwrap();
        assert_eq!(owner.place.boot_id, None);
        assert_eq!(owner.place.pid_ns.as_deref(), Some("ns"));
        assert_eq!(owner_of(own_mark()).unwrap().place, *process::pid_scope());
    }
}
