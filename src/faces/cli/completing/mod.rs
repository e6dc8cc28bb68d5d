//! What the completion scripts of shells ask: `msg completions --answer SHELL …`. Only those scripts call it, so it is
//! neither in the help nor among what is offered.
//!
//! A person waits for it at a prompt: it changes nothing, waits for nothing, and is silent about every error.
//!
//! | shell | arguments | what it does with them |
//! | --- | --- | --- |
//! | bash | the line up to the cursor, `$COMP_WORDBREAKS` | replaces the part of the word after the last break |
//! | zsh, fish | the words before the cursor, the word at it | quotes and replaces the whole word |
//!
//! The answer is a line that says what else belongs there (`none`, `files` or `dirs`, and `open` if the only value can be
//! continued), and then the values, a line each: for bash as they are to be inserted, for the others as they are, with a
//! tab and a few words about them.

mod place;
mod shell_line;
mod values;

use std::ffi::OsString;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use crate::domain::{AgentName, escape_invisible};
use crate::ops::{Context, GlobalOptions, LiveCandidate, MOST_VALUES};
use crate::sys::signals;

use place::CompletionPlace;
use shell_line::BashLine;
use values::Offered;

/// Last resort: after this many seconds it ends, whatever hangs.
const LIMIT: u32 = 2;

/// What a shell wants to know.
#[derive(Debug)]
pub enum CompletionCall {
    Bash {
        line: String,
        breaks: String,
    },
    /// `fish`, `zsh`: the words before the cursor, and the one at it.
    Words {
        before: Vec<String>,
        typed: String,
    },
}

/// The call, if this is one.
pub fn recognise(args: &[OsString]) -> Option<CompletionCall> {
    if args.get(1)? != "completions" || args.get(2)? != "--answer" {
        return None;
    }
    let mut words: Vec<String> =
        args.get(4..)?.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let typed = words.pop()?;
    Some(match args.get(3)?.to_str()? {
        "bash" => CompletionCall::Bash { line: words.pop()?, breaks: typed },
        _ => CompletionCall::Words { before: words, typed },
    })
}

/// Prints what is offered.
pub fn run(call: CompletionCall) -> ExitCode {
    drop(signals::end_with_success_after(LIMIT));
    // Nothing may be printed into the prompt, a bug of ours neither.
    std::panic::set_hook(Box::new(|_| {}));
    let answer = std::panic::catch_unwind(AssertUnwindSafe(|| answer(call))).unwrap_or_default();
    // A shell that is gone needs no answer.
    drop(std::io::stdout().lock().write_all(answer.as_bytes()));
    ExitCode::SUCCESS
}

fn answer(call: CompletionCall) -> String {
    match call {
        CompletionCall::Bash { line, breaks } => {
            let line = BashLine::read(&line);
            let offered = offered(&line.words, &line.typed);
            let inserted = offered.values.iter().filter_map(|one| line.insert(&one.value, &breaks));
            lines(&offered, inserted.collect())
        }
        CompletionCall::Words { before, typed } => {
            let offered = offered(&before, &typed);
            let shown = offered.values.iter().map(|one| match one.about.as_str() {
                "" => one.value.clone(),
                about => format!("{}\t{about}", one.value),
            });
            lines(&offered, shown.collect())
        }
    }
}

fn lines(offered: &Offered, values: Vec<String>) -> String {
    let is_open = matches!(&offered.values[..], [only] if only.value.ends_with(['/', '=', ':', ',']));
    let open = if is_open { " open" } else { "" };
    let head = format!("{}{open}", offered.else_files.name());
    std::iter::once(head).chain(values).map(|line| format!("{line}\n")).collect()
}

/// What can stand there.
fn offered(before: &[String], typed: &str) -> Offered {
    let place = CompletionPlace::find(before, typed);
    let globals = GlobalOptions {
        mesh: place.mesh.clone(),
        acting_as: place.acting_as.clone().and_then(|name| AgentName::new(name).ok()),
        ..GlobalOptions::default()
    };
    // Without settings, what needs none can still be offered.
    let ctx = Context::for_lookup(globals).ok();
    let mut offered = values::offered(ctx.as_ref(), &place);
    let prefix = &place.attached;
    for one in &mut offered.values {
        one.value.insert_str(0, prefix);
    }
    offered.values.retain(|one| one.value.starts_with(typed) && is_printable(one));
    offered.values.truncate(MOST_VALUES);
    offered
}

/// The answer has a value on each line, and a terminal shows it.
fn is_printable(one: &LiveCandidate) -> bool {
    let is_plain = |text: &str| escape_invisible(text) == text;
    is_plain(&one.value) && is_plain(&one.about)
}
