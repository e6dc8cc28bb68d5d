//! Ops write down what follows from them; one runner carries it out when no lock is held. This is read from the syntax,
//! so neither a comment nor an alias, a re-export or a variable hides a call, and no comment looks like one.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::Visit;

use super::graph::{self, Modules, NamedItem, Segments};
use super::held_locks;

/// The guards that hold `mesh.lock` or `swarm.lock`.
pub(super) const GUARDS: [(&str, &str); 3] = [
    ("store::locked_mesh", "LockedMesh"),
    ("store::staged_change", "StagedChange"),
    ("store::tasks::locked_claims", "LockedClaims"),
];

/// The functions that wake agents.
const WAKES: [&str; 3] = ["ops::wake::wake_notified", "ops::wake::idle_agents", "ops::wake::wake_recipients"];

/// The functions that need `mesh.lock` and an outbox: see [`only_owed_notices_are_posted_under_a_lock`].
const BOTH_LOCKS: [&str; 3] = [
    "ops::messages::post_to_agent::find_and_post",
    "ops::messages::send::postponed::send_locked",
    "ops::notices::post_owed",
];

fn segments(name: &str) -> Segments {
    format!("crate::{name}").split("::").map(str::to_string).collect()
}

/// The methods of the mesh whose handles are followed, and methods that make others.
const HANDLES: [&str; 4] = ["feed", "outboxes", "mesh", "lock"];

/// The files of the program, and what they name.
struct Program {
    files: Vec<(Segments, String)>,
    modules: Modules,
    /// What `ops` and `faces` do with handles.
    uses: Vec<HandleUse>,
}

/// A method of a handle that is called.
struct HandleUse {
    /// The function that calls it.
    by: String,
    handle: &'static str,
    method: String,
}

impl Program {
    fn new(files: Vec<(Segments, String)>) -> Self {
        let modules = graph::read(&files);
        let is_followed = |here: &Segments| {
            modules.contains_key(here) && ["ops", "faces"].contains(&here.get(1).map_or("", String::as_str))
        };
        let mut uses = Vec::new();
        for (here, source) in files.iter().filter(|(here, _)| is_followed(here)) {
            let mut reader = HandleReader { here: here.clone(), within: None, found: Vec::new() };
            reader.visit_file(&syn::parse_file(source).unwrap());
            uses.append(&mut reader.found);
        }
        Self { files, modules, uses }
    }

    fn of_sources() -> &'static Self {
        static PROGRAM: OnceLock<Program> = OnceLock::new();
        PROGRAM.get_or_init(|| Self::new(graph::sources()))
    }

    fn of(files: &[(&str, &str)]) -> Self {
        Self::new(files.iter().map(|(name, source)| (segments(name), source.to_string())).collect())
    }

    /// The functions that name one of the items of a file, and files that do so outside of a function. An import alone
    /// does not count beside a function that needs it.
    fn callers(&self, file: &str, items: &[&str]) -> Vec<String> {
        let file = segments(file);
        let is_it = |named: &&NamedItem| {
            let is_item = |item: &str| named.item == item || named.item.starts_with(&format!("{item}::"));
            named.file == file && items.iter().any(|item| is_item(item))
        };
        let mut found = BTreeSet::new();
        for here in self.modules.keys() {
            let named = graph::named_items(&self.modules, here);
            let places: BTreeSet<_> = named.iter().filter(is_it).map(|named| named.within.clone()).collect();
            let only_outside = places.len() == 1;
            let counts = |within: &Option<String>| within.is_some() || only_outside;
            found.extend(places.into_iter().filter(counts).map(|within| place(here, within.as_deref())));
        }
        found.into_iter().collect()
    }

    /// The functions of `ops` and `faces` that call this method of the handle that the mesh gives, as
    /// `mesh.handle().method()`. A handle that is kept, passed on or named otherwise may be used for anything, so that
    /// counts too.
    fn users(&self, handle: &str, method: &str) -> Vec<String> {
        let is_it = |it: &&HandleUse| it.handle == handle && [method, ANYTHING].contains(&it.method.as_str());
        let found: BTreeSet<String> = self.uses.iter().filter(is_it).map(|it| it.by.clone()).collect();
        found.into_iter().collect()
    }
}

fn place(here: &[String], within: Option<&str>) -> String {
    within.map_or_else(|| graph::name(here), |within| format!("{}::{within}", graph::name(here)))
}

/// The method of a handle that is not used at once.
const ANYTHING: &str = "*";

/// Finds what a file does with handles.
struct HandleReader {
    here: Segments,
    /// The current function.
    within: Option<String>,
    found: Vec<HandleUse>,
}

impl HandleReader {
    fn add(&mut self, handle: &'static str, method: &str) {
        let by = place(&self.here, self.within.as_deref());
        self.found.push(HandleUse { by, handle, method: method.to_string() });
    }

    /// The handle that the call makes, if it makes one.
    fn handle(call: &syn::ExprMethodCall) -> Option<&'static str> {
        HANDLES.into_iter().find(|handle| call.method == handle && call.args.is_empty())
    }

    /// The call that makes a handle, if this is one.
    fn made(expression: &syn::Expr) -> Option<(&syn::ExprMethodCall, &'static str)> {
        match expression {
            syn::Expr::MethodCall(call) => Some((call, Self::handle(call)?)),
            syn::Expr::Paren(inner) => Self::made(&inner.expr),
            syn::Expr::Reference(inner) => Self::made(&inner.expr),
            _ => None,
        }
    }

    /// Looks for calls that make a handle among the words of a macro.
    fn add_words(&mut self, mut at: Cursor<'_>) {
        loop {
            if let Some((inside, _, _, after)) = at.any_group() {
                self.add_words(inside);
                at = after;
            } else if let Some((word, after)) = at.ident() {
                let is_call = after.any_group().is_some_and(|(inside, ..)| inside.eof());
                if let Some(handle) = HANDLES.into_iter().find(|handle| is_call && word == handle) {
                    self.add(handle, ANYTHING);
                }
                at = after;
            } else if let Some((_, after)) = at.token_tree() {
                at = after;
            } else {
                return;
            }
        }
    }
}

impl<'ast> Visit<'ast> for HandleReader {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !super::signatures::is_for_tests(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let before = self.within.clone();
        self.within.get_or_insert_with(|| function.sig.ident.to_string());
        syn::visit::visit_item_fn(self, function);
        self.within = before;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        let before = self.within.clone();
        self.within.get_or_insert_with(|| function.sig.ident.to_string());
        syn::visit::visit_impl_item_fn(self, function);
        self.within = before;
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let Some((made, handle)) = Self::made(&call.receiver) {
            self.add(handle, &call.method.to_string());
            self.visit_expr(&made.receiver);
            call.args.iter().for_each(|argument| self.visit_expr(argument));
        } else {
            if let Some(handle) = Self::handle(call) {
                self.add(handle, ANYTHING);
            }
            syn::visit::visit_expr_method_call(self, call);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        // `Mesh::feed`, but not the module `ops::feed`.
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let [.., ty, method] = names.as_slice()
            && ty.starts_with(char::is_uppercase)
            && let Some(handle) = HANDLES.into_iter().find(|handle| method == handle)
        {
            self.add(handle, ANYTHING);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_words(TokenBuffer::new2(call.tokens.clone()).begin());
    }
}

#[test]
fn effects_are_carried_out_in_one_place() {
    let program = Program::of_sources();
    assert_eq!(program.users("feed", "append"), ["ops::runner::tell"], "the feed");
    assert_eq!(program.callers("ops::notices", &["post"]), ["ops::runner::tell"], "notices");
    assert_eq!(
        program.callers("ops::wake", &["wake_notified", "idle_agents"]),
        ["ops::runner::carry_out", "ops::runner::run_at_hook"],
        "wakes"
    );
    assert_eq!(
        program.callers("ops::effects", &["Op::new"]),
        ["ops::runner::run", "ops::runner::run_at_hook"],
        "whoever makes an `Op` has to carry out its effects"
    );
    // The answer of `send` says how each recipient is told, so it can't be given before they are woken. What came from
    // another machine is no effect of an op.
    assert_eq!(
        program.callers("ops::wake", &["wake_recipients"]),
        ["ops::link::process::mail::wake_all", "ops::messages::send::done", "ops::wake::wake_notified"],
        "wakes"
    );
    // Agents send in their own name; only `notices` sends in the program's.
    let senders = [
        "messages::send::postponed::hold",
        "messages::send::postponed::send_locked",
        "messages::send::send_to",
        "notices::post",
        "notices::post_owed",
        "tasks::handoff::send_notes",
    ];
    assert_eq!(program.users("outboxes", "lock"), senders.map(|name| format!("ops::{name}")), "outboxes");
    for (place, handle) in [("store::feed", "FeedLog"), ("store::handles", "Outboxes")] {
        let named_by = program.callers(place, &[handle]);
        assert!(!named_by.is_empty(), "{handle} has another name");
        assert!(named_by.iter().all(|by| by.starts_with("store")), "{handle} is passed on: {named_by:?}");
    }
}

/// The one exception: what the mesh owes to an agent is posted under the lock under which the debt is crossed out, so a
/// process that is killed in between is made up for by the next. An agent's own message is what `send` is for, not an
/// effect; a copy for somebody without an inbox needs both locks.
#[test]
fn only_owed_notices_are_posted_under_a_lock() {
    let program = Program::of_sources();
    let owed = program.callers("ops::notices", &["post_owed"]);
    let expected = [
        "agents::stuck::tell_of",
        "messages::unread_reports::tell_of",
        // The clock of a contest must not run while its holder knows nothing of it.
        "reservations::contest::tell_holder",
        "reservations::settle_contests::settle",
        "reservations::waiting::tell_of_paths",
        "reservations::waiting::tell_of_tasks",
    ];
    assert_eq!(owed, expected.map(|function| format!("ops::{function}")));
    let mut with_effects = program.users("outboxes", "lock");
    with_effects.extend(program.users("feed", "append"));
    with_effects.extend(program.callers("ops::wake", &["wake_notified", "idle_agents", "wake_recipients"]));
    for (file, guard) in GUARDS {
        let holders = program.callers(file, &[guard]);
        assert!(holders.len() > 2, "only {} functions have a {guard}", holders.len());
        let both: Vec<_> = with_effects.iter().filter(|function| holders.contains(function)).collect();
        let allowed: &[&str] = match guard {
            "LockedMesh" => &["ops::messages::send::postponed::send_locked", "ops::notices::post_owed"],
            _ => &[],
        };
        assert_eq!(both, allowed, "{guard}");
    }
}

/// Neither itself nor through what it calls. `held_locks` says what the syntax can't tell.
#[test]
fn nothing_that_holds_a_lock_reaches_an_effect() {
    let program = Program::of_sources();
    let functions = held_locks::read(&program.files, &program.modules);
    let found = |exceptions: &[&str]| held_locks::effects_while_locked(&functions, &WAKES, exceptions);
    assert_eq!(found(&BOTH_LOCKS), [] as [&str; 0]);
    for needed in BOTH_LOCKS {
        let others: Vec<&str> = BOTH_LOCKS.into_iter().filter(|other| *other != needed).collect();
        assert!(!found(&others).is_empty(), "{needed} is no exception any more");
    }
    let known =
        ["ops::messages::post_to_agent::post_texts", "ops::runner::run", "ops::tasks::handoff::handoff"];
    let reaching = held_locks::reaching(&functions, &WAKES, &BOTH_LOCKS);
    assert!(known.iter().all(|function| reaching.contains(*function)), "{reaching:#?}");
}

/// The test above would find these.
#[test]
fn every_way_to_hold_a_lock_is_seen() {
    let finds = |source: &str| {
        let tell = ("ops::tell", "pub fn tell(m: &Mesh) { m.feed().append(1) } pub fn quiet() {}");
        let program =
            Program::of(&[tell, ("ops::a", &format!("use super::tell::{{quiet, tell}}; {source}"))]);
        let functions = held_locks::read(&program.files, &program.modules);
        !held_locks::effects_while_locked(&functions, &[], &[]).is_empty()
    };
    for lock in
        ["m.lock()?", "m.lock_for(a)?", "m.lock_with_claims()?", "m.lock_within(LIMIT)?", "m.try_lock()?"]
    {
        assert!(finds(&format!("fn f(m: &Mesh) {{ let locked = {lock}; tell(m); }}")), "{lock}");
    }
    assert!(!finds("fn f(m: &Mesh) { tell(m); let locked = m.lock()?; quiet(); }"));
    assert!(!finds("fn f(m: &Mesh) { let locked = m.lock()?; drop(locked); tell(m); }"));
    assert!(!finds("fn f(m: &Mesh) { { let locked = m.lock()?; } tell(m); }"));
    assert!(!finds("fn f(m: &Mesh) { m.lock()?.sweep(); tell(m); }"));
    assert!(!finds("fn f(m: &Mesh) { let swept = m.lock()?.sweep(); tell(m); }"));
    assert!(finds("fn f(m: &Mesh) { let locked = m.lock()?; if x { drop(locked); } tell(m); }"));
    assert!(finds("fn f(m: &Mesh) { m.lock()?.sweep(tell(m)); }"));
    assert!(finds("fn f(m: &Mesh) { let Some(mut it) = m.try_lock()? else { return }; tell(m); }"));
    assert!(finds("fn f(m: &Mesh) { if let Some(it) = m.try_lock()? { tell(m); } }"));
    assert!(finds("fn f(m: &Mesh) { match m.lock() { Ok(it) => tell(m), Err(_) => {} } }"));
    assert!(finds("fn f(m: &Mesh) { let it = if x { Some(m.lock()?) } else { None }; tell(m); }"));
    assert!(finds("fn f(m: &Mesh) { let it = m.lock().map_err(E::from); tell(m); }"));
    assert!(finds("fn f(m: &Mesh) { let it = m.lock()?; let kept = it; drop(it); tell(m); }"));

    assert!(finds("fn f(m: &Mesh, _: &LockedMesh<'_>) { tell(m) }"));
    assert!(finds("fn f(m: &Mesh, change: &mut StagedChange<'_>) { tell(m) }"));
    assert!(finds("struct S<'l> { change: StagedChange<'l> } impl S<'_> { fn f(&self) { tell(m) } }"));
    assert!(finds("struct S<'l> { l: LockedClaims<'l> } struct T { s: S } fn f(t: &T) { tell(m) }"));

    assert!(finds("fn g(m: &Mesh) { tell(m) } fn f(m: &Mesh) { let it = m.lock()?; g(m); }"));
    assert!(finds("impl S { fn g(&self) { tell(m) } fn f(&self) { let it = m.lock()?; self.g(); } }"));
    assert!(finds("impl S { fn g(&self) { tell(m) } } fn f(s: &S) { let it = m.lock()?; s.g(); }"));
    assert!(!finds("impl S { fn g(&self) { tell(m) } } fn f(s: &S) { let it = m.lock()?; s.g(1); }"));
    assert!(finds("fn f(m: &Mesh) { let g = || tell(m); let it = m.lock()?; g(); }"));
    assert!(finds("fn f(m: &Mesh) { let it = m.lock()?; drop(vec![tell(m)]); }"));
    assert!(finds("fn f(m: &Mesh, outbox: &LockOutbox<'_, '_>) { let it = m.lock()?; outbox(); }"));
    assert!(finds("fn f(m: &Mesh) { let it = m.lock()?; m.outboxes().lock(name); }"));
    assert!(!finds("fn f(m: &Mesh, tell: u32) { let it = m.lock()?; quiet(tell); }"));
}

/// The tests above would find these.
#[test]
fn every_way_to_an_effect_is_seen() {
    let notices = ("ops::notices", "pub fn post() {}");
    let check = |source: &str| {
        let program =
            Program::of(&[notices, ("ops::x", "pub use super::notices::post as tell;"), ("ops::a", source)]);
        program.callers("ops::notices", &["post"]).contains(&"ops::a::f".to_string())
    };
    assert!(check("fn f() { crate::ops::notices::post() }"));
    assert!(check("use super::notices; fn f() { notices::post() }"));
    assert!(check("use super::notices as n; fn f() { let tell = n::post; tell() }"));
    assert!(check("use super::x::tell; fn f() { tell() }"));
    assert!(check("struct S; impl S { fn f(&self) { drop(vec![super::notices::post()]) } }"));
    assert!(!check("fn f() { /* notices::post() */ let text = \"notices::post()\"; }"));
    assert!(!check("use super::other; fn f() { other::post() }"));

    let uses = |source: &str| {
        let program = Program::of(&[("ops::a", source)]);
        program.users("feed", "append") == ["ops::a::f"]
    };
    assert!(uses("fn f(m: &Mesh) { m.feed().append(1) }"));
    assert!(uses("fn f(m: &Mesh) { (&m.feed()) .append(1) }"));
    assert!(uses("fn f(m: &Mesh) { let log = m.feed(); log.append(1) }"));
    assert!(uses("fn f(m: &Mesh) { g(m.feed()) }"));
    assert!(uses("use Mesh as M; fn f(m: &M) { M::feed(m).append(1) }"));
    assert!(uses("fn f(m: &Mesh) { assert!(m.feed().append(1)) }"));
    assert!(!uses("fn f(m: &Mesh) { m.feed().last(1) } // m.feed().append(1)"));
    assert!(!uses("fn f(op: &Op) { op.feed(kind, name) }"));
    assert!(!uses("#[cfg(test)] mod tests { fn f(m: &Mesh) { m.feed().append(1) } }"));
}

/// The names of the types in a type, from the outside in.
#[derive(Default)]
pub(super) struct TypeNames(pub(super) Vec<String>);

impl<'ast> Visit<'ast> for TypeNames {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        self.0.push(segment.ident.to_string());
        syn::visit::visit_path_segment(self, segment);
    }
}

/// Effects are plain data, and a context is what a command knows before it starts.
#[test]
fn effects_and_contexts_do_nothing() {
    let program = Program::of_sources();
    let effects = segments("ops::effects");
    let of_store = graph::named_items(&program.modules, &effects).into_iter();
    let of_store: BTreeSet<String> =
        of_store.filter(|named| named.file[1] == "store").map(|named| named.item).collect();
    let kinds: BTreeSet<&str> = of_store.iter().map(|item| item.split("::").next().unwrap()).collect();
    assert_eq!(kinds, BTreeSet::from(["LocationReason"]), "effects have no mesh");
    let by_effects: Vec<&str> =
        program.uses.iter().filter(|it| it.by.starts_with("ops::effects")).map(|it| it.handle).collect();
    assert!(by_effects.is_empty(), "{by_effects:?}");

    let (_, context) = program.files.iter().find(|(here, _)| *here == segments("ops::context")).unwrap();
    let items = syn::parse_file(context).unwrap().items;
    let fields =
        items.iter().filter_map(|item| if let syn::Item::Struct(it) = item { Some(it) } else { None });
    let mut cells = Vec::new();
    for field in fields.flat_map(|it| &it.fields) {
        let mut names = TypeNames::default();
        names.visit_type(&field.ty);
        let is_cell = |name: &String| {
            name.ends_with("Cell") || name.ends_with("Lock") || name.contains("Atomic") || name == "Mutex"
        };
        cells.extend(names.0.iter().any(is_cell).then_some(names.0));
    }
    assert_eq!(cells, [["OnceCell", "Rc", "Mesh"]], "the only cell is for opening the mesh once");
}
