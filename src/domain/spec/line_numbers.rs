//! Line numbers of a text. All three kinds of line ends count: `\n`, `\r\n` and `\r`.

/// Converts ascending byte offsets to line numbers.
#[derive(Debug)]
pub struct LineNumbers<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> LineNumbers<'a> {
    pub fn new(text: &'a str) -> Self {
        LineNumbers { bytes: text.as_bytes(), at: 0, line: 1 }
    }

    pub fn number(&mut self, at: usize) -> usize {
        while self.at < at.min(self.bytes.len()) {
            let is_end = match self.bytes[self.at] {
                b'\n' => true,
                b'\r' => self.bytes.get(self.at + 1) != Some(&b'\n'),
                _ => false,
            };
            self.line += usize::from(is_end);
            self.at += 1;
        }
        self.line
    }
}
