//! Takes numbers and texts from bytes, one after the other.

/// The size of a file's number with its count, in bytes.
pub(super) const FILE_COUNT: usize = 12;

/// The rest of what is being read. Every method is `None` if it is too short.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.take(2)?.try_into().ok().map(u16::from_le_bytes)?;
        self.take(length.into())
    }

    /// The counts of files, still encoded: each a number and a count.
    pub(super) fn files(&mut self) -> Option<&'a [u8]> {
        let count = self.u32()?;
        self.take(FILE_COUNT.checked_mul(count as usize)?)
    }
}
