//! The tasks of specs for a lookup: what they are called and whose they are, read without changing or judging anything.

use crate::domain::Agent;
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::store::{Census, Mesh};
use crate::sys::files;

use super::elsewhere::TasksElsewhere;
use super::spec_key::Spellings;
use super::spec_ref::SpecRef;
use super::stale_claims::is_stale;
use super::task_board::{ParsedSpec, TaskBoard, TaskState};

/// A larger spec takes too long to parse while somebody waits, in bytes.
const LARGEST: u64 = 2 * 1024 * 1024;
/// How many specs are read.
const MOST_SPECS: usize = 16;

/// Whose tasks are listed.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops) enum SpecSource<'a> {
    /// Those of the spec at this path.
    Named(&'a str),
    /// Those of the agent's spec.
    Of(&'a Agent),
    /// Those of every spec that somebody works on.
    AllKnown,
}

/// A task, and the agent that works on it.
#[derive(Clone, Debug)]
pub(in crate::ops) struct ListedTask {
    pub(in crate::ops) id: String,
    pub(in crate::ops) title: String,
    pub(in crate::ops) state: TaskState,
    pub(in crate::ops) holder: Option<String>,
}

/// The specs of live agents and of claims, each once.
pub(in crate::ops) fn known_specs(mesh: &Mesh, census: &Census) -> Result<Vec<String>, CommandError> {
    let mut specs: Vec<String> = census.local().filter_map(|record| record.agent.spec.clone()).collect();
    let claims = mesh.tasks().claims()?;
    let in_work = claims.iter().filter(|claim| !is_stale(claim, census)).map(|claim| claim.spec);
    // A folder that acts as a spec has no file.
    specs.extend(in_work.filter(|spec| std::path::Path::new(spec).is_file()));
    specs.sort();
    specs.dedup();
    Ok(specs)
}

pub(in crate::ops) fn listed_tasks(
    ctx: &Context,
    mesh: &Mesh,
    census: &Census,
    source: SpecSource<'_>,
) -> Result<Vec<ListedTask>, CommandError> {
    let places = match source {
        SpecSource::Named(path) => vec![SpecRef::named(ctx, path)?],
        SpecSource::Of(agent) => vec![SpecRef::find(ctx, None, Some(agent))?],
        SpecSource::AllKnown => {
            let specs = known_specs(mesh, census)?.into_iter().take(MOST_SPECS);
            specs.map(|spec| SpecRef::worked_on(&spec)).collect()
        }
    };
    let (claims, completions) = (mesh.tasks().claims()?, mesh.tasks().completions()?);
    let elsewhere = TasksElsewhere::of(Some(mesh));
    let mut listed = Vec::new();
    for place in places.into_iter().filter(is_small) {
        // One that can't be read must not hide the others.
        let Ok(parsed) = ParsedSpec::read(place) else { continue };
        let spellings = Spellings::default();
        let board = TaskBoard::new(
            &parsed,
            &claims,
            &completions,
            census,
            &spellings,
            &elsewhere.spec(&parsed.place.key),
        );
        listed.extend(board.views().into_iter().map(|view| ListedTask {
            holder: view.claim.map(|claim| claim.who()),
            id: view.id,
            title: view.title,
            state: view.state,
        }));
    }
    Ok(listed)
}

fn is_small(place: &SpecRef) -> bool {
    let metadata = place.file.as_deref().map(files::metadata);
    metadata.is_none_or(|found| matches!(found, Ok(Some(metadata)) if metadata.len() <= LARGEST))
}
