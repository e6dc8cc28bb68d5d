//! What becomes of an afternoon: both formats, and what is hostile, missing, or too much.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use roxmltree::{Document, ParsingOptions};

use super::{PageFormat, written};
use crate::domain::{AnyEventKind, Event, Importance};
use crate::ops::export::{
    ExportAgent, ExportMessage, ExportPage, ExportRun, ExportSpec, ExportTask, HeldPath, HeldUntil, Newest,
    Period, Span,
};
use crate::store::{GoneReason, MessageProgress};

/// What a peer would write to break out of every place there is.
const EVIL: &str = "</script></style><script>alert(1)</script><img src=\"http://evil.example/x.png\" onload=\"x\"> \
    ]]> --> ' onload='x' \" autofocus onfocus=\" ![i](http://evil.example/y.png) | `` ``` ` &lt; \u{202e}rtl\u{1b}[2J\u{0} \
    <http://evil.example> [a]: http://evil.example";
const EVIL_LINES: &str = "# heading\n\n```\nfence\n````\n</div></li></ul></main>\n| a | b |\n---\n<!--\n![i](http://evil.example/z.png)\n";

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_794_994_200 + 60 * minute).unwrap()
}

fn event(minute: i64, agent: &str, kind: &str, target: &str, preview: &str) -> Event {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
    Event {
        at: at(minute),
        what: AnyEventKind::named(kind),
        agent: agent.to_string(),
        target: some(target),
        preview: some(preview),
        message_kind: None,
        machine: None,
    }
}

fn agent(name: &str, there: &[(i64, Option<i64>)]) -> ExportAgent {
    let span = |(from, to): &(i64, Option<i64>)| Span { from: at(*from), to: to.map(at) };
    ExportAgent {
        name: name.to_string(),
        is_agent: true,
        is_human: false,
        harness: Some("claude".to_string()),
        model: Some("opus".to_string()),
        branch: Some("main".to_string()),
        cwd: Some("~/shop".to_string()),
        spec: None,
        status: None,
        presence: None,
        gone: None,
        there: there.iter().map(span).collect(),
        sent: 0,
        received: 0,
        refused: 0,
        completed: 0,
    }
}

fn message(minute: i64, from: &str, to: &[&str], text: &str) -> ExportMessage {
    ExportMessage {
        from: from.to_string(),
        to: to.iter().map(ToString::to_string).collect(),
        at: at(minute),
        text: text.to_string(),
        cut: 0,
        thread: None,
        kind: None,
        importance: Importance::Normal,
        short_id: format!("id{minute:04}"),
        replies_to: None,
        progress: MessageProgress::Read,
        is_broadcast: to.len() > 1,
    }
}

fn task(id: &str, title: &str, state: &'static str, who: Option<&str>) -> ExportTask {
    ExportTask {
        id: id.to_string(),
        title: title.to_string(),
        state,
        agent: who.map(str::to_string),
        at: who.map(|_| at(50)),
        notes: None,
        blocked_by: Vec::new(),
        proof: None,
        evidence: Vec::new(),
        reopened: 0,
    }
}

fn hold(who: &str, pattern: &str, from: i64, end: HeldUntil) -> HeldPath {
    let reason = Some("the login".to_string());
    HeldPath { agent: who.to_string(), pattern: pattern.to_string(), reason, from: at(from), end }
}

fn all<T>(shown: Vec<T>) -> Newest<T> {
    Newest { total: shown.len(), shown }
}

fn empty() -> ExportPage {
    ExportPage {
        made_at: at(130),
        since: None,
        shown: Period { from: at(130), to: at(130) },
        mesh: "~/.local/state/ravenry/mesh".to_string(),
        agents: Vec::new(),
        holds: Newest::default(),
        specs: Newest::default(),
        messages: Newest::default(),
        runs: Newest::default(),
        events: Newest::default(),
        masked: 0,
        unreadable: 0,
    }
}

/// An afternoon of three agents.
fn afternoon() -> ExportPage {
    let alice = ExportAgent {
        presence: Some("active"),
        sent: 2,
        received: 1,
        completed: 1,
        ..agent("Alice", &[(0, None)])
    };
    let bob = ExportAgent {
        gone: Some((GoneReason::Left, at(100))),
        sent: 1,
        received: 2,
        refused: 1,
        ..agent("Bob", &[(10, Some(60)), (70, Some(100))])
    };
    let ann = ExportAgent {
        is_agent: false,
        there: Vec::new(),
        harness: None,
        model: None,
        branch: None,
        cwd: None,
        ..agent("ann", &[])
    };
    let question = ExportMessage {
        kind: Some("question"),
        importance: Importance::High,
        progress: MessageProgress::Acked,
        ..message(20, "Bob", &["Alice"], "May I have `src/auth/`?\n\n\tIt is for TASK-02.")
    };
    let answer = ExportMessage {
        replies_to: Some(0),
        thread: Some("auth".to_string()),
        progress: MessageProgress::Unread,
        ..message(25, "Alice", &["Bob"], "In ten minutes.")
    };
    let spec = ExportSpec {
        spec: "~/shop/PLAN.md".to_string(),
        tasks: all(vec![
            ExportTask {
                proof: Some("proven"),
                evidence: vec!["cargo test: exit code 0".to_string()],
                notes: Some("done\nand tested".to_string()),
                ..task("TASK-01", "Log in", "done", Some("Alice"))
            },
            task("TASK-02", "Log out", "claimed", Some("Bob")),
            ExportTask {
                blocked_by: vec!["TASK-02".to_string()],
                ..task("TASK-03", "Stay logged in", "blocked", None)
            },
        ]),
        done: 1,
        claimed: 1,
        open: 0,
        blocked: 1,
        problem: None,
    };
    let run = ExportRun {
        id: "k3f9xa".to_string(),
        title: "Look for dead code".to_string(),
        agent: Some("Bob".to_string()),
        parent: Some("Alice".to_string()),
        profile: "scout".to_string(),
        worker: "claude, opus".to_string(),
        outcome: "done".to_string(),
        is_failure: false,
        is_done: true,
        at: at(70),
        took: "12min".to_string(),
        used: vec!["12.3k tokens".to_string(), "$0.02".to_string()],
        remark: None,
        review: Some("ship by reviewer".to_string()),
        crew: None,
    };
    ExportPage {
        shown: Period { from: at(0), to: at(130) },
        agents: vec![alice, bob, ann],
        holds: all(vec![
            hold("Alice", "src/auth/", 5, HeldUntil::At(at(35))),
            hold("Bob", "src/auth/", 36, HeldUntil::Before(at(60))),
            hold("Alice", "docs/", 40, HeldUntil::Held),
        ]),
        specs: all(vec![spec]),
        messages: Newest {
            shown: vec![question, answer, message(30, "Alice", &["Bob", "ann"], "I am done.")],
            total: 10_412,
        },
        runs: all(vec![run]),
        events: all(vec![
            event(0, "Alice", "join", "", ""),
            event(5, "Alice", "reserve", "src/auth/", "the login"),
            event(10, "Bob", "join", "", ""),
            event(15, "Bob", "refused", "src/auth/", ""),
            event(16, "Bob", "refused", "src/auth/", ""),
            event(20, "Bob", "message", "Alice", ""),
            event(50, "Alice", "complete", "TASK-01", "done"),
            event(55, "Alice", "commit", "", "Log in"),
            event(100, "Bob", "leave", "", ""),
        ]),
        masked: 2,
        unreadable: 1,
        ..empty()
    }
}

/// The same with evil in every text.
fn evil() -> ExportPage {
    let mut page = afternoon();
    let text = || EVIL.to_string();
    page.mesh = text();
    let evil_agent = ExportAgent {
        model: Some(text()),
        branch: Some(text()),
        cwd: Some(text()),
        spec: Some(text()),
        status: Some(text()),
        presence: Some("active"),
        ..agent(EVIL, &[(0, None)])
    };
    page.agents.push(evil_agent);
    page.holds.shown.push(HeldPath { reason: Some(text()), ..hold(EVIL, EVIL, 50, HeldUntil::Held) });
    page.holds.total += 1;
    let bad = ExportTask {
        agent: Some(text()),
        notes: Some(EVIL_LINES.to_string()),
        evidence: vec![text()],
        blocked_by: vec![text()],
        ..task(EVIL, EVIL, "blocked", None)
    };
    page.specs.shown[0].tasks.shown.push(bad);
    page.specs.shown[0].tasks.total += 1;
    page.specs.shown[0].problem = Some(text());
    page.specs.shown[0].spec = text();
    page.messages.shown.push(ExportMessage {
        thread: Some(text()),
        short_id: text(),
        cut: 5,
        ..message(60, EVIL, &[EVIL], EVIL_LINES)
    });
    page.messages.shown.push(ExportMessage { replies_to: Some(3), ..message(61, EVIL, &[EVIL, "b"], EVIL) });
    let run = &mut page.runs.shown[0];
    for field in [&mut run.title, &mut run.profile, &mut run.worker, &mut run.outcome, &mut run.took] {
        *field = text();
    }
    for field in [&mut run.agent, &mut run.parent, &mut run.remark, &mut run.review, &mut run.crew] {
        *field = Some(text());
    }
    run.used = vec![text()];
    for kind in ["edit", "message", "commit", "refused", "evil<kind>"] {
        page.events.shown.push(event(110, EVIL, kind, EVIL, EVIL));
    }
    page.events.total += 5;
    page
}

fn html(page: &ExportPage) -> String {
    written(page, PageFormat::Html, &TimeZone::posix("CET-1").unwrap())
}

fn markdown(page: &ExportPage) -> String {
    written(page, PageFormat::Markdown, &TimeZone::posix("CET-1").unwrap())
}

fn parsed(html: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(html, options).unwrap_or_else(|error| panic!("{error}\n{html}"))
}

/// Without the style and the script.
fn body(html: &str) -> String {
    let (head, rest) = html.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (body, end) = rest.split_once("<script>").unwrap();
    let (_, end) = end.split_once("</script>").unwrap();
    let policy = head.split_once("content=\"default-src").unwrap().1.split_once('"').unwrap().0;
    format!("{head}{body}{end}").replace(policy, " …")
}

/// The same in every release.
fn versionless(page: &str) -> String {
    page.replace(concat!("msg ", env!("CARGO_PKG_VERSION")), "msg [VERSION]")
}

#[test]
fn an_afternoon_in_html() {
    insta::with_settings!({ snapshot_path => "../../../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("export-html", versionless(&body(&html(&afternoon()))));
    });
}

#[test]
fn an_afternoon_in_markdown() {
    insta::with_settings!({ snapshot_path => "../../../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("export-markdown", versionless(&markdown(&afternoon())));
    });
}

#[test]
fn a_page_of_nothing_says_so() {
    let html = html(&empty());
    assert!(parsed(&html).descendants().any(|node| node.text() == Some("Nothing happened in this time.")));
    assert!(markdown(&empty()).contains("Nothing happened in this time."));
}

/// The elements, with how often each occurs.
fn elements(html: &str) -> Vec<(String, usize)> {
    let document = parsed(html);
    let mut counted = std::collections::BTreeMap::new();
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        *counted.entry(node.tag_name().name().to_string()).or_insert(0) += 1;
    }
    counted.into_iter().collect()
}

#[test]
fn what_others_wrote_adds_no_element_no_attribute_and_no_address() {
    let harmless = html(&evil()).replace(EVIL, "x");
    assert!(!harmless.contains("<img"), "nothing is left as it was written");
    // The same page with plain words everywhere has the same elements.
    let mut plain = evil();
    let replace = |text: &mut String| {
        if text == EVIL || text == EVIL_LINES {
            *text = "plain".to_string();
        }
    };
    for message in &mut plain.messages.shown {
        replace(&mut message.text);
        replace(&mut message.from);
    }
    for event in &mut plain.events.shown {
        event.target.iter_mut().chain(&mut event.preview).for_each(replace);
    }
    assert_eq!(elements(&html(&evil())), elements(&html(&plain)));

    let html = html(&evil());
    let document = parsed(&html);
    let (mut ids, mut anchors) = (std::collections::BTreeSet::new(), Vec::new());
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(
                !name.starts_with("on") && !matches!(name, "src" | "style" | "srcset" | "action"),
                "{name}={value}"
            );
            match name {
                "id" => assert!(ids.insert(value.to_string()), "{value} occurs twice"),
                "href" => {
                    anchors.push(value.strip_prefix('#').unwrap_or_else(|| panic!("{value}")).to_string());
                }
                "aria-labelledby" => anchors.push(value.to_string()),
                _ => {}
            }
        }
        let name = node.tag_name().name();
        assert!(
            !matches!(name, "img" | "link" | "iframe" | "object" | "embed" | "base" | "form" | "video"),
            "{name}"
        );
        // Where the content is not text for people, there is nothing of others.
        if matches!(name, "style" | "script") {
            let text = node.text().unwrap();
            assert!(!text.contains("evil") && !text.contains("url(") && !text.contains("http"), "{text}");
        }
    }
    assert!(anchors.iter().all(|anchor| ids.contains(anchor)), "{anchors:?} {ids:?}");
    assert!(anchors.iter().any(|anchor| anchor == "m3"), "the answer leads to its question");
    assert_eq!(html.matches("<script").count(), 1);
    for hidden in ['\u{202e}', '\u{1b}', '\u{0}'] {
        assert!(!html.contains(hidden) && !markdown(&evil()).contains(hidden), "{hidden:?}");
    }
}

#[test]
fn the_page_can_be_read_without_eyes() {
    let html = html(&afternoon());
    let document = parsed(&html);
    let named = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!(["header", "main", "footer", "nav", "h1"].map(named), [1; 5]);
    let nodes = || document.descendants().filter(roxmltree::Node::is_element);
    assert!(nodes().filter(|node| node.has_tag_name("th")).all(|node| node.has_attribute("scope")));
    assert!(
        nodes()
            .filter(|node| node.has_tag_name("table"))
            .all(|node| node.first_element_child().unwrap().has_tag_name("caption"))
    );
    let lanes = nodes().filter(|node| node.attribute("role") == Some("img"));
    let lanes: Vec<&str> = lanes.filter_map(|node| node.attribute("aria-label")).collect();
    assert_eq!(
        lanes,
        [
            "Alice was there since 10:30, 2 reservations, 2 messages sent, 1 task completed",
            "Bob was there 10:40 to 11:30, 11:40 to 12:10, 1 reservation, 1 message sent, 1 refusal"
        ]
    );
    // Headings go down one step at a time.
    let levels: Vec<usize> =
        nodes().filter_map(|node| node.tag_name().name().strip_prefix('h')?.parse().ok()).collect();
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    // What needs the script is not there without it.
    let filter = nodes().find(|node| node.attribute("id") == Some("filter")).unwrap();
    assert!(filter.has_attribute("hidden"));
}

#[test]
fn markdown_of_others_stays_text() {
    use pulldown_cmark::{Event as Part, Options, Parser, Tag};
    let parts = |page: &ExportPage| -> Vec<String> {
        let page = markdown(page);
        let tags = Parser::new_ext(&page, Options::ENABLE_TABLES).filter_map(|part| match part {
            Part::Start(Tag::Paragraph | Tag::Strong) | Part::End(_) => None,
            Part::Start(Tag::Image { dest_url, .. } | Tag::Link { dest_url, .. }) => panic!("{dest_url}"),
            Part::Html(html) | Part::InlineHtml(html) => panic!("{html}"),
            Part::Start(tag) => Some(format!("{tag:?}").split([' ', '(', '{']).next().unwrap().to_string()),
            Part::Rule => Some("Rule".to_string()),
            Part::Code(code) => panic!("{code}"),
            _ => None,
        });
        tags.collect()
    };
    let count = |parts: &[String], name: &str| parts.iter().filter(|part| *part == name).count();
    let (good, bad) = (parts(&afternoon()), parts(&evil()));
    assert_eq!(count(&good, "Heading"), count(&bad, "Heading"), "{bad:?}");
    assert_eq!((count(&bad, "Rule"), count(&bad, "BlockQuote")), (1, 0));
    assert_eq!(count(&bad, "CodeBlock"), count(&good, "CodeBlock") + 2);
    assert_eq!(count(&bad, "Table"), count(&good, "Table"));
    assert_eq!(count(&bad, "TableRow"), count(&good, "TableRow") + 3, "one agent, one reservation, one task");
}

#[test]
fn one_moment_and_a_year_have_an_axis() {
    for (from, to) in [(0, 0), (0, 1), (0, 90), (0, 60 * 30), (0, 60 * 24 * 9), (0, 60 * 24 * 400)] {
        let mut page = afternoon();
        page.shown = Period { from: at(from), to: at(to) };
        let html = html(&page);
        let document = parsed(&html);
        let axis = document.descendants().find(|node| node.attribute("class") == Some("lane axis")).unwrap();
        let labels: Vec<&str> = axis
            .descendants()
            .filter(|node| node.has_tag_name("text"))
            .filter_map(|node| node.text())
            .collect();
        assert!((1..=7).contains(&labels.len()), "{to} minutes: {labels:?}");
        // Nothing is drawn outside.
        for node in document.descendants().filter(|node| node.has_attribute("x")) {
            let percent = |name: &str| node.attribute(name)?.strip_suffix('%')?.parse::<f64>().ok();
            let end = percent("x").unwrap_or_default() + percent("width").unwrap_or_default();
            assert!((0.0..=100.02).contains(&end), "{to} minutes: {node:?}");
        }
    }
}
