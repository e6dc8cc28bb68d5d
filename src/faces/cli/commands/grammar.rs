//! The list of the commands with their arguments, and the grammar of each.

use clap::{ArgMatches, Args, FromArgMatches, Subcommand};

/// Declares the commands as an enum of their arguments. The grammar of all commands takes longer to build than most
/// commands run, so a call starts with the grammar of its own command alone.
macro_rules! commands {
    ($($variant:ident($module:ident::$args:ident) = $name:literal $([$($alias:literal),+])?;)+) => {
        #[derive(Debug)]
        pub(in crate::faces::cli) enum Command {
            $($variant(super::$module::$args),)+
        }

        impl Subcommand for Command {
            fn augment_subcommands(program: clap::Command) -> clap::Command {
                program$(.subcommand(
                    clap::Command::new($name)
                        $(.visible_aliases([$($alias),+]))?
                        .defer(|command| compact(super::$module::$args::augment_args(command))),
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
            pub(in crate::faces::cli) fn grammar_of(name: &str) -> Option<clap::Command> {
                // The functions are called below, not in the match: there the compiler would give each its own place on
                // the stack, and every page of that costs time at every start.
                type Augment = fn(clap::Command) -> clap::Command;
                let (name, aliases, augment): (&'static str, &[&'static str], Augment) = match name {
                    $($name $(| $($alias)|+)? => ($name, &[$($($alias),+)?], super::$module::$args::augment_args),)+
                    _ => return None,
                };
                Some(augment(clap::Command::new(name).visible_aliases(aliases.iter().copied())))
            }
        }

        impl FromArgMatches for Command {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                match matches.subcommand() {
                    $(Some(($name, matches)) => super::$module::$args::from_arg_matches(matches).map(Self::$variant),)+
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
    Notify(notify::NotifyArgs) = "notify";
    Show(show::ShowArgs) = "show";
    Ack(ack::AckArgs) = "ack";
    Receipt(receipt::ReceiptArgs) = "receipt";
    History(history::HistoryArgs) = "history";
    Search(search::SearchArgs) = "search";
    Log(log::WorkLogArgs) = "log";
    Reserve(reserve::ReserveArgs) = "reserve";
    Release(release::ReleaseArgs) = "release";
    Contest(contest::ContestArgs) = "contest";
    Reservations(reservations::ReservationsArgs) = "reservations";
    Check(check::CheckArgs) = "check";
    Tasks(tasks::TasksArgs) = "tasks" ["swarm"];
    Claim(claim::ClaimArgs) = "claim";
    Complete(complete::CompleteArgs) = "complete";
    Reopen(reopen::ReopenArgs) = "reopen";
    Unclaim(unclaim::UnclaimArgs) = "unclaim";
    Handoff(handoff::HandoffArgs) = "handoff";
    Delegate(delegate::DelegateArgs) = "delegate";
    Suggest(suggest::SuggestArgs) = "suggest";
    Spec(spec::SpecArgs) = "spec";
    Know(know::KnowArgs) = "know";
    Learn(learn::LearnArgs) = "learn";
    Record(record::RecordArgs) = "record";
    Knowledge(knowledge::KnowledgeArgs) = "knowledge";
    Run(run::RunArgs) = "run";
    Batch(batch::BatchArgs) = "batch";
    Chain(batch::ChainArgs) = "chain";
    Crew(crew::CrewArgs) = "crew";
    Runs(runs::RunsArgs) = "runs";
    Look(look::LookArgs) = "look";
    Tell(tell::TellArgs) = "tell";
    Mode(mode::ModeArgs) = "mode";
    Budget(budget::BudgetArgs) = "budget";
    Up(up::UpArgs) = "up";
    Down(down::DownArgs) = "down";
    Workers(workers::WorkersArgs) = "workers";
    Tui(tui::TuiArgs) = "tui";
    Agents(agents::AgentsArgs) = "agents" ["list", "ls"];
    Topics(topics::TopicsArgs) = "topics";
    Overlaps(overlaps::OverlapsArgs) = "overlaps";
    Feed(feed::FeedArgs) = "feed";
    Export(export::ExportPageArgs) = "export";
    Statusline(statusline::StatuslineArgs) = "statusline";
    Whois(whois::WhoisArgs) = "whois";
    Whoami(whoami::WhoamiArgs) = "whoami";
    Brief(brief::BriefArgs) = "brief";
    Setup(setup::SetupArgs) = "setup";
    Install(install::InstallArgs) = "install";
    Uninstall(uninstall::UninstallArgs) = "uninstall";
    Link(link::LinkArgs) = "link";
    Doctor(doctor::DoctorArgs) = "doctor";
    Evict(evict::EvictArgs) = "evict";
    Config(config::ConfigArgs) = "config";
    Hook(hook::HookArgs) = "hook";
    Waiter(waiter::WaiterArgs) = "waiter";
    Mcp(mcp::McpArgs) = "mcp";
    Guard(guard::GuardArgs) = "guard";
    Completions(completions::CompletionsArgs) = "completions";
    Man(man::ManArgs) = "man";
    Selftest(selftest::SelftestArgs) = "selftest";
    Demo(demo::DemoArgs) = "demo";
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
