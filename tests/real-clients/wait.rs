//! Waiting for a state.

use std::time::{Duration, Instant};

/// Returns what `look` finds, once it finds something. `Err` says what never came.
pub fn until<T>(what: &str, timeout: Duration, mut look: impl FnMut() -> Option<T>) -> Result<T, String> {
    let give_up = Instant::now() + timeout;
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if Instant::now() > give_up {
            return Err(format!("in vain for {} s: {what}", timeout.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
