//! The order in which the locks of a mesh are taken, and the deadline that nested waits share.
//!
//! | rank | lock | what it guards |
//! | --- | --- | --- |
//! | 1 | `mesh.lock` | names, registrations, graves |
//! | 2 | `swarm.lock` | claims and completions; pi-messenger takes it too |
//! | 3 | `sent/<Name>/.stamp` | the order of one sender's messages |
//! | 4 | `presence/<Name>`, `hooks/<session>.steps` | the activity counts of one agent; what its hooks reported last |
//! | 5 | `awareness/<repository>.track` | what agents did in one repository |
//! | 6 | `feed/.lock` | appending to the feed |
//! | 7 | `.ravenry/knowledge/write.lock` | the log of knowledge, from the read that a change is based on until it is written; the files of the log are locked while it is held, too; the counts of how records are used |
//!
//! While a lock is held, only locks of a higher rank are taken, and no second one of the same rank. So two processes
//! never wait for each other. A debug build panics where a thread takes a lock out of order.
//!
//! The outermost wait sets a deadline. A nested wait gets only the remaining time: however many locks are nested, a
//! command waits no longer than `lockTimeout` altogether. A change takes `swarm.lock` while it is staged
//! (`staged_change.rs`), so a command that reaches the deadline there has written nothing of it.
//!
//! Two rules keep strangers out of the way. A command that changes claims waits for pi-messenger's `swarm.lock` without
//! holding `mesh.lock` (`Mesh::lock_with_claims`). A rename that was cut short is finished in passing only if
//! `swarm.lock` is free. `tests/it/lock_order.rs` checks both.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

/// A lock, in the order in which locks are taken.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum LockRank {
    Mesh,
    Swarm,
    Stamp,
    Presence,
    Track,
    Feed,
    Knowledge,
}

thread_local! {
    /// The locks that this thread holds or waits for, with the deadline of each wait.
    static HELD: RefCell<Vec<(LockRank, Instant)>> = const { RefCell::new(Vec::new()) };
}

/// A place in the lock order, from the start of the wait until the lock is released.
#[derive(Debug)]
#[must_use = "the place is given up as soon as this is dropped"]
pub struct LockOrderGuard {
    rank: LockRank,
    deadline: Instant,
    /// The order is tracked per thread, so a turn must not move to another thread.
    _not_send: PhantomData<*const ()>,
}

impl LockOrderGuard {
    /// Begins a wait of at most `limit` for a lock.
    pub fn begin(rank: LockRank, limit: Duration) -> Self {
        HELD.with_borrow_mut(|held| {
            let last = held.iter().map(|(held, _)| *held).max();
            debug_assert!(
                last.is_none_or(|last| last < rank),
                "the lock {rank:?} is taken while {last:?} is held: see store/lock_order.rs"
            );
            let outer = held.iter().map(|(_, deadline)| *deadline).min();
            let own = Instant::now() + limit;
            let deadline = outer.map_or(own, |outer| outer.min(own));
            held.push((rank, deadline));
            Self { rank, deadline, _not_send: PhantomData }
        })
    }

    /// The remaining time to wait.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// Whether this thread holds a lock of a mesh or waits for one.
pub fn holds_a_lock() -> bool {
    HELD.with_borrow(|held| !held.is_empty())
}

impl Drop for LockOrderGuard {
    fn drop(&mut self) {
        HELD.with_borrow_mut(|held| {
            // Locks may be released in any order.
            if let Some(at) = held.iter().rposition(|(rank, _)| *rank == self.rank) {
                held.remove(at);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(1000);

    #[test]
    fn locks_are_taken_in_order_and_freed_in_any() {
        let mesh = LockOrderGuard::begin(LockRank::Mesh, LONG);
        let stamp = LockOrderGuard::begin(LockRank::Stamp, LONG);
        drop(mesh);
        let feed = LockOrderGuard::begin(LockRank::Feed, LONG);
        drop(stamp);
        drop(feed);
        drop(LockOrderGuard::begin(LockRank::Mesh, LONG));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "the lock Mesh is taken while Some(Stamp) is held")]
    fn a_lock_that_is_taken_out_of_order_panics() {
        let _stamp = LockOrderGuard::begin(LockRank::Stamp, LONG);
        let _mesh = LockOrderGuard::begin(LockRank::Mesh, LONG);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "the lock Stamp is taken while Some(Stamp) is held")]
    fn two_locks_of_one_rank_panic() {
        let _one = LockOrderGuard::begin(LockRank::Stamp, LONG);
        let _two = LockOrderGuard::begin(LockRank::Stamp, LONG);
    }

    #[test]
    fn a_nested_wait_gets_what_is_left_of_the_outer_one() {
        let outer = LockOrderGuard::begin(LockRank::Mesh, Duration::ZERO);
        let nested = LockOrderGuard::begin(LockRank::Swarm, LONG);
        assert_eq!((outer.left(), nested.left()), (Duration::ZERO, Duration::ZERO));
        drop(nested);
        drop(outer);
        let outer = LockOrderGuard::begin(LockRank::Mesh, LONG);
        let nested = LockOrderGuard::begin(LockRank::Feed, Duration::ZERO);
        assert_eq!(nested.left(), Duration::ZERO, "its own limit counts as well");
        assert!(outer.left() > Duration::ZERO);
        drop(nested);
        assert!(
            LockOrderGuard::begin(LockRank::Stamp, LONG).left() > Duration::ZERO,
            "what was freed counts no more"
        );
    }

    #[test]
    fn threads_have_nothing_to_do_with_each_other() {
        let _stamp = LockOrderGuard::begin(LockRank::Stamp, Duration::ZERO);
        let other = std::thread::spawn(|| LockOrderGuard::begin(LockRank::Mesh, LONG).left());
        assert!(other.join().unwrap() > Duration::ZERO);
    }
}
