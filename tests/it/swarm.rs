//! Tasks that live agents own, one each.

mod crowd;
mod races;
mod storm;
mod torn;
