//! `msg runs open`: the command line by which a person continues the session of a run at a terminal.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::domain::runs::Run;
use crate::harness;
use crate::store::{Mesh, OrderedProgram};
use crate::sys::program;

use super::again::{ended, root, session};
use super::gate::Gate;
use super::list::find;
use super::settle::settle;
use super::work::RunWork;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::workers::harness_program;

/// How a session is opened.
#[derive(Debug)]
pub struct OpenedSession {
    pub run: Run,
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Where it is to be started.
    pub dir: PathBuf,
}

/// How the session of a run that has ended is opened.
pub fn open(op: &Op, id: &str) -> Result<OpenedSession, CommandError> {
    let run = ended(find(op, id)?)?;
    let (harness, session) = session(&run)?;
    let mesh = op.mesh()?.ok_or_else(|| CommandError::new(CommandErrorKind::Io, "the mesh is gone"))?;
    let dir = match run.project {
        None => root(&run)?,
        Some(_) => reopen(op, &mesh, &run)?,
    };
    let then = match mesh.runs().order(&run.id)?.program {
        OrderedProgram::Harness { path, .. } => {
            Some(PathBuf::from(path)).filter(|path| program::is_program(path))
        }
        OrderedProgram::Command(_) => None,
    };
    let support = harness::support(harness);
    let adapter = support.and_then(|support| support.worker());
    let (Some(adapter), Some(program)) = (adapter, then.or_else(|| harness_program(harness))) else {
        let text = format!("{harness} is not installed: there is no `{harness}` on the PATH");
        return Err(Gate::Harness.refuse(text).hint("install it again, or put it on the PATH"));
    };
    Ok(OpenedSession { args: adapter.interactive(session.as_str()), run, program, dir })
}

/// The worktree of a run, made again if it is gone. What is done there is saved by the next command about its work.
fn reopen(op: &Op, mesh: &Mesh, run: &Run) -> Result<PathBuf, CommandError> {
    settle(op, mesh)?;
    let _lock = mesh.runs().lock_work()?;
    let none = || CommandError::new(CommandErrorKind::NoWork, format!("run {} has no worktree", run.id));
    let mut work = RunWork::load(op, mesh, &run.id)?.ok_or_else(none)?;
    work.reopen(&mesh.runs().order(&run.id)?.worktree.unwrap_or_default())
}
