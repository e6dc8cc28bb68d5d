//! Splits what a program prints into lines, however long they are.

/// The longest line that is passed on whole, in bytes.
const MOST: usize = 1024 * 1024;
/// How much of the end of a longer line is kept.
const TAIL: usize = 64 * 1024;

/// The line that is being read.
#[derive(Debug, Default)]
pub struct LineCutter {
    head: Vec<u8>,
    tail: Vec<u8>,
    left_out: usize,
}

impl LineCutter {
    /// Takes a piece of the output, and passes on the lines that it completes.
    pub fn add(&mut self, piece: &[u8], mut line: impl FnMut(String)) {
        let mut parts = piece.split(|byte| *byte == b'\n');
        let last = parts.next_back().unwrap_or_default();
        for part in parts {
            self.extend(part);
            line(self.take());
        }
        self.extend(last);
    }

    /// The line that no newline ended, if there is one.
    pub fn finish(&mut self) -> Option<String> {
        (!self.head.is_empty()).then(|| self.take())
    }

    fn extend(&mut self, part: &[u8]) {
        let (head, rest) = part.split_at(part.len().min(MOST - TAIL - self.head.len().min(MOST - TAIL)));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * TAIL {
            let excess = self.tail.len() - TAIL;
            self.tail.drain(..excess);
            self.left_out += excess;
        }
    }

    fn take(&mut self) -> String {
        let mut text = String::from_utf8_lossy(&std::mem::take(&mut self.head)).into_owned();
        let tail = std::mem::take(&mut self.tail);
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            text.push_str(&format!("[… {left_out} bytes were left out here …]"));
        }
        text.push_str(&String::from_utf8_lossy(&tail));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> Vec<String> {
        let mut cutter = LineCutter::default();
        let mut lines = Vec::new();
        pieces.iter().for_each(|piece| cutter.add(piece, |line| lines.push(line)));
        lines.extend(cutter.finish());
        lines
    }

    #[test]
    fn lines_may_come_in_pieces() {
        assert_eq!(cut(&[b"a", b"b\nc\n\nd"]), ["ab", "c", "", "d"]);
        assert_eq!(cut(&[b""]), [""; 0]);
        assert_eq!(cut(&[b"a\n"]), ["a"]);
    }

    #[test]
    fn a_line_of_any_length_is_one_line_of_bounded_length() {
        let piece = vec![b'x'; 64 * 1024];
        let mut pieces: Vec<&[u8]> = std::iter::repeat_n(&piece[..], 1600).collect();
        pieces.push(b"end\nnext");
        let lines = cut(&pieces);
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].len() < 2 * MOST
                && lines[0].contains("bytes were left out")
                && lines[0].ends_with("xend")
        );
        assert_eq!(lines[1], "next");
    }
}
