//! Builds and recognises the shell command that `install` writes into a harness as a hook.
//!
//! If the binary was removed, moved or broken, the line prints nothing and exits 0: some harnesses treat anything
//! else as a refusal of every tool. `sh`, `bash`, `zsh` and `fish` all accept it.

use crate::domain::Harness;

use super::{HarnessSupport, SUPPORTED, parse, support};

/// Ends every line but a waiter's, so that it always exits 0.
const TAIL: &str = " || :";
/// Prints the program's output only if it succeeds. Some harnesses treat output that is not a valid answer as a
/// refusal of every tool.
const PASS_ON: &str = " 2>/dev/null) && printf %s \"$o\"";
/// Ends the lines that earlier versions wrote.
const EARLIER_TAIL: &str = " 2>/dev/null || :";
/// Ends the line of a waiter. Its output and exit code 2 are passed to the harness; any other exit code becomes 0.
const WAITER_TAIL: &str = "; [ $? -ne 2 ] || exit 2";
/// The command for the status line of a harness, which accepts colours and passes its session.
const SHOW: &str = "statusline --color always";
const FIND_ON_PATH: &str = "command -v msg >/dev/null 2>&1 && ";

/// How a hook finds `msg`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MsgProgram {
    /// The `msg` on the shell's `PATH`.
    OnPath,
    /// At this absolute path.
    At(String),
}

impl MsgProgram {
    /// The word by which it is called where no shell is needed.
    pub fn command(&self) -> &str {
        match self {
            Self::OnPath => "msg",
            Self::At(path) => path,
        }
    }
}

/// One of our hooks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HookLine {
    pub program: MsgProgram,
    pub harness: Harness,
    pub purpose: HookPurpose,
}

/// The purpose of one of our hooks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HookPurpose {
    /// Report this event, by the harness's name for it.
    ReportEvent(String),
    /// Wait for mail beside an idle session.
    WaitForMail,
    /// Show the status line.
    StatusLine,
}

impl HookLine {
    pub fn new(program: &MsgProgram, harness: Harness, purpose: HookPurpose) -> Self {
        Self { program: program.clone(), harness, purpose }
    }

    pub fn telling(program: &MsgProgram, harness: Harness, event: &str) -> Self {
        Self::new(program, harness, HookPurpose::ReportEvent(event.to_string()))
    }

    pub fn render(&self) -> String {
        let (find, program) = self.found();
        let call = self.call();
        match &self.purpose {
            HookPurpose::WaitForMail => format!("{find}{program} {call}{WAITER_TAIL}"),
            // A login shell may not support this assignment.
            HookPurpose::ReportEvent(_) if self.is_in_login_shell() => {
                let (name, word) = match &self.program {
                    MsgProgram::OnPath => ("msg", String::new()),
                    MsgProgram::At(_) => ("\"$0\"", format!(" {program}")),
                };
                format!("{find}sh -c 'o=$({name} {call}{PASS_ON}'{word}{TAIL}")
            }
            _ => format!("{find}o=$({program} {call}{PASS_ON}{TAIL}"),
        }
    }

    fn is_in_login_shell(&self) -> bool {
        support(self.harness).is_some_and(HarnessSupport::runs_hooks_in_login_shell)
    }

    /// The line as earlier versions wrote it.
    fn render_earlier(&self) -> String {
        let (find, program) = self.found();
        let tail = if self.purpose == HookPurpose::WaitForMail { WAITER_TAIL } else { EARLIER_TAIL };
        format!("{find}{program} {}{tail}", self.call())
    }

    /// The check that the program exists, and the program as a shell word.
    fn found(&self) -> (String, String) {
        match &self.program {
            MsgProgram::OnPath => (FIND_ON_PATH.to_string(), "msg".to_string()),
            MsgProgram::At(path) => (format!("[ -x {} ] && ", quote(path)), quote(path)),
        }
    }

    fn call(&self) -> String {
        match &self.purpose {
            HookPurpose::ReportEvent(event) => format!("hook {} {event}", self.harness),
            HookPurpose::WaitForMail => format!("waiter {}", self.harness),
            HookPurpose::StatusLine => SHOW.to_string(),
        }
    }

    /// Parses one of our lines. It must match exactly: a user's own call of `msg` is not ours.
    pub fn parse(line: &str) -> Option<Self> {
        let (program, rest) = if let Some(rest) = line.strip_prefix(FIND_ON_PATH) {
            (MsgProgram::OnPath, rest)
        } else {
            let (path, rest) = unquote(line.strip_prefix("[ -x ")?)?;
            (MsgProgram::At(path), rest.strip_prefix(" ] && ")?)
        };
        let rest = ["sh -c 'o=$(", "o=$("].iter().find_map(|head| rest.strip_prefix(head)).unwrap_or(rest);
        let call = ["msg", "\"$0\""].iter().find_map(|name| rest.strip_prefix(name));
        let call = call.or_else(|| Some(unquote(rest)?.1))?;
        let end = [call.find(" 2>"), call.find(WAITER_TAIL)].into_iter().flatten().min()?;
        let words: Vec<&str> = call[..end].split(' ').skip(1).collect();
        let (harness, purpose) = match words.as_slice() {
            ["hook", harness, event] => (parse(harness)?, HookPurpose::ReportEvent((*event).to_string())),
            ["waiter", harness] => (parse(harness)?, HookPurpose::WaitForMail),
            _ if words.join(" ") == SHOW => (shows_status_line()?, HookPurpose::StatusLine),
            _ => return None,
        };
        let found = Self::new(&program, harness, purpose);
        [found.render(), found.render_earlier()].iter().any(|known| known == line).then_some(found)
    }
}

/// The harness whose status line can be told what to show. Its line does not name it.
fn shows_status_line() -> Option<Harness> {
    SUPPORTED.iter().find(|it| it.has_status_line()).map(|it| it.id())
}

/// Quotes any text as one shell word.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Parses what [`quote`] produced at the start of a text, and returns the rest.
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
    use crate::harness::{claude, codex, gemini};

    fn line(program: MsgProgram) -> HookLine {
        HookLine::telling(&program, gemini::ID, "BeforeTool")
    }

    #[test]
    fn as_it_is_written() {
        let at = || MsgProgram::At("/it's/msg".to_string());
        let codex = |program| HookLine::telling(&program, codex::ID, "Stop").render();
        for (found, expected) in [
            (
                line(MsgProgram::OnPath).render(),
                r#"command -v msg >/dev/null 2>&1 && o=$(msg hook gemini BeforeTool 2>/dev/null) && printf %s "$o" || :"#,
            ),
            (
                line(at()).render(),
                r#"[ -x '/it'\''s/msg' ] && o=$('/it'\''s/msg' hook gemini BeforeTool 2>/dev/null) && printf %s "$o" || :"#,
            ),
            (
                codex(MsgProgram::OnPath),
                r#"command -v msg >/dev/null 2>&1 && sh -c 'o=$(msg hook codex Stop 2>/dev/null) && printf %s "$o"' || :"#,
            ),
            (
                codex(at()),
                r#"[ -x '/it'\''s/msg' ] && sh -c 'o=$("$0" hook codex Stop 2>/dev/null) && printf %s "$o"' '/it'\''s/msg' || :"#,
            ),
            (
                HookLine::new(&MsgProgram::OnPath, claude::ID, HookPurpose::StatusLine).render(),
                r#"command -v msg >/dev/null 2>&1 && o=$(msg statusline --color always 2>/dev/null) && printf %s "$o" || :"#,
            ),
        ] {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_was_written_is_recognised() {
        let paths = [
            "/usr/bin/msg",
            "/a b/msg",
            "/it's/'/msg",
            "/$HOME/`x`/\"/msg",
            "/ü/\\/msg",
            "/ ] && /msg",
            "/ 2>/msg",
        ];
        let programs =
            paths.map(|path| MsgProgram::At(path.to_string())).into_iter().chain([MsgProgram::OnPath]);
        for program in programs {
            for (harness, purpose) in [
                (gemini::ID, HookPurpose::ReportEvent("BeforeTool".to_string())),
                (codex::ID, HookPurpose::ReportEvent("Stop".to_string())),
                (claude::ID, HookPurpose::WaitForMail),
                (claude::ID, HookPurpose::StatusLine),
            ] {
                let line = HookLine::new(&program, harness, purpose);
                assert_eq!(HookLine::parse(&line.render()), Some(line.clone()), "{}", line.render());
                assert_eq!(
                    HookLine::parse(&line.render_earlier()),
                    Some(line.clone()),
                    "{}",
                    line.render_earlier()
                );
            }
        }
    }

    #[test]
    fn what_earlier_versions_wrote_is_recognised() {
        for line in [
            "command -v msg >/dev/null 2>&1 && msg hook gemini BeforeTool 2>/dev/null || :",
            "[ -x '/it'\\''s/msg' ] && '/it'\\''s/msg' hook codex BeforeTool 2>/dev/null || :",
            "command -v msg >/dev/null 2>&1 && msg statusline --color always 2>/dev/null || :",
            "command -v msg >/dev/null 2>&1 && msg waiter claude; [ $? -ne 2 ] || exit 2",
        ] {
            assert!(HookLine::parse(line).is_some(), "{line}");
        }
    }

    #[test]
    fn what_others_wrote_is_not() {
        let ours = line(MsgProgram::At("/x/msg".to_string())).render();
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
