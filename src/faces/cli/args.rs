//! The arguments, as they are parsed; what they mean is made of them in `commands/`.

use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand, ValueEnum};

use super::commands;

/// The overview. A test holds it against the list of commands.
const OVERVIEW: &str = "\
{about}

{usage-heading} {usage}

Come and go:
  join         Join the mesh under a name of your own or a made-up one
  leave        Leave: tasks and paths become free, unread mail is kept
  rename       Take another name; mail, tasks and paths go along
  set-status   Say what others see beside your name

Talk:
  send         Send a message to one agent, or to several
  broadcast    Send a message to everyone
  reply        Answer a message
  read         Take what waits for you
  inbox        Look at what waits, and leave it there
  watch        Follow your inbox
  wait         Block until there is mail
  show         One message in full
  ack          Confirm messages
  receipt      Where a message that you sent stands
  history      A conversation, oldest first

Look around:
  agents       Who is there, and what they are at
  whois        One agent in full
  whoami       Yourself

Look after it:
  doctor       What is wrong with the mesh, and mend it
  evict        Remove an agent that nobody can tell is alive
  config       Show and change settings
  completions  Completions for your shell
  demo         See it work, on a mesh that is thrown away
  help         This, or the help of one command

Options:
{options}

Start with `msg join`. Every command has `--help` with examples, and `--json`.
";

/// Coding agents on one machine find each other, talk, keep out of each other's files and split a spec into tasks
#[derive(Debug, Parser)]
#[command(name = "msg", version, help_template = OVERVIEW, max_term_width = 110)]
#[command(disable_help_subcommand = false, args_override_self = true)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: GlobalArgs,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// The program's arguments. What a command's doc comment says after its first line stands above its examples, so that
/// `--help` is one compact page.
pub(super) fn command() -> clap::Command {
    Cli::command().mut_subcommands(|command| {
        let (Some(long), Some(short)) = (command.get_long_about(), command.get_about()) else {
            return command;
        };
        let (long, short) = (long.to_string(), short.to_string());
        let more = long.strip_prefix(&short).unwrap_or(&long).trim().to_string();
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let below =
            [more, examples].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
        command.about(short).long_about(None::<&str>).after_help(below)
    })
}

/// Flags of every command, allowed anywhere on the line.
#[derive(Args, Debug)]
pub(super) struct GlobalArgs {
    /// The directory that agents share
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(super) mesh: Option<String>,
    /// Act as this agent
    #[arg(long = "as", global = true, value_name = "NAME", help_heading = "Global options")]
    pub(super) speaker: Option<String>,
    /// Answer with one JSON object
    #[arg(long, global = true, help_heading = "Global options")]
    pub(super) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global options")]
    pub(super) color: When,
    /// Say only what was asked for
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(super) quiet: bool,
    /// Say more
    #[arg(short, long, global = true, action = ArgAction::SetTrue, help_heading = "Global options")]
    pub(super) verbose: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum When {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Join(commands::join::JoinArgs),
    Leave(commands::leave::LeaveArgs),
    #[command(visible_aliases = ["list", "ls"])]
    Agents(commands::agents::AgentsArgs),
    Whoami(commands::whoami::WhoamiArgs),
    Whois(commands::whois::WhoisArgs),
    Rename(commands::rename::RenameArgs),
    SetStatus(commands::set_status::SetStatusArgs),
    Evict(commands::evict::EvictArgs),
    Send(commands::send::SendArgs),
    Broadcast(commands::broadcast::BroadcastArgs),
    Reply(commands::reply::ReplyArgs),
    Read(commands::read::ReadArgs),
    Inbox(commands::inbox::InboxArgs),
    Watch(commands::watch::WatchArgs),
    Wait(commands::wait::WaitArgs),
    Show(commands::show::ShowArgs),
    Ack(commands::ack::AckArgs),
    Receipt(commands::receipt::ReceiptArgs),
    History(commands::history::HistoryArgs),
    Config(commands::config::ConfigArgs),
    Doctor(commands::doctor::DoctorArgs),
    Demo(commands::demo::DemoArgs),
    Completions(commands::completions::CompletionsArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{Cli, OVERVIEW};

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
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
