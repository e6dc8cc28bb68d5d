//! What functions do while they hold a lock of the mesh, read from the syntax.
//!
//! A function holds a lock from the statement that takes it to a `drop` of the variable, or to the end of the block. It
//! holds one all the time if a parameter, or the type that it is a method of, is or contains a guard.
//!
//! # What the syntax can't tell
//!
//! - The type of a receiver: `x.f(a, b)` may be any method `f` with two arguments, and counts as each of them. So may
//!   `x.lock()`: whatever is called so counts as a lock of the mesh.
//! - Who calls a closure: it counts where it is written and where its name is mentioned, not where a function that gets
//!   it calls it. Only the one that gives an outbox has a type of its own (`LockOutbox`), so its calls are seen.
//! - A guard that a closure puts into a variable outside of it.
//!
//! A debug build panics where effects are carried out or an agent is woken while any lock is held (`ops/runner.rs`,
//! `ops/wake/mod.rs`), which covers these for every path that a test takes.

use std::collections::{BTreeMap, BTreeSet};

use syn::punctuated::Punctuated;
use syn::visit::Visit;

use super::effects::{GUARDS, TypeNames};
use super::graph::{self, Modules, Segments};

/// The methods that take a lock of the mesh, and the number of their arguments.
const LOCKS: [(&str, usize); 6] = [
    ("lock", 0),
    ("try_lock", 0),
    ("lock_with_claims", 0),
    ("lock_claims", 0),
    ("lock_within", 1),
    ("lock_for", 1),
];

/// Methods that return the guard that they are called on.
const PASS_ON: [&str; 5] = ["map_err", "transpose", "ok", "ok_or_else", "filter"];

/// Types of a parameter that writes to an outbox.
const OUTBOXES: [&str; 2] = ["Outbox", "LockOutbox"];

/// Methods of a handle that are an effect.
const EFFECTS: [(&str, &str); 2] = [("feed", "append"), ("outboxes", "lock")];

/// Something that a function calls or mentions.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Call {
    /// The function, as in `ops::notices::post`.
    Function(String),
    /// A method and the number of its arguments.
    Method(String, usize),
    /// It writes to the feed or to an outbox.
    Effect(String),
}

/// A function, by its file and its name.
#[derive(Debug, Default)]
pub(super) struct Function {
    /// The number of its arguments, if it is a method.
    methods: BTreeSet<usize>,
    calls: BTreeSet<Call>,
    calls_while_locked: BTreeSet<Call>,
}

pub(super) type Functions = BTreeMap<String, Function>;

/// Reads the functions of `ops`. What is below tells nobody. In a face, `lock()` is that of a mutex.
pub(super) fn read(files: &[(Segments, String)], modules: &Modules) -> Functions {
    let is_read =
        |here: &Segments| modules.contains_key(here) && here.get(1).is_some_and(|layer| layer == "ops");
    let parsed: Vec<(&Segments, syn::File)> = files
        .iter()
        .filter(|(here, _)| is_read(here))
        .map(|(here, source)| (here, syn::parse_file(source).unwrap()))
        .collect();
    let guards = with_containers(parsed.iter().map(|(_, file)| file));
    let mut functions = Functions::new();
    for (here, file) in &parsed {
        let mut reader = Reader::new(here, modules, &guards, &mut functions);
        reader.visit_file(file);
    }
    functions
}

/// The guards, and the structs that contain one.
fn with_containers<'f>(files: impl Iterator<Item = &'f syn::File> + Clone) -> BTreeSet<String> {
    let mut guards: BTreeSet<String> = GUARDS.map(|(_, guard)| guard.to_string()).into();
    loop {
        let before = guards.len();
        for item in files.clone().flat_map(|file| &file.items) {
            if let syn::Item::Struct(item) = item
                && item.fields.iter().any(|field| names_one_of(&field.ty, &guards))
            {
                guards.insert(item.ident.to_string());
            }
        }
        if guards.len() == before {
            return guards;
        }
    }
}

fn names_one_of(ty: &syn::Type, names: &BTreeSet<String>) -> bool {
    let mut found = TypeNames::default();
    found.visit_type(ty);
    found.0.iter().any(|name| names.contains(name))
}

/// The functions through which an effect can be reached. Through `exceptions` nothing is reached.
pub(super) fn reaching(functions: &Functions, effects: &[&str], exceptions: &[&str]) -> BTreeSet<String> {
    let mut reaching: BTreeSet<String> = effects.iter().map(ToString::to_string).collect();
    loop {
        let before = reaching.len();
        for (name, function) in functions.iter().filter(|(name, _)| !exceptions.contains(&name.as_str())) {
            if function.calls.iter().any(|call| is_effect(functions, &reaching, call)) {
                reaching.insert(name.clone());
            }
        }
        if reaching.len() == before {
            return reaching;
        }
    }
}

fn is_effect(functions: &Functions, reaching: &BTreeSet<String>, call: &Call) -> bool {
    match call {
        Call::Effect(_) => true,
        Call::Function(name) => reaching.contains(name),
        Call::Method(name, arguments) => reaching.iter().any(|reached| {
            let is_it = reached.rsplit("::").next() == Some(name);
            is_it && functions.get(reached).is_some_and(|function| function.methods.contains(arguments))
        }),
    }
}

/// What is called while a lock is held and reaches an effect.
pub(super) fn effects_while_locked(
    functions: &Functions,
    effects: &[&str],
    exceptions: &[&str],
) -> Vec<String> {
    let reaching = reaching(functions, effects, exceptions);
    let mut found = Vec::new();
    for (name, function) in functions.iter().filter(|(name, _)| !exceptions.contains(&name.as_str())) {
        let calls = function.calls_while_locked.iter().filter(|call| is_effect(functions, &reaching, call));
        found.extend(calls.map(|call| format!("{name}: {call:?}")));
    }
    found
}

struct Reader<'p> {
    here: &'p Segments,
    modules: &'p Modules,
    guards: &'p BTreeSet<String>,
    functions: &'p mut Functions,
    /// The current function.
    within: Option<String>,
    /// Whether the current `impl` is of a guard.
    is_of_guard: bool,
    /// All its variables: a path of one name may be one of them.
    variables: BTreeSet<String>,
    /// The variables that hold a lock now.
    held: Vec<String>,
    /// The parameters that write to an outbox.
    outboxes: Vec<String>,
    /// What the closures of the function call, by their names.
    closures: BTreeMap<String, BTreeSet<Call>>,
    /// The closures that are being read.
    reading: Vec<BTreeSet<Call>>,
}

impl<'p> Reader<'p> {
    fn new(
        here: &'p Segments,
        modules: &'p Modules,
        guards: &'p BTreeSet<String>,
        functions: &'p mut Functions,
    ) -> Self {
        let (variables, held, outboxes, closures, reading) = Default::default();
        let (within, is_of_guard) = (None, false);
        Self {
            here,
            modules,
            guards,
            functions,
            within,
            is_of_guard,
            variables,
            held,
            outboxes,
            closures,
            reading,
        }
    }

    fn add(&mut self, call: Call) {
        let Some(within) = &self.within else { return };
        let function = self.functions.entry(within.clone()).or_default();
        if !self.held.is_empty() {
            function.calls_while_locked.insert(call.clone());
        }
        for calls in &mut self.reading {
            calls.insert(call.clone());
        }
        function.calls.insert(call);
    }

    fn read_function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if self.within.is_some() {
            // A function in a function counts as a part of it.
            return self.visit_block(block);
        }
        let name = place(self.here, &signature.ident.to_string());
        let function = self.functions.entry(name.clone()).or_default();
        if signature.receiver().is_some() {
            function.methods.insert(signature.inputs.len() - 1);
            self.held.extend(self.is_of_guard.then(|| "self".to_string()));
        }
        self.within = Some(name);
        let mut variables_here = PatternNames::default();
        variables_here.visit_signature(signature);
        variables_here.visit_block(block);
        self.variables = variables_here.0.into_iter().collect();
        for input in &signature.inputs {
            let syn::FnArg::Typed(input) = input else { continue };
            if names_one_of(&input.ty, self.guards) {
                self.held.push("a parameter".to_string());
                self.held.extend(variables(&input.pat));
            }
            if names_one_of(&input.ty, &OUTBOXES.map(str::to_string).into()) {
                self.outboxes.extend(variables(&input.pat));
            }
        }
        self.visit_block(block);
        self.within = None;
        self.held.clear();
        self.outboxes.clear();
        self.closures.clear();
    }

    /// Reads an expression that may hold a lock as long as it is evaluated.
    fn read_expression(&mut self, expression: &syn::Expr) {
        let mut locks = DirectLocks::default();
        locks.visit_expr(expression);
        let before = self.held.clone();
        self.held.extend(locks.is_there.then(|| "a temporary value".to_string()));
        self.visit_expr(expression);
        self.held = before;
    }

    /// Reads what is called, or what a method is called on.
    fn read_outbox(&mut self, expression: &syn::Expr) {
        if let syn::Expr::Path(path) = expression
            && let Some(name) = path.path.get_ident().map(ToString::to_string)
            && self.outboxes.contains(&name)
        {
            self.add(Call::Effect(name));
        }
    }

    /// Whether the value is a guard.
    fn is_guard(&self, expression: &syn::Expr) -> bool {
        match expression {
            syn::Expr::MethodCall(call) => {
                let passes_on = PASS_ON.iter().any(|method| call.method == method);
                is_lock(call) || passes_on && self.is_guard(&call.receiver)
            }
            syn::Expr::Try(inner) => self.is_guard(&inner.expr),
            syn::Expr::Paren(inner) => self.is_guard(&inner.expr),
            syn::Expr::Reference(inner) => self.is_guard(&inner.expr),
            syn::Expr::Call(call) => is_wrapper(&call.func) && call.args.iter().any(|it| self.is_guard(it)),
            syn::Expr::Match(choice) => choice.arms.iter().any(|arm| self.is_guard(&arm.body)),
            syn::Expr::If(choice) => {
                let otherwise = choice.else_branch.as_ref();
                self.ends_in_guard(&choice.then_branch)
                    || otherwise.is_some_and(|(_, otherwise)| self.is_guard(otherwise))
            }
            syn::Expr::Block(inner) => self.ends_in_guard(&inner.block),
            syn::Expr::Path(path) => {
                path.path.get_ident().is_some_and(|name| self.held.contains(&name.to_string()))
            }
            _ => false,
        }
    }

    fn ends_in_guard(&self, block: &syn::Block) -> bool {
        matches!(block.stmts.last(), Some(syn::Stmt::Expr(end, None)) if self.is_guard(end))
    }
}

fn place(file: &[String], name: &str) -> String {
    format!("{}::{name}", graph::name(file))
}

fn is_lock(call: &syn::ExprMethodCall) -> bool {
    LOCKS.iter().any(|(method, arguments)| call.method == method && call.args.len() == *arguments)
}

/// `Some` or `Ok`.
fn is_wrapper(function: &syn::Expr) -> bool {
    matches!(function, syn::Expr::Path(path) if path.path.is_ident("Some") || path.path.is_ident("Ok"))
}

/// The variable in `drop(variable)`.
fn dropped(expression: &syn::Expr) -> Option<String> {
    let syn::Expr::Call(call) = expression else { return None };
    match (&*call.func, call.args.first()) {
        (syn::Expr::Path(function), Some(syn::Expr::Path(variable))) if function.path.is_ident("drop") => {
            variable.path.get_ident().map(ToString::to_string)
        }
        _ => None,
    }
}

/// The variables that a pattern binds.
fn variables(pattern: &syn::Pat) -> Vec<String> {
    let mut names = PatternNames::default();
    names.visit_pat(pattern);
    names.0
}

#[derive(Default)]
struct PatternNames(Vec<String>);

impl<'ast> Visit<'ast> for PatternNames {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.0.push(pattern.ident.to_string());
    }
}

/// Whether an expression takes a lock by itself, not in a block of its own.
#[derive(Default)]
struct DirectLocks {
    is_there: bool,
}

impl<'ast> Visit<'ast> for DirectLocks {
    fn visit_block(&mut self, _: &'ast syn::Block) {}

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.is_there |= is_lock(call);
        syn::visit::visit_expr_method_call(self, call);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !super::signatures::is_for_tests(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.is_of_guard = names_one_of(&item.self_ty, self.guards);
        syn::visit::visit_item_impl(self, item);
        self.is_of_guard = false;
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.read_function(&function.sig, &function.block);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.read_function(&function.sig, &function.block);
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        let before = self.held.clone();
        block.stmts.iter().for_each(|statement| self.visit_stmt(statement));
        self.held = before;
    }

    fn visit_stmt(&mut self, statement: &'ast syn::Stmt) {
        match statement {
            syn::Stmt::Expr(expression, _) => match dropped(expression) {
                Some(name) => self.held.retain(|held| *held != name),
                None => self.read_expression(expression),
            },
            _ => syn::visit::visit_stmt(self, statement),
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let Some(init) = &local.init else { return };
        self.reading.push(BTreeSet::new());
        self.read_expression(&init.expr);
        let calls = self.reading.pop().unwrap_or_default();
        let names = variables(&local.pat);
        if matches!(*init.expr, syn::Expr::Closure(_)) {
            self.closures.extend(names.iter().map(|name| (name.clone(), calls.clone())));
        }
        if let Some((_, otherwise)) = &init.diverge {
            self.visit_expr(otherwise);
        }
        if self.is_guard(&init.expr) {
            self.held.extend(names);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        self.read_outbox(&call.func);
        syn::visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.read_outbox(&call.receiver);
        if let syn::Expr::MethodCall(handle) = &*call.receiver {
            let is_it = |(of, method): &&(&str, &str)| handle.method == of && call.method == method;
            if let Some((handle, method)) = EFFECTS.iter().find(is_it) {
                self.add(Call::Effect(format!("{handle}().{method}")));
            }
        }
        self.add(match &*call.receiver {
            syn::Expr::Path(path) if path.path.is_ident("self") => {
                Call::Function(place(self.here, &call.method.to_string()))
            }
            _ => Call::Method(call.method.to_string(), call.args.len()),
        });
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(name) = path.get_ident().map(ToString::to_string) {
            let calls = self.closures.get(&name).cloned().unwrap_or_default();
            calls.into_iter().for_each(|call| self.add(call));
            if self.variables.contains(&name) {
                return;
            }
        }
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let followed = self.modules[self.here].follow(self.here, names);
        if let Some(named) = graph::named_item(self.modules, self.here, None, &followed) {
            let last = named.item.rsplit("::").next().unwrap_or_default();
            self.add(Call::Function(place(&named.file, last)));
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // `format!`, `vec!` and the like; patterns call nothing.
        let arguments = call.parse_body_with(Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated);
        arguments.iter().flatten().for_each(|argument| self.visit_expr(argument));
    }
}
