//! Links that a command makes, and writes through them.

use super::{check, read};

#[test]
fn what_is_written_by_way_of_a_link() {
    check(&[
        ("ln -s a link; > link", "link a"),
        ("ln -s ../a docs/link; > docs/link", "docs/link a"),
        ("ln -s src d; > d/x", "d src/x d/x"),
        ("ln -s src d; cd d && > x", "d src/x d/x"),
        ("ln a hard; >> hard", "hard a"),
        ("ln -sr a docs/link; > docs/link", "docs/link a"),
        ("ln -s /x/a; > a", "a /x/a"),
        ("ln -s a b; ln -s b c; > c", "b c a"),
        ("ln -s a b; ln -s b a; > a", "b a"),
        ("ln -s src d; cp f d", "d src/f d/f"),
        ("ln -t docs a b; > docs/b", "docs/a docs/b b"),
    ]);
}

#[test]
fn what_changes_a_name_changes_no_target() {
    check(&[
        ("ln -s a link; cat link", "link"),
        ("ln -s a link; rm link; > link", "link ?"),
        ("ln -s a link; mv link b", "link link… b… ?"),
        ("ln -s a link; ln -sf b link; > link", "link b ?"),
    ]);
}

#[test]
fn links_that_are_not_known_make_it_opaque() {
    for command in
        ["read x; ln -s \"$x\" link", "read x; ln -s a \"$x\"", "ln -s a link; rm *", "ln -s *.rs docs"]
    {
        assert!(read(command).is_opaque, "{command}");
    }
}

#[test]
fn a_command_that_is_too_long_says_so() {
    assert!(!read("rm a").is_cut_short);
    assert!(read(&format!("{}rm a", "true;".repeat(4_100))).is_cut_short);
    assert!(read(&format!("rm {}", "a ".repeat(25_000))).is_cut_short);
    assert!(!read("if then fi").is_cut_short);
}
