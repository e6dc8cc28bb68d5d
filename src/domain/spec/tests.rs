//! Tests of reading specs: tasks, dependencies, problems and boxes.

use proptest::prelude::*;

use super::*;

/// Tasks as `line id [x] title <- dependencies`.
fn told(text: &str) -> Vec<String> {
    let tell = |task: &Task| {
        let mark = if task.is_done { " [x]" } else { "" };
        let needs = if task.depends_on.is_empty() {
            String::new()
        } else {
            format!(" <- {}", task.depends_on.join(", "))
        };
        let title = if task.title.is_empty() { String::new() } else { format!(" {}", task.title) };
        format!("{} {}{mark}{title}{needs}", task.line, task.id)
    };
    read(text).tasks.iter().map(tell).collect()
}

fn check(cases: &[(&str, &[&str])]) {
    for (text, wanted) in cases {
        assert_eq!(told(text), *wanted, "\n{text}\n");
    }
}

#[test]
fn items() {
    check(&[
        ("- [ ] TASK-01: Parse", &["1 TASK-01 Parse"]),
        ("- [x] TASK-01: Parse", &["1 TASK-01 [x] Parse"]),
        ("- [X] TASK-01: Parse", &["1 TASK-01 [x] Parse"]),
        ("1. **TASK-01** Parse", &["1 TASK-01 Parse"]),
        ("1) TASK-01 Parse", &["1 TASK-01 Parse"]),
        ("1. [x] TASK-01. Parse.", &["1 TASK-01 [x] Parse."]),
        ("* TASK-01 – Parse", &["1 TASK-01 Parse"]),
        ("+ TASK-01 — Parse", &["1 TASK-01 Parse"]),
        ("- TASK-01—Parse", &["1 TASK-01 Parse"]),
        ("- TASK-01 - Parse - fast", &["1 TASK-01 Parse - fast"]),
        ("- TASK-01 -- Parse", &["1 TASK-01 Parse"]),
        ("- TASK-01 -v is a flag", &["1 TASK-01 -v is a flag"]),
        ("- TASK-01: .gitignore", &["1 TASK-01 .gitignore"]),
        ("- TASK-01", &["1 TASK-01"]),
        ("- TASK-01.\n- TASK-02:", &["1 TASK-01", "2 TASK-02"]),
        ("- **TASK-01:** Parse *all* of `it`", &["1 TASK-01 Parse all of it"]),
        ("- `TASK-01` Parse", &["1 TASK-01 Parse"]),
        ("- [TASK-01](#x): Parse", &["1 TASK-01 Parse"]),
        ("- [TASK-01] Parse", &["1 TASK-01 Parse"]),
        ("- [ ] ~~**[TASK-01][a]**~~ Parse\n\n[a]: b", &["1 TASK-01 Parse"]),
        ("- TASK\\_01: Parse", &["1 TASK_01 Parse"]),
        ("-\n  TASK-01: Parse", &["2 TASK-01 Parse"]),
        ("- TASK-01: Parse\n  the whole", &["1 TASK-01 Parse"]),
        ("- TASK-01: a\n\n- TASK-02: b\n\n  more\n", &["1 TASK-01 a", "3 TASK-02 b"]),
        ("- T1.2a.3: a\n- x_0: b\n- v1.2. c", &["1 T1.2a.3 a", "2 x_0 b", "3 v1.2 c"]),
        ("- - [ ] A-1: x", &["1 A-1 x"]),
    ]);
}

#[test]
fn ids_before_a_colon() {
    let long = format!("- [ ] {}: x", "é".repeat(101));
    check(&[
        ("- [ ] Set up CI: with caches", &["1 Set up CI with caches"]),
        ("- [x] **Set up CI**: with: colons", &["1 Set up CI [x] with: colons"]),
        ("- [ ] PROJ-AUTH-01: x", &["1 PROJ-AUTH-01 x"]),
        ("- [ ] TASK-01-A: x", &["1 TASK-01-A x"]),
        ("- [ ] TASK-01 set up: x", &["1 TASK-01 set up: x"]),
        ("- [ ] Grüße 漢字: x", &["1 Grüße 漢字 x"]),
        ("- [ ] See https://a.b: x", &["1 See https://a.b x"]),
        ("- [ ] Set up CI", &[]),
        ("- [ ] Set up\n  CI: x", &[]),
        ("- [ ] : x", &[]),
        ("- [ ] a\tb: x", &[]),
        ("- Set up CI: x", &[]),
        ("1. Set up CI: x", &[]),
        ("- [ ] needs: A-1", &[]),
        (&long, &[]),
        (
            "- [ ] Set up CI: a\n- [ ] B: b (needs Set up CI)\n- [ ] C: depends on: B, set up ci",
            &["1 Set up CI a", "2 B b <- Set up CI", "3 C <- B, Set up CI"],
        ),
        (
            "- [ ] Build: a\n- [ ] Build and test: b\n- [ ] C: c, after Build and test and Build",
            &["1 Build a", "2 Build and test b", "3 C c <- Build and test, Build"],
        ),
        ("- [ ] Lunch: a\n- [ ] B: b after lunch", &["1 Lunch a", "2 B b after lunch"]),
    ]);
}

#[test]
fn headings() {
    check(&[
        ("### TASK-01 — Parse", &["1 TASK-01 Parse"]),
        ("# TASK-01", &["1 TASK-01"]),
        ("\n\nTASK-01: Parse\n---\n", &["3 TASK-01 Parse"]),
        ("## `TASK-01`: Parse ##", &["1 TASK-01 Parse"]),
        ("## [x] TASK-01: Parse", &["1 TASK-01 [x] Parse"]),
        ("## [ ] TASK-01: Parse", &["1 TASK-01 Parse"]),
        ("## [x] TASK-01: Parse\n\n[x]: y", &["1 TASK-01 [x] Parse"]),
        ("## About TASK-01", &[]),
        ("## Set up CI: x", &[]),
        ("## A-1\nDepends on: B-1, B-2.\n## B-1\n## B-2", &["1 A-1 <- B-1, B-2", "3 B-1", "4 B-2"]),
        ("## A-1\n\nIt runs after B-1, then.\n\n## B-1", &["1 A-1 <- B-1", "5 B-1"]),
        ("## A-1\n\n- size: small\n- blocked by B-1 for now\n\n## B-1", &["1 A-1 <- B-1", "6 B-1"]),
        ("## A-1\ntext\n\n**Depends on:** B-1\n\n## B-1", &["1 A-1 <- B-1", "6 B-1"]),
        ("## A-1\ntext\n\nneeds B-1\n\n## B-1", &["1 A-1 <- B-1", "6 B-1"]),
        ("## A-1\ntext\n\nIt runs after B-1.\n\n## B-1", &["1 A-1", "6 B-1"]),
        ("## A-1\ntext\n\n## Notes\nneeds: B-1\n\n## B-1", &["1 A-1", "7 B-1"]),
        (
            "## A-1\n\n### Dependencies\n\n- B-1\n- B-2: x\n\n## B-1\n## B-2",
            &["1 A-1 <- B-1, B-2", "8 B-1", "9 B-2"],
        ),
        ("## A-1\nDepends on:\n- B-1\n\n## B-1", &["1 A-1 <- B-1", "5 B-1"]),
        ("## A-1\n- [ ] B-1: x (after C-1)\n- [ ] C-1: y", &["1 A-1", "2 B-1 x <- C-1", "3 C-1 y"]),
        ("## A-1\n<!-- c -->\nx, after B-1\n## B-1", &["1 A-1 <- B-1", "4 B-1"]),
        ("## A-1\n<!-- c -->\n\nx, after B-1\n## B-1", &["1 A-1 <- B-1", "5 B-1"]),
        ("- # A-1: x\n\n  needs: B-1\n- B-1", &["1 A-1 x <- B-1", "4 B-1"]),
    ]);
}

#[test]
fn rows() {
    let head = "| id | title | depends on |\n|---|---|---|\n";
    let rows = |rows: &str| told(&format!("{head}{rows}"));
    assert_eq!(
        rows("| TASK-01 | Parse | |\n| **T-2** | Print | TASK-01 |"),
        ["3 TASK-01 Parse", "4 T-2 Print <- TASK-01"]
    );
    assert_eq!(rows("| T-1 | a | - |\n| T-2. | b | `T-1`, T-3 |"), ["3 T-1 a", "4 T-2 b <- T-1, T-3"]);
    assert_eq!(rows("| T-1: | a, after T-2 | none |\n| T-2 |"), ["3 T-1 a <- T-2", "4 T-2"]);
    assert_eq!(rows("| the T-1 | a | |\n| T-2 and more | b | |\n|  | T-3 | |"), [""; 0]);
    assert_eq!(rows("| [x] T-1 | a | T-2<br>T-3 |"), ["3 T-1 [x] a <- T-2, T-3"]);
    check(&[
        ("| A-1 | b |\n|---|---|\n| A-2 | c |", &["3 A-2 c"]),
        ("|id|size|task|notes|\n|-|-|-|-|\n|A-1|3|Do|x, needs A-2|", &["3 A-1 Do <- A-2"]),
        ("|id|needs|what|\n|-|-|-|\n|A-1|A-2|Do|", &["3 A-1 Do <- A-2"]),
        ("|x|id|what|\n|-|-|-|\n|[x]|A-1|Do|\n|[ ]|A-2|Do|", &["3 A-1 [x] Do", "4 A-2 Do"]),
        ("|id|what|done|\n|-|-|-|\n|A-1|Do|[x]|", &["3 A-1 [x] Do"]),
        ("|id|what|After|\n|-|-|-|\n|[A-1](#a)|Do|A-2 and A-3|", &["3 A-1 Do <- A-2, A-3"]),
        ("- x\n\n  |id|\n  |-|\n  |A-1|", &["5 A-1"]),
    ]);
}

#[test]
fn what_is_no_task() {
    check(&[
        ("", &[]),
        ("TASK-01: prose", &[]),
        ("See TASK-01.\n\nTASK-02 too", &[]),
        ("- about TASK-01", &[]),
        ("- x\n\n  TASK-01: second paragraph", &[]),
        ("```\n- [ ] TASK-01: x\n```", &[]),
        ("    - [ ] TASK-01: x", &[]),
        ("- ```\n  TASK-01: x\n  ```\n", &[]),
        ("> TASK-01: x", &[]),
        ("- > TASK-01: x", &[]),
        ("<!--\n- [ ] TASK-01: x\n-->", &[]),
        ("- [ ]TASK-01", &[]),
        ("- src-1/main.rs\n- a-1@b.c\n- utf-8-text\n- x-1=2\n- f.1(x)\n- TASK-01_x", &[]),
        ("- TASK-X\n- 1-2\n- TASK01\n- -1\n- TASK--1", &[]),
        ("[TASK-01]: x\n\n***\n", &[]),
    ]);
}

#[test]
fn dependencies() {
    let needs = |text: &str| {
        let text = format!("- A-1: {text}");
        let task = read(&text).tasks.remove(0);
        (task.title, task.depends_on.join(" "))
    };
    for (text, title, ids) in [
        ("x (depends on: B-1, B-2)", "x", "B-1 B-2"),
        ("x, depends on B-1 and B-2", "x", "B-1 B-2"),
        ("x. Depends-On: B-1.", "x", "B-1"),
        ("x; DEPENDS_ON: B-1; B-2", "x", "B-1 B-2"),
        ("x after B-1", "x", "B-1"),
        ("x (needs B-1) y", "x y", "B-1"),
        ("(needs B-1): x", "x", "B-1"),
        ("x — needs: B-1, B-2, and B-3", "x", "B-1 B-2 B-3"),
        ("x (S, needs B-1)", "x (S)", "B-1"),
        ("x [blocked by **B-1**, `B-2`]", "x", "B-1 B-2"),
        ("x blocked by [B-1](#b)", "x", "B-1"),
        ("x after [B-1], [B-2]", "x", "B-1 B-2"),
        ("x after B-1, needs B-2, after B-1", "x", "B-1 B-2"),
        ("x - after B-1; needs B-2.", "x", "B-1 B-2"),
        ("x (depends on B-1; needs B-2)", "x", "B-1 B-2"),
        ("x() depends on B-1 (partly) and B-2 (soon)", "x() (soon)", "B-1 B-2"),
        ("x needs B-1/B-2", "x", "B-1 B-2"),
        ("x depends on: B-1/B-2, c-1/main.rs", "x, c-1/main.rs", "B-1 B-2"),
        ("x, after B-1, fast", "x, fast", "B-1"),
        ("x (after B-1) (needs B-2)", "x", "B-1 B-2"),
        ("x needs B-1, B-2 and love", "x and love", "B-1 B-2"),
        ("x depends on: the parser (B-1), B-2", "x", "B-1 B-2"),
        ("x depends on: B-1 (not C-1), B-2", "x", "B-1 B-2"),
        ("x (depends on: B-1) like C-1", "x like C-1", "B-1"),
        ("x depends on: B-1. See C-1.", "x. See C-1.", "B-1"),
        ("x depends on: none", "x", ""),
        ("x (depends on: -)", "x", ""),
        ("x after lunch", "x after lunch", ""),
        ("look-after B-1", "look-after B-1", ""),
        ("thereafter B-1", "thereafter B-1", ""),
        ("the dependencies B-1", "the dependencies B-1", ""),
        ("x. Dependencies: B-1", "x", "B-1"),
        ("x\n  needs B-1", "x", "B-1"),
        ("x depends on: B-1,\n  B-2\n  not C-1", "x", "B-1 B-2"),
        ("x\n\n  Depends on: B-1", "x", "B-1"),
        ("x\n\n  It goes after B-1.", "x", ""),
        ("x\n  - depends on B-1", "x", "B-1"),
        ("x\n  - **needs:** B-1 (soon)", "x", "B-1"),
        ("x\n  - goes after B-1", "x", ""),
        ("x\n  - Depends on:\n    - B-1\n    - B-2", "x", "B-1 B-2"),
        ("x\n  > needs B-1", "x", ""),
        ("x\n  ```\n  needs: B-1\n  ```", "x", ""),
        ("x <!-- needs B-1 -->", "x", ""),
        ("x needs b-1, a-1", "x", "b-1 A-1"),
    ] {
        assert_eq!(needs(text), (title.to_string(), ids.to_string()), "{text}");
    }
}

#[test]
fn the_shape_of_files() {
    check(&[
        ("# Spec\r\n\r\n- [ ] A-1: x\r\n- [x] A-2: y (needs A-1)\r\n", &["3 A-1 x", "4 A-2 [x] y <- A-1"]),
        ("# Spec\r\r- [ ] A-1: x\r- A-2: y", &["3 A-1 x", "4 A-2 y"]),
        ("\u{feff}- [ ] A-1: x", &["1 A-1 x"]),
        ("\u{feff}---\nid: 1\n---\n# A-1", &["4 A-1"]),
        ("---\ntasks:\n  - A-0\n---\n\n- A-1: x", &["6 A-1 x"]),
        ("---\r\nx: y\r\n...\r\n- A-1: x", &["4 A-1 x"]),
        ("---\n\n- A-1: x\n\n---\n\n- A-2: y", &["3 A-1 x", "7 A-2 y"]),
        ("- A-1: x\n\n---\na: b\n\n- A-2: y\n\n---\n", &["1 A-1 x", "6 A-2 y"]),
        ("-\t[ ]\tA-1:\tx\ty", &["1 A-1 x y"]),
        ("> - [x] A-1: x\n>   needs: A-2\n> - A-2", &["1 A-1 [x] x <- A-2", "3 A-2"]),
        ("> ## A-1\n> needs A-2", &["1 A-1 <- A-2"]),
        ("<details>\n<summary>x</summary>\n\n- [ ] A-1: x\n\n</details>", &["4 A-1 x"]),
        ("- A-1: x\n  - A-2: y\n    1. [x] A-3: z", &["1 A-1 x", "2 A-2 y", "3 A-3 [x] z"]),
        (
            "### A-1: x\n**Size:** S · **Depends on:** B-1, B-2\n**Files:** x-1.rs\n\n- [x] lint\n\n### B-1",
            &["1 A-1 x <- B-1, B-2", "7 B-1"],
        ),
        (
            "1. [ ] **A-1** — Log in (after B-1 and B-2) — 3h\n   - Depends on: C-1\n   - [x] A-1.1 Part, needs A-1.2",
            &["1 A-1 Log in — 3h <- B-1, B-2, C-1", "3 A-1.1 [x] Part <- A-1.2"],
        ),
        ("- part one\n  - [ ] A-2: y\n\n  end", &["2 A-2 y"]),
    ]);
}

#[test]
fn problems_are_told() {
    let told = |text: &str| read(text).problems.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(told("- A-1: x (after A-2)\n- A-2"), [""; 0]);
    assert_eq!(told("- A-1\n- B-1\n- A-1: again"), ["line 3: `A-1` is already a task in line 1"]);
    assert_eq!(
        told("- TASK-01\n- TASK-02: x (needs TASK-1)"),
        [
            "line 2: `TASK-02` depends on `TASK-1`, which is not a task here; did you mean `TASK-01` or `TASK-02`?"
        ]
    );
    assert_eq!(told("- A-1 (after ZZZ.9)"), ["line 1: `A-1` depends on `ZZZ.9`, which is not a task here"]);
    assert_eq!(told("\n- A-1 (after A-1)"), ["line 2: `A-1` depends on itself"]);
    assert_eq!(
        told(
            "- Z-1\n- A-1 needs B-1\n- B-1 needs C-1, D-1\n- C-1 needs A-1\n- D-1 needs E-1\n- E-1 needs D-1"
        ),
        [
            "line 2: tasks wait for each other: `A-1` → `B-1` → `C-1` → `A-1`",
            "line 5: tasks wait for each other: `D-1` → `E-1` → `D-1`"
        ]
    );
    let deep = format!("- A-1\n{}- [ ] B-1: x", "> ".repeat(40));
    assert_eq!(told(&deep), ["line 2 is nested too deeply to be read"]);
}

#[test]
fn the_first_of_two_stays() {
    assert_eq!(told("- A-1: one\n- A-1: two (needs B-1)\n- a-1: three"), ["1 A-1 one", "3 a-1 three"]);
}

#[test]
fn finding() {
    let spec = read("- TASK-01: x\n- TASK-02: y");
    assert_eq!(spec.find("TASK-02").map(|task| task.line), Some(2));
    assert!(spec.find("task-02").is_none());
    assert_eq!(spec.nearest("task-2"), ["TASK-02", "TASK-01"]);
}

#[test]
fn long_chains_and_rings() {
    let chain = |last: &str| {
        let task = |at: usize| format!("- [ ] T-{at}: x (needs T-{})\n", at + 1);
        format!("{}- [ ] T-10000: x{last}\n", (0..10_000).map(task).collect::<String>())
    };
    let spec = read(&chain(""));
    assert_eq!((spec.tasks.len(), spec.problems.len()), (10_001, 0));
    let spec = read(&chain(" (needs T-0)"));
    let [Problem::Cycle { ids, line: 1 }] = &spec.problems[..] else { panic!("{:?}", spec.problems.len()) };
    assert_eq!((ids.len(), ids[0].as_str(), ids[10_000].as_str()), (10_001, "T-0", "T-10000"));
    assert!(spec.problems[0].to_string().ends_with("`T-7` → 9993 more → `T-0`"));
}

#[test]
fn ticking() {
    let text = "# é\r\n- [ ] A-1: x\r\n- [x] A-2: y\r\n- A-3\r\n\r\n## [ ] A-4\r\n\r\n|[ ] A-5|\r\n|-|\r\n|[ ] A-6|\r\n";
    let spec = read(text);
    let ticked = |id: &str| spec.find(id).and_then(|task| tick(text, task));
    assert_eq!(ticked("A-1"), Some(text.replace("[ ] A-1", "[x] A-1")));
    assert_eq!(ticked("A-4"), Some(text.replace("[ ] A-4", "[x] A-4")));
    assert_eq!(ticked("A-6"), Some(text.replace("[ ] A-6", "[x] A-6")));
    assert_eq!(ticked("A-2"), None);
    assert_eq!(ticked("A-3"), None);
    let task = spec.find("A-1").unwrap();
    for changed in [
        text.replace("A-1: x", "A-1: z"),
        text.replace("# é", "# ée"),
        text.replace("[ ]", "[x]"),
        "é".into(),
    ] {
        assert_eq!(tick(&changed, task), None, "{changed}");
    }
    assert!(tick(&text.replace("A-3", "A-33"), task).is_some());
}

/// Texts that are hard for Markdown parsers. They must terminate and fit in a small stack.
#[test]
fn hostile_texts() {
    const SIZE: usize = 100_000;
    let many = |text: &str| text.repeat(SIZE / text.len());
    let mut texts: Vec<String> =
        ["[", "*", ">", "- ", "1. ", "`", "<", "![", "[a](", "*_", "|", "|\n", "<!--", "- [ ] ", "\\"]
            .map(many)
            .into();
    for open in ["> ", "- ", "1. "] {
        for then in ["b\n", "\n", "  b\n"] {
            texts.push(many(open) + "a\n" + &many(then));
            texts.push(open.repeat(30) + "```\n" + &many(then));
        }
    }
    for text in ["needs: ", "after A-1 ", "needs: A-1 (", "needs: a ", "needs: A-1,\n", "A-1 "] {
        texts.push(format!("- [ ] a: b\n- A-1: {}", many(text)));
        texts.push(format!("# A-1\n\nx\n\n{}", many(text)));
    }
    texts.push((0..600).map(|at| " ".repeat(2 * at) + "- A-1\n").collect());
    let reading = std::thread::Builder::new().stack_size(256 * 1024).spawn(move || {
        texts.iter().for_each(|text| drop(read(text)));
    });
    reading.unwrap().join().unwrap();
}

fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("- [ ] "),
        Just("- [x] "),
        Just("- "),
        Just("1. "),
        Just("# "),
        Just("> "),
        Just("|"),
        Just("|-|-|\n"),
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just("  "),
        Just("\t"),
        Just("A-1"),
        Just("A-2"),
        Just("B.3"),
        Just("Set up"),
        Just(": "),
        Just(" — "),
        Just("."),
        Just("**"),
        Just("`"),
        Just("["),
        Just("]"),
        Just("(x)"),
        Just("("),
        Just(")"),
        Just("needs "),
        Just("depends on: "),
        Just("after "),
        Just(" and "),
        Just(", "),
        Just("---\n"),
        Just("a: b\n"),
        Just("[x]: y\n"),
        Just("[x] "),
        Just("<!--"),
        Just("-->"),
        Just("```\n"),
        Just("é"),
        Just("\u{feff}"),
        Just("\0"),
        Just("<br>"),
        Just("none"),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_read(text in "\\PC*|[\\s\\S]{0,200}") {
        read(&text);
    }

    #[test]
    fn what_is_read_holds_together(text in markdown()) {
        let spec = read(&text);
        let mut ids: Vec<&str> = spec.tasks.iter().map(|task| task.id.as_str()).collect();
        prop_assert!(ids.iter().all(|id| id::is_valid(id)));
        prop_assert!(spec.tasks.is_sorted_by(|a, b| a.line < b.line), "{:?}", spec.tasks);
        let lines = text.replace("\r\n", "\n").replace('\r', "\n").split('\n').count();
        prop_assert!(spec.tasks.iter().all(|task| task.line <= lines));
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), spec.tasks.len());
        for task in spec.tasks.iter().filter(|task| !task.is_done && task.tick.is_some()) {
            let ticked = tick(&text, task).unwrap();
            let changed: Vec<_> = text.bytes().zip(ticked.bytes()).filter(|(a, b)| a != b).collect();
            prop_assert_eq!(text.len(), ticked.len());
            prop_assert!(matches!(changed[..], [(b' ' | b'\t', b'x')]), "{:?}", changed);
            let again = read(&ticked);
            let again = again.find(&task.id);
            prop_assert!(again.is_some_and(|again| again.is_done && again.title == task.title), "{:?}", again);
        }
    }
}
