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
        let refused = env.run(&[args, &["--json"]].concat()).expect_code(2).json();
        assert_eq!(refused["error"]["hints"][0], "put the text in quotes", "{refused}");
    }
    insta::assert_snapshot!(env.transcript(&[&["set-status", "at", "work"], &["whois", "Bo", "Al"]]), @r#"
    $ msg set-status at work
    [exit 2]
    --- stderr
    error: unexpected argument `work`
    Examples:
      msg set-status "reviewing the login flow"
      msg set-status                 clears it
    hint: put the text in quotes
    hint: run `msg set-status --help` for all options

    $ msg whois Bo Al
    [exit 2]
    --- stderr
    error: unexpected argument `Al`
    Examples:
      msg whois GoldFalcon
      msg whois GoldFalcon --json
    hint: run `msg whois --help` for all options
    "#);
    assert!(env.ok(&["inbox", "--as", "Bo"])["messages"].as_array().unwrap().is_empty());
}
