//! Tasks that live agents own, one each.

mod crowd;
mod foreign;
mod model;
mod races;
mod storm;
mod torn;
