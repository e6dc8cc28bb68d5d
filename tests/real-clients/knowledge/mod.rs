//! Knowledge: a session of a real client that only reads, and one that works on a task. Each model is offered what is
//! recorded about the files that it touches, once, as a quotation; and only the one that works is asked to record.
//!
//! ```text
//! cargo test --locked --test real-clients -- knowledge [CLIENT…]
//! ```

mod checks;
mod notes;
mod records;
mod sessions;

use crate::report::Report;
use crate::trial::Trial;
use crate::waking::Tidy;

/// Runs the checks.
pub fn go(trial: &Trial<'_>, report: &mut Report) {
    // A client that was ended may leave a hook running, which would write to a folder that is being removed.
    let _tidy = Tidy(trial);
    let scene = &trial.scene;
    trial.client.set_up(scene, &trial.server.url(&lane(trial)));
    let installed = scene.run(scene.command("msg").args(["install", trial.client.name()]));
    assert_eq!(installed.code, Some(0), "{installed:?}");
    scene.msg(&["config", "set", "autoRegister", "true"]);
    scene.let_other_in();
    records::make(scene);
    checks::go(trial, report);
}

/// The lane of the client's model.
fn lane(trial: &Trial<'_>) -> String {
    format!("{}-knowledge", trial.client.name())
}
