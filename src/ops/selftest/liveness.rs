//! Promise 3: only proof of death takes something from an agent.

use serde_json::{Value, json};

use crate::sys::files;
use crate::sys::process;

use super::check_environment::{CheckEnvironment, PromiseBroken, PromiseKept, demand};

pub(super) fn run(stage: &CheckEnvironment<'_>) -> Result<PromiseKept, PromiseBroken> {
    let expect = |name: &str, is_there: bool, who: &str| -> Result<(), PromiseBroken> {
        let found = stage.names()?.contains(name);
        let told = if found { "said to be there" } else { "said to be gone" };
        demand(found == is_there, || format!("an agent whose process {who} is {told}"))
    };
    let mut host = stage.join("Ada")?;
    expect("Ada", true, "lives")?;
    host.stop()?;
    expect("Ada", true, "is stopped (SIGSTOP)")?;
    host.kill_only()?;
    expect("Ada", false, "is a zombie")?;
    host.kill()?;
    expect("Ada", false, "was killed and reaped")?;

    let _far = stage.join("Far")?;
    let here = process::pid_scope();
    let mut judged = 4;
    let mut pretend = |key: &str, value: Value, is_there: bool, who: &str| -> Result<(), PromiseBroken> {
        judged += 1;
        move_away(stage, "Far", key, value)?;
        expect("Far", is_there, who)
    };
    pretend("pidNs", json!("pid:[1]"), true, "is in another pid namespace")?;
    if here.machine_id.is_some() && here.boot_id.is_some() {
        pretend("bootId", json!("a boot before this one"), false, "was there before the last start")?;
        pretend("machineId", json!("another machine"), true, "is on another machine")?;
    }
    pretend("startTicks", json!(1), false, "has a pid that was reused")?;
    Ok(PromiseKept::with(format!(
        "{judged} processes judged: alive, stopped, zombie, killed, reused pid, elsewhere"
    )))
}

/// Changes one key of the process in the registration; all other keys are as in the original. For another
/// `machineId` the `bootId` changes too, because a process on another machine belongs to another boot.
fn move_away(stage: &CheckEnvironment<'_>, name: &str, key: &str, value: Value) -> Result<(), PromiseBroken> {
    let path = stage.mesh().join(format!("registry/{name}.json"));
    let kept = stage.dir().join(format!("{name}.json"));
    if files::read(&kept)?.is_none() {
        let original =
            files::read(&path)?.ok_or_else(|| PromiseBroken(format!("`{}` is gone", path.display())))?;
        stage.put(&kept, &original)?;
    }
    let original = files::read(&kept)?.unwrap_or_default();
    let mut registration: Value = serde_json::from_slice(&original).unwrap_or_default();
    registration["process"][key] = value;
    if key == "machineId" {
        registration["process"]["bootId"] = json!("a boot of that machine");
    }
    stage.put(&path, registration.to_string().as_bytes())
}
