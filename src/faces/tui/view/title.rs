//! Draws the title bar: the mesh, my name, how many others are here, and how many of them are stuck or wait.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::domain::{Presence, escape_invisible};
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::{cut, fit};

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let width = usize::from(area.width);
    let world = &state.world;
    let peers = match world.peers.len() {
        _ if !state.is_loaded => "…".to_string(),
        0 => "nobody else".to_string(),
        1 => "1 peer".to_string(),
        count => format!("{count} peers"),
    };
    let unread = match state.unread() {
        0 => String::new(),
        count => format!(" · {count} unread"),
    };
    let stuck = match world.peers.iter().filter(|peer| peer.presence == Presence::Stuck).count() {
        0 => String::new(),
        count => format!(" · {count} stuck"),
    };
    let waiting =
        match world.peers.iter().filter(|peer| world.awaited_by(&peer.name).next().is_some()).count() {
            0 => String::new(),
            1 => " · 1 waits".to_string(),
            count => format!(" · {count} wait"),
        };
    let right = format!("{} · {peers}{stuck}{waiting}{unread} ", world.me);
    let room = width.saturating_sub(right.width());
    // My name matters more than the path of the mesh.
    let left = cut(&format!(" ravenry {}", escape_invisible(&world.mesh)), room.saturating_sub(1));
    let text = format!("{}{right}", fit(&left, room));
    super::put_rows(buffer, area, [Line::styled(fit(&text, width), theme.bar())]);
}
