//! The command line that harnesses call at their hooks.
//!
//! It is such that a binary which was removed, moved or broken is silence and success in every harness: some take
//! anything else for a refusal of every tool. `sh`, `bash`, `zsh` and `fish` read it alike.

use super::Harness;

/// Ends every line: nothing is said in the way of the harness, and it always went well.
const TAIL: &str = " 2>/dev/null || :";
/// Ends the line of a waiter: what it says is for the harness, and so is an end with 2. Any other end is none.
const WAITER_TAIL: &str = "; [ $? -ne 2 ] || exit 2";
/// What is shown in the status line of Claude Code, which understands colours and tells its session.
const SHOW: &str = "statusline --color always";
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
    pub errand: Errand,
}

/// What a hook of ours is there for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Errand {
    /// To tell of this event, as the harness calls it.
    Tell(String),
    /// To wait at the side of the session while it rests.
    Wait,
    /// To be shown in its status line.
    Show,
}

impl HookLine {
    pub fn new(program: &Program, harness: Harness, errand: Errand) -> Self {
        Self { program: program.clone(), harness, errand }
    }

    pub fn telling(program: &Program, harness: Harness, event: &str) -> Self {
        Self::new(program, harness, Errand::Tell(event.to_string()))
    }

    pub fn render(&self) -> String {
        let program = match &self.program {
            Program::OnPath => FIND_ON_PATH.to_string(),
            Program::At(path) => {
                let path = quote(path);
                format!("[ -x {path} ] && {path}")
            }
        };
        match &self.errand {
            Errand::Tell(event) => format!("{program} hook {} {event}{TAIL}", self.harness),
            Errand::Wait => format!("{program} waiter {}{WAITER_TAIL}", self.harness),
            Errand::Show => format!("{program} {SHOW}{TAIL}"),
        }
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
        let call = call.strip_suffix(TAIL).or_else(|| call.strip_suffix(WAITER_TAIL))?;
        let words: Vec<&str> = call.split(' ').skip(1).collect();
        if words.join(" ") == SHOW {
            let found = Self::new(&program, Harness::Claude, Errand::Show);
            return (found.render() == line).then_some(found);
        }
        let (harness, errand) = match words.as_slice() {
            ["hook", harness, event] => (harness, Errand::Tell((*event).to_string())),
            ["waiter", harness] => (harness, Errand::Wait),
            _ => return None,
        };
        let found = Self::new(&program, Harness::parse(harness)?, errand);
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
        HookLine::telling(&program, Harness::Gemini, "BeforeTool")
    }

    #[test]
    fn as_it_is_written() {
        let on_path = "command -v msg >/dev/null 2>&1 && msg hook gemini BeforeTool 2>/dev/null || :";
        assert_eq!(line(Program::OnPath).render(), on_path);
        let at = "[ -x '/it'\\''s/msg' ] && '/it'\\''s/msg' hook gemini BeforeTool 2>/dev/null || :";
        assert_eq!(line(Program::At("/it's/msg".to_string())).render(), at);
        let shown = HookLine::new(&Program::OnPath, Harness::Claude, Errand::Show).render();
        assert_eq!(shown, "command -v msg >/dev/null 2>&1 && msg statusline --color always 2>/dev/null || :");
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
        let shown = HookLine::new(&Program::OnPath, Harness::Claude, Errand::Show);
        assert_eq!(HookLine::parse(&shown.render()), Some(shown));
    }

    #[test]
    fn what_others_wrote_is_not() {
        let ours = line(Program::At("/x/msg".to_string())).render();
        for other in [
            "msg hook gemini BeforeTool",
            "/x/msg hook gemini BeforeTool 2>/dev/null || :",
            "command -v msg >/dev/null 2>&1 && msg send Bob hi 2>/dev/null || :",
            "command -v msg >/dev/null 2>&1 && msg hook gemini 2>/dev/null || :",
            "command -v msg >/dev/null 2>&1 && msg statusline 2>/dev/null || :",
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
