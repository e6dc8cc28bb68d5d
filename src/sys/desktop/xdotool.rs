//! Windows on X11. Terminals tell their programs the number of their window in a variable.

use std::process::Command;
use std::time::Duration;

use super::{LookupBudget, WindowPlace, within};
use crate::domain::Pid;
use crate::sys::program;
use crate::sys::tmux::geometry::Rectangle;

const LIMIT: Duration = Duration::from_millis(500);

pub(super) fn window_of(pid: Pid, budget: &mut LookupBudget) -> Option<WindowPlace> {
    let variables = program::variables_of(pid, &["WINDOWID", "DISPLAY", "XAUTHORITY"]);
    let value = |name: &str| variables.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str());
    let window =
        value("WINDOWID").filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()))?;
    let display = value("DISPLAY")?;
    let mut command = Command::new(program::on_path("xdotool")?);
    command.args(["getdisplaygeometry", "--shell", "getwindowgeometry", "--shell", window]);
    command.env("DISPLAY", display);
    if let Some(authority) = value("XAUTHORITY") {
        command.env("XAUTHORITY", authority);
    }
    // A window that is closed, or a display that is gone, has no place.
    parse(&program::run_within(&mut command, budget.take()?.min(LIMIT)).ok()?)
}

/// Reads the size of the screen, then the window's, from lines such as `WIDTH=1920`.
fn parse(told: &str) -> Option<WindowPlace> {
    let (screen, window) = told.split_once("WINDOW=")?;
    let number = |part: &str, name: &str| {
        let mut values = part.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        values.next()?.trim().parse::<i64>().ok().map(within)
    };
    Some(WindowPlace {
        place: Rectangle {
            left: number(window, "X")?,
            top: number(window, "Y")?,
            width: number(window, "WIDTH")?,
            height: number(window, "HEIGHT")?,
        },
        screen: (number(screen, "WIDTH")?, number(screen, "HEIGHT")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::tmux::geometry::ScreenCorner;

    #[test]
    fn what_xdotool_says() {
        let told = "WIDTH=1920\nHEIGHT=1080\nWINDOW=2097164\nX=1400\nY=-4\nWIDTH=484\nHEIGHT=316\nSCREEN=0\n";
        let place = parse(told).unwrap();
        assert_eq!((place.screen, place.place.left, place.place.top), ((1920, 1080), 1400, 0));
        assert_eq!(place.corner(), Some(ScreenCorner::TopRight));
        for other in ["", "WIDTH=1920\nHEIGHT=1080\n", "WIDTH=1\nHEIGHT=1\nWINDOW=1\nX=a\n"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
