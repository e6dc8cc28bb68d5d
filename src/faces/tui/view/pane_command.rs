//! Draws the command that shows a pane which this terminal can't show. It is shown in full, so that it can be copied.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};

use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::wrap;

use super::record_page::GAP;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, command: &str, theme: Theme) {
    Clear.render(area, buffer);
    let width = usize::from(area.width).saturating_sub(GAP.len());
    let rows =
        |text: &str| wrap(text, width).into_iter().map(|row| format!("{GAP}{row}")).collect::<Vec<_>>();
    let command = rows(command).into_iter().map(|row| Line::styled(row, theme.strong()));
    let why = "This command shows the pane in another terminal. This one does not show that tmux server.";
    let why = rows(why).into_iter().chain(rows("Any key goes on."));
    let why = why.map(|row| Line::styled(row, theme.faint()));
    // The command comes first, in case that there is not enough room.
    super::put_rows(buffer, area, command.chain(std::iter::once(Line::raw(""))).chain(why));
}
