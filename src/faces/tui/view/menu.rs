//! Draws the menu of what can be done with the selected thing, at the bottom of the body.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible;
use crate::faces::tui::action_menu::ActionMenu;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::fit;

pub(super) fn draw(buffer: &mut Buffer, body: Rect, menu: &ActionMenu, theme: Theme) {
    let title = escape_invisible(&menu.title);
    let labels: Vec<_> = menu.items.iter().map(|item| escape_invisible(&item.label)).collect();
    let widest = labels.iter().map(|label| label.width() + 6).chain([title.width() + 2]).max().unwrap_or(0);
    let width = u16::try_from(widest).unwrap_or(body.width).min(body.width);
    let rows = u16::try_from(labels.len() + 1).unwrap_or(body.height).min(body.height);
    let area = Rect::new(body.x, body.bottom() - rows, width, rows);
    Clear.render(area, buffer);
    let heading = Line::styled(fit(&format!(" {title}"), width.into()), theme.bar());
    // The selected entry stays visible however low the screen is.
    let shown = usize::from(rows.saturating_sub(1));
    let first = (menu.at + 1).saturating_sub(shown.max(1));
    let entries = menu.items.iter().zip(labels).enumerate().skip(first).take(shown);
    let entries = entries.map(|(number, (item, label))| {
        let label = fit(&label, usize::from(width).saturating_sub(5));
        let mark = if number == menu.at { "›" } else { " " };
        Line::from(vec![
            Span::raw(format!("{mark} ")),
            Span::styled(item.key.to_string(), theme.unread()),
            Span::raw(format!("  {label}")),
        ])
    });
    super::put_rows(buffer, area, std::iter::once(heading).chain(entries));
}
