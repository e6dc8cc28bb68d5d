//! Whether an agent that works gets anywhere: stuck, or doing the same again and again.

use super::state::ScreenState;
use super::text::ScreenText;

/// Looks in a row that show the same.
const SAME_LOOKS: u32 = 3;

/// Calls of a tool in a row with the same arguments.
const SAME_CALLS: u32 = 4;

/// Turns in a row of a writing worker without a write or a test result that is new.
const IDLE_TURNS: u32 = 10;

/// What was seen at one look.
#[derive(Clone, Copy, Debug)]
pub struct StallLook<'a> {
    pub screen: &'a ScreenText,
    pub state: ScreenState,
    /// Another number if a hook of it has run since the last look.
    pub hooks: u64,
    /// A tool call is open that may take longer than it has taken.
    pub has_open_call: bool,
    /// A process below it uses CPU time.
    pub uses_cpu: bool,
    /// A run that it started is at work.
    pub has_child_run: bool,
}

/// Looks at an agent that belong together.
#[derive(Clone, Debug, Default)]
pub struct StallWatch {
    seen: String,
    hooks: u64,
    same: u32,
}

impl StallWatch {
    /// Adds a look. It is stuck after three in a row that show the same while it should be working, and nothing else says
    /// that something goes on.
    pub fn is_stuck_after(&mut self, look: &StallLook<'_>) -> bool {
        let seen = look.screen.still_text();
        let goes_on = look.has_open_call || look.uses_cpu || look.has_child_run;
        let is_same = self.same > 0 && seen == self.seen && look.hooks == self.hooks;
        self.same = match (look.state == ScreenState::Working && !goes_on, is_same) {
            (false, _) => 0,
            (true, true) => self.same + 1,
            (true, false) => 1,
        };
        self.seen = seen;
        self.hooks = look.hooks;
        self.same >= SAME_LOOKS
    }

    /// Whether one more look like the last ones makes it stuck, or it is.
    pub fn is_doubtful(&self) -> bool {
        self.same + 1 >= SAME_LOOKS
    }
}

/// What an agent did, as far as it decides whether it repeats itself.
#[derive(Clone, Debug, Default)]
pub struct SpinWatch {
    last_call: Option<(String, String)>,
    same_calls: u32,
    idle_turns: u32,
}

impl SpinWatch {
    /// Notes a tool call with its arguments.
    pub fn note_call(&mut self, tool: &str, arguments: &str) {
        let call = (tool.to_owned(), arguments.to_owned());
        self.same_calls = if self.last_call.as_ref() == Some(&call) { self.same_calls + 1 } else { 1 };
        self.last_call = Some(call);
    }

    /// Notes that it wrote something, or that a test had another result than before.
    pub fn note_progress(&mut self) {
        self.idle_turns = 0;
    }

    /// Notes that a turn of a worker that is to write is over.
    pub fn note_turn(&mut self) {
        self.idle_turns += 1;
    }

    /// Whether it does the same again and again.
    pub fn is_spinning(&self) -> bool {
        self.same_calls >= SAME_CALLS || self.idle_turns >= IDLE_TURNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(screen: &ScreenText, hooks: u64) -> StallLook<'_> {
        let state = ScreenState::Working;
        StallLook { screen, state, hooks, has_open_call: false, uses_cpu: false, has_child_run: false }
    }

    #[test]
    fn three_looks_alike_are_a_stall_though_the_clock_turns() {
        let screens =
            ["✢ Thinking… (4s)", "✻ Thinking… (1m 14s)", "· Thinking… (2m 24s)"].map(ScreenText::plain);
        let mut watch = StallWatch::default();
        let mut found = Vec::new();
        for screen in &screens {
            found.push((watch.is_stuck_after(&look(screen, 7)), watch.is_doubtful()));
        }
        assert_eq!(found, [(false, false), (false, true), (true, true)]);
    }

    #[test]
    fn words_hooks_tools_and_other_states_begin_anew() {
        let same = ScreenText::plain("✢ Thinking… (4s)");
        let more = ScreenText::plain("● Words\n✢ Thinking… (4s)");
        let changes: [fn(&mut StallLook<'_>); 5] = [
            |look| look.hooks = 8,
            |look| look.has_open_call = true,
            |look| look.uses_cpu = true,
            |look| look.has_child_run = true,
            |look| look.state = ScreenState::Waiting,
        ];
        for change in changes {
            let mut watch = StallWatch::default();
            for i in 0..9 {
                let mut now = look(&same, 7);
                if i % 2 == 1 {
                    change(&mut now);
                }
                assert!(!watch.is_stuck_after(&now), "look {i}");
            }
        }
        let mut watch = StallWatch::default();
        assert!((0..9).all(|i| !watch.is_stuck_after(&look(if i % 2 == 1 { &more } else { &same }, 7))));
    }

    #[test]
    fn a_silent_build_of_ten_looks_is_not_a_stall() {
        let screen = ScreenText::plain("• Running cargo build\n• Working (4s • esc to interrupt)");
        let mut watch = StallWatch::default();
        let building = StallLook { has_open_call: true, ..look(&screen, 7) };
        assert!((0..10).all(|_| !watch.is_stuck_after(&building)));
    }

    #[test]
    fn the_same_command_four_times_is_spinning() {
        let mut watch = SpinWatch::default();
        for _ in 0..3 {
            watch.note_call("Bash", "cargo test");
        }
        watch.note_call("Bash", "cargo test -q");
        assert!(!watch.is_spinning());
        for _ in 0..3 {
            watch.note_call("Bash", "cargo test -q");
        }
        assert!(watch.is_spinning());
    }

    #[test]
    fn ten_turns_without_progress_are_spinning() {
        let mut watch = SpinWatch::default();
        (0..9).for_each(|_| watch.note_turn());
        assert!(!watch.is_spinning());
        watch.note_progress();
        (0..9).for_each(|_| watch.note_turn());
        assert!(!watch.is_spinning());
        watch.note_turn();
        assert!(watch.is_spinning());
    }
}
