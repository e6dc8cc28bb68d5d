//! Edits of files in which every line is an entry, such as `.git/info/exclude`.

use super::{EditError, bytes_of, newline_of, text_of};

/// The text with the line at its end, unless it has the line already.
pub fn put(bytes: &[u8], line: &str) -> Result<Vec<u8>, EditError> {
    let (bom, text) = text_of(bytes)?;
    if has(text, line) {
        return Ok(bytes.to_vec());
    }
    let newline = newline_of(text);
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    Ok(bytes_of(bom, format!("{text}{gap}{line}{newline}")))
}

/// The text without the line.
pub fn take(bytes: &[u8], line: &str) -> Result<Vec<u8>, EditError> {
    take_those(bytes, &|other| other == line)
}

/// The text without the lines that match. A line is tested without the whitespace at its end.
pub fn take_those(bytes: &[u8], is_meant: &dyn Fn(&str) -> bool) -> Result<Vec<u8>, EditError> {
    let (bom, text) = text_of(bytes)?;
    let rest: String = text.split_inclusive('\n').filter(|other| !is_meant(other.trim_end())).collect();
    Ok(bytes_of(bom, rest))
}

fn has(text: &str, line: &str) -> bool {
    text.lines().any(|other| other.trim_end() == line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_and_goes() {
        for (before, after) in [("", "x\n"), ("a\n", "a\nx\n"), ("a", "a\nx\n"), ("a\r\n", "a\r\nx\r\n")] {
            assert_eq!(put(before.as_bytes(), "x").unwrap(), after.as_bytes());
            assert_eq!(put(after.as_bytes(), "x").unwrap(), after.as_bytes());
            let left = String::from_utf8(take(after.as_bytes(), "x").unwrap()).unwrap();
            assert_eq!(left.trim_end(), before.trim_end());
        }
    }
}
