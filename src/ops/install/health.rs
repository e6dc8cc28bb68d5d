//! What `doctor` says of what is installed: hooks fail in silence, so a binary that moved is noticed by nobody else.

use std::path::Path;

use crate::domain::{Harness, HookLine, Program};
use crate::store::Installs;
use crate::sys::files;
use crate::sys::git::WorkTree;
use crate::sys::program::{is_program, is_same, on_path, own};

use super::super::context::Context;
use super::super::doctor::Check;
use super::super::error::Kind;
use super::harnesses::{HARNESSES, Place, Scope};
use super::part::{Part, Target};
use super::plan::{Plan, Step, Way};
use super::{absence, program, shown};

const NAME: &str = "installed";

/// One check for all that is well, and one for each thing that is not.
pub(in crate::ops) fn checks(ctx: &Context) -> Vec<Check> {
    let program = match program::find() {
        Ok(program) => program,
        Err(error) => return vec![Check::warn(NAME, error.message, "call it by its path")],
    };
    let root = WorkTree::containing(&ctx.cwd).map_or_else(|| ctx.cwd.clone(), |tree| tree.root);
    let mut places = vec![Place {
        home: &ctx.home,
        scope: Scope::User,
        program: program.clone(),
        statusline: false,
        mcp: true,
    }];
    if root != ctx.home.home {
        places.push(Place {
            home: &ctx.home,
            scope: Scope::Project(&root),
            program,
            statusline: false,
            mcp: true,
        });
    }
    let (mut well, mut checks) = (Vec::new(), Vec::new());
    for place in &places {
        for harness in HARNESSES {
            let found = look(place, harness, &Installs::of(&ctx.home));
            well.extend(found.is_well.then(|| place.name(harness)));
            checks.extend(found.troubles.into_iter().map(|(text, fix)| Check::warn(NAME, text, &fix)));
        }
    }
    let text = match (well.as_slice(), checks.as_slice()) {
        ([], []) => "in no harness; `msg install all` does it".to_string(),
        ([], _) => "in no harness that all is well with".to_string(),
        (well, _) => format!("in {}", well.join(", ")),
    };
    checks.insert(0, Check::ok(NAME, text));
    checks
}

/// What was found in one harness.
#[derive(Default)]
struct Found {
    is_well: bool,
    /// What is wrong, and what to do about it.
    troubles: Vec<(String, String)>,
}

fn look(place: &Place<'_>, harness: Harness, installs: &Installs) -> Found {
    let Ok(mut targets) = place.targets(harness) else { return Found::default() };
    // Who wanted no server is not told that it is missing.
    if !targets.iter().any(has_server) {
        let without = Place { mcp: false, ..place.clone() };
        targets = without.targets(harness).unwrap_or(targets);
    }
    let is_project = matches!(place.scope, Scope::Project(_));
    let mend = format!("`msg install {}`", place.name(harness));
    let plan = Plan { recipient: harness.into(), targets, tree: None, way: Way::In };
    let steps = match plan.steps(installs) {
        Ok(steps) => steps,
        Err(error) => {
            // Settings of a harness that is not used are nobody's trouble, and neither is a file that is not ours.
            let is_used = is_project || absence(harness, place.home).is_none();
            let fix = match error.kind {
                Kind::Corrupt => error.hints.first().cloned(),
                _ if error.facts.iter().any(|(name, _)| *name == "line") => Some("mend the file".to_string()),
                _ => None,
            };
            let text = format!("{harness}: {}", error.message);
            let troubles = fix.filter(|_| is_used).map(|fix| (text, fix)).into_iter().collect();
            return Found { is_well: false, troubles };
        }
    };
    if !steps.iter().any(Step::is_installed) {
        return Found::default();
    }
    let mut troubles: Vec<(String, String)> =
        steps.iter().filter_map(|step| trouble(step, harness)).map(|text| (text, mend.clone())).collect();
    if let Some(step) = steps.iter().find(|step| step.before != step.after).filter(|_| troubles.is_empty()) {
        let file = shown(&step.target.path);
        let text = match step.target.part {
            Part::Trust(_) => format!("{harness} does not trust the hooks, and passes them by: `{file}`"),
            _ => format!("{harness}: what is in `{file}` is of another version of msg, or was changed"),
        };
        troubles.push((text, mend));
    }
    Found { is_well: troubles.is_empty(), troubles }
}

/// Is our server in the file?
fn has_server(target: &Target) -> bool {
    // To read from a pipe may take for ever.
    let is_file = matches!(files::metadata(&target.path), Ok(Some(metadata)) if metadata.is_file());
    let bytes = if is_file { files::read_large(&target.path).ok().flatten() } else { None };
    bytes.is_some_and(|bytes| target.part.server(&bytes).is_ok_and(|server| server.is_some()))
}

/// Hooks that call a program which is not there, or is not this one.
fn trouble(step: &Step, harness: Harness) -> Option<String> {
    let bytes = step.before.as_deref()?;
    let lines = step.target.part.lines(bytes).ok()?;
    let program = |line: HookLine| line.program;
    let file = shown(&step.target.path);
    let hooks = lines.into_iter().map(program).chain(step.target.part.called(bytes));
    if let Some(fault) = hooks.into_iter().find_map(|program| fault(&program)) {
        return Some(format!("{harness}: the hooks in `{file}` call {fault}"));
    }
    let fault = fault(&step.target.part.server(bytes).ok()??)?;
    Some(format!("{harness}: the MCP server in `{file}` calls {fault}"))
}

fn fault(program: &Program) -> Option<String> {
    let this = own().ok()?;
    match program {
        Program::OnPath => match on_path("msg") {
            None => Some("`msg`, which is not on the PATH".to_string()),
            Some(found) if !is_same(&found, &this) => {
                Some(format!("`msg`, which is `{}` now and not this program", shown(&found)))
            }
            Some(_) => None,
        },
        Program::At(path) if !is_program(Path::new(path)) => Some(format!("`{path}`, which is gone")),
        Program::At(path) if !is_same(Path::new(path), &this) => {
            Some(format!("`{path}`, which is not this program"))
        }
        Program::At(_) => None,
    }
}
