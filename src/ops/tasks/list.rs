//! `msg tasks`: lists the tasks of a spec, or of every spec that somebody works on.

use crate::domain::{Agent, TaskRef};
use crate::ops::agents::{identity, stuck};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{Census, ClaimNumbers, Claims, Completions, Mesh};

use super::elsewhere::TasksElsewhere;
use super::proof::LaterWork;
use super::spec_key::Spellings;
use super::spec_ref::SpecRef;
use super::stale_claims::is_stale;
use super::task_board::{ParsedSpec, SpecProgress, TaskBoard, TaskState, TaskView};

/// What `tasks` shows.
#[derive(Clone, Debug)]
pub struct TaskList {
    /// `None`: there is no spec, only ad hoc tasks.
    pub spec: Option<String>,
    pub tasks: Vec<TaskView>,
    /// Of all listed tasks, including those that are not in the spec.
    pub progress: SpecProgress,
    /// Checkboxes in the spec that are not tasks because they have no id.
    pub boxes_without_id: usize,
    pub problems: Vec<String>,
    /// The caller, if known.
    pub me: Option<Agent>,
}

/// Every task of the named spec, else of the caller's.
pub fn tasks(op: &Op, named: Option<&str>) -> Result<TaskList, CommandError> {
    let mesh = op.mesh()?;
    let (census, me) = match &mesh {
        Some(mesh) => {
            let census = mesh.registry().census()?;
            let me = identity::caller_if_certain(op, mesh, &census);
            (census, me)
        }
        None => (Census::default(), None),
    };
    // Without a name, the caller's spec is needed.
    let me = match (named, me) {
        (None, None) => Some(identity::caller(op)?.1.agent),
        (_, me) => me,
    };
    let place = SpecRef::find(op, named, me.as_ref())?;
    let (claims, completions, numbers) = read_records(mesh.as_deref())?;
    if let Some(Err(error)) =
        mesh.as_deref().map(|mesh| stuck::report_from_census(op, mesh, &census, &claims))
    {
        op.warn(format!("cannot tell who is stuck: {error}"));
    }
    let records = TaskRecordsRead {
        mesh: mesh.as_deref(),
        claims: &claims,
        completions: &completions,
        numbers: &numbers,
        census: &census,
        elsewhere: &TasksElsewhere::of(mesh.as_deref()),
    };
    look(place, &records, me)
}

/// What is on disk about tasks, read once for several specs.
struct TaskRecordsRead<'a> {
    mesh: Option<&'a Mesh>,
    claims: &'a Claims,
    completions: &'a Completions,
    numbers: &'a ClaimNumbers,
    census: &'a Census,
    elsewhere: &'a TasksElsewhere<'a>,
}

/// A spec that somebody works on, and its tasks or why they can't be read.
#[derive(Clone, Debug)]
pub struct ActiveSpec {
    /// Its path, or that of the folder that acts as one.
    pub spec: String,
    pub tasks: Result<TaskList, CommandError>,
}

/// The tasks of every spec that an agent works on or has a claim in, each once; at most `most` specs.
pub(in crate::ops) fn boards(
    mesh: &Mesh,
    census: &Census,
    most: usize,
) -> Result<Vec<ActiveSpec>, CommandError> {
    boards_and(mesh, census, Vec::new(), most)
}

/// The same, and those of the specs with these keys.
pub(in crate::ops) fn boards_and(
    mesh: &Mesh,
    census: &Census,
    also: Vec<String>,
    most: usize,
) -> Result<Vec<ActiveSpec>, CommandError> {
    let (claims, completions, numbers) = read_records(Some(mesh))?;
    let (claims, completions, numbers) = (&claims, &completions, &numbers);
    let elsewhere = &TasksElsewhere::of(Some(mesh));
    let records = TaskRecordsRead { mesh: Some(mesh), claims, completions, numbers, census, elsewhere };
    let mut specs = also;
    specs.extend(census.local().filter_map(|record| record.agent.spec.clone()));
    specs.extend(claims.iter().filter(|claim| !is_stale(claim, census)).map(|claim| claim.spec));
    specs.sort();
    specs.dedup();
    let mut places: Vec<(String, SpecRef)> = Vec::new();
    for spec in specs {
        let place = SpecRef::worked_on(&spec);
        if places.len() < most && !places.iter().any(|(_, known)| known.key == place.key) {
            places.push((spec, place));
        }
    }
    let board = |(spec, place)| ActiveSpec { spec, tasks: look(place, &records, None) };
    Ok(places.into_iter().map(board).collect())
}

fn look(place: SpecRef, records: &TaskRecordsRead<'_>, me: Option<Agent>) -> Result<TaskList, CommandError> {
    let parsed_spec = ParsedSpec::read(place)?;
    let spellings = Spellings::default();
    let elsewhere = records.elsewhere.spec(&parsed_spec.place.key);
    let TaskRecordsRead { claims, completions, census, .. } = *records;
    let board = TaskBoard::new(&parsed_spec, claims, completions, census, &spellings, &elsewhere);
    let mut tasks = board.views();
    for task in &mut tasks {
        let place = TaskRef { spec: parsed_spec.place.key.clone(), id: task.id.clone() };
        task.reopened = records.numbers.reopenings(&place, task.completion.as_ref());
        let last = records.numbers.get(&place).filter(|_| task.state == TaskState::Open);
        task.came_back = last.and_then(|last| last.note.as_ref()).map(|note| note.text.clone());
    }
    if let Some(mesh) = records.mesh {
        LaterWork { mesh, census, claims, completions }.judge(&mut tasks)?;
    }
    Ok(TaskList {
        spec: parsed_spec.place.file.as_ref().map(|file| file.to_string_lossy().into_owned()),
        progress: SpecProgress::of(tasks.iter().map(|task| &task.state)),
        tasks,
        boxes_without_id: parsed_spec.spec.boxes_without_id,
        problems: parsed_spec.spec.problems.iter().map(ToString::to_string).collect(),
        me,
    })
}

fn read_records(mesh: Option<&Mesh>) -> Result<(Claims, Completions, ClaimNumbers), CommandError> {
    match mesh {
        Some(mesh) => {
            Ok((mesh.tasks().claims()?, mesh.tasks().completions()?, mesh.tasks().claim_numbers()?))
        }
        None => Ok(Default::default()),
    }
}
