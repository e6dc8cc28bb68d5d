//! Learns from outcomes how likely a collision must be to be told.

/// After so many outcomes the threshold is looked at again.
const STEP: usize = 10;
/// With more false alarms than this, it rises; with fewer than that, it falls.
const TOO_MANY: f64 = 0.3;
const FEW: f64 = 0.1;
const UP: f64 = 0.05;
const DOWN: f64 = 0.02;
/// It stays within these.
pub const LOWEST: f64 = 0.35;
pub const HIGHEST: f64 = 0.9;

/// The threshold after each step, the first being the one to start with. `false_alarms` has the outcomes in their order.
pub fn thresholds(start: f64, false_alarms: &[bool]) -> Vec<f64> {
    let mut all = vec![start];
    for step in false_alarms.chunks_exact(STEP) {
        let share = step.iter().filter(|is_false| **is_false).count() as f64 / STEP as f64;
        let last = all.last().copied().unwrap_or(start);
        let next = match share {
            share if share > TOO_MANY => last + UP,
            share if share < FEW => last - DOWN,
            _ => last,
        };
        all.push(next.clamp(LOWEST, HIGHEST));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(start: f64, outcomes: &[bool]) -> f64 {
        (thresholds(start, outcomes).last().unwrap() * 100.0).round() / 100.0
    }

    #[test]
    fn false_alarms_raise_it_and_hits_lower_it() {
        let alarms = |many: usize| [vec![true; many], vec![false; STEP - many]].concat();
        assert_eq!(last(0.5, &[]), 0.5);
        assert_eq!(last(0.5, &alarms(10)[..9]), 0.5, "too few to say");
        assert_eq!(last(0.5, &alarms(4)), 0.55);
        assert_eq!(last(0.5, &alarms(3)), 0.5);
        assert_eq!(last(0.5, &alarms(1)), 0.5);
        assert_eq!(last(0.5, &alarms(0)), 0.48);
        assert_eq!(last(0.5, &alarms(10).repeat(100)), HIGHEST);
        assert_eq!(last(0.5, &alarms(0).repeat(100)), LOWEST);
        assert_eq!(last(1.0, &alarms(2)), HIGHEST);
        assert_eq!(last(1.0, &[]), 1.0, "what a user sets holds until something is learned");
    }
}
