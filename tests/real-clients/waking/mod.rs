//! Waking: the real clients in a real terminal, idle, busy or asking for permission, when mail arrives.
//!
//! ```text
//! cargo test --locked --test real-clients -- waking [CLIENT…]
//! cargo test --locked --test real-clients -- interrupting [CLIENT…]
//! cargo test --locked --test real-clients -- --soak SECONDS [CLIENT…]
//! ```

mod checks;
mod interrupting;
pub mod seat;
mod soak;
mod stage;
mod terminal;

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::clients::Client;
use crate::processes;
use crate::report::Report;
use crate::trial::Trial;

use seat::Seat;
use stage::{Checked, Failure, Stage, ensure, until};

/// Clients that nothing can wake are not tested.
pub fn can_be_tried(client: &dyn Client) -> bool {
    Seat::of(client).is_some()
}

/// Why this part cannot run here, if it cannot.
pub fn obstacle() -> Option<&'static str> {
    (!terminal::is_there()).then_some("there is no tmux")
}

/// Its user interrupts it, declines, and takes a prompt back, and it is killed: no mail is lost.
pub fn interrupt(trial: &Trial<'_>, report: &mut Report) {
    let seat = Seat::of(trial.client).expect("one that can be woken");
    let _tidy = Tidy(trial);
    let result = prepare(trial, seat).map_err(Failure::from).and_then(|()| Stage::open(trial, seat, None));
    match result {
        Err(Failure { wrong, evidence }) => {
            report.check(trial.client.name(), checks::STARTS, Err(wrong), &|| evidence.clone());
        }
        Ok(stage) => interrupting::go(stage, report),
    }
}

pub fn go(trial: &Trial<'_>, soak: Option<Duration>, report: &mut Report) {
    let seat = Seat::of(trial.client).expect("one that can be woken");
    let _tidy = Tidy(trial);
    let result = prepare(trial, seat).map_err(Failure::from).and_then(|()| Stage::open(trial, seat, None));
    match (result, soak) {
        (Err(Failure { wrong, evidence }), _) => {
            report.check(trial.client.name(), checks::STARTS, Err(wrong), &|| evidence.clone());
        }
        (Ok(stage), Some(time)) => soak::go(&stage, time, report),
        (Ok(stage), None) => checks::go(stage, report),
    }
}

/// Ends all processes when it is dropped.
pub struct Tidy<'a>(pub &'a Trial<'a>);

impl Drop for Tidy<'_> {
    fn drop(&mut self) {
        tidy_up(self.0);
    }
}

fn lane(client: &dyn Client) -> String {
    format!("{}-waking", client.name())
}

fn prepare(trial: &Trial<'_>, seat: Seat) -> Checked {
    let scene = &trial.scene;
    seat.set_up(trial.client, scene, &trial.server.url(&lane(trial.client)));
    let ended = scene.run(scene.command("msg").args(["install", trial.client.name()]));
    ensure(ended.code == Some(0), || format!("msg install: {ended:?}"))?;
    let settings = [("autoRegister", "true"), ("mailTurns", "1000"), ("wake", r#"{"paste": true}"#)];
    for (key, value) in settings {
        scene.msg(&["config", "set", key, value]);
    }
    scene.let_other_in();
    Ok(())
}

/// Ends what a client leaves running, such as Codex's daemon.
fn tidy_up(trial: &Trial<'_>) {
    let home = trial.scene.home();
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        processes::of(&home).iter().for_each(|process| process.end(signal));
        let gone = until("an end", Duration::from_secs(5), || processes::of(&home).is_empty().then_some(()));
        if gone.is_ok() {
            return;
        }
    }
}
