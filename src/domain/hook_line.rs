//! The command line that harnesses call at their hooks.
//!
//! It is such that a binary which was removed, moved or broken is silence and success in every harness: some take
//! anything else for a refusal of every tool. `sh`, `bash`, `zsh` and `fish` read it alike.

use super::Harness;

/// Ends every line: nothing is said in the way of the harness, and it always went well.
const TAIL: &str = " 2>/dev/null || :";
const FIND_ON_PATH: &str = "command -v msg >/dev/null 2>&1 && msg";

/// How a hook finds `msg`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Program {
    /// It is the `msg` that a shell finds.
    OnPath,
    /// At this absolute path.
    At(String),
}

/// A hook of ours.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HookLine {
    pub program: Program,
    pub harness: Harness,
    /// As the harness calls it.
    pub event: String,
}

impl HookLine {
    pub fn new(program: &Program, harness: Harness, event: &str) -> Self {
        Self { program: program.clone(), harness, event: event.to_string() }
    }

    pub fn render(&self) -> String {
        let program = match &self.program {
            Program::OnPath => FIND_ON_PATH.to_string(),
            Program::At(path) => {
                let path = quote(path);
                format!("[ -x {path} ] && {path}")
            }
        };
        format!("{program} hook {} {}{TAIL}", self.harness, self.event)
    }

    /// The inverse: is this a line of ours? Only what is exactly so is; somebody's own call of `msg` is theirs.
    pub fn parse(line: &str) -> Option<Self> {
        let (program, call) = if let Some(rest) = line.strip_prefix(FIND_ON_PATH) {
            (Program::OnPath, rest)
        } else {
            let (path, rest) = unquote(line.strip_prefix("[ -x ")?)?;
            let (_, rest) = unquote(rest.strip_prefix(" ] && ")?)?;
            (Program::At(path), rest)
        };
        let mut words = call.strip_suffix(TAIL)?.split(' ').skip(1);
        let (Some("hook"), Some(harness), Some(event), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return None;
        };
        let found = Self::new(&program, Harness::parse(harness)?, event);
        (found.render() == line).then_some(found)
    }
}

/// One word to a shell, whatever is in it.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// What [`quote`] made, at the start of a text, and the rest.
fn unquote(text: &str) -> Option<(String, &str)> {
    let (mut out, mut rest) = (String::new(), text);
    loop {
        let (part, after) = rest.strip_prefix('\'')?.split_once('\'')?;
        out.push_str(part);
        match after.strip_prefix("\\'") {
            Some(more) => {
                out.push('\'');
                rest = more;
            }
            None => return Some((out, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(program: Program) -> HookLine {
        HookLine::new(&program, Harness::Gemini, "BeforeTool")
    }

    #[test]
    fn as_it_is_written() {
        let on_path = "command -v msg >/dev/null 2>&1 && msg hook gemini BeforeTool 2>/dev/null || :";
        assert_eq!(line(Program::OnPath).render(), on_path);
        let at = "[ -x '/it'\\''s/msg' ] && '/it'\\''s/msg' hook gemini BeforeTool 2>/dev/null || :";
        assert_eq!(line(Program::At("/it's/msg".to_string())).render(), at);
    }

    #[test]
    fn what_was_written_is_recognised() {
        for path in
            ["/usr/bin/msg", "/a b/msg", "/it's/'/msg", "/$HOME/`x`/\"/msg", "/ü/\\/msg", "/ ] && /msg"]
        {
            let line = line(Program::At(path.to_string()));
            assert_eq!(HookLine::parse(&line.render()), Some(line));
        }
        assert_eq!(HookLine::parse(&line(Program::OnPath).render()), Some(line(Program::OnPath)));
    }

    #[test]
    fn what_others_wrote_is_not() {
        let ours = line(Program::At("/x/msg".to_string())).render();
        for other in [
            "msg hook gemini BeforeTool",
            "/x/msg hook gemini BeforeTool 2>/dev/null || :",
            "command -v msg >/dev/null 2>&1 && msg send Bob hi 2>/dev/null || :",
            "command -v msg >/dev/null 2>&1 && msg hook gemini 2>/dev/null || :",
            "command -v msg >/dev/null 2>&1 && msg hook emacs BeforeTool 2>/dev/null || :",
            "command -v msg >/dev/null 2>&1 && msg hook gemini BeforeTool --as X 2>/dev/null || :",
            "[ -x '/x/msg' ] && '/y/msg' hook gemini BeforeTool 2>/dev/null || :",
            "[ -x '/x/msg' ] && '/x/msg hook gemini BeforeTool 2>/dev/null || :",
            "",
            &format!("{ours} "),
            &format!("echo; {ours}"),
        ] {
            assert_eq!(HookLine::parse(other), None, "{other}");
        }
    }
}
