//! Information on processes from `ps`, for systems without `/proc`.

use std::process::Command;
use std::time::Duration;

use jiff::{Timestamp, Zoned, civil::DateTime, tz::TimeZone};

use super::ProcessDetails;
use crate::domain::process::ProcessStatus;
use crate::domain::{Pid, ProcessTraits};

#[cfg_attr(
    target_os = "linux",
    expect(dead_code, reason = "Linux has a better way; the rest is tested there")
)]
pub(super) fn boot_id() -> Option<String> {
    output("sysctl", &["-n", "kern.bootsessionuuid"])
}

#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a better way"))]
pub(super) fn machine_id() -> Option<String> {
    nix::unistd::gethostname().ok().map(|name| name.to_string_lossy().into_owned())
}

#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a better way"))]
pub(super) fn pid_ns() -> Option<String> {
    None
}

/// There are no pid namespaces.
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a better way"))]
pub(super) fn is_first_namespace(_: Option<&str>) -> bool {
    true
}

pub(super) fn process_status(pid: Pid) -> ProcessStatus {
    match details(pid) {
        Some(details) if details.is_zombie => ProcessStatus::Zombie,
        Some(details) => ProcessStatus::Running { start_ticks: details.start_ticks },
        None => ProcessStatus::Absent,
    }
}

pub(super) fn details(pid: Pid) -> Option<ProcessDetails> {
    let line = fields(pid, "ppid=,state=,tty=,args=")?;
    let mut rest = line.as_str();
    let mut word = || {
        let trimmed = rest.trim_start();
        let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
        let (word, after) = trimmed.split_at(end);
        rest = after;
        (!word.is_empty()).then_some(word)
    };
    let parent = word()?.parse().ok()?;
    let state = word()?;
    let terminal = word()?;
    // `ps` joins the arguments with blanks. Splitting at blanks is good enough to recognise a harness.
    let args: Vec<String> = rest.split_whitespace().map(str::to_string).collect();
    let started = started_at(pid)?;
    Some(ProcessDetails {
        pid,
        parent: Pid::new(parent).ok(),
        leader: session_leader(pid),
        has_terminal: !matches!(terminal, "?" | "??" | "-"),
        start_ticks: u64::try_from(started.as_second()).ok()?,
        is_zombie: state.starts_with('Z'),
        look: ProcessTraits {
            comm: args.first().cloned().unwrap_or_default(),
            exe: args.first().cloned(),
            args,
        },
    })
}

/// Not available in a portable form.
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a better way"))]
pub(super) fn uptime() -> Option<std::time::Duration> {
    None
}

/// There is no portable way to ask without a child being waited for.
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a better way"))]
pub(super) fn has_children() -> bool {
    true
}

/// Not available in a form that can be parsed.
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a better way"))]
pub(super) fn first_environment(_: Pid) -> Option<Vec<u8>> {
    None
}

pub(super) fn is_stopped(pid: Pid) -> bool {
    fields(pid, "state=").is_some_and(|state| state.trim_start().starts_with('T'))
}

/// The CPU time that it has used so far.
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a better way"))]
pub(super) fn cpu_time(pid: Pid) -> Option<Duration> {
    parse_cpu_time(&fields(pid, "time=")?)
}

/// Parses `[[days-]hours:]minutes:seconds[.hundredths]`.
fn parse_cpu_time(text: &str) -> Option<Duration> {
    let (days, rest) = text.trim().split_once('-').unwrap_or(("0", text.trim()));
    let parts: Option<Vec<f64>> = rest.split(':').map(|part| part.parse().ok()).collect();
    let seconds = parts?.into_iter().fold(0.0, |sum, part| sum * 60.0 + part);
    Duration::try_from_secs_f64(days.parse::<f64>().ok()? * 86_400.0 + seconds).ok()
}

/// `ps` does not say it.
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a better way"))]
pub(super) fn working_directory(_: Pid) -> Option<std::path::PathBuf> {
    None
}

/// Every process.
#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a better way"))]
pub(super) fn pids() -> Vec<Pid> {
    let list = output("ps", &["-A", "-o", "pid="]).unwrap_or_default();
    list.lines().filter_map(|line| Pid::new(line.trim().parse().ok()?).ok()).collect()
}

#[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has a better way"))]
pub(super) fn parent(pid: Pid) -> Option<Pid> {
    Pid::new(fields(pid, "ppid=")?.trim().parse().ok()?).ok()
}

pub(super) fn owner(pid: Pid) -> Option<u32> {
    fields(pid, "uid=")?.trim().parse().ok()
}

pub(super) fn started_at(pid: Pid) -> Option<Timestamp> {
    // In UTC, by the environment that `output` sets: local times are ambiguous when clocks are set back.
    let text = fields(pid, "lstart=")?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let time = DateTime::strptime("%a %b %d %H:%M:%S %Y", words.join(" ")).ok()?;
    let zoned: Zoned = time.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp())
}

/// The session leader, from the kernel, because `ps` has no portable keyword for it.
fn session_leader(pid: Pid) -> Option<Pid> {
    let leader = nix::unistd::getsid(Some(nix::unistd::Pid::from_raw(pid.get()))).ok()?;
    Pid::new(leader.as_raw().into()).ok()
}

fn fields(pid: Pid, format: &str) -> Option<String> {
    output("ps", &["-ww", "-o", format, "-p", &pid.to_string()])
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).env("LC_ALL", "C").env("TZ", "UTC").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_times() {
        for (text, millis) in
            [("0:01.50", 1500), ("12:03", 723_000), ("01:00:00", 3_600_000), ("1-00:00:01", 86_401_000)]
        {
            assert_eq!(parse_cpu_time(text).unwrap().as_millis(), millis, "{text}");
        }
        assert_eq!(parse_cpu_time("soon"), None);
    }
}
