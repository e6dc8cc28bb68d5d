//! A wish to stop a run on another machine.

use ravenry::domain::link::{RunAsk, RunAsker};
use ravenry::domain::runs::RunId;
use ravenry::store::{RunAskedElsewhere, StopWish};

use super::fixture::{EARLIER, Scene, machine};

/// The server drops a message whose id it knows, from whichever machine it has that.
#[test]
fn nobody_can_guess_under_which_id_a_wish_to_stop_a_run_is_sent() {
    let scene = Scene::without_process();
    let (store, id) = (scene.env.store(), RunId::from_random(7));
    let ask = RunAsk {
        id: id.clone(),
        by: RunAsker::Person,
        profile: "builder".to_string(),
        task: "x".to_string(),
        name: None,
        timeout_seconds: None,
        most_micros: None,
        most_tokens: None,
        reserve: Vec::new(),
        claim: None,
        is_to_wait: false,
        is_to_read: false,
        depth: 0,
        repository: scene.repository(),
        commit: "b".repeat(40),
    };
    let (machine, root) = (machine("laptop"), "/w".to_string());
    store.remote().put_run(&RunAskedElsewhere { machine, ask, root, at: EARLIER.parse().unwrap() }).unwrap();
    let wish = StopWish { by: RunAsker::Person, is_now: true };
    let marks = [(); 2].map(|()| {
        store.remote().want_stop(&id, &wish).unwrap();
        let (read, mark) = store.remote().stop_wish(&id).unwrap().unwrap();
        assert_eq!(read, wish);
        // What is repeated has the same id, so the server knows it.
        assert_eq!(store.remote().stop_wish(&id).unwrap().unwrap().1, mark);
        mark
    });
    assert_ne!(marks[0], marks[1]);
    assert!(marks[0].len() >= 32, "{marks:?}");
}
