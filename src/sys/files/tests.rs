//! Tests of publishing, taking and sweeping files.

use super::*;

fn files() -> (tempfile::TempDir, Files) {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::new(dir.path().join("tmp"), Durability::Power);
    (dir, files)
}

#[test]
fn publishing_never_replaces() {
    let (dir, files) = files();
    let target = dir.path().join("x");
    assert_eq!(files.publish(&target, b"one").unwrap(), Published::Done);
    assert_eq!(files.publish(&target, b"two").unwrap(), Published::Exists);
    assert_eq!(read(&target).unwrap().unwrap(), b"one");
    files.replace(&target, b"three").unwrap();
    assert_eq!(read(&target).unwrap().unwrap(), b"three");
    assert!(list(&dir.path().join("tmp")).unwrap().is_empty(), "nothing private is left");
}

#[test]
fn one_of_two_takes() {
    let (dir, files) = files();
    let [from, to, other] = ["from", "to", "other"].map(|name| dir.path().join(name));
    files.replace(&from, b"").unwrap();
    assert!(files.take(&from, &to).unwrap());
    assert!(!files.take(&from, &other).unwrap());
    assert!(files.take(&to, &dir.path().join("no/such/dir")).is_err(), "that is no lost race");
}

/// Messages that dead readers had taken are put back at any time.
#[test]
fn who_takes_while_others_take_and_put_back_only_comes_too_late() {
    let (dir, files) = files();
    let from = dir.path().join("from");
    files.replace(&from, b"").unwrap();
    std::thread::scope(|scope| {
        for taker in ["a", "b", "c"] {
            let (from, files, to) = (&from, &files, dir.path().join(taker));
            scope.spawn(move || {
                let mut taken = 0;
                while taken < 500 {
                    if files.take(from, &to).unwrap() {
                        taken += 1;
                        assert_eq!(files.put_back(&to, from).unwrap(), Published::Done);
                    }
                }
            });
        }
    });
}

#[test]
fn private_files_are_swept_when_their_process_is_gone() {
    let (dir, files) = files();
    let tmp = dir.path().join("tmp");
    create_dir(&tmp).unwrap();
    let place = own_mark().splitn(3, '.').nth(2).unwrap().to_string();
    let mine = format!("{}.0", own_mark());
    let reused = format!("{}.1.{place}.0", process::own_pid());
    let elsewhere = format!("{}.1.otherboot.ns.othermachine.0", process::own_pid());
    for name in [&mine, &reused, &elsewhere, &"notes.txt".to_string()] {
        touch(&tmp.join(name)).unwrap();
    }
    assert_eq!(files.sweep().unwrap(), 1);
    let left = list(&tmp).unwrap();
    assert!(!left.contains(&reused), "its pid is ours, its start is not");
    assert_eq!(left.len(), 3);
}

#[test]
fn files_are_private() {
    let (dir, files) = files();
    let target = dir.path().join("x");
    files.replace(&target, b"").unwrap();
    assert_eq!(metadata(&target).unwrap().unwrap().permissions().mode() & 0o777, FILE_MODE);
    assert_eq!(metadata(&dir.path().join("tmp")).unwrap().unwrap().permissions().mode() & 0o777, DIR_MODE);
}

#[test]
fn a_list_may_begin_later() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["c", "a", "b"] {
        touch(&dir.path().join(name)).unwrap();
    }
    assert_eq!(list_from(dir.path(), "b").unwrap(), ["b", "c"]);
    assert_eq!(list(dir.path()).unwrap().len(), 3);
}

/// Each has a file of its own, and the directory that both move it into is created by one of them.
#[test]
fn whoever_creates_the_directory_nobody_comes_too_late() {
    let (dir, files) = files();
    let files = Files::new(files.tmp, Durability::Process);
    for round in 0..300 {
        let target = dir.path().join(format!("into{round}"));
        let names = ["a", "b", "c", "d"].map(|name| format!("{name}{round}"));
        names.iter().for_each(|name| files.replace(&dir.path().join(name), b"").unwrap());
        let (barrier, dir, files, target) =
            (&std::sync::Barrier::new(names.len()), dir.path(), &files, &target);
        std::thread::scope(|scope| {
            for name in &names {
                scope.spawn(move || {
                    barrier.wait();
                    let taken = files.take_into(&dir.join(name), target, &target.join(name));
                    assert!(taken.unwrap(), "{name}: nobody else wanted it");
                });
            }
        });
    }
}
