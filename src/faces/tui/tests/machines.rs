//! Agents on other machines of a linked mesh.

use super::*;

#[test]
fn machines_have_a_column_if_somebody_is_on_another_one() {
    let mut state = full(120, 24);
    go(&mut state, "Agents");
    assert!(picture(&state).contains("SwiftRaven  active"), "nobody who is not linked sees a column");
    let anna = PeerItem { machine: Some("laptop".to_string()), ..peer("Anna", Presence::Unreachable) };
    let bob = PeerItem { machine: Some("buildbox".to_string()), ..peer("Bob", Presence::Active) };
    let peers = vec![anna, bob, peer("Carol", Presence::Idle)];
    state.hear(ChatUpdate::World(Box::new(MeshSnapshot { peers, ..world() })));
    let picture = picture(&state);
    for row in
        ["Anna   laptop    unreachable  ", "Bob    buildbox  active       ", "Carol            idle         "]
    {
        assert!(picture.contains(row), "{row}\n{picture}");
    }
}
