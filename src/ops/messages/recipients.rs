//! Who a message is for: resolves `@all`, `@spec`, `@branch`, `@harness:NAME` and configured groups to agents.
//!
//! What begins with an `@` is a group if there is one of that name, else an agent. Without an `@` it is an agent.

use std::path::Path;

use crate::domain::settings::BroadcastScope;
use crate::domain::{Agent, AgentName, BuiltInGroup, Harness, Liveness, NamedGroup, find_group, suggestions};
use crate::harness;
use crate::ops::agents::profile::claims_to_look_at;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::elsewhere::RepositoryHere;
use crate::ops::project_scope::ProjectScope;
use crate::ops::tasks::Spellings;
use crate::store::{Census, Claims, Mesh};
use crate::sys::git::WorkTree;
use crate::sys::{clock, process};

use super::broadcast_reach::BroadcastReach;

/// The groups, for hints.
pub(super) const GROUPS: &str =
    "groups are `@all`, `@spec`, `@branch`, `@harness:NAME` and those of the setting `groups`";

/// A group that a message was sent to.
#[derive(Clone, Debug)]
pub struct ResolvedGroup {
    /// As it is written: `@backend`.
    pub group: String,
    /// The agents that it stands for now, without the sender.
    pub agents: Vec<AgentName>,
    /// Configured members that are not here.
    pub absent: Vec<String>,
}

/// What a broadcast reached.
#[derive(Clone, Copy, Debug)]
pub struct BroadcastSummary {
    /// `project`, `folder` or `everywhere`.
    pub scope: &'static str,
    /// How many other agents are live, but outside of that.
    pub elsewhere: usize,
}

/// Somebody to send to.
pub(super) enum Recipient {
    /// An agent, by a name that was typed or resolved.
    Agent(String),
    /// A group that stands for nobody.
    Nobody { to: String, error: CommandError },
}

/// Whether the message is a broadcast: the group of everyone is among its recipients.
pub(super) fn is_for_all(to: &[String]) -> bool {
    to.iter().any(|to| mentioned(to) == Some(BuiltInGroup::All))
}

/// Finds the members of groups, as they are at one moment.
pub(super) struct GroupResolver<'a> {
    pub(super) op: &'a Op,
    pub(super) mesh: &'a Mesh,
    pub(super) from: &'a Agent,
    pub(super) census: &'a Census,
    /// Members that are gone get the message when they come back.
    pub(super) may_be_held: bool,
}

/// A group that is meant by a recipient.
enum Group<'g> {
    BuiltIn(BuiltInGroup),
    Named(&'g NamedGroup),
}

impl Group<'_> {
    /// As it is written in a list of recipients.
    fn written(&self) -> String {
        match self {
            Self::BuiltIn(group) => group.to_string(),
            Self::Named(group) => format!("@{}", group.name),
        }
    }
}

/// The members of a group.
#[derive(Default)]
struct Members {
    agents: Vec<AgentName>,
    /// Names that are sent to although nobody has them now: to be held, or the registration can't be read.
    others: Vec<String>,
    absent: Vec<String>,
    /// Configured groups whose members are here already.
    seen: Vec<String>,
}

impl Members {
    fn add(&mut self, name: &AgentName) {
        if !self.agents.iter().any(|known| known.is_spelled_as(name)) {
            self.agents.push(name.clone());
        }
    }
}

impl<'a> GroupResolver<'a> {
    /// The agents that these recipients stand for, and what each group among them is.
    pub(super) fn resolve(&self, to: &[String]) -> (Vec<Recipient>, Vec<ResolvedGroup>) {
        let (mut recipients, mut groups) = (Vec::new(), Vec::new());
        for typed in to {
            let Some(group) = self.group(typed) else {
                recipients.push(Recipient::Agent(typed.clone()));
                continue;
            };
            match self.members(&group) {
                Ok(members) => {
                    self.note_absent(&group, &members.absent);
                    let agents = members.agents.iter().map(AgentName::to_string);
                    recipients.extend(agents.chain(members.others).map(Recipient::Agent));
                    let Members { agents, absent, .. } = members;
                    groups.push(ResolvedGroup { group: group.written(), agents, absent });
                }
                Err(error) => recipients.push(Recipient::Nobody { to: typed.clone(), error }),
            }
        }
        (recipients, groups)
    }

    /// The agents that a broadcast reaches, and how many it does not.
    pub(super) fn broadcast(&self, wanted: Option<BroadcastScope>) -> (Vec<Recipient>, BroadcastSummary) {
        let reach = BroadcastReach::of(self.op, wanted);
        let here = RepositoryHere::new(self.mesh, &self.op.cwd);
        let (reached, others): (Vec<&Agent>, Vec<&Agent>) =
            self.peers().partition(|agent| reach.includes_agent(&here, agent));
        let recipients = reached.into_iter().map(|agent| Recipient::Agent(agent.name.to_string()));
        (recipients.collect(), BroadcastSummary { scope: reach.name(), elsewhere: others.len() })
    }

    /// The live agents except the sender.
    fn peers(&self) -> impl Iterator<Item = &'a Agent> {
        let agents = self.census.records.iter().map(|record| &record.agent);
        let from = self.from;
        agents.filter(|agent| {
            !agent.name.is_spelled_as(&from.name) && process::liveness(&agent.process) != Liveness::Gone
        })
    }

    /// The group that is meant; `None`: an agent is.
    fn group(&self, to: &str) -> Option<Group<'a>> {
        let built_in = mentioned(to).map(Group::BuiltIn);
        built_in.or_else(|| find_group(self.op.settings.groups(), to).map(Group::Named))
    }

    /// The members, or why there are none.
    fn members(&self, group: &Group<'a>) -> Result<Members, CommandError> {
        if let Group::BuiltIn(BuiltInGroup::Harness(name)) = group
            && harness::parse(name).is_none()
        {
            return Err(unknown_harness(name));
        }
        let mut members = Members::default();
        self.collect(group, &mut members);
        match members.agents.is_empty() && members.others.is_empty() {
            true => Err(self.nobody(group)),
            false => Ok(members),
        }
    }

    fn collect(&self, group: &Group<'a>, into: &mut Members) {
        match group {
            Group::BuiltIn(BuiltInGroup::Harness(name)) if harness::parse(name).is_none() => {
                into.absent.push(group.written());
            }
            Group::BuiltIn(built_in) => {
                self.of_built_in(built_in).iter().for_each(|agent| into.add(&agent.name));
            }
            Group::Named(named) if into.seen.contains(&named.name) => {}
            Group::Named(named) => {
                into.seen.push(named.name.clone());
                for member in &named.members {
                    match self.group(member) {
                        Some(inner) => self.collect(&inner, into),
                        None => self.collect_agent(member, into),
                    }
                }
            }
        }
    }

    fn of_built_in(&self, group: &BuiltInGroup) -> Vec<&'a Agent> {
        match group {
            BuiltInGroup::All => self.in_reach(|_| true),
            BuiltInGroup::Harness(name) => self.in_reach(|agent| agent.harness_name() == name),
            BuiltInGroup::Spec => {
                let (claims, spellings) = (claims_to_look_at(self.op, self.mesh), Spellings::default());
                let own = specs(self.from, &claims);
                let is_own = |spec: &String| own.iter().any(|own| spellings.are_same(own, spec));
                let here = RepositoryHere::new(self.mesh, &self.op.cwd);
                let has_own = |agent: &&Agent| match agent.is_remote() {
                    true => here.is_of(agent) && own.iter().any(|own| works_elsewhere_with(agent, own)),
                    false => specs(agent, &claims).iter().any(is_own),
                };
                match own.is_empty() {
                    true => Vec::new(),
                    false => self.peers().filter(has_own).collect(),
                }
            }
            BuiltInGroup::Branch => {
                let Ok(branch) = branch_here(self.op) else { return Vec::new() };
                let project = ProjectScope::around(&self.op.cwd);
                let here = RepositoryHere::new(self.mesh, &self.op.cwd);
                let is_on_it = |agent: &&Agent| {
                    if agent.is_remote() {
                        return here.is_of(agent) && agent.git_branch.as_ref() == Some(&branch);
                    }
                    let folder = Path::new(&agent.cwd);
                    project.includes(folder) && branch_at(folder).as_ref() == Some(&branch)
                };
                self.peers().filter(is_on_it).collect()
            }
        }
    }

    /// Those whom a broadcast reaches and of whom that is true.
    fn in_reach(&self, fits: impl Fn(&Agent) -> bool) -> Vec<&'a Agent> {
        let reach = BroadcastReach::of(self.op, None);
        let here = RepositoryHere::new(self.mesh, &self.op.cwd);
        self.peers().filter(|agent| fits(agent) && reach.includes_agent(&here, agent)).collect()
    }

    /// A member that is named. Former names lead to the present one, as everywhere.
    fn collect_agent(&self, member: &str, into: &mut Members) {
        let name = member.strip_prefix('@').unwrap_or(member);
        let Ok(wanted) = AgentName::new(name) else { return into.absent.push(member.to_string()) };
        let record = self.census.find(&wanted, clock::now());
        match record.map(|record| &record.agent) {
            Some(agent) if agent.name.is_spelled_as(&self.from.name) => {}
            Some(agent) if process::liveness(&agent.process) != Liveness::Gone => into.add(&agent.name),
            _ if self.may_be_held || self.census.unreadable(&wanted).is_some() => {
                into.others.push(name.to_string());
            }
            _ => into.absent.push(name.to_string()),
        }
    }

    /// Says who of a group gets nothing.
    fn note_absent(&self, group: &Group<'_>, absent: &[String]) {
        if let [first @ .., last] = absent {
            let (names, verb) = match first {
                [] => (last.clone(), "is"),
                first => (format!("{} and {last}", first.join(", ")), "are"),
            };
            self.op
                .warn(format!("{names} of `{}` {verb} not here: nothing was sent to them", group.written()));
        }
    }

    /// The error for a group that stands for nobody: who it would be, and what to do.
    fn nobody(&self, group: &Group<'_>) -> CommandError {
        let empty = |text: String| CommandError::new(CommandErrorKind::EmptyGroup, text);
        let see = "`msg agents` lists who is here";
        match group {
            Group::BuiltIn(BuiltInGroup::All) => {
                empty(format!("nobody else is {}", self.reach_in_words())).hint(self.way_out())
            }
            Group::BuiltIn(BuiltInGroup::Harness(name)) => {
                empty(format!("no other agent of {name} is {}", self.reach_in_words())).hint(see)
            }
            Group::BuiltIn(BuiltInGroup::Spec) => {
                match specs(self.from, &claims_to_look_at(self.op, self.mesh)).first() {
                    Some(spec) => {
                        let spec = self.op.home.shorten(spec);
                        empty(format!("nobody else works with your spec, `{spec}`"))
                            .hint("an agent sets its spec with `msg spec PATH`")
                    }
                    None => empty("`@spec` is who works with your spec, and you have none".to_string())
                        .hint("set it with `msg spec PATH`"),
                }
            }
            Group::BuiltIn(BuiltInGroup::Branch) => match branch_here(self.op) {
                Ok(branch) => empty(format!("nobody else is on branch `{branch}` of this project")).hint(see),
                Err(why) => empty(format!("`@branch` is who is on your branch, and {why}"))
                    .hint("name the agents; `msg agents` lists them"),
            },
            Group::Named(named) => {
                let who = match named.members.as_slice() {
                    [] => "it has no members".to_string(),
                    members => format!("its members are {}", members.join(", ")),
                };
                let hint = "`msg agents` lists who is here; `msg config set groups` changes groups";
                empty(format!("nobody of `{}` is here: {who}", group.written())).hint(hint)
            }
        }
    }

    fn reach_in_words(&self) -> String {
        let here = self.op.home.shorten(&self.op.folder());
        match BroadcastReach::of(self.op, None) {
            BroadcastReach::Everywhere => "here".to_string(),
            BroadcastReach::Project(_) => format!("in this project, `{here}`"),
            BroadcastReach::Folder(_) => format!("in this folder, `{here}`"),
        }
    }

    fn way_out(&self) -> String {
        match self.peers().count() {
            0 => "`msg agents` lists who is here".to_string(),
            others => how_to_reach(others),
        }
    }
}

/// What reaches agents that a broadcast does not.
pub(super) fn how_to_reach(others: usize) -> String {
    let agents = if others == 1 { "1 agent".to_string() } else { format!("{others} agents") };
    format!("`msg broadcast --everywhere TEXT` reaches {agents} elsewhere")
}

/// The error for a recipient that nobody is called, with the agents and groups that may be meant.
pub(super) fn unknown(op: &Op, census: &Census, to: &str, name: &AgentName) -> CommandError {
    let is_mention = to.starts_with('@');
    let what = if is_mention { "no agent or group is called" } else { "no agent is called" };
    let error = CommandError::new(CommandErrorKind::UnknownAgent, format!("{what} {name}"));
    let agents = census.records.iter().map(|record| record.agent.name.to_string());
    // Everyone is never what a mistyped name leads to.
    let built_in = BuiltInGroup::WORDS.into_iter().filter(|word| is_mention && *word != "all");
    let groups = op.settings.groups().iter().map(|group| group.name.as_str()).chain(built_in);
    let known: Vec<String> = agents.chain(groups.map(|group| format!("@{group}"))).collect();
    let words: Vec<&str> = known.iter().map(|known| known.trim_start_matches('@')).collect();
    let mut similar = suggestions(name.as_str(), words);
    similar.dedup();
    let of_word = |word| known.iter().filter(move |known| known.trim_start_matches('@') == word).cloned();
    let near: Vec<String> = similar.into_iter().flat_map(of_word).collect();
    match near.as_slice() {
        [] if is_mention => error.hint(format!("`msg agents` lists who is here; {GROUPS}")),
        [] => error.hint("`msg agents` lists who is here"),
        _ => error.hint(format!("did you mean {}?", near.join(" or "))).facts("nearest", near.clone()),
    }
}

fn unknown_harness(name: &str) -> CommandError {
    let known: Vec<&str> = harness::all().map(Harness::name).collect();
    let text = match name {
        "" => "`@harness:` lacks the name of a harness".to_string(),
        name => format!("there is no harness `{}`", name.escape_debug()),
    };
    let error = CommandError::new(CommandErrorKind::UnknownGroup, text);
    match suggestions(name, known.iter().copied()).as_slice() {
        [] => error.hint(format!("`@harness:NAME` takes one of: {}", known.join(", "))),
        near => {
            let near: Vec<String> = near.iter().map(|name| format!("@harness:{name}")).collect();
            error.hint(format!("did you mean {}?", near.join(" or "))).facts("nearest", near)
        }
    }
}

/// The group that needs no configuration and is meant by a recipient.
fn mentioned(to: &str) -> Option<BuiltInGroup> {
    BuiltInGroup::parse(to.strip_prefix('@')?)
}

/// The specs that an agent works with: its own, and those of the tasks that it has claimed.
fn specs(agent: &Agent, claims: &Claims) -> Vec<String> {
    agent.spec.iter().cloned().chain(claims.of(agent).into_iter().map(|claim| claim.spec)).collect()
}

/// Whether an agent on another machine, in the same repository, has that spec of ours: one with the same path below the
/// root of a work tree. Where the root is there is not known here.
fn works_elsewhere_with(agent: &Agent, own: &str) -> bool {
    let Some(tree) = Path::new(own).parent().and_then(WorkTree::containing) else { return false };
    let below = Path::new(own).strip_prefix(&tree.root);
    agent.spec.as_deref().zip(below.ok()).is_some_and(|(theirs, below)| Path::new(theirs).ends_with(below))
}

/// Why there is no branch that agents could share.
#[derive(Debug, thiserror::Error)]
enum NoBranch {
    #[error("`{0}` is in no git work tree")]
    NoWorkTree(String),
    #[error("the branch that is checked out here cannot be read")]
    Unreadable,
    #[error("no branch is checked out here")]
    Detached,
}

/// The branch that is checked out here.
fn branch_here(op: &Op) -> Result<String, NoBranch> {
    let outside = || NoBranch::NoWorkTree(op.home.shorten(&op.folder()));
    let branch = WorkTree::containing(&op.cwd).ok_or_else(outside)?.branch().ok_or(NoBranch::Unreadable)?;
    if branch.starts_with('@') { Err(NoBranch::Detached) } else { Ok(branch) }
}

/// The branch that is checked out there now: the one of a registration is from when its agent joined.
fn branch_at(folder: &Path) -> Option<String> {
    WorkTree::containing(folder)?.branch()
}
