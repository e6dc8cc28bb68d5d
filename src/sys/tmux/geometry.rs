//! In which corner of a screen something is.

/// A rectangle, in cells or in pixels.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rectangle {
    pub left: u32,
    pub top: u32,
    pub width: u32,
    pub height: u32,
}

/// A part of a screen, as people name it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ScreenCorner {
    TopLeft,
    Top,
    TopRight,
    Left,
    Middle,
    Right,
    BottomLeft,
    Bottom,
    BottomRight,
}

/// Where something is along one side of the screen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Along {
    Start,
    Middle,
    End,
    /// It reaches from one edge to the other.
    Whole,
}

impl ScreenCorner {
    /// The part of a screen of that size where the rectangle is; `None` if it fills the screen.
    pub fn of(place: Rectangle, (width, height): (u32, u32)) -> Option<Self> {
        let across = along(place.left, place.width, width);
        let down = along(place.top, place.height, height);
        Some(match (down, across) {
            (Along::Whole, Along::Whole) => return None,
            (Along::Start, Along::Start) => Self::TopLeft,
            (Along::Start, Along::Middle | Along::Whole) => Self::Top,
            (Along::Start, Along::End) => Self::TopRight,
            (Along::Middle | Along::Whole, Along::Start) => Self::Left,
            (Along::Middle, Along::Middle | Along::Whole) | (Along::Whole, Along::Middle) => Self::Middle,
            (Along::Middle | Along::Whole, Along::End) => Self::Right,
            (Along::End, Along::Start) => Self::BottomLeft,
            (Along::End, Along::Middle | Along::Whole) => Self::Bottom,
            (Along::End, Along::End) => Self::BottomRight,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::TopLeft => "top-left",
            Self::Top => "top",
            Self::TopRight => "top-right",
            Self::Left => "left",
            Self::Middle => "middle",
            Self::Right => "right",
            Self::BottomLeft => "bottom-left",
            Self::Bottom => "bottom",
            Self::BottomRight => "bottom-right",
        }
    }
}

/// Compares the room before and behind it. A twentieth of the screen counts as no room: windows have frames and bars.
fn along(start: u32, length: u32, screen: u32) -> Along {
    let before = start;
    let behind = screen.saturating_sub(start.saturating_add(length));
    if before.max(behind) <= screen / 20 {
        Along::Whole
    } else if before.saturating_mul(2) < behind {
        Along::Start
    } else if behind.saturating_mul(2) < before {
        Along::End
    } else {
        Along::Middle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The corner in a window of 200×50.
    #[track_caller]
    fn check((left, top, width, height): (u32, u32, u32, u32), name: &str) {
        let corner = ScreenCorner::of(Rectangle { left, top, width, height }, (200, 50));
        assert_eq!(corner.map_or("", ScreenCorner::name), name);
    }

    #[test]
    fn one_pane_has_no_corner() {
        check((0, 0, 200, 50), "");
        // Below a line with its title.
        check((0, 1, 200, 49), "");
    }

    #[test]
    fn two_panes_have_sides() {
        check((0, 0, 100, 50), "left");
        check((101, 0, 99, 50), "right");
        check((0, 0, 200, 25), "top");
        check((0, 26, 200, 24), "bottom");
        // A narrow one beside a wide one.
        check((0, 0, 159, 50), "left");
        check((160, 0, 40, 50), "right");
    }

    #[test]
    fn four_panes_have_corners() {
        check((0, 0, 100, 25), "top-left");
        check((101, 0, 99, 25), "top-right");
        check((0, 26, 100, 24), "bottom-left");
        check((101, 26, 99, 24), "bottom-right");
    }

    #[test]
    fn nine_panes_have_a_middle() {
        check((67, 17, 66, 16), "middle");
        check((67, 0, 66, 16), "top");
        check((67, 34, 66, 16), "bottom");
        check((0, 17, 66, 16), "left");
        check((134, 17, 66, 16), "right");
        check((67, 0, 66, 50), "middle");
    }

    #[test]
    fn a_size_that_is_not_known_is_harmless() {
        assert_eq!(ScreenCorner::of(Rectangle { left: 0, top: 0, width: 0, height: 0 }, (0, 0)), None);
        let far = Rectangle { left: u32::MAX, top: u32::MAX, width: u32::MAX, height: u32::MAX };
        assert_eq!(ScreenCorner::of(far, (200, 50)), Some(ScreenCorner::BottomRight));
    }
}
