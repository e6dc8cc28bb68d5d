//! Who is there?

use std::path::Path;

use jiff::Timestamp;

use crate::domain::{AgentName, Liveness};
use crate::store::{Grave, Mesh, Record, Unreadable, Why};
use crate::sys::{clock, process};

use super::bury::bury_in_passing;
use super::context::{Context, same_folder};
use super::error::{CommandError, Kind};
use super::identity::{self, with_nearest};
use super::names::{self, is_live};
use super::profile::{Profile, claims_to_look_at};
use super::stuck;
use super::waiting;

/// Whom to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    /// Those who are gone, instead of those who are there.
    pub gone: bool,
    /// Only those in this folder.
    pub here: bool,
}

/// An agent that is no longer there.
#[derive(Clone, Debug)]
pub struct Gone {
    pub name: String,
    pub why: Why,
    pub at: Timestamp,
    pub by: Option<String>,
    pub unread: usize,
    pub cwd: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub agents: Vec<Profile>,
    pub gone: Vec<Gone>,
    pub unreadable: Vec<Unreadable>,
    pub me: Option<AgentName>,
}

pub fn agents(ctx: &Context, filter: Filter) -> Result<Listing, CommandError> {
    look(ctx, filter, show_life)
}

/// The same for a screen that looks by itself: that is nobody's sign of life.
pub(super) fn look_around(ctx: &Context, filter: Filter) -> Result<Listing, CommandError> {
    look(ctx, filter, |_, _, _| {})
}

fn look(
    ctx: &Context,
    filter: Filter,
    show_life: fn(&Context, &Mesh, Option<&AgentName>),
) -> Result<Listing, CommandError> {
    let Some(mesh) = ctx.mesh()? else { return Ok(Listing::default()) };
    let census = mesh.census()?;
    let me = identity::glance(ctx, &mesh, &census).map(|agent| agent.name);
    show_life(ctx, &mesh, me.as_ref());
    let is_owed = waiting::is_owed(&mesh, &census).unwrap_or_else(|error| {
        ctx.notice(format!("who waits for a task can't be told: {error}"));
        false
    });
    let claims = claims_to_look_at(ctx, &mesh);
    let here = filter.here || ctx.settings.scope_to_folder();
    let in_scope = |cwd: &str| !here || same_folder(Path::new(cwd), &ctx.cwd);
    let mut listing = Listing { me, unreadable: census.unreadable, ..Listing::default() };
    let mut seen_dead = false;
    for Record { agent, .. } in census.records {
        let liveness = process::liveness(&agent.process);
        if liveness == Liveness::Gone {
            seen_dead |= !agent.is_foreign();
        } else if in_scope(&agent.cwd) {
            listing.agents.push(Profile::with_liveness(ctx, &mesh, agent, &claims, liveness)?);
        }
    }
    stuck::notice(ctx, &mesh, &listing.agents);
    if (seen_dead || is_owed)
        && let Err(error) = bury_in_passing(ctx, &mesh)
    {
        ctx.notice(format!("those who are gone could not be buried: {error}"));
    }
    if filter.gone {
        listing.agents.clear();
        let graves = mesh.graves()?;
        listing.unreadable.extend(graves.unreadable);
        let gone = graves.graves.into_iter().map(gone);
        listing.gone = gone.filter(|gone| gone.cwd.as_deref().is_none_or(in_scope)).collect();
        listing.gone.sort_by_key(|gone| gone.at);
    }
    Ok(listing)
}

/// One agent, and whether it is the caller.
pub fn whois(ctx: &Context, name: &AgentName) -> Result<(Profile, bool), CommandError> {
    let unknown = || CommandError::new(Kind::UnknownAgent, format!("no agent is called {name}"));
    let Some(mesh) = ctx.mesh()? else { return Err(unknown().hint("nobody has joined this mesh yet")) };
    let census = mesh.census()?;
    if let Some(record) = census.find(name, clock::now()).filter(|record| is_live(record)) {
        let me = identity::glance(ctx, &mesh, &census).map(|agent| agent.name);
        show_life(ctx, &mesh, me.as_ref());
        let profile = Profile::look(ctx, &mesh, record.agent.clone())?;
        stuck::notice(ctx, &mesh, [&profile]);
        return Ok((profile, me.as_ref() == Some(&record.agent.name)));
    }
    if let Some(file) = census.unreadable(name) {
        return Err(names::unreadable(name, file));
    }
    if let Some(record) = census.find(name, clock::now()) {
        let (name, pid) = (&record.agent.name, record.agent.process.pid());
        return Err(CommandError::new(
            Kind::NotRunning,
            format!("{name} is gone: its process {pid} has ended"),
        ));
    }
    let is_of = |grave: &&Grave| grave.record.as_ref().is_some_and(|record| record.agent.name == *name);
    let mut graves = mesh.graves()?.graves;
    graves.sort_by_key(|grave| std::cmp::Reverse(grave.at));
    if let Some(grave) = graves.iter().find(is_of) {
        let verb = verb(grave.why);
        let text = format!("{name} is gone: it {verb} at {}", crate::store::iso(grave.at));
        return Err(CommandError::new(Kind::NotRunning, text)
            .hint("`msg agents --gone` tells of all who are")
            .fact("since", crate::store::iso(grave.at)));
    }
    Err(with_nearest(unknown(), name, &census))
}

/// Who looks around lives.
fn show_life(ctx: &Context, mesh: &Mesh, me: Option<&AgentName>) {
    if let Some(Err(error)) = me.map(|me| mesh.touch(me)) {
        ctx.notice(format!("your presence could not be noted: {error}"));
    }
}

fn gone(grave: Grave) -> Gone {
    let name = grave.id.name().to_string();
    let cwd = grave.record.map(|record| record.agent.cwd);
    Gone { name, why: grave.why, at: grave.at, by: grave.by, unread: grave.unread, cwd }
}

/// What happened, as a verb.
pub(super) fn verb(why: Why) -> &'static str {
    match why {
        Why::Died => "ended",
        Why::Left => "left",
        Why::Evicted => "was evicted",
        Why::Lost => "was never there",
    }
}
