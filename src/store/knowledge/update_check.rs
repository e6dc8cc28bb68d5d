//! Checks an update before yrs decodes it.
//!
//! yrs reserves memory for as many entries as an update announces, follows nested values with its own stack, and works
//! with raw pointers: a few bytes could end the process, and nobody can catch that. So it gets only what our document is
//! made of: plain values in named maps and lists, and what is left of deleted ones.

use std::collections::HashSet;

use yrs::encoding::read::{Cursor, Error, Read};

/// How deep lists and objects may be nested in a value. Cells need 3.
const MAX_NESTING: usize = 32;
/// Client ids have 53 bits, so that JavaScript reads them as numbers.
const MAX_CLIENT: u64 = (1 << 53) - 1;

/// Whether an update has plain values only, and all that it announces.
pub(super) fn is_plain(update: &[u8]) -> bool {
    let mut input = Cursor::new(update);
    insertions(&mut input).and_then(|()| deletions(&mut input)).is_ok()
}

fn insertions(input: &mut Cursor<'_>) -> Result<(), Error> {
    let mut clients = HashSet::new();
    for _ in 0..input.read_var::<u32>()? {
        let blocks: u32 = input.read_var()?;
        let is_new = clients.insert(client(input)?);
        let first: u32 = input.read_var()?;
        let mut next = first;
        for _ in 0..blocks {
            let length = block(input)?;
            next = next.checked_add(length).ok_or(Error::UnexpectedValue)?;
        }
        // yrs skips a client without changes by calling itself.
        if !is_new || next == first {
            return Err(Error::UnexpectedValue);
        }
    }
    Ok(())
}

fn deletions(input: &mut Cursor<'_>) -> Result<(), Error> {
    for _ in 0..input.read_var::<u32>()? {
        client(input)?;
        for _ in 0..input.read_var::<u32>()? {
            let (first, length): (u32, u32) = (input.read_var()?, input.read_var()?);
            first.checked_add(length).ok_or(Error::UnexpectedValue)?;
        }
    }
    Ok(())
}

fn client(input: &mut Cursor<'_>) -> Result<u64, Error> {
    let client = input.read_var()?;
    if client <= MAX_CLIENT { Ok(client) } else { Err(Error::UnexpectedValue) }
}

/// The number of changes in a block.
fn block(input: &mut Cursor<'_>) -> Result<u32, Error> {
    const GONE: u8 = 0;
    const SKIPPED: u8 = 10;
    const HAS_LEFT: u8 = 0x80;
    const HAS_RIGHT: u8 = 0x40;
    const HAS_KEY: u8 = 0x20;
    const DELETED: u8 = 1;
    const VALUES: u8 = 8;
    let info = input.read_u8()?;
    if info == GONE || info == SKIPPED {
        return input.read_var();
    }
    for neighbour in [HAS_LEFT, HAS_RIGHT] {
        if info & neighbour != 0 {
            client(input)?;
            input.read_var::<u32>()?;
        }
    }
    if info & (HAS_LEFT | HAS_RIGHT) == 0 {
        // A root has a name. Anything else would be in a shared type, of which there are none.
        if input.read_var::<u32>()? != 1 {
            return Err(Error::UnexpectedValue);
        }
        input.read_string()?;
        if info & HAS_KEY != 0 {
            input.read_string()?;
        }
    }
    let length = input.read_var()?;
    match info & 0xf {
        DELETED => {}
        VALUES => (0..length).try_for_each(|_| value(input, 0))?,
        _ => return Err(Error::UnexpectedValue),
    }
    Ok(length)
}

fn value(input: &mut Cursor<'_>, nesting: usize) -> Result<(), Error> {
    match input.read_u8()? {
        // `true`, `false`, `null` and `undefined`.
        120 | 121 | 126 | 127 => {}
        116 => drop(input.read_buf()?),
        119 => drop(input.read_string()?),
        122 | 123 => drop(input.read_exact(8)?),
        124 => drop(input.read_exact(4)?),
        125 => drop(input.read_var::<i64>()?),
        kind @ (117 | 118) if nesting < MAX_NESTING => {
            for _ in 0..input.read_var::<usize>()? {
                if kind == 118 {
                    input.read_string()?;
                }
                value(input, nesting + 1)?;
            }
        }
        _ => return Err(Error::UnexpectedValue),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;

    /// An update with one value in the root `r`, as it is encoded.
    fn with_value(value: &[u8]) -> Vec<u8> {
        [&[1, 1, 7, 0, 8, 1, 1, b'r', 1][..], value, &[0]].concat()
    }

    #[test]
    fn plain_values_pass() {
        let values: [&[u8]; 7] =
            [&[120], &[126], &[119, 1, b'x'], &[125, 5], &[116, 1, 0], &[117, 2, 120, 121], &[118, 0]];
        for value in values {
            assert!(is_plain(&with_value(value)), "{value:?}");
            assert!(document::decode(&with_value(value)).is_some(), "{value:?}");
        }
        assert!(is_plain(&[0, 0]), "nothing");
        assert!(is_plain(&[1, 1, 7, 5, 0, 3, 1, 7, 1, 0, 2]), "what was deleted");
    }

    #[test]
    fn what_would_end_the_process_is_refused() {
        let nested = |depth: usize| [[117, 1].repeat(depth), vec![120]].concat();
        assert!(is_plain(&with_value(&nested(MAX_NESTING))));
        assert!(!is_plain(&with_value(&nested(MAX_NESTING + 1))));
        assert!(document::decode(&with_value(&nested(1_000_000))).is_none());
        let clients = (0..100_000_u32)
            .flat_map(|client| [0, client as u8 | 0x80, (client >> 7) as u8 | 0x80, (client >> 14) as u8, 0]);
        let empty: Vec<u8> = [0xa0, 0x8d, 0x06].into_iter().chain(clients).chain([0]).collect();
        assert!(document::decode(&empty).is_none(), "clients without changes");
        let huge = [0xff, 0xff, 0xff, 0x7a];
        for start in [&[][..], &[1], &[1, 1, 7, 0, 8, 1, 1, b'r'], &[1, 1, 7, 0, 8, 1, 1, b'r', 1, 118]] {
            assert!(!is_plain(&[start, &huge].concat()), "more is announced than there is: {start:?}");
        }
    }

    #[test]
    fn what_is_no_plain_value_is_refused() {
        assert!(!is_plain(&with_value(&[115])), "an unknown kind");
        assert!(!is_plain(&with_value(&[119, 1, 0xff])), "not UTF-8");
        assert!(!is_plain(&[1, 1, 7, 0, 7, 1, 1, b'r', 1, 0]), "a shared type");
        assert!(!is_plain(&[1, 1, 7, 0, 8, 0, 7, 0, 1, 120, 0]), "a value in a shared type");
        assert!(!is_plain(&[2, 1, 7, 0, 0, 1, 1, 7, 1, 0, 1, 0]), "one client twice");
        let last = [0xff, 0xff, 0xff, 0xff, 0x0f];
        assert!(!is_plain(&[&[1, 1, 7][..], &last, &[0, 1, 0]].concat()), "a number too large");
        assert!(!is_plain(&[&[0, 1, 7, 1][..], &last, &[1]].concat()), "a deleted number too large");
    }
}
