//! Checks for `msg doctor`: whether the installed hooks, plugins and permissions are complete and call this binary.
//!
//! Hooks fail silently, so nothing else reports that the binary was moved.

use std::path::Path;

use crate::domain::Harness;
use crate::harness::install::{InstallContext, InstallScope, InstallTarget};
use crate::harness::{self, HarnessSupport, HookLine, MsgProgram, SUPPORTED};
use crate::store::{InstallRecord, InstallRecords, OriginalFile, StoreError};
use crate::sys::files;
use crate::sys::git::WorkTree;
use crate::sys::program::{is_program, is_same, on_path, own};

use crate::ops::context::Context;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::health_check::{DoctorMode, HealthCheck};
use crate::ops::setup::install::guide::{self, GuideWish};
use crate::ops::setup::install::plan::{InstallDirection, InstallPlan, PlannedFile};
use crate::ops::setup::install::{absence, msg_program, original_file, shown};

const NAME: &str = "installed";
const RECORDS: &str = "install records";
const LIMITS: &str = "limits";

/// Returns one check for all harnesses that are fine, and one for each problem.
pub(in crate::ops) fn checks(ctx: &Context, mode: DoctorMode) -> Vec<HealthCheck> {
    let mut checks = of_harnesses(ctx);
    match copies(&InstallRecords::of(&ctx.home), mode) {
        Ok(check) => checks.extend(check),
        Err(error) => checks.push(HealthCheck::failed(RECORDS, error)),
    }
    checks
}

/// Reports, or when repairing removes, copies of settings files. Records of the first format hold whole files, with any
/// tokens in them.
fn copies(installs: &InstallRecords, mode: DoctorMode) -> Result<Option<HealthCheck>, StoreError> {
    let is_copy = |record: &InstallRecord| matches!(record.before, OriginalFile::Copy(_));
    let count = installs.all()?.iter().filter(|record| is_copy(record)).count();
    if count == 0 {
        return Ok(None);
    }
    if mode == DoctorMode::CheckOnly {
        let text =
            format!("{count} records of `msg install` hold copies of whole settings files, with any tokens");
        return Ok(Some(HealthCheck::warn(RECORDS, text, "`msg doctor --repair` removes the copies")));
    }
    let lock = installs.lock()?;
    for record in installs.all()?.iter().filter(|record| is_copy(record)) {
        let path = Path::new(&record.path);
        let is_file = files::metadata(path)?.is_some_and(|metadata| metadata.is_file());
        let current = if is_file { files::read_large(path)? } else { None };
        original_file::without_copy(record, current.as_deref())
            .map_or(Ok(()), |record| lock.note(&record))?;
    }
    Ok(Some(HealthCheck::repaired(RECORDS, format!("{count} copies of settings files were removed"))))
}

/// The harnesses that have something of ours installed, named as `install` takes them.
pub fn installed(ctx: &Context) -> Vec<String> {
    find_installed(ctx).map_or_else(|_| Vec::new(), |findings| findings.installed)
}

/// A harness that can be installed into.
#[derive(Clone, Copy, Debug)]
pub struct InstallState {
    pub harness: Harness,
    pub is_on_machine: bool,
    /// For the user.
    pub is_installed: bool,
}

/// Every harness that can be installed into.
pub fn overview(ctx: &Context) -> Vec<InstallState> {
    let installed = installed(ctx);
    let seen = |harness: Harness| {
        let is_installed = installed.iter().any(|name| name == harness.name());
        InstallState { harness, is_on_machine: absence(harness, &ctx.home).is_none(), is_installed }
    };
    harness::supported().map(seen).collect()
}

fn of_harnesses(ctx: &Context) -> Vec<HealthCheck> {
    let InstallFindings { installed, well, mut checks } = match find_installed(ctx) {
        Ok(findings) => findings,
        Err(error) => return vec![HealthCheck::warn(NAME, error.message, "call it by its path")],
    };
    let summary = match (well.as_slice(), checks.as_slice()) {
        ([], []) => {
            let fix = "`msg setup` installs into every harness found, and lets sessions join";
            Some(HealthCheck::warn(NAME, "in no harness", fix))
        }
        ([], _) => None,
        (well, _) => Some(HealthCheck::ok(NAME, format!("in {}", well.join(", ")))),
    };
    checks.splice(0..0, summary);
    for support in SUPPORTED.iter().filter(|it| !it.gaps().is_empty()) {
        if installed.iter().any(|name| name.split(' ').next() == Some(support.id().name())) {
            checks
                .push(HealthCheck::ok(LIMITS, format!("{}: {}", support.title(), support.gaps().join("; "))));
        }
    }
    if !installed.is_empty() && !ctx.settings.joins_sessions() {
        let text = format!("installed in {}, but sessions do not join by themselves", installed.join(", "));
        checks.push(HealthCheck::warn("joining", text, "`msg config set autoRegister true`"));
    }
    checks
}

/// The findings for all harnesses.
struct InstallFindings {
    installed: Vec<String>,
    well: Vec<String>,
    checks: Vec<HealthCheck>,
}

fn find_installed(ctx: &Context) -> Result<InstallFindings, CommandError> {
    let program = msg_program::find()?;
    let root = WorkTree::containing(&ctx.cwd).map_or_else(|| ctx.cwd.clone(), |tree| tree.root);
    let place = |scope| InstallContext {
        home: &ctx.home,
        scope,
        program: program.clone(),
        wants_statusline: false,
        wants_mcp: true,
    };
    let mut places = vec![place(InstallScope::User)];
    if root != ctx.home.home {
        places.push(place(InstallScope::Project(&root)));
    }
    let mut findings = InstallFindings { installed: Vec::new(), well: Vec::new(), checks: Vec::new() };
    for place in &places {
        for support in SUPPORTED {
            let harness = support.id();
            let found = look(place, *support, &InstallRecords::of(&ctx.home));
            findings.installed.extend(found.is_installed.then(|| place.name(harness)));
            findings.well.extend(found.is_well.then(|| place.name(harness)));
            let checks = found.troubles.into_iter().map(|(text, fix)| HealthCheck::warn(NAME, text, &fix));
            findings.checks.extend(checks);
        }
    }
    Ok(findings)
}

/// The findings for one harness.
#[derive(Default)]
struct Found {
    is_installed: bool,
    is_well: bool,
    /// Each problem, and what to do about it.
    troubles: Vec<(String, String)>,
}

fn look(place: &InstallContext<'_>, support: &dyn HarnessSupport, installs: &InstallRecords) -> Found {
    let harness = support.id();
    let Ok(mut targets) = place.targets(support) else { return Found::default() };
    // Don't report a missing server to a user who did not want one.
    if !targets.iter().any(has_server) {
        let without = InstallContext { wants_mcp: false, ..place.clone() };
        targets = without.targets(support).unwrap_or(targets);
    }
    targets.extend(guide::target(place, harness.into(), GuideWish::WhereItIs, installs));
    let is_project = matches!(place.scope, InstallScope::Project(_));
    let mend = format!("`msg install {}`", place.name(harness));
    let plan = InstallPlan { recipient: harness.into(), targets, tree: None, way: InstallDirection::Install };
    let steps = match plan.steps(installs) {
        Ok(steps) => steps,
        Err(error) => {
            // Don't report settings of a harness that is not used, nor a file that is not ours.
            let is_used = is_project || absence(harness, place.home).is_none();
            let fix = match error.kind {
                CommandErrorKind::Corrupt => error.hints.first().cloned(),
                _ if error.facts.iter().any(|(name, _)| *name == "line") => Some("fix the file".to_string()),
                _ => None,
            };
            let text = format!("{harness}: {}", error.message);
            let troubles = fix.filter(|_| is_used).map(|fix| (text, fix)).into_iter().collect();
            return Found { troubles, ..Found::default() };
        }
    };
    if !steps.iter().any(PlannedFile::is_installed) {
        return Found::default();
    }
    let mut troubles: Vec<(String, String)> =
        steps.iter().filter_map(|step| trouble(step, harness)).map(|text| (text, mend.clone())).collect();
    if let Some(step) = steps.iter().find(|step| step.before != step.after).filter(|_| troubles.is_empty()) {
        let file = shown(&step.target.path);
        let other = || format!("{harness}: `{file}` was written by another version of msg, or was changed");
        troubles.push((step.target.part.outdated(&file).unwrap_or_else(other), mend));
    }
    troubles.extend(steps.iter().filter_map(|step| rejection(step, support)));
    if troubles.is_empty() {
        troubles.extend(support.machine_trouble());
    }
    Found { is_installed: true, is_well: troubles.is_empty(), troubles }
}

/// Entries because of which the harness ignores our hooks, and what to do about them.
fn rejection(step: &PlannedFile, support: &dyn HarnessSupport) -> Option<(String, String)> {
    let faults = step.target.part.faults(step.before.as_deref()?).ok()?;
    if faults.is_empty() {
        return None;
    }
    let (harness, title, file) = (support.id(), support.title(), shown(&step.target.path));
    let text = format!("{harness}: {title} ignores all hooks in `{file}`: {}", faults.join("; "));
    Some((text, "correct these entries, or remove them".to_string()))
}

/// Whether our MCP server is in the file.
fn has_server(target: &InstallTarget) -> bool {
    // Reading a pipe might block forever.
    let is_file = matches!(files::metadata(&target.path), Ok(Some(metadata)) if metadata.is_file());
    let bytes = if is_file { files::read_large(&target.path).ok().flatten() } else { None };
    bytes.is_some_and(|bytes| target.part.server(&bytes).is_ok_and(|server| server.is_some()))
}

/// Describes hooks, rules or a server that call a program which is gone or is not this one.
fn trouble(step: &PlannedFile, harness: Harness) -> Option<String> {
    let bytes = step.before.as_deref()?;
    let lines = step.target.part.lines(bytes).ok()?;
    let program = |line: HookLine| line.program;
    let file = shown(&step.target.path);
    let hooks = lines.into_iter().map(program).chain(step.target.part.called(bytes));
    if let Some(fault) = hooks.into_iter().find_map(|program| fault(&program)) {
        return Some(format!("{harness}: the hooks in `{file}` call {fault}"));
    }
    let stale = |path: &String| fault(&MsgProgram::At(path.clone()));
    if let Some(fault) = step.target.part.allowed(bytes).iter().find_map(stale) {
        return Some(format!("{harness}: the rule in `{file}` is for {fault}: `msg` stays in the sandbox"));
    }
    let fault = fault(&step.target.part.server(bytes).ok()??)?;
    Some(format!("{harness}: the MCP server in `{file}` calls {fault}"))
}

fn fault(program: &MsgProgram) -> Option<String> {
    let this = own().ok()?;
    match program {
        MsgProgram::OnPath => match on_path("msg") {
            None => Some("`msg`, which is not on the PATH".to_string()),
            Some(found) if !is_same(&found, &this) => {
                Some(format!("`msg`, which is `{}` now and not this program", shown(&found)))
            }
            Some(_) => None,
        },
        MsgProgram::At(path) if !is_program(Path::new(path)) => Some(format!("`{path}`, which is gone")),
        MsgProgram::At(path) if !is_same(Path::new(path), &this) => {
            Some(format!("`{path}`, which is not this program"))
        }
        MsgProgram::At(_) => None,
    }
}
