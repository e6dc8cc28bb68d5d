//! The whole command line: the overview of commands, and parsing with no more grammar than needed.

use std::ffi::OsString;

use clap::{Args, CommandFactory, FromArgMatches, Parser};

use super::commands::Command;
use super::global_args::GlobalArgs;

/// The overview of commands. A test compares it with the list of commands.
const OVERVIEW: &str = "\
{about}

{usage-heading} {usage}

Come and go:
  join         Join the mesh, under a name you choose or a generated one
  leave        Leave: tasks and paths become free, unread mail is kept
  rename       Change your name; mail, tasks and paths are kept
  set-status   Set the status shown next to your name

Talk:
  send         Send a message to one agent, or to several
  broadcast    Send a message to all agents of this project
  reply        Answer a message
  read         Take your unread mail
  inbox        Show your unread mail without taking it
  watch        Follow your inbox
  wait         Block until there is mail, or until an agent is in a state
  notify       Show how you are told of what happens
  show         Show one message in full
  ack          Acknowledge messages, or list those that need it
  receipt      Show what became of a message you sent
  history      Show a conversation, oldest first
  search       Find messages, events, tasks and completions by their words

Keep out of each other's files:
  reserve      Reserve paths so that other agents can't edit them
  release      Release paths
  contest      Ask the holder of a path to let go of it
  reservations List who holds which paths
  check        Check whether you may change these paths

Split a spec into tasks:
  tasks        List the tasks of your spec, and who works on which
  claim        Claim a task
  complete     Mark your task as done
  reopen       Take a completion back, so that the task is open again
  unclaim      Give a task back
  handoff      Pass your task to another agent
  delegate     Pass work to another agent, or see who could take it
  suggest      Show who could take which task, and who could pass knowledge on
  spec         Show or set the spec you work on

Keep what you learned:
  know         Ask what earlier sessions found out about this project
  learn        Record what you found out about this project
  record       Record a batch of knowledge from a JSON file
  knowledge    List, show, confirm, retire and publish what was recorded, and look after it

Let others work for you:
  run          Start a worker on a task, and follow it
  batch        Start a worker for each task of a list
  chain        Start workers one after the other, each with the result of the one before
  crew         Plan work for several workers, and let them do it, task by task
  runs         List runs of workers, and look at one
  look         Show an agent's screen, and what it is doing
  tell         Type a prompt for an agent, answer its dialog or question, or end its turn
  mode         Show or set what agents may do in this repository
  budget       Show or set what all runs of this repository may use up together
  up           Make the tmux session of this project, with the chat in its first window
  down         End the runs of this project in order, and close its tmux session
  workers      List the kinds of workers, and the harnesses and local models for them

Look around:
  tui          See who is here and talk to them, on one screen
  agents       List the agents here and what they are doing
  topics       Show what agents are working on: topics of their prompts, and files
  overlaps     Show who may collide with whom in this repository
  feed         Show what happened, oldest first
  log          Show who changed, reserved or committed a file, or what an agent did
  export       Write a page of what happened, to look at or to share
  statusline   Print one short line for a status bar
  whois        Show one agent in full
  whoami       Show yourself
  brief        Show what somebody needs to go on with an agent's work

Look after it:
  setup        Set up everything in one step, and take it back
  install      Make a harness use msg: hooks, plugin and permission
  uninstall    Remove msg from a harness
  doctor       Check the mesh, and repair it
  link         Link this mesh with the meshes of other machines
  evict        Remove an agent whose process cannot be checked
  config       Show and change settings
  hook         The command that harnesses run as their hook
  waiter       The process that lets mail wake an idle agent
  mcp          Serve models that have tools instead of a shell
  guard        Make git refuse to commit what others have reserved
  completions  Print completions for your shell
  man          Show the man page of a command, or write them all
  selftest     Test the promises on this disk
  demo         See it work, on a mesh that is thrown away
  help         Show this, or the help of one command

Options:
{options}

Start with `msg join`. Every command has `--help` with examples, and `--json`.
";

/// The commands of the overview, each with what it does.
pub(super) fn overview() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = OVERVIEW.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    lines.filter_map(|line| line.trim_start().split_once(' ')).map(|(name, about)| (name, about.trim_start()))
}

/// Run several coding agents on one repository: they see each other, talk, reserve files and share tasks
#[derive(Debug, Parser)]
#[command(name = "msg", version, help_template = OVERVIEW, max_term_width = 110)]
#[command(disable_help_subcommand = false, args_override_self = true)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: GlobalArgs,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

impl Cli {
    /// Parses with the grammar of the called command. The whole grammar is built only if that fails, to produce the
    /// error message.
    pub(super) fn parse_words(words: &[OsString]) -> Result<Self, clap::Error> {
        let parsed = called(words).and_then(Command::grammar_of).and_then(|command| {
            let program = clap::Command::new("msg").args_override_self(true).disable_help_subcommand(true);
            Self::parse_by(GlobalArgs::augment_args(program).subcommand(command), words).ok()
        });
        parsed.map_or_else(|| Self::parse_by(Self::command(), words), Ok)
    }

    fn parse_by(mut grammar: clap::Command, words: &[OsString]) -> Result<Self, clap::Error> {
        Self::from_arg_matches(&grammar.try_get_matches_from_mut(words)?)
    }
}

/// The word that names the command: the first that is neither a flag nor the value of one. A wrong guess does no harm,
/// because the grammar of another command cannot parse the line.
fn called(words: &[OsString]) -> Option<&str> {
    let mut words = words.iter().skip(1).map(|word| word.to_str());
    loop {
        match words.next()?? {
            "--mesh" | "--as" | "--color" => drop(words.next()),
            flag if flag.starts_with('-') => {}
            name => return Some(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory;

    use super::{Cli, OVERVIEW};

    /// Tries every command, global flags in every place, values that look like commands, and mistakes.
    #[test]
    fn the_grammar_of_one_command_parses_as_the_whole_one_does() {
        let commands = Cli::command();
        let names = commands
            .get_subcommands()
            .flat_map(|command| std::iter::once(command.get_name()).chain(command.get_visible_aliases()));
        let globals: [&[&str]; 5] =
            [&[], &["--json"], &["--as", "send"], &["--mesh=x", "-qv"], &["--color", "never"]];
        let rests: [&[&str]; 6] =
            [&[], &["x"], &["Bo", "hi"], &["--limit", "3"], &["--help"], &["--nonsense"]];
        for name in names {
            for (before, rest) in globals.iter().flat_map(|global| rests.map(|rest| (*global, rest))) {
                let words = [&["msg"], before, &[name], rest].concat();
                let words: Vec<OsString> = words.iter().map(OsString::from).collect();
                let whole = Cli::parse_by(Cli::command(), &words).map_err(|error| error.to_string());
                let alone = Cli::parse_words(&words).map_err(|error| error.to_string());
                assert_eq!(format!("{alone:?}"), format!("{whole:?}"), "{words:?}");
            }
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    /// Whoever adds a command decides whether agents may run it without asking.
    #[test]
    fn every_command_is_permitted_or_not() {
        use crate::domain::{ASKED_COMMANDS, UNASKED_COMMANDS};
        const FOR_PEOPLE: [&str; 12] = [
            "setup",
            "install",
            "uninstall",
            "hook",
            "waiter",
            "mcp",
            "selftest",
            "demo",
            "man",
            "export",
            "notify",
            "link",
        ];
        let first = |command: &&str| command.split(' ').next().unwrap_or_default().to_string();
        let decided: Vec<String> = UNASKED_COMMANDS.iter().chain(ASKED_COMMANDS).map(first).collect();
        for command in Cli::command().get_subcommands() {
            for name in std::iter::once(command.get_name()).chain(command.get_visible_aliases()) {
                let is_decided = decided.iter().any(|known| known == name);
                assert!(is_decided != FOR_PEOPLE.contains(&name), "{name}");
            }
        }
        // Of what is permitted, everything exists: a word that is free could become something else.
        for name in UNASKED_COMMANDS.iter().filter(|name| !name.starts_with('-') && **name != "help") {
            assert!(Cli::command().find_subcommand(first(name)).is_some(), "{name}");
        }
    }

    #[test]
    fn the_overview_has_every_command() {
        let listed = |name: &str| OVERVIEW.lines().any(|line| line.split_whitespace().next() == Some(name));
        for command in Cli::command().get_subcommands() {
            assert!(listed(command.get_name()), "{} is not in the overview", command.get_name());
        }
        let in_overview = OVERVIEW.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        for name in in_overview.filter_map(|line| line.split_whitespace().next()) {
            assert!(name == "help" || Cli::command().find_subcommand(name).is_some(), "{name} is no command");
        }
    }
}
