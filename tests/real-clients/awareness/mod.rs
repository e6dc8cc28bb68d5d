//! Awareness: two real clients at a time, in one work tree and in two. Each model is told of the other before they
//! collide, once, and of nothing else.
//!
//! ```text
//! cargo test --locked --test real-clients -- awareness [CLIENT…]
//! ```

mod checks;
mod neighbour;
mod repository;
pub mod session;

use crate::report::Report;
use crate::trial::Trial;

pub use neighbour::Partner;

/// Runs the checks. The partner is the other client of each.
pub fn go(trial: &Trial<'_>, partner: &Partner, report: &mut Report) {
    repository::make(&trial.scene);
    trial.client.set_up(&trial.scene, &trial.server.url(&lane(trial)));
    partner.client.set_up(&trial.scene, &trial.server.url(neighbour::LANE));
    for name in [trial.client.name(), partner.client.name()] {
        let installed = trial.scene.run(trial.scene.command("msg").args(["install", name]));
        assert_eq!(installed.code, Some(0), "{installed:?}");
    }
    trial.scene.msg(&["config", "set", "autoRegister", "true"]);
    checks::go(trial, partner, report);
}

/// The lane of the client's model.
fn lane(trial: &Trial<'_>) -> String {
    format!("{}-awareness", trial.client.name())
}
