//! Tests of a text of several words without quotes.

use crate::support::environment::TestEnvironment;

#[test]
fn a_text_without_quotes_is_refused_with_the_way_out() {
    let env = TestEnvironment::new();
    env.join("Al");
    env.join("Bo");
    for args in [
        &["send", "Bo", "hi", "there"][..],
        &["send", "--as", "Al", "Bo", "hi", "there"],
        &["broadcast", "hi", "there"],
        &["set-status", "at", "work"],
    ] {
        let refused = env.run(args).expect_code(2);
        assert!(refused.stderr.contains("hint: put the text in quotes"), "{refused}");
        let refused = env.run(&[args, &["--json"]].concat()).expect_code(2).json();
        assert_eq!(refused["error"]["hints"][0], "put the text in quotes", "{refused}");
    }
    let refused = env.run(&["whois", "Bo", "Al"]).expect_code(2);
    assert!(!refused.stderr.contains("in quotes"), "it takes no text: {refused}");
    assert!(env.ok(&["inbox", "--as", "Bo"])["messages"].as_array().unwrap().is_empty());
}
