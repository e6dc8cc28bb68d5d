//! Tasks that live agents own, one each.

mod crowd;
mod storm;
