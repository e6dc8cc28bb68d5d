//! `msg link forget`: a person gives up a machine that does not come back.

use std::path::Path;
use std::rc::Rc;

use crate::domain::link::MachineName;
use crate::domain::shell_word;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::store::{LinkConfig, Mesh};

use super::configure::credentials;
use super::process::{self, Forgetting, MachineRemains};

/// What the machine has on the server. Changes nothing.
pub fn remains_of_machine(
    op: &Op,
    machine: &str,
    admin: Option<&Path>,
) -> Result<(MachineName, MachineRemains), CommandError> {
    let (_, config, machine) = check(op, machine, admin)?;
    let admin = admin.map(|path| credentials(op, path)).transpose()?;
    let remains = process::forget(&config, &machine, admin, Forgetting::Look)?;
    Ok((machine, remains))
}

/// Removes it.
pub fn forget_machine(op: &Op, machine: &str, admin: Option<&Path>) -> Result<MachineRemains, CommandError> {
    let (mesh, config, machine) = check(op, machine, admin)?;
    let admin = admin.map(|path| credentials(op, path)).transpose()?;
    let remains = process::forget(&config, &machine, admin, Forgetting::Remove)?;
    mesh.remote().settle_all(&machine)?;
    Ok(remains)
}

fn check(
    op: &Op,
    machine: &str,
    admin: Option<&Path>,
) -> Result<(Rc<Mesh>, LinkConfig, MachineName), CommandError> {
    let invalid = |text: String| CommandError::new(CommandErrorKind::InvalidValue, text);
    let machine = MachineName::new(machine).map_err(|error| invalid(error.to_string()))?;
    let line = || {
        let credentials = admin.map(|path| format!(" --credentials {}", shell_word(&path.to_string_lossy())));
        let line = format!("msg link forget {machine}{}", credentials.unwrap_or_default());
        person_required::with_mesh(op, &line)
    };
    person_required::required_at_terminal(op, line)?;
    let config = match op.mesh()? {
        Some(mesh) => mesh.link().config()?.map(|config| (mesh, config)),
        None => None,
    };
    let (mesh, config) = config.ok_or_else(|| {
        CommandError::new(CommandErrorKind::NotLinked, "this mesh is not linked")
            .hint("run it on a machine that is linked with the same mesh")
    })?;
    if machine == config.machine {
        return Err(invalid(format!("{machine} is this machine")).hint("`msg link off` unlinks it"));
    }
    Ok((mesh, config, machine))
}
