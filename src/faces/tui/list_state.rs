//! Selection and scroll position of a list.

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct ListState {
    /// The selected row; in a list without selection, the first visible row.
    pub(super) at: usize,
    /// The user scrolled back, so the list does not follow its end.
    pub(super) is_released: bool,
}

impl ListState {
    /// Scrolls by `by` rows in a list of `rows`, of which `height` are visible.
    pub(super) fn scroll(&mut self, by: isize, rows: usize, height: usize) {
        let last = rows.saturating_sub(height);
        let from = if self.is_released { self.at.min(last) } else { last };
        self.at = from.saturating_add_signed(by).min(last);
        self.is_released = self.at < last;
    }

    /// The first visible row of a list that follows its end.
    pub(super) fn first_of_tail(self, rows: usize, height: usize) -> usize {
        let last = rows.saturating_sub(height);
        if self.is_released { self.at.min(last) } else { last }
    }

    /// Moves the selection by `by` rows.
    pub(super) fn step(&mut self, by: isize, rows: usize) {
        self.at = self.at.saturating_add_signed(by).min(rows.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_follows_until_somebody_looks_back() {
        let mut list = ListState::default();
        assert_eq!(list.first_of_tail(100, 10), 90);
        list.scroll(-5, 100, 10);
        assert_eq!(list.first_of_tail(100, 10), 85);
        assert_eq!(list.first_of_tail(120, 10), 85, "what is new does not move what is read");
        list.scroll(isize::MAX, 120, 10);
        assert_eq!(list.first_of_tail(130, 10), 120, "at the end it follows again");
        list.scroll(isize::MIN, 130, 10);
        assert_eq!(list.first_of_tail(130, 10), 0);
        assert_eq!(list.first_of_tail(3, 10), 0);
    }

    #[test]
    fn a_choice_stays_in_the_list() {
        let mut list = ListState::default();
        list.step(5, 3);
        assert_eq!(list.at, 2);
        list.step(-9, 3);
        assert_eq!(list.at, 0);
        list.step(1, 0);
        assert_eq!(list.at, 0);
    }
}
