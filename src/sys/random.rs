//! Random numbers, with a fixed seed in tests.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::test_switches;

fn generator() -> StdRng {
    match test_switches::value(test_switches::SEED).and_then(|text| text.parse().ok()) {
        Some(seed) => StdRng::seed_from_u64(seed),
        None => rand::make_rng(),
    }
}

/// The numbers below `n` in random order.
pub fn shuffled(n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut generator());
    order
}

pub fn number() -> u32 {
    generator().next_u32()
}

/// A random UUID (version 4).
pub fn uuid() -> uuid::Uuid {
    let mut bytes = [0; 16];
    generator().fill_bytes(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}
