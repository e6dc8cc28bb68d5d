//! Git, in the directory of a stage.

use std::process::Command;

use super::{Line, Stage, failed};
use crate::ops::CommandError;
use crate::sys::children::{CapturedOutput, Child, ChildInput};
use crate::sys::environment;
use crate::sys::test_switches;

impl Stage {
    /// Lets commands find git, with nobody's configuration, hooks or templates.
    pub(super) fn allow_git(&mut self) {
        let path = environment::variable("PATH").map(|path| ("PATH", path));
        let git = [("GIT_CONFIG_NOSYSTEM", "1".to_string()), ("GIT_TEMPLATE_DIR", String::new())];
        let tests =
            test_switches::value(test_switches::ANCESTRY_END).map(|end| (test_switches::ANCESTRY_END, end));
        self.env.extend(path.into_iter().chain(git).chain(tests));
    }

    /// Runs git in the directory.
    pub(super) fn git(&self, args: &[&str]) -> Result<Line, CommandError> {
        self.check_interrupt()?;
        let mut command = Command::new("git");
        command.args(args);
        self.prepare(&mut command);
        let child = Child::start(&mut command, ChildInput::Nothing, CapturedOutput::StdoutAndStderr);
        let ended = self.end(child.map_err(|error| failed(&error))?)?;
        let quoted =
            args.iter().map(|arg| if arg.contains(' ') { format!("'{arg}'") } else { (*arg).to_string() });
        let command = format!("git {}", quoted.collect::<Vec<_>>().join(" "));
        self.check_end(0, command, &ended)
    }
}
