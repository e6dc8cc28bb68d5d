//! Effects on files of one-line programs for `sed`, `awk` and `perl`.

/// What a program may do besides printing.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct ScriptEffects {
    /// Files that it writes.
    pub files: Vec<String>,
    /// It may write other files or run commands.
    pub is_opaque: bool,
}

/// The effects of the `w` and `e` commands of a `sed` script.
pub fn sed(script: &str) -> ScriptEffects {
    let mut effects = ScriptEffects::default();
    let mut rest = script;
    loop {
        rest = skip_address(rest.trim_start_matches(|c: char| c.is_whitespace() || ";{}".contains(c)));
        let mut chars = rest.chars();
        let Some(command) = chars.next() else {
            return effects;
        };
        rest = chars.as_str();
        match command {
            's' | 'y' => {
                let Some(delimiter) = chars.next() else {
                    return effects;
                };
                rest = skip_part(skip_part(chars.as_str(), delimiter), delimiter);
                if command == 's' {
                    rest = sed_flags(rest, &mut effects);
                }
            }
            'w' | 'W' => rest = take_file(rest, &mut effects),
            'r' | 'R' | '#' => rest = after_line(rest),
            'a' | 'i' | 'c' => {
                while rest.lines().next().is_some_and(|line| line.ends_with('\\')) {
                    rest = after_line(rest);
                }
                rest = after_line(rest);
            }
            'b' | 't' | 'T' | ':' => rest = &rest[rest.find([';', '\n', '}']).unwrap_or(rest.len())..],
            'e' => effects.is_opaque = true,
            _ => {}
        }
    }
}

fn sed_flags<'a>(text: &'a str, effects: &mut ScriptEffects) -> &'a str {
    for (at, flag) in text.char_indices() {
        match flag {
            'w' => return take_file(&text[at + 1..], effects),
            'e' => effects.is_opaque = true,
            flag if flag.is_ascii_alphanumeric() => {}
            _ => return &text[at..],
        }
    }
    ""
}

fn take_file<'a>(text: &'a str, effects: &mut ScriptEffects) -> &'a str {
    let name = text.lines().next().unwrap_or_default().trim();
    if !name.is_empty() {
        effects.files.push(name.to_string());
    }
    after_line(text)
}

fn after_line(text: &str) -> &str {
    text.find('\n').map_or("", |end| &text[end + 1..])
}

/// Skips line numbers, `$`, `/regex/`, `\cregexc` and the separators between them.
fn skip_address(mut text: &str) -> &str {
    loop {
        let Some(first) = text.chars().next() else {
            return text;
        };
        text = match first {
            '0'..='9' | '$' | ',' | '!' | '~' | '+' | ' ' | '\t' => &text[1..],
            '/' => text_after_flags(skip_part(&text[1..], '/')),
            '\\' => match text[1..].chars().next() {
                Some(delimiter) => text_after_flags(skip_part(&text[1 + delimiter.len_utf8()..], delimiter)),
                None => "",
            },
            _ => return text,
        };
    }
}

fn text_after_flags(text: &str) -> &str {
    text.trim_start_matches(['I', 'M'])
}

/// The text after the next unescaped `delimiter`.
fn skip_part(text: &str, delimiter: char) -> &str {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == delimiter => return &text[at + c.len_utf8()..],
            _ => {}
        }
    }
    ""
}

/// The files that `print > "file"` writes in an `awk` program.
pub fn awk(program: &str) -> ScriptEffects {
    let mut effects = ScriptEffects { is_opaque: program.contains("system("), ..ScriptEffects::default() };
    let mut is_printing = false;
    let mut depth = 0_usize;
    let mut rest = program;
    while let Some(first) = rest.chars().next() {
        let next = &rest[first.len_utf8()..];
        rest = match first {
            '"' => skip_part(next, '"'),
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                if matches!(&rest[..end], "print" | "printf") {
                    is_printing = true;
                    depth = 0;
                }
                &rest[end..]
            }
            '(' => {
                depth += 1;
                next
            }
            ')' => {
                depth = depth.saturating_sub(1);
                next
            }
            ';' | '\n' | '}' => {
                is_printing = false;
                next
            }
            '>' if is_printing && depth == 0 => take_awk_target(next, &mut effects),
            // A pipe to or from a command; `||` is not a pipe.
            '|' if next.starts_with('|') => &next[1..],
            '|' => {
                effects.is_opaque = true;
                next
            }
            _ => next,
        };
    }
    effects
}

fn take_awk_target<'a>(text: &'a str, effects: &mut ScriptEffects) -> &'a str {
    let text = text.trim_start_matches('>').trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        effects.is_opaque = true;
        return text;
    };
    let rest = skip_part(quoted, '"');
    let name = &quoted[..quoted.len() - rest.len()].trim_end_matches('"');
    let goes_on = !rest.trim_start().starts_with([';', '}', '\n']) && !rest.trim_start().is_empty();
    if goes_on || name.contains('\\') {
        effects.is_opaque = true;
    } else {
        effects.files.push(name.to_string());
    }
    rest
}

/// Whether a `perl` one-liner only reads text and prints.
pub fn is_harmless_perl(code: &str) -> bool {
    const HARMFUL: [&str; 13] = [
        "open", "unlink", "rename", "system", "exec", "`", "mkdir", "rmdir", "qx", "link", "truncate",
        "require", "eval",
    ];
    !HARMFUL.iter().any(|word| code.contains(word))
}
