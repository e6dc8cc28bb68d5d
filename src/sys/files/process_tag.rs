//! The mark of a process in a file name: what it is in the middle of, and may leave behind.

use crate::domain::{Identity, Pid, Place};
use crate::sys::process;

/// Which process a private file belongs to, as a part of its name: pid, start, boot and namespace.
pub fn own_mark() -> &'static str {
    use std::sync::OnceLock;
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| {
        let place = process::place();
        let start_ticks = process::identify(process::own_pid()).map_or(0, |own| own.start_ticks);
        mark_of(&Identity { pid: process::own_pid(), start_ticks, place: place.clone() })
    })
}

/// The same of any process.
pub fn mark_of(process: &Identity) -> String {
    let Identity { pid, start_ticks, place } = process;
    let (boot, ns, machine) = (short(&place.boot_id), short(&place.pid_ns), short(&place.machine_id));
    format!("{pid}.{start_ticks}.{boot}.{ns}.{machine}")
}

/// A word of a place as it stands in a mark; nothing for one that is not known.
fn short(word: &Option<String>) -> String {
    word.iter().flat_map(|text| text.chars()).filter(char::is_ascii_alphanumeric).collect()
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
        let theirs = || (!word.is_empty()).then(|| word.to_string());
        Some(if word == short(ours) { ours.clone() } else { theirs() })
    };
    let boot_id = restore(&here.boot_id)?;
    let pid_ns = restore(&here.pid_ns)?;
    let machine_id = restore(&here.machine_id)?;
    Some(Identity { pid, start_ticks, place: Place { boot_id, machine_id, pid_ns } })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is not known is not another boot, and not another machine.
    #[test]
    fn a_word_that_is_missing_is_not_known() {
        let owner = owner_of("12.34..ns.machine").unwrap();
        assert_eq!(owner.place.boot_id, None);
        assert_eq!(owner.place.pid_ns.as_deref(), Some("ns"));
        assert_eq!(owner_of(own_mark()).unwrap().place, *process::place());
    }
}
