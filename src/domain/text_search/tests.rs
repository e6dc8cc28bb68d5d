//! What is found, and in which order.

use super::{TextMatch, TextQuery, TextScan, excerpt, searchable};

/// The numbers of the texts that match, the best first.
fn found(query: &str, texts: &[&str]) -> Vec<usize> {
    let (mut all, mut starts) = (String::new(), Vec::new());
    for text in texts {
        starts.push(all.len() as u32);
        all.push_str(&searchable(text));
    }
    let Some(query) = TextQuery::parse(query) else { return Vec::new() };
    // In two blocks, as if they came from two files.
    let mut scan = TextScan::new(&query);
    let middle = starts.len() / 2;
    let split = starts.get(middle).map_or(all.len(), |start| *start as usize);
    scan.add(&all[..split], &starts[..middle]);
    let rest: Vec<u32> = starts[middle..].iter().map(|start| start - split as u32).collect();
    scan.add(&all[split..], &rest);
    let mut matches = scan.finish();
    matches.sort_by(TextMatch::order);
    matches.into_iter().map(|found| found.number).collect()
}

#[test]
fn words_are_found_in_other_forms() {
    for (query, text) in [
        ("reservations", "two reserved paths, one reservation"),
        ("policy", "our policies"),
        ("policies", "our policy"),
        ("PARSE", "it is parsed"),
        ("auth", "the authentication is done"),
        ("GRÖSSE", "die Größe"),
        ("Größe", "die Grösse, u\u{308}brigens"),
        ("grosse", "die Größe"),
        ("übrigens", "die Grösse, u\u{308}brigens"),
        ("config", "call parseConfig()"),
        ("parseconfig", "call parseConfig()"),
        ("parse_config", "call parseConfig()"),
        ("parseConfig", "call parse_config()"),
        ("goldfalcon", "ask GoldFalcon"),
        ("login.rs", "see src/auth/login.rs:12"),
        ("src/auth/log", "see src/auth/login.rs:12"),
        ("登录", "登录页面"),
        ("面", "登录页面"),
        ("naïve café", "a naive cafe"),
        ("the", "the end"),
        ("0.28", "since 0.28 it works"),
    ] {
        assert_eq!(found(query, &[text]), [0], "{query} in {text}");
    }
}

#[test]
fn other_words_are_not_found() {
    for (query, text) in [
        ("gin", "the login form"),
        ("policeman", "our policies"),
        ("\"login form\"", "the form of the login"),
        ("\"log in\"", "log into it"),
        ("ab", "a b"),
        ("", "text"),
        ("… — !", "text …"),
        ("\u{1}", "parseConfig"),
    ] {
        assert_eq!(found(query, &[text]), [] as [usize; 0], "{query} in {text}");
    }
}

#[test]
fn better_ones_come_first() {
    let texts = [
        "login login login login login",
        "the form of the login",
        "the login form",
        "the form",
        "something else",
    ];
    assert_eq!(found("login form", &texts)[..2], [2, 1], "all words, and side by side");
    assert_eq!(found("the login form", &texts).len(), 4);
    assert_eq!(found("\"login form\" something", &texts), [2], "a phrase must be there");
    assert_eq!(found("form", &["forms", "form", "format"]), [1, 0, 2]);
    assert_eq!(found("rare common", &["common", "common", "common", "rare"])[0], 3);
}

#[test]
fn a_match_does_not_reach_into_the_next_text() {
    assert_eq!(found("\"one two\"", &["one", "two", "three one two"]), [2]);
    assert_eq!(found("one", &["", "one", "", ""]), [1]);
}

#[test]
fn an_excerpt_shows_what_was_found() {
    let shown = |text: &str, query: &str| {
        let words = excerpt(text, TextQuery::parse(query).as_ref(), 40);
        let mark = |word: &super::ExcerptWord| match word.is_found {
            true => format!("[{}]", word.text),
            false => word.text.clone(),
        };
        words.iter().map(mark).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shown("see\n the Login\tform, please", "login"), "see the [Login] form, please");
    let long = format!("{} needle {}", "hay ".repeat(100), "straw ".repeat(100));
    assert_eq!(shown(&long, "needle"), "… hay hay hay hay hay hay [needle] straw …");
    assert_eq!(shown(&"x".repeat(500), "y"), format!("{}…", "x".repeat(80)));
    assert_eq!(shown("", "y"), "");
}
