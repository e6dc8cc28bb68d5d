//! Which notices of a thread are new.

/// The notices of this try and of the one before. What is wrong for long is shown once, and again only after a try at
/// which it was not wrong.
#[derive(Debug, Default)]
pub(super) struct NoticeFilter {
    before: Vec<String>,
    now: Vec<String>,
}

impl NoticeFilter {
    /// Notes the text; `true` if it has to be shown.
    pub(super) fn is_new(&mut self, text: &str) -> bool {
        let is_new = !self.before.iter().chain(&self.now).any(|shown| shown == text);
        self.now.push(text.to_string());
        is_new
    }

    pub(super) fn end_try(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::NoticeFilter;

    #[test]
    fn what_is_wrong_for_long_is_shown_once() {
        let mut notices = NoticeFilter::default();
        let mut shown = |texts: &[&str]| {
            let shown: Vec<bool> = texts.iter().map(|text| notices.is_new(text)).collect();
            notices.end_try();
            shown
        };
        assert_eq!(shown(&["broken", "broken"]), [true, false]);
        assert_eq!(shown(&["broken", "odd"]), [false, true]);
        assert_eq!(shown(&["broken"]), [false]);
        assert!(shown(&[]).is_empty());
        assert_eq!(shown(&["broken"]), [true]);
    }
}
