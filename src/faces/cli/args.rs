//! The command-line arguments as parsed; `commands/` interprets them.

use std::ffi::OsString;

use clap::{ArgAction, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use super::commands;

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
  broadcast    Send a message to everyone
  reply        Answer a message
  read         Take your unread mail
  inbox        Show your unread mail without taking it
  watch        Follow your inbox
  wait         Block until there is mail
  show         Show one message in full
  ack          Acknowledge messages, or list those that need it
  receipt      Show what became of a message you sent
  history      Show a conversation, oldest first

Keep out of each other's files:
  reserve      Reserve paths so that other agents can't edit them
  release      Release paths
  reservations List who holds which paths
  check        Check whether you may change these paths

Split a spec into tasks:
  tasks        List the tasks of your spec, and who works on which
  claim        Claim a task
  complete     Mark your task as done
  unclaim      Give a task back
  handoff      Pass your task to another agent
  spec         Show or set the spec you work on

Look around:
  tui          See who is here and talk to them, on one screen
  agents       List the agents here and what they are doing
  feed         Show what happened, oldest first
  statusline   Print one short line for a status bar
  whois        Show one agent in full
  whoami       Show yourself

Look after it:
  install      Make a harness use msg: hooks, plugin and permission
  uninstall    Remove msg from a harness
  doctor       Check the mesh, and repair it
  evict        Remove an agent whose process cannot be checked
  config       Show and change settings
  hook         The command that harnesses run as their hook
  waiter       The process that lets mail wake an idle agent
  mcp          Serve models that have tools instead of a shell
  guard        Make git refuse to commit what others have reserved
  completions  Print completions for your shell
  selftest     Test the promises on this disk
  demo         See it work, on a mesh that is thrown away
  help         Show this, or the help of one command

Options:
{options}

Start with `msg join`. Every command has `--help` with examples, and `--json`.
";

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

/// How much is printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verbosity {
    Normal,
    Verbose,
}

/// Flags of every command, allowed anywhere on the line.
#[derive(Args, Debug)]
pub(super) struct GlobalArgs {
    /// The directory that agents share
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(super) mesh: Option<String>,
    /// Act as this agent
    #[arg(long = "as", global = true, value_name = "NAME", help_heading = "Global options")]
    pub(super) acting_as: Option<String>,
    /// Answer with one JSON object
    #[arg(long, global = true, help_heading = "Global options")]
    pub(super) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Global options")]
    pub(super) color: ColorWhen,
    /// Print only the bare answer: a name, an id, a path
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(super) quiet: bool,
    /// Print more (join, whoami, config, doctor)
    #[arg(short, long, global = true, action = ArgAction::SetTrue, help_heading = "Global options")]
    pub(super) verbose: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum ColorWhen {
    #[default]
    Auto,
    Always,
    Never,
}

/// Declares the commands as an enum of their arguments. The grammar of all commands takes longer to build than most
/// commands run, so a call starts with the grammar of its own command alone.
macro_rules! commands {
    ($($variant:ident($module:ident::$args:ident) = $name:literal $([$($alias:literal),+])?;)+) => {
        #[derive(Debug)]
        pub(super) enum Command {
            $($variant(commands::$module::$args),)+
        }

        impl Subcommand for Command {
            fn augment_subcommands(program: clap::Command) -> clap::Command {
                program$(.subcommand(
                    clap::Command::new($name)
                        $(.visible_aliases([$($alias),+]))?
                        .defer(|command| compact(commands::$module::$args::augment_args(command))),
                ))+
            }

            fn augment_subcommands_for_update(program: clap::Command) -> clap::Command {
                Self::augment_subcommands(program)
            }

            fn has_subcommand(name: &str) -> bool {
                [$($name $(, $($alias),+)?),+].contains(&name)
            }
        }

        impl Command {
            /// The grammar of one command, by name or alias, without the global options.
            pub(super) fn grammar_of(name: &str) -> Option<clap::Command> {
                match name {
                    $($name $(| $($alias)|+)? => {
                        let command = clap::Command::new($name)$(.visible_aliases([$($alias),+]))?;
                        Some(commands::$module::$args::augment_args(command))
                    })+
                    _ => None,
                }
            }
        }

        impl FromArgMatches for Command {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                match matches.subcommand() {
                    $(Some(($name, matches)) => commands::$module::$args::from_arg_matches(matches).map(Self::$variant),)+
                    _ => Err(clap::Error::new(clap::error::ErrorKind::MissingSubcommand)),
                }
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    };
}

commands! {
    Join(join::JoinArgs) = "join";
    Leave(leave::LeaveArgs) = "leave";
    Rename(rename::RenameArgs) = "rename";
    SetStatus(set_status::SetStatusArgs) = "set-status";
    Send(send::SendArgs) = "send";
    Broadcast(broadcast::BroadcastArgs) = "broadcast";
    Reply(reply::ReplyArgs) = "reply";
    Read(read::ReadArgs) = "read";
    Inbox(inbox::InboxArgs) = "inbox";
    Watch(watch::WatchArgs) = "watch";
    Wait(wait::WaitArgs) = "wait";
    Show(show::ShowArgs) = "show";
    Ack(ack::AckArgs) = "ack";
    Receipt(receipt::ReceiptArgs) = "receipt";
    History(history::HistoryArgs) = "history";
    Reserve(reserve::ReserveArgs) = "reserve";
    Release(release::ReleaseArgs) = "release";
    Reservations(reservations::ReservationsArgs) = "reservations";
    Check(check::CheckArgs) = "check";
    Tasks(tasks::TasksArgs) = "tasks" ["swarm"];
    Claim(claim::ClaimArgs) = "claim";
    Complete(complete::CompleteArgs) = "complete";
    Unclaim(unclaim::UnclaimArgs) = "unclaim";
    Handoff(handoff::HandoffArgs) = "handoff";
    Spec(spec::SpecArgs) = "spec";
    Tui(tui::TuiArgs) = "tui";
    Agents(agents::AgentsArgs) = "agents" ["list", "ls"];
    Feed(feed::FeedArgs) = "feed";
    Statusline(statusline::StatuslineArgs) = "statusline";
    Whois(whois::WhoisArgs) = "whois";
    Whoami(whoami::WhoamiArgs) = "whoami";
    Install(install::InstallArgs) = "install";
    Uninstall(uninstall::UninstallArgs) = "uninstall";
    Doctor(doctor::DoctorArgs) = "doctor";
    Evict(evict::EvictArgs) = "evict";
    Config(config::ConfigArgs) = "config";
    Hook(hook::HookArgs) = "hook";
    Waiter(waiter::WaiterArgs) = "waiter";
    Mcp(mcp::McpArgs) = "mcp";
    Guard(guard::GuardArgs) = "guard";
    Completions(completions::CompletionsArgs) = "completions";
    Selftest(selftest::SelftestArgs) = "selftest";
    Demo(demo::DemoArgs) = "demo";
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

/// Moves the part of a command's doc comment after its first line above the examples, so that `--help` is one compact
/// page.
fn compact(command: clap::Command) -> clap::Command {
    let (Some(long), Some(short)) = (command.get_long_about(), command.get_about()) else { return command };
    let (long, short) = (long.to_string(), short.to_string());
    let more = long.strip_prefix(&short).unwrap_or(&long).trim().to_string();
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let below = [more, examples].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
    command.about(short).long_about(None::<&str>).after_help(below)
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
