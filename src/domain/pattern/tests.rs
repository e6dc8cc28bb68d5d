//! Tests of patterns: what they cover, and what two of them have in common.

use proptest::prelude::*;

use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::new(text, &NormalPath::absolute("/p")).unwrap()
}

/// A path that both cover.
fn common_path(a: &Pattern, b: &Pattern) -> Option<NormalPath> {
    match a.overlap(b, &SearchBudget::for_one_pair()) {
        Overlap::At(path) => Some(path),
        Overlap::Apart => None,
        Overlap::TooComplex => panic!("`{a}` and `{b}` are too complex"),
    }
}

fn path(text: &str) -> NormalPath {
    NormalPath::absolute("/p").join(text)
}

fn covers(text: &str, covered: &[&str], others: &[&str]) {
    let pattern = pattern(text);
    for name in covered {
        assert!(pattern.covers(&path(name)), "`{text}` should cover `{name}`");
    }
    for name in others {
        assert!(!pattern.covers(&path(name)), "`{text}` should not cover `{name}`");
    }
}

#[test]
fn a_literal_covers_itself_and_all_beneath() {
    for text in ["src/auth", "src/auth/", "./src//auth", "src/x/../auth/.", "/p/src/auth"] {
        covers(
            text,
            &["src/auth", "src/auth/", "src/auth/login.rs", "src/auth/a/b", "./src//auth/../auth/x"],
            &["src", "src/authors", "src/auth.rs", "lib/auth", "/src/auth", "/"],
        );
    }
    covers(".", &["", "x", "a/b"], &["/", "/q", "/pp"]);
    covers("/", &["/", "/q", "x"], &[]);
}

/// `i` and the mark after `*` would compose to `í`, which the first pattern does not cover.
#[test]
fn what_can_not_be_composed_counts_as_overlapping() {
    let (one, two) = (pattern("*i*\u{301}"), pattern("{i\u{301},x}"));
    assert_eq!(one.overlap(&two, &SearchBudget::for_one_pair()), Overlap::Apart);
    let two = pattern("i{x,\u{301}}");
    assert_eq!(one.overlap(&two, &SearchBudget::for_one_pair()), Overlap::TooComplex);
}

#[test]
fn case_is_ignored_beyond_ascii_too() {
    let ignoring = |text: &str| pattern(text).with_case(LetterCase::Ignored);
    for (text, name) in [
        ("Ä*", "äx"),
        ("ä*", "ÄX"),
        ("Ä/*.RS", "ä/a.rs"),
        ("*/Ä", "a/ä"),
        ("aΣ*", "aσb"),
        ("{Ä,b}x", "äX"),
        ("\\[Ä*", "[ä"),
        ("[a-c]Ä", "Bä"),
    ] {
        assert!(ignoring(text).covers(&path(name)), "`{text}` should cover `{name}`");
        let literal = Pattern::literal(path(name)).with_case(LetterCase::Ignored);
        let common = common_path(&ignoring(text), &literal).unwrap();
        assert!(ignoring(text).covers(&common) && literal.covers(&common), "{common}");
        assert!(!pattern(text).covers(&path(name)), "`{text}` should not cover `{name}`");
    }
}

#[test]
fn stars_and_slashes() {
    covers("src/*.rs", &["src/a.rs", "src/.rs"], &["src/a/b.rs", "src/a.rs/x", "a.rs", "src"]);
    covers("src/**/*.rs", &["src/a.rs", "src/a/b/c.rs"], &["src/a.md", "lib/a.rs"]);
    covers("**/mod.rs", &["mod.rs", "a/mod.rs", "a/b/mod.rs"], &["amod.rs", "/mod.rs"]);
    covers("src/**", &["src/a", "src/a/b"], &["src", "srcs"]);
    covers("packages/*/", &["packages/a", "packages/a/x/y"], &["packages", "package/a"]);
    covers("src/{a,b}/x.?s", &["src/a/x.rs", "src/b/x.ts"], &["src/c/x.rs", "src/a/x.s"]);
    covers("src/[a-c]x", &["src/ax", "src/cx"], &["src/dx", "src/a/x"]);
    covers(r"src/\[id\].tsx", &["src/[id].tsx"], &["src/i.tsx"]);
}

#[test]
fn what_is_no_pattern() {
    let root = NormalPath::absolute("/p");
    let error = |text: &str| Pattern::new(text, &root).unwrap_err();
    assert_eq!(error(""), PatternError::Empty);
    assert_eq!(error("a\nb"), PatternError::Control);
    assert_eq!(error("src/*/../x"), PatternError::ParentAfterWildcard);
    for text in ["[ä]x.rs", "[!aä]", "[]ä]", "[^]ä]", "[a-ö]*", "\\\\[ä]"] {
        assert!(matches!(error(text), PatternError::WideClass(_)), "{text}");
    }
    covers("{ä,[a-c],\\[ö]}.rs", &["ä.rs", "b.rs", "[ö].rs"], &["ö.rs", "d.rs"]);
    assert_eq!(error(&"a".repeat(2000)), PatternError::TooLong(2000));
    for text in ["src/[a", "src/{a", "a{b,{c}", "[z-a]"] {
        assert!(matches!(error(text), PatternError::NoGlob(_)), "{text}");
    }
}

#[test]
fn unicode_is_compared_composed() {
    covers("caf\u{e9}/", &["cafe\u{301}/menu"], &["cafe/menu"]);
    covers("cafe\u{301}/*.md", &["caf\u{e9}/a.md"], &[]);
}

#[test]
fn case_counts_where_the_file_system_says_so() {
    let ignoring = |text: &str| pattern(text).with_case(LetterCase::Ignored);
    assert!(ignoring("src/Auth").covers(&path("SRC/auth/x")));
    assert!(ignoring("src/*.RS").covers(&path("Src/a.rs")));
    assert!(!pattern("src/Auth").covers(&path("src/auth")));
    assert!(ignoring("src/Auth").overlaps(&pattern("src/auth/x")));
    assert!(ignoring("SRC/*.rs").overlaps(&pattern("src/a.RS")));
}

#[test]
fn overlap() {
    let check = |a: &str, b: &str, expected: bool| {
        let (a, b) = (pattern(a), pattern(b));
        assert_eq!(a.overlaps(&b), expected, "`{a}` and `{b}`");
        assert_eq!(b.overlaps(&a), expected, "`{b}` and `{a}`");
        if let Some(path) = common_path(&a, &b) {
            assert!(a.covers(&path) && b.covers(&path), "`{a}` and `{b}` have no `{path}`");
        }
    };
    check("src/auth", "src/auth/login.rs", true);
    check("src/auth", "src/author", false);
    check("src/*.rs", "src/a*", true);
    check("src/*.rs", "src/*.md", false);
    check("src/a*", "src/*b", true);
    check("src/a?", "src/a??", false);
    check("src/**/x", "src/a/b/x", true);
    check("src/**/x", "src/a/b/y", true); // `src/a/b/y` may be a directory as well as a file, with `y/x` below it
    check("src/**/*.rs", "**/test_*", true);
    check("src/*/a.rs", "src/b/*.rs", true);
    check("src/*/a.rs", "src/b.rs", true);
    check("src/*/a.rs", "src/*/b.rs", false);
    check("{a,b}/x", "{b,c}/x", true);
    check("{a,b}/x", "{c,d}/x", false);
    check("[ab]*", "[!ab]*", false);
    check("**", "x", true);
    check("*", "a/b", false);
    check("*/", "a/b", true);
    check("/etc/x", "x", false);
    // Only valid paths count: the only common string is `src/` with nothing after it.
    check("src/{,a}", "src/{,b}", false);
    check("src/*/x", "src/x", true);
}

/// Patterns whose product has a million states and no common path.
fn hostile(letter: &str, end: &str) -> Pattern {
    pattern(&format!("src/{}{end}", format!("*{letter}").repeat(500)))
}

#[test]
fn a_pair_takes_no_more_steps_than_it_may() {
    let budget = SearchBudget::new(10 * STEPS_PER_PAIR);
    assert_eq!(hostile("a", "y").overlap(&hostile("b", "z*"), &budget), Overlap::TooComplex);
    assert_eq!(budget.left(), 9 * STEPS_PER_PAIR);
    assert!(hostile("a", "y").overlaps(&hostile("b", "z*")), "what can't be told counts as overlapping");
    // A graph that is too large to search uses no steps.
    let stars = pattern(&format!("src/{}x", "*".repeat(1000)));
    assert_eq!(stars.overlap(&hostile("a", "y*"), &budget), Overlap::TooComplex);
    assert_eq!(budget.left(), 9 * STEPS_PER_PAIR);
}

#[test]
fn all_pairs_together_take_no_more_steps_than_the_budget() {
    let budget = SearchBudget::new(STEPS_PER_PAIR / 2);
    let (a, b) = (hostile("a", "y"), hostile("b", "z*"));
    assert_eq!(a.overlap(&b, &budget), Overlap::TooComplex);
    assert_eq!(budget.left(), 0);
    assert_eq!(a.overlap(&b, &budget), Overlap::TooComplex);
    // Pairs that need no search are still decided.
    assert_eq!(pattern("src/a*").overlap(&pattern("src/b*"), &budget), Overlap::Apart);
    assert_eq!(pattern("src/a").overlap(&pattern("lib/*"), &budget), Overlap::Apart);
}

#[test]
fn ordinary_globs_take_few_steps() {
    let budget = SearchBudget::new(usize::MAX);
    let spent = |a: &str, b: &str, expected: bool| {
        let before = budget.left();
        assert_eq!(pattern(a).overlap(&pattern(b), &budget) != Overlap::Apart, expected, "`{a}` and `{b}`");
        before - budget.left()
    };
    for (a, b) in [
        ("src/b17*x*y*z.rs", "src/a17*x*y*z.rs"),
        ("src/*/x17/*.rs", "src/*/x18/*.rs"),
        ("src/*17.rs", "src/*17.md"),
        ("src/b*/x", "src/a/x.rs"),
        ("src/b*/*.rs", "src/auth/*.md"),
    ] {
        assert_eq!(spent(a, b, false), 0, "`{a}` and `{b}` differ at once");
    }
    for (a, b, overlap) in [
        ("src/**/*_test.go", "**/auth/*_test.go", true),
        ("src/**/a/*.rs", "src/**/b/*.rs", false),
        ("src/{auth,login,session}/**/*.{rs,md}", "src/{user,group}/**/*.{rs,md}", false),
        ("packages/*/src/**/*.test.{ts,tsx}", "packages/web/**/[a-z]*.test.ts", true),
    ] {
        let steps = spent(a, b, overlap);
        assert!(steps < 3_000, "`{a}` and `{b}` take {steps} steps");
    }
}

/// Globs over few letters, so that they often overlap.
fn glob() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[ab.]{1,2}",
        2 => Just("*".to_string()),
        1 => Just("**".to_string()),
        1 => "[ab]\\*",
        1 => "\\*[ab]",
        1 => Just("?".to_string()),
        1 => Just("[ab]".to_string()),
        1 => Just("[!a]".to_string()),
        1 => Just("{a,b}".to_string()),
        1 => Just("{a*,b?}".to_string()),
        1 => Just("{,a}b".to_string()),
    ];
    let parts = proptest::collection::vec(part, 1..4);
    (parts, any::<bool>()).prop_map(|(parts, slash)| parts.join("/") + if slash { "/" } else { "" })
}

/// Reference implementation: `globset`, extended by literal patterns and trailing slashes. Slow, without a machine.
fn reference(text: &str) -> Box<dyn Fn(&str) -> bool> {
    let is_tree = text.ends_with('/');
    let slashless = text.trim_end_matches('/');
    let parts: Vec<&str> = slashless.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let joined = parts.join("/");
    if !has_wildcard(text) {
        let beneath = format!("{joined}/");
        return Box::new(move |path| joined.is_empty() || path == joined || path.starts_with(&beneath));
    }
    let glob = globset::GlobBuilder::new(&joined).literal_separator(true).build().unwrap();
    let matcher = glob.compile_matcher();
    Box::new(move |path| {
        let mut prefixes = path.match_indices('/').map(|(at, _)| &path[..at]).chain([path]);
        if is_tree { prefixes.any(|prefix| matcher.is_match(prefix)) } else { matcher.is_match(path) }
    })
}

/// Excludes `..`, which moves the head and is unknown to the reference.
fn is_plain(text: &str) -> bool {
    !text.split('/').any(|part| part == "..")
}

/// Every path of up to four characters over the letters in the globs.
fn short_paths() -> Vec<String> {
    let mut all: Vec<String> = vec![String::new()];
    let mut longest = all.clone();
    for _ in 0..4 {
        longest = longest.iter().flat_map(|text| "ab./".chars().map(move |c| format!("{text}{c}"))).collect();
        all.extend(longest.iter().cloned());
    }
    let is_path = |text: &String| text.split('/').all(|part| !["", ".", ".."].contains(&part));
    all.retain(is_path);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    /// A path is covered exactly when `globset` matches it.
    #[test]
    fn covering_is_what_globset_says(text in glob()) {
        let root = NormalPath::absolute("/p");
        let Ok(pattern) = Pattern::new(&text, &root) else { return Ok(()) };
        prop_assume!(is_plain(&text));
        let reference = reference(&text);
        for name in short_paths() {
            prop_assert_eq!(pattern.covers(&path(&name)), reference(&name), "`{}` and `{}`", text, name);
        }
    }

    /// Two patterns overlap exactly when some path matches both: a reported common path matches both by the
    /// reference, and where none is reported, no short path does.
    #[test]
    fn overlap_is_exact(one in glob(), two in glob()) {
        let root = NormalPath::absolute("/p");
        let (Ok(a), Ok(b)) = (Pattern::new(&one, &root), Pattern::new(&two, &root)) else { return Ok(()) };
        prop_assume!(is_plain(&one) && is_plain(&two));
        let (in_one, in_two) = (reference(&one), reference(&two));
        match common_path(&a, &b) {
            Some(path) => {
                let name = path.relative_to(&root).unwrap();
                let both = in_one(name) && in_two(name);
                prop_assert!(both || name.is_empty(), "`{}` and `{}` have no `{}`", one, two, name);
            }
            None => {
                let both = short_paths().into_iter().find(|name| in_one(name) && in_two(name));
                prop_assert_eq!(both, None, "`{}` and `{}`", one, two);
            }
        }
    }

    #[test]
    fn nothing_panics(text in "\\PC{0,40}", other in "[a-z*?{}/,!\\[\\]\\\\.]{0,20}") {
        let root = NormalPath::absolute("/p");
        if let (Ok(a), Ok(b)) = (Pattern::new(&text, &root), Pattern::new(&other, &root)) {
            prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
        }
    }
}
