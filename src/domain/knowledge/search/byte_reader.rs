//! Reads and writes the numbers and texts of an index. Reading beyond the end is an error.

use super::index_error::SearchIndexError;

/// A place in the bytes of an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    pub(super) fn at(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(super) fn u8(&mut self) -> Result<u8, SearchIndexError> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, SearchIndexError> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    pub(super) fn u32(&mut self) -> Result<u32, SearchIndexError> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(super) fn i64(&mut self) -> Result<i64, SearchIndexError> {
        let low = u64::from(self.u32()?);
        let high = u64::from(self.u32()?);
        Ok((high << 32 | low) as i64)
    }

    /// A number of variable length: seven bits a byte, the lowest first.
    pub(super) fn number(&mut self) -> Result<u32, SearchIndexError> {
        let mut number = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.u8()?;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(SearchIndexError::Damaged)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, SearchIndexError> {
        let length = self.number()?;
        let bytes = self.take(length as usize)?;
        std::str::from_utf8(bytes).map_err(|_| SearchIndexError::Damaged)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], SearchIndexError> {
        let end = self.at.checked_add(length).ok_or(SearchIndexError::Damaged)?;
        let bytes = self.bytes.get(self.at..end).ok_or(SearchIndexError::Damaged)?;
        self.at = end;
        Ok(bytes)
    }
}

pub(super) fn put_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_number(bytes, text.len() as u32);
    bytes.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_read_back() {
        let mut bytes = Vec::new();
        let numbers = [0, 1, 127, 128, 300, 65_535, u32::MAX];
        numbers.into_iter().for_each(|number| put_number(&mut bytes, number));
        put_text(&mut bytes, "größe");
        let mut reader = ByteReader::at(&bytes, 0);
        for number in numbers {
            assert_eq!(reader.number(), Ok(number));
        }
        assert_eq!(reader.text(), Ok("größe"));
        assert_eq!(reader.u8(), Err(SearchIndexError::Damaged));
        assert_eq!(ByteReader::at(&[0xff; 9], 0).number(), Err(SearchIndexError::Damaged));
        assert_eq!(ByteReader::at(&[9, b'x'], 0).text(), Err(SearchIndexError::Damaged));
        assert_eq!(ByteReader::at(&[1, 0xff], 0).text(), Err(SearchIndexError::Damaged));
        assert_eq!(ByteReader::at(&[1], usize::MAX).u16(), Err(SearchIndexError::Damaged));
    }
}
