//! The moving picture of the README shows what the program says today.

use std::fs;
use std::path::Path;

#[path = "../../examples/pictures/moving_picture.rs"]
mod moving_picture;

#[test]
fn the_moving_picture_shows_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(moving_picture::PATH);
    let drawn = moving_picture::draw(Path::new(env!("CARGO_BIN_EXE_msg")));
    let there = fs::read_to_string(path).unwrap();
    let same = drawn == there;
    let first = drawn.lines().zip(there.lines()).find(|(drawn, there)| drawn != there);
    assert!(same, "run `cargo run --example pictures moving`; the first difference (now, then): {first:#?}");
    assert!(there.len() < 60_000, "{} bytes", there.len());
    assert!(!there.contains("<script") && there.contains("prefers-reduced-motion"));
}
