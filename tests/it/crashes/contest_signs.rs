//! Signs of a holder while somebody takes its path: a sign that was given stays given, and one that comes too late lets
//! no edit through.

use std::fs;

use nix::sys::signal::{Signal, kill};
use ravenry::domain::hook::HookAnswer;
use ravenry::sys::test_switches::NO_HOOK_LIMIT;

use super::contests::{TAKE, contested, has_any};
use crate::crashes::Scene;
use crate::lock_order::{pid, stop_at};
use crate::support::environment::{Ended, TestEnvironment};
use crate::support::hook_call::Call;

fn edit(env: &TestEnvironment) -> Call {
    Call::edit(env, "session of Alice", "src/auth/y")
}

fn is_being_taken(env: &TestEnvironment) -> bool {
    let mut files = fs::read_dir(env.mesh().join("contests")).unwrap();
    files.any(|file| file.unwrap().path().extension().is_some_and(|end| end == "taken"))
}

/// Bob is killed while he takes it, and somebody contests it, too, or not. Then the holder edits it.
#[test]
fn a_sign_is_not_undone_by_another_contest() {
    let scene = Scene::with(
        |_, _| {},
        |env| {
            contested(env);
            env.join("Dave");
        },
    );
    let env = &scene.env;
    for is_joined in [true, false] {
        let mut begun = 0;
        for n in 1.. {
            scene.reset();
            let survived = scene.crash(&TAKE, n);
            if survived.is_some() || !has_any(env, "Alice") {
                break;
            }
            begun += usize::from(is_being_taken(env));
            if is_joined {
                env.ok(&["contest", "src/auth/", "--as", "Dave"]);
            }
            env.ok(&["read", "--as", "Alice"]);
            assert_eq!(edit(env).answer(env), HookAnswer::Silence, "killed at {n}");
            assert_eq!(scene.run(&TAKE, &[]).expect_code(1).kind(), "at_work", "killed at {n}");
            assert_eq!(edit(env).answer(env), HookAnswer::Silence, "killed at {n}");
        }
        assert!(begun >= 1);
    }
}

/// The hook has found that the path is the holder's, and is stopped before its sign. Meanwhile Bob takes the path, and is
/// killed at any step or not at all: either the edit is refused, or nobody takes it afterwards.
#[test]
fn a_sign_that_comes_too_late_lets_no_edit_through() {
    let scene = Scene::with(|_, _| {}, contested);
    let env = &scene.env;
    let (mut kept, mut lost) = (0, 0);
    for n in 1.. {
        scene.reset();
        let call = edit(env);
        let hook = stop_at(call.command(env).env(NO_HOOK_LIMIT, "1"), 1).expect("a sign changes something");
        let survived = scene.crash(&TAKE, n);
        let is_lost = !has_any(env, "Alice");
        kill(pid(&hook), Signal::SIGCONT).unwrap();
        let output = hook.wait_with_output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        let answer = call.understand(&Ended { code: output.status.code(), signal: None, stdout, stderr });
        if is_lost {
            assert!(matches!(&answer, HookAnswer::Deny(why) if why.contains("Bob")), "{n}: {answer:?}");
            lost += 1;
        } else {
            assert!(!matches!(answer, HookAnswer::Deny(_)), "{n}: {answer:?}");
            assert_eq!(scene.run(&TAKE, &[]).expect_code(1).kind(), "at_work", "killed at {n}");
            kept += 1;
        }
        if survived.is_some() {
            break;
        }
    }
    assert!(kept >= 2 && lost >= 2, "{kept}, {lost}");
}
