//! What every change to tasks starts from: both locks held, claims of the dead dropped, and all that is known laid out.

use jiff::Timestamp;

use crate::domain::{Agent, AgentName, EventKind, called};
use crate::ops::context::Context;
use crate::ops::error::{CommandError, Kind};
use crate::ops::feed;
use crate::ops::letter::age;
use crate::store::{Census, Claim, Claims, Completion, Completions, Locked, Mesh, Swarm};
use crate::sys::clock;

use super::board::{Board, Sheet};
use super::place::{Place, Spellings};
use super::stale::is_stale;

pub(super) struct Table<'l> {
    pub(super) ctx: &'l Context,
    pub(super) mesh: &'l Mesh,
    pub(super) locked: &'l Locked<'l>,
    /// The caller, as it is registered now.
    pub(super) me: Agent,
    pub(super) census: Census,
    pub(super) claims: Claims,
    pub(super) completions: Completions,
    /// Whoever waited for the locks comes after what was completed meanwhile.
    pub(super) now: Timestamp,
    swarm: Swarm<'l>,
}

impl<'l> Table<'l> {
    pub(super) fn open(
        ctx: &'l Context,
        mesh: &'l Mesh,
        locked: &'l Locked<'l>,
        caller: &Agent,
    ) -> Result<Self, CommandError> {
        let census = locked.census()?;
        // With the paths that bind for nothing any more, which the census leaves out.
        let me = locked.own_record(caller)?.agent;
        let swarm = locked.swarm()?;
        let now = clock::now();
        let (claims, completions) = (swarm.claims()?, swarm.completions()?);
        let mut table = Self { ctx, mesh, locked, me, census, claims, completions, now, swarm };
        table.drop_stale()?;
        Ok(table)
    }

    /// Claims of those who are gone, and of what is done, are nobody's.
    fn drop_stale(&mut self) -> Result<(), CommandError> {
        let spellings = Spellings::default();
        let mut is_changed = false;
        let all: Vec<Claim> = self.claims.iter().collect();
        for claim in all {
            let is_done = spellings.completion(&self.completions, &claim.spec, &claim.task).is_some();
            if !is_done && !is_stale(&claim, &self.census) {
                continue;
            }
            self.claims.remove(&claim);
            is_changed = true;
            if !is_done && let Ok(name) = AgentName::new(claim.agent.as_str()) {
                feed::tell(self.ctx, self.mesh, EventKind::Stale, &name, Some(&claim.task), None);
            }
        }
        if is_changed {
            self.write_claims()?;
        }
        Ok(())
    }

    pub(super) fn board<'t>(&'t self, sheet: &'t Sheet) -> Board<'t> {
        Board::new(sheet, &self.claims, &self.completions, &self.census)
    }

    /// The spec that is named; else the one under which the caller claimed that task; else the caller's.
    pub(super) fn place_of(&self, named: Option<&str>, task: &str) -> Result<Place, CommandError> {
        let claimed = self.claims.of(&self.me).into_iter().find(|claim| claim.task == task);
        match (named, claimed) {
            (None, Some(claim)) => {
                let own = Place::find(self.ctx, None, Some(&self.me))?;
                if own.is_meant_by(&claim.spec) {
                    return Ok(Place { file: own.file.filter(|file| file.is_file()), ..own });
                }
                let file = std::path::PathBuf::from(&claim.spec);
                Ok(Place { key: claim.spec, file: Some(file).filter(|file| file.is_file()) })
            }
            _ => Place::find(self.ctx, named, Some(&self.me)),
        }
    }

    /// The caller's claim of that task, or why it has none.
    pub(super) fn own_claim(&self, board: &Board<'_>, task: &str) -> Result<Claim, CommandError> {
        let shown = task.escape_debug().to_string();
        if let Some(done) = board.completion(task) {
            let text = format!("{} completed `{shown}` {} ago", called(&done.by), age(done.at, self.now));
            return Err(CommandError::new(Kind::AlreadyCompleted, text).fact("agent", done.by.as_str()));
        }
        let mine = self.claims.of(&self.me);
        let is_it = |claim: &&Claim| claim.task == task && board.sheet.place.is_meant_by(&claim.spec);
        if let Some(claim) = mine.iter().find(is_it) {
            return Ok(claim.clone());
        }
        if let Some(claim) = board.claim(task) {
            let text = format!("`{shown}` is {}'s", called(&claim.agent));
            let error = CommandError::new(Kind::NotYours, text).fact("agent", claim.agent.as_str());
            return Err(match AgentName::new(claim.agent.as_str()) {
                Ok(name) => error.hint(format!("`msg send {name} \"…\"` asks")),
                Err(_) => error,
            });
        }
        let error = CommandError::new(Kind::NotClaimed, format!("nobody works on `{shown}`"));
        let error = match mine.first() {
            Some(mine) => error.hint(format!("you work on `{}`", mine.task)),
            None => error.hint("`msg claim TASK` takes it first"),
        };
        match board.sheet.spec.nearest(task).as_slice() {
            near if near.is_empty() || board.sheet.task(task).is_some() => Err(error),
            near => Err(error.hint(format!("did you mean {}?", near.join(" or ")))),
        }
    }

    pub(super) fn write_claims(&self) -> Result<(), CommandError> {
        Ok(self.swarm.write(&self.claims)?)
    }

    /// Gives `swarm.lock` back.
    pub(super) fn close(self) -> Agent {
        self.me
    }

    /// Writes that it is done before the claim goes: if we die in between, a claim of what is done counts as given up.
    pub(super) fn finish(&mut self, claim: &Claim, completion: &Completion) -> Result<(), CommandError> {
        self.completions.add(completion);
        self.swarm.write_completions(&self.completions)?;
        self.claims.remove(claim);
        self.write_claims()
    }
}
