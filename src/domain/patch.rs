//! Reads from a patch which files it changes.

/// The files that an `apply_patch` patch adds, updates, deletes or moves: each once, in order of appearance.
///
/// ```
/// use ravenry::domain::patch::apply_patch_paths;
/// let patch = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n@@\n-x\n+y\n*** End Patch\n";
/// assert_eq!(apply_patch_paths(patch), ["src/a.rs", "src/b.rs"]);
/// ```
pub fn apply_patch_paths(text: &str) -> Vec<String> {
    const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let mut paths = Paths::default();
    for line in text.lines() {
        // Added and removed lines start with `+` or `-`, so they are not taken for headers.
        let line = line.trim();
        if let Some(path) = HEADERS.iter().find_map(|header| line.strip_prefix(header)) {
            paths.add(path.trim().to_string());
        }
    }
    paths.all
}

/// The files that a unified diff (git's or any other) changes: each once, in order of appearance, without their first
/// `strip` directories.
pub fn diff_paths(text: &str, strip: usize) -> Vec<String> {
    let mut reader = DiffReader { strip, ..DiffReader::default() };
    text.lines().for_each(|line| reader.line(line.strip_suffix('\r').unwrap_or(line)));
    reader.end_file();
    reader.paths.all
}

#[derive(Default)]
struct Paths {
    all: Vec<String>,
    seen: std::collections::HashSet<String>,
}

impl Paths {
    fn add(&mut self, path: String) {
        if !path.is_empty() && self.seen.insert(path.clone()) {
            self.all.push(path);
        }
    }
}

#[derive(Default)]
struct DiffReader {
    strip: usize,
    paths: Paths,
    /// Lines left in the current hunk, of the old and of the new file.
    old_left: u64,
    new_left: u64,
    /// The names in `diff --git`, for changes without any other line that has a name: a mode change, an empty or
    /// binary file.
    git: Option<(String, String)>,
    has_names: bool,
}

impl DiffReader {
    fn line(&mut self, line: &str) {
        if self.old_left > 0 || self.new_left > 0 {
            self.hunk_line(line);
            return;
        }
        if let Some(names) = line.strip_prefix("diff --git ") {
            self.end_file();
            self.git = split_git_names(names);
            self.has_names = false;
        } else if let Some(range) = line.strip_prefix("@@ -") {
            (self.old_left, self.new_left) = hunk_lengths(range).unwrap_or_default();
        } else if let Some(name) = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ ")) {
            self.has_names = true;
            self.add_stripped(&header_name(name));
        } else if self.git.is_some() {
            self.git_line(line);
        }
    }

    fn hunk_line(&mut self, line: &str) {
        match line.as_bytes().first() {
            Some(b'-') => self.old_left = self.old_left.saturating_sub(1),
            Some(b'+') => self.new_left = self.new_left.saturating_sub(1),
            Some(b'\\') => {}
            // A context line whose leading blank was stripped on the way.
            Some(b' ') | None => {
                self.old_left = self.old_left.saturating_sub(1);
                self.new_left = self.new_left.saturating_sub(1);
            }
            // Not a hunk line: the lengths in the hunk header are wrong.
            Some(_) => {
                (self.old_left, self.new_left) = (0, 0);
                self.line(line);
            }
        }
    }

    /// Reads lines that only git diffs have. The names in them have no `a/` or `b/` prefix.
    fn git_line(&mut self, line: &str) {
        for header in ["rename from ", "rename to ", "copy to "] {
            if let Some(name) = line.strip_prefix(header) {
                self.has_names = true;
                let path = strip_dirs(&unquote(name), self.strip.saturating_sub(1));
                self.paths.add(path);
            }
        }
    }

    fn end_file(&mut self) {
        if let Some((old, new)) = self.git.take()
            && !self.has_names
        {
            self.add_stripped(&old);
            self.add_stripped(&new);
        }
    }

    fn add_stripped(&mut self, name: &str) {
        if name != "/dev/null" {
            self.paths.add(strip_dirs(name, self.strip));
        }
    }
}

/// Parses `5,7 +5,8 @@`: the number of lines in the old and in the new file.
fn hunk_lengths(range: &str) -> Option<(u64, u64)> {
    let mut parts = range.split(' ');
    let length = |part: &str| match part.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    Some((length(parts.next()?)?, length(parts.next()?.strip_prefix('+')?)?))
}

/// The name in a `---` or `+++` line, without a timestamp that may follow a tab.
fn header_name(text: &str) -> String {
    if text.starts_with('"') {
        return unquote(text);
    }
    text.split('\t').next().unwrap_or_default().trim_end().to_string()
}

/// Splits `a/x b/x`; each name may be quoted. Unquoted, both have the same name after `a/` and `b/`.
fn split_git_names(text: &str) -> Option<(String, String)> {
    if text.starts_with('"') {
        let end = closing_quote(text)?;
        return Some((unquote(&text[..=end]), unquote(text[end + 1..].trim_start())));
    }
    if let Some(start) = text.find(" \"") {
        return Some((text[..start].to_string(), unquote(&text[start + 1..])));
    }
    let middle = text.len() / 2;
    let (old, new) = (text.get(..middle)?, text.get(middle..)?.strip_prefix(' ')?);
    Some((old.to_string(), new.to_string()))
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at),
            _ => {}
        }
    }
    None
}

/// Decodes a name as git quotes it: `"a\303\244\t"`.
fn unquote(text: &str) -> String {
    let Some(end) = closing_quote(text).filter(|_| text.starts_with('"')) else {
        return text.trim_end().to_string();
    };
    let mut bytes = Vec::new();
    let mut rest = text[1..end].bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut code = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit) = rest.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                        code = code * 8 + u32::from(digit - b'0');
                    }
                }
                bytes.push(code as u8);
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b'f') => bytes.push(12),
            Some(b'v') => bytes.push(11),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Removes the first `strip` directories; a name with fewer keeps its last component.
fn strip_dirs(name: &str, strip: usize) -> String {
    let mut rest = name;
    for _ in 0..strip {
        match rest.split_once('/') {
            Some((_, after)) => rest = after.trim_start_matches('/'),
            None => break,
        }
    }
    rest.to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_apply_patch_is_about() {
        let patch = "*** Begin Patch\r\n*** Add File: a b.rs\r\n+*** Add File: no\r\n  *** Update File:  c \n\
             *** Move to: d/e\n@@\n-x\n+y\n*** Delete File: f\n*** Update File: a b.rs\n*** End Patch";
        assert_eq!(apply_patch_paths(patch), ["a b.rs", "c", "d/e", "f"]);
        assert!(apply_patch_paths("no patch").is_empty());
    }

    #[test]
    fn what_a_diff_is_about() {
        let cases: &[(&str, usize, &[&str])] = &[
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 1, &["x"]),
            ("--- a/x\n+++ b/x\n", 0, &["a/x", "b/x"]),
            ("--- a/d/x\n+++ b/d/x\n", 2, &["x"]),
            ("--- x.c\t2020-01-01 10:00\n+++ x.c\t2020-01-02 10:00\n", 0, &["x.c"]),
            ("--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n", 1, &["new"]),
            ("--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", 1, &["old"]),
            ("diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n", 1, &["x"]),
            ("diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n", 1, &["x y"]),
            ("diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n", 1, &["x", "y"]),
            ("diff --git a/x b/y\ncopy from x\ncopy to y\n", 1, &["y"]),
            ("diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n", 1, &["i.png"]),
            ("--- \"a/\\303\\244\\tb\"\n+++ \"b/\\303\\244\\tb\"\n", 1, &["ä\tb"]),
            ("diff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100644\n", 1, &["ä"]),
            ("--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n--- a/y\r\n+++ b/y\r\n", 1, &["x", "y"]),
            // Hunk lines that look like headers: only the hunk lengths tell them apart.
            ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/no\n+++ b/no\n c\n--- a/y\n+++ b/y\n", 1, &["x", "y"]),
            (
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline\n+b\n\\ No newline\n--- a/y\n+++ b/y\n",
                1,
                &["x", "y"],
            ),
            (
                "From: me\nSubject: [PATCH] x\n\n---\n x | 2 +-\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n",
                1,
                &["x"],
            ),
            ("nothing", 1, &[]),
        ];
        for (text, strip, wanted) in cases {
            assert_eq!(diff_paths(text, *strip), *wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([-+@ \"\\\\]|diff --git |--- |\\+\\+\\+ |@@ -1,2 \\+1 @@|a/|b/|\\PC|\n){0,60}", strip in 0..4_usize) {
            diff_paths(&text, strip);
            apply_patch_paths(&text);
        }
    }
}
