//! No record whose receipt was printed is ever lost, and none is there by half: with writers that are killed, frames that
//! are copied in any order, a `pack` that is killed at each step, torn tails and flipped bits.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ravenry::sys::test_switches::CRASH_AT;
use serde_json::{Value, json};

use super::log_files::{file, frame, frames, log_files};
use super::upkeep::files_with;
use super::{at, listed, repository};
use crate::support::chance::Chance;
use crate::support::environment::{Ended, TestEnvironment, end, is_whole};

const WRITERS: usize = 8;
/// The records that get a receipt, altogether and in one batch.
const RECORDS: (usize, usize) = (20_000, 250);
const FEW_RECORDS: (usize, usize) = (480, 12);

/// What a writer did: the batches that got a receipt, and those that were killed before.
#[derive(Default)]
struct Written {
    told: Vec<Vec<String>>,
    killed: Vec<Vec<String>>,
}

fn batch(names: &[String]) -> String {
    let action = |name: &String| {
        json!(["record-note", {
            "name": name,
            "description": format!("Fact {name}"),
            "rationale": format!("Reason {name}"),
            "tags": { "of": name },
            "new": true,
        }])
    };
    json!({ "actions": names.iter().map(action).collect::<Vec<_>>() }).to_string()
}

/// How `msg` is called, for other threads.
struct Call {
    program: OsString,
    variables: Vec<(OsString, OsString)>,
    dir: PathBuf,
}

impl Call {
    fn of(env: &TestEnvironment) -> Self {
        let msg = env.msg();
        let variables = msg.get_envs().filter_map(|(name, value)| Some((name.into(), value?.into())));
        Self { program: msg.get_program().into(), variables: variables.collect(), dir: env.work() }
    }

    fn msg(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(self.variables.iter().cloned()).current_dir(&self.dir);
        command
    }
}

/// Records batches until enough got a receipt. One in three is killed before a random change of a file, and one in three
/// at a random moment.
fn write(call: &Call, writer: usize, enough: usize, size: usize) -> Written {
    let mut chance = Chance(writer as u64 + 1);
    let mut written = Written::default();
    let mut usual = Duration::from_millis(50);
    while written.told.len() * size < enough {
        let number = written.told.len() + written.killed.len();
        let names: Vec<String> = (0..size).map(|at| format!("w{writer}-b{number}-n{at}")).collect();
        let mut command = call.msg();
        command.args(["record", "-", "--json"]).env("USER", format!("writer{writer}"));
        let way = chance.below(3);
        if way == 0 {
            command.env(CRASH_AT, (1 + chance.below(24)).to_string());
        }
        let started = Instant::now();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // One that was killed does not read it.
        child.stdin.take().unwrap().write_all(batch(&names).as_bytes()).ok();
        if way == 1 {
            std::thread::sleep(usual.mul_f64(chance.below(1000) as f64 / 800.0));
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        if answer["ok"] == true {
            assert_eq!(answer["recorded"].as_array().unwrap().len(), size);
            usual = started.elapsed();
            written.told.push(names);
        } else {
            // Eight at once may wait too long for the lock. Then nothing is recorded.
            let is_late = answer["error"]["kind"] == "lock_timeout";
            let code = output.status.code();
            assert!(code.is_none() || is_late, "it was not killed and did not record: {answer}");
            written.killed.push(names);
        }
    }
    written
}

/// The records of a project by name, each checked to be whole.
#[track_caller]
fn records(ended: &Ended) -> BTreeMap<String, Value> {
    let answer = ended.json();
    let mut found = BTreeMap::new();
    for record in answer["records"].as_array().unwrap() {
        let name = record["name"].as_str().unwrap().to_string();
        assert_eq!(record["description"], format!("Fact {name}"), "half a record: {record}");
        assert_eq!(record["rationale"], format!("Reason {name}"), "half a record: {record}");
        assert_eq!(record["tags"]["of"], name, "half a record: {record}");
        found.insert(name, record.clone());
    }
    found
}

fn list_in(env: &TestEnvironment, dir: &Path) -> Ended {
    end(env.msg().args(["knowledge", "list", "--json"]).current_dir(dir)).expect_code(0)
}

#[test]
fn every_record_with_a_receipt_is_there_and_none_by_half() {
    let env = repository();
    let (all, size) = if is_whole() { RECORDS } else { FEW_RECORDS };
    let call = Call::of(&env);
    let written: Vec<Written> = std::thread::scope(|scope| {
        let start = |writer| {
            let call = &call;
            scope.spawn(move || write(call, writer, all / WRITERS, size))
        };
        let running: Vec<_> = (0..WRITERS).map(start).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let deaths: usize = written.iter().map(|one| one.killed.len()).sum();
    assert!(deaths > 0, "nobody was killed");
    let found = records(&list_in(&env, &env.work()));
    for names in written.iter().flat_map(|one| &one.told) {
        for name in names {
            assert!(found.contains_key(name), "{name} got a receipt and is lost");
        }
    }
    for names in written.iter().flat_map(|one| &one.killed) {
        let there = names.iter().filter(|name| found.contains_key(*name)).count();
        assert!(there == 0 || there == names.len(), "half a batch: {there} of {names:?}");
    }

    // The same frames in another order, in other files.
    let mut updates: Vec<Vec<u8>> = Vec::new();
    for path in log_files(&env.work()) {
        let content = fs::read(&path).unwrap();
        let whole = list_whole_frames(&content);
        updates.extend(whole.into_iter().skip(1));
    }
    let mut chance = Chance(7);
    for turn in 0..3 {
        for at in (1..updates.len()).rev() {
            updates.swap(at, chance.below(at as u64 + 1) as usize);
        }
        let copy = env.path().join(format!("copy-{turn}"));
        fs::create_dir_all(copy.join(".ravenry/knowledge")).unwrap();
        for (number, part) in updates.chunks(updates.len() / 3 + 1).enumerate() {
            fs::write(copy.join(format!(".ravenry/knowledge/c.{number}.log")), file(1, part)).unwrap();
        }
        let copied: BTreeSet<String> = records(&list_in(&env, &copy)).into_keys().collect();
        assert_eq!(copied, found.keys().cloned().collect(), "turn {turn}");
    }

    env.run(&["knowledge", "pack"]).expect_code(0);
    let packed = records(&list_in(&env, &env.work()));
    assert_eq!(packed, found, "packing changes nothing");
    assert_eq!(log_files(&env.work()).len(), 1);
}

/// The frames of a file whose last one may be torn.
fn list_whole_frames(content: &[u8]) -> Vec<Vec<u8>> {
    let mut length = content.len();
    loop {
        let cut = &content[..length];
        if let Ok(found) = std::panic::catch_unwind(|| frames(cut)) {
            return found;
        }
        length -= 1;
    }
}

/// A project with some records in several files.
fn filled(count: usize) -> TestEnvironment {
    let env = repository();
    for number in 0..count {
        let names: Vec<String> = (0..3).map(|at| format!("b{number}-n{at}")).collect();
        let mut command = env.msg();
        command.args(["record", "batch.json"]).env("USER", format!("writer{}", number % 3));
        fs::write(env.work().join("batch.json"), batch(&names)).unwrap();
        end(&mut command).expect_code(0);
    }
    env
}

fn copy_log(from: &Path, to: &Path) {
    let dir = to.join(".ravenry/knowledge");
    fs::remove_dir_all(&dir).ok();
    fs::create_dir_all(&dir).unwrap();
    for path in log_files(from) {
        fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn a_pack_that_is_killed_at_any_step_loses_nothing() {
    let env = filled(6);
    // One of them is damaged, so that packing also puts a file aside.
    let damaged = log_files(&env.work()).remove(0);
    let mut content = fs::read(&damaged).unwrap();
    let at = content.len() - 20;
    content[at] ^= 4;
    fs::write(&damaged, &content).unwrap();
    let before = env.path().join("before");
    copy_log(&env.work(), &before);
    let expected = records(&list_in(&env, &env.work()));
    assert!(expected.len() >= 12, "{}", expected.len());
    let mut deaths = 0;
    for step in 1.. {
        copy_log(&before, &env.work());
        let packed = env.run_with(&["knowledge", "pack", "--json"], &[(CRASH_AT, &step.to_string())]);
        let names = records(&list_in(&env, &env.work()));
        assert_eq!(names, expected, "killed at {step}");
        env.run(&["knowledge", "pack"]).expect_code(0);
        assert_eq!(records(&list_in(&env, &env.work())), expected, "killed at {step}, packed again");
        assert_eq!(log_files(&env.work()).len(), 1, "killed at {step}, packed again");
        if packed.signal != Some(9) {
            assert_eq!(packed.json()["quarantined"].as_array().unwrap().len(), 1);
            break;
        }
        deaths = step;
    }
    assert!(deaths >= 6, "only {deaths} steps were seen");
}

/// The same for `erase`: whatever remains is whole, and after the next `erase` nothing is left in any file.
#[test]
fn an_erase_that_is_killed_at_any_step_is_finished_by_the_next() {
    let env = filled(4);
    let before = env.path().join("before");
    copy_log(&env.work(), &before);
    let mut expected = records(&list_in(&env, &env.work()));
    expected.remove("b1-n1").unwrap();
    let erase = ["knowledge", "erase", "b1-n1", "--for-good", "--json"];
    let mut deaths = 0;
    for step in 1.. {
        copy_log(&before, &env.work());
        // The caches have it, too.
        list_in(&env, &env.work());
        let erased = env.run_with(&erase, &[(CRASH_AT, &step.to_string())]);
        if erased.signal != Some(9) {
            erased.expect_code(0);
            break;
        }
        deaths = step;
        if step % 2 == 0 {
            let mut found = records(&list_in(&env, &env.work()));
            found.remove("b1-n1");
            assert_eq!(found, expected, "killed at {step}");
        }
        // If all was done before the end, there is no such record any more.
        let again = env.run(&erase);
        assert!(matches!(again.code, Some(0 | 1)), "killed at {step}: {again}");
        let left = files_with(env.path(), "b1-n1").into_iter().filter(|path| !is_of_the_test(path));
        assert_eq!(left.collect::<Vec<_>>(), [] as [&str; 0], "killed at {step}, erased again");
        assert_eq!(records(&list_in(&env, &env.work())), expected, "killed at {step}, erased again");
    }
    assert!(deaths >= 6, "only {deaths} steps were seen");
}

/// The copy that each try begins with, and the batch that was recorded.
fn is_of_the_test(path: &str) -> bool {
    path.contains("/before/") || path.ends_with("/batch.json")
}

#[test]
fn a_torn_tail_costs_its_own_frame_and_is_told() {
    let env = filled(6);
    let all = records(&list_in(&env, &env.work()));
    let path = log_files(&env.work()).remove(0);
    let content = fs::read(&path).unwrap();
    let last = frame(frames(&content).last().unwrap()).len();
    for cut in [1, 5, last / 2, last - 1] {
        fs::write(&path, &content[..content.len() - cut]).unwrap();
        let shown = list_in(&env, &env.work());
        assert!(shown.stderr.contains("a writer was killed"), "{cut}: {}", shown.stderr);
        let found = records(&shown);
        assert_eq!(found.len(), all.len() - 3, "one batch is lost");
        assert!(found.iter().all(|(name, record)| all[name] == *record));
    }
    at(&env, "15T12:00:00", &["learn", "Later", "--name", "later"]).expect_code(0);
    assert!(listed(&list_in(&env, &env.work())).contains(&"later".to_string()), "the log goes on");
}

#[test]
fn a_flipped_bit_is_always_told_and_nothing_false_is_shown() {
    let env = filled(6);
    let all = records(&list_in(&env, &env.work()));
    let paths = log_files(&env.work());
    let mut chance = Chance(11);
    for _ in 0..if is_whole() { 400 } else { 40 } {
        let path = &paths[chance.below(paths.len() as u64) as usize];
        let content = fs::read(path).unwrap();
        let mut damaged = content.clone();
        damaged[chance.below(content.len() as u64) as usize] ^= 1 << chance.below(8);
        fs::write(path, &damaged).unwrap();
        let shown = list_in(&env, &env.work());
        assert!(shown.stderr.contains(path.to_str().unwrap()), "it is not told: {}", shown.stderr);
        let found = records(&shown);
        assert!(found.len() >= all.len() - 3, "more than one frame is lost");
        assert!(found.iter().all(|(name, record)| all[name] == *record), "something else is shown");
        fs::write(path, content).unwrap();
    }
    assert_eq!(records(&list_in(&env, &env.work())), all);
}

/// A file of a newer version, with a frame that this one does not understand.
#[test]
fn a_log_of_a_newer_version_is_read_and_never_rewritten() {
    let env = filled(3);
    let all = records(&list_in(&env, &env.work()));
    let path = log_files(&env.work()).remove(0);
    let mut updates = frames(&fs::read(&path).unwrap());
    updates.remove(0);
    updates.push(b"\xff\xff something of the future".to_vec());
    let content = file(2, &updates);
    fs::write(&path, &content).unwrap();
    let shown = list_in(&env, &env.work());
    assert!(shown.stderr.contains("a newer version of msg wrote it"), "{}", shown.stderr);
    assert_eq!(records(&shown).len(), all.len());
    let name = records(&shown).into_keys().next().unwrap();
    for args in [
        &["learn", "Beside it", "--name", "beside"][..],
        &["knowledge", "confirm", &name],
        &["knowledge", "pack"],
        &["knowledge", "erase", "beside", "--for-good"],
        &["knowledge", "init"],
    ] {
        at(&env, "15T12:00:00", args).expect_code(0);
        assert_eq!(fs::read(&path).unwrap(), content, "{args:?}");
    }
    let packed = env.ok(&["knowledge", "pack"]);
    assert_eq!(
        packed["untouched"][0].as_str().unwrap().rsplit('/').next(),
        path.file_name().unwrap().to_str()
    );
    assert_eq!(records(&list_in(&env, &env.work())).len(), all.len());
}
