//! Windows of Terminal and iTerm2 on macOS, which know the terminal device of each tab.

use std::process::Command;
use std::time::Duration;

use super::{LookupBudget, WindowPlace, within};
use crate::domain::Pid;
use crate::sys::program;
use crate::sys::tmux::geometry::Rectangle;

const LIMIT: Duration = Duration::from_secs(2);

/// Prints the bounds of the desktop, and a line for each tab: its device, and the bounds of its window. Programs that do
/// not run are not started.
const SCRIPT: &str = r#"
on boundsText(b)
    return (item 1 of b as text) & " " & (item 2 of b as text) & " " & (item 3 of b as text) & " " & (item 4 of b as text)
end boundsText
tell application "Finder" to set out to "screen " & my boundsText(bounds of window of desktop)
if application "Terminal" is running then
    tell application "Terminal"
        repeat with w in windows
            repeat with t in tabs of w
                set out to out & linefeed & (tty of t) & " " & my boundsText(bounds of w)
            end repeat
        end repeat
    end tell
end if
if application "iTerm2" is running then
    tell application "iTerm2"
        repeat with w in windows
            repeat with t in tabs of w
                repeat with s in sessions of t
                    set out to out & linefeed & (tty of s) & " " & my boundsText(bounds of w)
                end repeat
            end repeat
        end repeat
    end tell
end if
return out
"#;

pub(super) fn window_of(pid: Pid, budget: &mut LookupBudget) -> Option<WindowPlace> {
    let mut ps = Command::new("ps");
    ps.args(["-o", "tty=", "-p", &pid.to_string()]);
    let device = program::run_within(&mut ps, budget.take()?.min(LIMIT)).ok()?;
    let mut script = Command::new("osascript");
    script.args(["-e", SCRIPT]);
    parse(&program::run_within(&mut script, budget.take()?.min(LIMIT)).ok()?, device.trim())
}

/// Finds the window with that terminal device, such as `ttys003`.
fn parse(told: &str, device: &str) -> Option<WindowPlace> {
    let bounds = |name: &str| {
        let mut lines = told.lines().filter_map(|line| line.trim().split_once(' '));
        let (_, numbers) = lines.find(|(it, _)| it.trim_start_matches("/dev/") == name)?;
        let numbers: Vec<i64> = numbers.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
        <[i64; 4]>::try_from(numbers).ok()
    };
    let [left, top, right, bottom] = bounds(device).filter(|_| !device.is_empty())?;
    let screen = bounds("screen")?;
    let (width, height) = (within(right - left), within(bottom - top));
    Some(WindowPlace {
        place: Rectangle { left: within(left), top: within(top), width, height },
        screen: (within(screen[2] - screen[0]), within(screen[3] - screen[1])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::tmux::geometry::ScreenCorner;

    #[test]
    fn what_applescript_says() {
        let told = "screen 0 0 1440 900\n/dev/ttys003 0 25 700 450\n/dev/ttys010 720 460 1440 900\n";
        let corner = |device: &str| parse(told, device).and_then(|place| place.corner());
        assert_eq!(corner("ttys003"), Some(ScreenCorner::TopLeft));
        assert_eq!(corner("ttys010"), Some(ScreenCorner::BottomRight));
        for device in ["ttys001", "", "??", "ttys00"] {
            assert_eq!(parse(told, device), None, "{device}");
        }
        assert_eq!(parse("screen 0 0 1440\n/dev/ttys003 0 25 700 450", "ttys003"), None);
    }
}
