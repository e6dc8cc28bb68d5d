//! What a program printed, without what differs in each run of it.

const UNITS: [&str; 16] = [
    "ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "minutes",
    "h", "hours",
];
/// Numbers and hashes of at least that many digits are ids.
const LONG_NUMBER: usize = 5;
const LONG_HASH: usize = 8;

/// The lines of a text in a fixed order, without durations, times of day, dates, process ids, hashes and temporary paths.
pub(super) fn steady_text(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(steady_line).filter(|line| !line.is_empty()).collect();
    // Tests that run at once are reported as they end.
    lines.sort_unstable();
    lines.join("\n")
}

fn steady_line(line: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        let bare = bare(word);
        if UNITS.contains(&bare) && kept.last().is_some_and(|before| is_number(before)) {
            // `0.52 s`
            kept.pop();
        } else if !(is_duration(bare) || is_moment(bare) || is_id(bare) || word.contains("/tmp/")) {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// A word without the signs around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

fn is_number(word: &str) -> bool {
    let bare = bare(word);
    !bare.is_empty() && bare.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// `0.52s`, `1m30s`
fn is_duration(word: &str) -> bool {
    let mut rest = word;
    while !rest.is_empty() {
        let after_number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let after_unit = after_number.trim_start_matches(char::is_alphabetic);
        let unit = &after_number[..after_number.len() - after_unit.len()];
        if after_number.len() == rest.len() || !UNITS.contains(&unit) {
            return false;
        }
        rest = after_unit;
    }
    !word.is_empty()
}

/// `12:04:59`, `2026-11-18T05:04:59.123Z`, `2026-11-18`
fn is_moment(word: &str) -> bool {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let is_date = word.matches('-').count() == 2;
    digits >= 4 && (word.contains(':') || is_date) && word.chars().all(|c| "0123456789:.,-+TZ".contains(c))
}

/// `271828`, `lib-1f0c2b9ad4`, `0x7ffe`
fn is_id(word: &str) -> bool {
    let is_long = |part: &str| {
        let has_digit = part.bytes().any(|byte| byte.is_ascii_digit());
        let is_number = part.len() >= LONG_NUMBER && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number || has_digit && part.len() >= LONG_HASH && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    word.starts_with("0x") || word.split(|c: char| !c.is_alphanumeric()).any(is_long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_in_each_run_is_left_out() {
        let same = [
            ("finished in 0.52s", "finished in 1m30s"),
            ("Finished `test` profile in 0.52 s", "Finished `test` profile in 12.1 s"),
            ("Ran 3 tests in 12ms (pid 271828)", "Ran 3 tests in 9ms (pid 314159)"),
            ("12:04:59 start", "12:05:07 start"),
            (
                "Running tests (target/debug/deps/it-1f0c2b9ad4)",
                "Running tests (target/debug/deps/it-99ab34cd01)",
            ),
            ("a ... ok\nb ... ok", "b ... ok\na ... ok"),
            ("in /tmp/x1/out", "in /tmp/y2/out"),
        ];
        for (one, other) in same {
            assert_eq!(steady_text(one), steady_text(other));
        }
    }

    #[test]
    fn what_says_something_is_kept() {
        let other = [
            ("3 passed; 1 failed", "2 passed; 2 failed"),
            ("at src/lib.rs:9:5", "at src/lib.rs:12:5"),
            ("expected 40, got 41", "expected 40, got 42"),
            ("a ... ok", "a ... FAILED"),
        ];
        for (one, other) in other {
            assert_ne!(steady_text(one), steady_text(other));
        }
    }
}
