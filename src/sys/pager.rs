//! Shows pages to a person at a terminal, with the programs that the person uses for that.

use std::io::{self, Write};
use std::process::{Command, ExitStatus, Stdio};

use super::environment::variable;
use super::{program, signals};

/// Whether something was shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PagerEnd {
    Shown,
    /// There is no such program, or it does not work.
    NotShown,
}

/// Shows a man page with `man`, which heeds `$MANPAGER` and `$PAGER`.
pub fn show_man_page(roff: &[u8]) -> PagerEnd {
    let found = if cfg!(target_os = "linux") { program::on_path("man") } else { program::on_path("mandoc") };
    let Some(program) = found else { return PagerEnd::NotShown };
    let mut command = Command::new(program);
    command.args(if cfg!(target_os = "linux") { &["-l", "-"][..] } else { &["-a"] });
    show(&mut command, roff)
}

/// Shows a text with `$PAGER`, else with `less`.
pub fn show_text(text: &str) -> PagerEnd {
    let mut command = match (variable("PAGER"), program::on_path("less")) {
        (Some(pager), _) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &pager]);
            shell
        }
        (None, Some(less)) => Command::new(less),
        (None, None) => return PagerEnd::NotShown,
    };
    if variable("LESS").is_none() {
        // Ends by itself if everything fits, keeps colours, and leaves the text on the screen: as git does.
        command.env("LESS", "FRX");
    }
    show(&mut command, text.as_bytes())
}

fn show(command: &mut Command, page: &[u8]) -> PagerEnd {
    // A pager heeds Ctrl-C by itself; without this it would be left behind without a terminal.
    drop(signals::outlive_interrupts());
    match run(command, page) {
        // A program that was killed has shown what it could.
        Ok(status) if status.success() || status.code().is_none() => PagerEnd::Shown,
        Ok(_) | Err(_) => PagerEnd::NotShown,
    }
}

fn run(command: &mut Command, page: &[u8]) -> io::Result<ExitStatus> {
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A person may leave before the end.
        drop(stdin.write_all(page));
    }
    child.wait()
}
