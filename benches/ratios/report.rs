//! Writes `BENCHMARKS.md`: every figure, from one run on one machine.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::figure::{self, Figure};
use crate::growth::Growth;
use crate::plot::{self, grouped};
use crate::scratch;

/// Writes the page, with its pictures in `docs/`.
pub fn write(figures: &[Figure], growths: &[Growth], short: bool, weather: [Weather; 2]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::from(PREFACE);
    writeln!(text, "\n{}\n", machine(&weather)).unwrap();
    text.push_str("## Against the limits\n\n");
    text.push_str(LEGEND);
    if short {
        text.push_str("What takes long was left out of this run (`--short`).\n\n");
    }
    text.push_str(&figure::markdown(figures));
    text.push_str("\n## How it grows\n");
    for growth in growths {
        let picture = format!("docs/growth-{}.svg", growth.slug);
        fs::write(root.join(&picture), plot::draw(growth)).unwrap();
        write!(text, "\n{}", section(growth, &picture)).unwrap();
    }
    text.push_str(&storm(root));
    let page = root.join("BENCHMARKS.md");
    text.push_str(measured_apart(&fs::read_to_string(&page).unwrap_or_default()));
    fs::write(page, text).unwrap();
}

/// The results of the longest storm test, which takes far longer than these measurements.
fn storm(root: &Path) -> String {
    fs::read_to_string(root.join("docs/storm.txt")).map_or(String::new(), |figures| {
        format!(
            "\n## The storm\n\nThe longest one so far (CONTRIBUTING.md says how to raise one), with a debug build: no promise was \
             broken.\n\n```text\n{figures}```\n"
        )
    })
}

/// The last sections of the page, whose figures are from runs of their own. They stay as they are.
fn measured_apart(page: &str) -> &str {
    page.find("\n## Search").map_or("", |at| &page[at..])
}

const PREFACE: &str = "# Benchmarks\n\n\
    `cargo bench --profile dist -- --report` measures all of this in one run and writes this page; commands are measured with the\n\
    binary that `$RAVENRY_BINARY` names, here the one that `.ci/release` builds. A time by itself says little on a machine that does\n\
    other things too, so each figure is measured in turns with a baseline that does the least the job could take. A missed\n\
    aim is shown, not hidden.\n";

const LEGEND: &str = "The last column is how much of its limit a figure takes up: below 1 it is met.\n\n";

fn section(growth: &Growth, picture: &str) -> String {
    let mut text = format!("### With the number of {}\n\n![{}]({picture})\n\n", growth.of, growth.of);
    let sizes: Vec<String> = growth.sizes.iter().map(|size| grouped(*size)).collect();
    writeln!(text, "| {} | {} |", growth.of, sizes.join(" | ")).unwrap();
    writeln!(text, "| --- {}|", "| ---: ".repeat(sizes.len())).unwrap();
    for curve in &growth.curves {
        let values: Vec<String> = curve.values.iter().map(|value| format!("{value:.2}×")).collect();
        writeln!(text, "| `{}` | {} |", curve.name, values.join(" | ")).unwrap();
    }
    writeln!(text, "\n{}", growth.against).unwrap();
    text
}

/// Describes the machine.
fn machine([before, after]: &[Weather; 2]) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let model =
        cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, it)| it));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = read("/proc/meminfo");
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib: f64 = total.and_then(|it| it.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel: Vec<&str> = kernel.trim().split('.').take(2).collect();
    let temporary = std::env::temp_dir();
    let place = ravenry::sys::filesystem::kind(&temporary).map_or("unknown".to_string(), |it| it.name);
    format!(
        "Machine: {}, {cores} cores, {:.0} GiB, Linux {}, files on {place}, in memory where the table says so by a\n\
         baseline without files. Load average before {}, after {}; to start and end `true` took {:.2} ms before and {:.2} ms\n\
         after. msg {}, {}.",
        model.unwrap_or("unknown processor"),
        kib / 1024.0 / 1024.0,
        kernel.join("."),
        before.load,
        after.load,
        before.least_start,
        after.least_start,
        env!("CARGO_PKG_VERSION"),
        ravenry::sys::clock::now(),
    )
}

/// Load of the machine at one moment.
pub struct Weather {
    load: String,
    least_start: f64,
}

impl Weather {
    pub fn now() -> Self {
        let loads = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = loads.split_whitespace().next().unwrap_or("unknown").to_string();
        Self { load, least_start: scratch::least_start() }
    }
}
