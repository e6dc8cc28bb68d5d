//! What `doctor` says about the link.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::clock_difference::{SET_CLOCKS, clock_difference};
use crate::domain::shell_word;
use crate::ops::health_check::HealthCheck;
use crate::ops::messages::rendered_message::format_age;
use crate::store::{LinkConfig, LinkCredentials, LinkStage, LinkState, Mesh, StoreError};
use crate::sys::{clock, files};

const NAME: &str = "link";

/// The checks of a linked mesh; none if it is not linked.
pub(in crate::ops) fn checks(mesh: &Mesh) -> Vec<HealthCheck> {
    match all(mesh) {
        Ok(checks) => checks,
        Err(error) => vec![HealthCheck::failed(NAME, error)],
    }
}

fn all(mesh: &Mesh) -> Result<Vec<HealthCheck>, StoreError> {
    let Some(config) = mesh.link().config()? else { return Ok(Vec::new()) };
    let mut checks = Vec::new();
    let state = mesh.link().state()?.filter(|_| mesh.link().is_running().unwrap_or(false));
    checks.push(match &state {
        Some(state) => stage(&config, state),
        None if !cfg!(feature = "link") => HealthCheck::warn(
            NAME,
            format!(
                "the mesh is linked with `{}`, and this `msg` was built without the feature `link`",
                config.address
            ),
            "install a released `msg`",
        ),
        None => HealthCheck::ok(
            NAME,
            format!(
                "{}: no link process runs; the next agent that joins starts it, or `msg link run`",
                config.address
            ),
        ),
    });
    checks.extend(credentials(&config)?);
    if let Some(state) = &state {
        checks.extend(version(state));
        checks.extend(clocks(state));
        checks.extend(durability(&config));
    }
    let queued = mesh.remote().queued_count()?;
    if queued > 0 && state.as_ref().is_none_or(|state| state.stage != LinkStage::Linked) {
        let text = match queued {
            1 => "1 message to another machine waits here until the server is reached".to_string(),
            _ => format!("{queued} messages to other machines wait here until the server is reached"),
        };
        checks.push(HealthCheck::warn(NAME, text, "`msg link status` says why it is not reached"));
    }
    Ok(checks)
}

fn stage(config: &LinkConfig, state: &LinkState) -> HealthCheck {
    let fix = state.problem.as_ref().and_then(|problem| problem.hints.first()).cloned();
    let fix = fix.unwrap_or_else(|| "run `msg link status`".to_string());
    let problem = state.problem.as_ref().map_or(String::new(), |problem| format!(": {}", problem.text));
    let age = format_age(state.since, clock::now());
    match state.stage {
        LinkStage::Linked if state.problem.is_none() => {
            let machines = state.machines.len();
            let others = if machines == 1 {
                "1 other machine".to_string()
            } else {
                format!("{machines} other machines")
            };
            HealthCheck::ok(
                NAME,
                format!("linked with `{}` as {} for {age}, with {others}", config.address, config.machine),
            )
        }
        LinkStage::Linked => {
            HealthCheck::warn(NAME, format!("linked with `{}`{problem}", config.address), &fix)
        }
        LinkStage::Refused => {
            HealthCheck::fail(NAME, format!("`{}` can't be used{problem}", config.address), &fix)
        }
        LinkStage::Connecting | LinkStage::Unreachable | LinkStage::Stopped => {
            let text = format!("`{}` has not been reached for {age}{problem}", config.address);
            HealthCheck::warn(NAME, text, &fix)
        }
    }
}

fn credentials(config: &LinkConfig) -> Result<Option<HealthCheck>, StoreError> {
    let path: &PathBuf = match &config.credentials {
        LinkCredentials::None => return Ok(None),
        LinkCredentials::Creds(path) | LinkCredentials::User(path) => path,
    };
    let shown = path.display();
    Ok(Some(match files::metadata(path)? {
        None => HealthCheck::fail(
            NAME,
            format!("there is no file `{shown}` with the credentials"),
            "`msg link --credentials FILE` names another",
        ),
        Some(metadata) if metadata.permissions().mode() & 0o077 != 0 => HealthCheck::fail(
            NAME,
            format!("others can read the credentials in `{shown}`"),
            &format!("chmod 600 {}", shell_word(&path.to_string_lossy())),
        ),
        Some(_) => return Ok(None),
    }))
}

fn version(state: &LinkState) -> Option<HealthCheck> {
    let own = env!("CARGO_PKG_VERSION");
    (state.version != own).then(|| {
        let text = format!("the link process runs msg {}, and this is {own}", state.version);
        HealthCheck::warn(
            NAME,
            text,
            "`msg link stop` ends it; the next command or hook starts one of this version",
        )
    })
}

fn clocks(state: &LinkState) -> Option<HealthCheck> {
    let difference = clock_difference(state.server.as_ref()?)?;
    Some(HealthCheck::warn(NAME, difference, SET_CLOCKS))
}

#[cfg(feature = "link")]
fn durability(config: &LinkConfig) -> Option<HealthCheck> {
    use crate::sys::nats::{SyncPolicy, durability};
    let first = config.address.servers().into_iter().next()?;
    let host = first.split_once("://")?.1.rsplit_once(':')?.0.to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let policy = runtime.block_on(durability(&format!("http://{host}:8222")));
    runtime.shutdown_background();
    let fix = "set `sync_interval: always` in its `jetstream` block; `msg link config` prints a configuration that has it";
    Some(match policy {
        SyncPolicy::Always => HealthCheck::ok(NAME, "the server writes to its disk before it confirms"),
        SyncPolicy::Interval(interval) => HealthCheck::warn(
            NAME,
            format!(
                "a power cut at the server may lose what it confirmed in the last {} s",
                interval.as_secs()
            ),
            fix,
        ),
        // The port of the generated configuration serves the server's own machine alone.
        SyncPolicy::Unknown if !config.address.is_loopback() => HealthCheck::ok(
            NAME,
            format!(
                "not checked whether a power cut at the server loses what it confirmed: its monitoring port, `{host}:8222`, can't be read from here; look for `sync_interval: always` in its configuration"
            ),
        ),
        SyncPolicy::Unknown => HealthCheck::warn(
            NAME,
            format!(
                "cannot check whether a power cut at the server loses what it confirmed: its monitoring port, `{host}:8222`, does not say"
            ),
            fix,
        ),
    })
}

#[cfg(not(feature = "link"))]
fn durability(_: &LinkConfig) -> Option<HealthCheck> {
    None
}
