//! Times in texts for people: in one form, and in the zone of the reader. JSON has them in UTC.

use ravenry::sys::test_switches::NOW;

use crate::support::environment::{TestEnvironment, wait_until};
use crate::support::running::Running;

/// When everything happened.
const NOON: &str = "2026-11-15T12:00:00.000Z";
/// When it is looked at: on that day, later in that year, and in another year.
const LOOKS: [&str; 3] = ["2026-11-15T12:30:00Z", "2026-12-01T12:00:00Z", "2027-02-01T12:00:00Z"];
/// How [`NOON`] is shown then.
const ZONES: [(&str, [&str; 3]); 2] = [
    ("EST5", ["07:00", "Nov 15 07:00", "2026-11-15 07:00"]),
    ("NZST-12", ["00:00", "Nov 16 00:00", "2026-11-16 00:00"]),
];

fn stage() -> TestEnvironment {
    let env = TestEnvironment::at(NOON);
    env.join("Alice");
    env.ok(&["learn", "One lock guards all names", "--name", "locks", "--as", "Alice"]);
    env
}

#[test]
fn times_are_in_one_form_and_in_the_zone_of_the_reader() {
    let env = stage();
    for (zone, shown) in ZONES {
        for (now, time) in LOOKS.into_iter().zip(shown) {
            for args in [&["log", "Alice"][..], &["knowledge", "log"]] {
                let text = env.run_with(args, &[(NOW, now), ("TZ", zone)]).expect_code(0).stdout;
                let is_there = text.lines().any(|line| line.starts_with(&format!("{time} ")));
                assert!(is_there, "{args:?} in {zone} at {now}: {text}");
            }
            let page = env
                .run_with(&["export", "--markdown", "-o", "-"], &[(NOW, now), ("TZ", zone)])
                .expect_code(0)
                .stdout;
            assert!(page.contains(time), "in {zone} at {now}: {page}");
        }
        // The day of a record.
        let record = env.run_with(&["knowledge", "show", "locks"], &[("TZ", zone)]).expect_code(0).stdout;
        let day = if zone == "EST5" { "on 2026-11-15" } else { "on 2026-11-16" };
        assert!(record.contains(day), "in {zone}: {record}");
    }
}

#[test]
fn a_followed_feed_shows_times_in_the_zone_of_the_reader() {
    let env = stage();
    for (zone, shown) in ZONES {
        let mut follow = env.msg();
        follow.args(["feed", "--follow"]).env("TZ", zone);
        let running = Running::start(&env, &mut follow);
        wait_until("it was told", || {
            running.said().lines().any(|line| line.starts_with(&format!("{}  ", shown[0])))
        });
    }
}

#[test]
fn a_date_that_is_typed_is_in_the_zone_of_the_reader() {
    let env = stage();
    let records = |zone: &str, by: &str| {
        let ended =
            env.run_with(&["knowledge", "list", "--as-of", by, "--json"], &[("TZ", zone)]).expect_code(0);
        ended.json()["total"].as_u64().unwrap()
    };
    assert_eq!((records("EST5", "2026-11-15T06:59"), records("EST5", "2026-11-15T07:01")), (0, 1));
    assert_eq!((records("NZST-12", "2026-11-15"), records("NZST-12", "2026-11-16")), (0, 1));
}

#[test]
fn json_is_in_utc_wherever_the_reader_is() {
    let env = stage();
    for args in [&["log", "Alice", "--json"][..], &["knowledge", "log", "--json"], &["feed", "--json"]] {
        let said = |zone: &str| env.run_with(args, &[("TZ", zone)]).expect_code(0).stdout;
        assert!(said("EST5").contains(NOON), "{args:?}");
        assert_eq!(said("EST5"), said("NZST-12"));
    }
}
