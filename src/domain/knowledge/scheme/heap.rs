//! The memory of one expression. Nothing in it is freed before the end; the budget bounds it, so that dropping is flat
//! however deeply values are nested.

use std::borrow::Cow;
use std::collections::HashMap;

use super::budget::QueryMeter;
use super::fault::{Stop, excerpt};
use super::text_pattern::TextPattern;
use super::value::{Derived, ListView, NameId, Value};
use super::world::QueryWorld;

/// The most regular expressions that are kept: each may need a megabyte.
const MOST_PATTERNS: usize = 8;

/// A variable, and the variables around it. The scope 0 has none.
#[derive(Clone, Copy, Debug)]
struct Binding<'w> {
    name: NameId,
    /// `None` until its definition has been evaluated.
    value: Option<Value<'w>>,
    outer: Scope,
}

/// The variables that are visible somewhere: the innermost one's index, from 1.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Scope(u32);

#[derive(Clone, Copy, Debug)]
pub(super) struct Closure {
    /// The index of its lambda in the code.
    pub(super) lambda: u32,
    pub(super) scope: Scope,
}

/// Cells of lists. Those before `front` are free, for `cons`.
struct CellStore<'w> {
    cells: Vec<Value<'w>>,
    front: usize,
}

pub(super) struct Heap<'w> {
    pub(super) world: QueryWorld<'w>,
    pub(super) meter: QueryMeter<'w>,
    names: Vec<String>,
    name_ids: HashMap<String, NameId>,
    texts: Vec<Cow<'w, str>>,
    stores: Vec<CellStore<'w>>,
    dicts: Vec<Vec<(Value<'w>, Value<'w>)>>,
    closures: Vec<Closure>,
    derived: Vec<Derived<'w>>,
    bindings: Vec<Binding<'w>>,
    /// Regular expressions that were used before.
    patterns: HashMap<String, TextPattern>,
    /// The list that `help` made last.
    pub(super) help: Option<Value<'w>>,
}

impl<'w> Heap<'w> {
    pub(super) fn new(world: QueryWorld<'w>, meter: QueryMeter<'w>) -> Self {
        Self {
            world,
            meter,
            names: Vec::new(),
            name_ids: HashMap::new(),
            texts: Vec::new(),
            stores: Vec::new(),
            dicts: Vec::new(),
            closures: Vec::new(),
            derived: Vec::new(),
            bindings: Vec::new(),
            patterns: HashMap::new(),
            help: None,
        }
    }

    pub(super) fn name_id(&mut self, name: &str) -> Result<NameId, Stop> {
        if let Some(id) = self.name_ids.get(name) {
            return Ok(*id);
        }
        self.meter.text(name.len())?;
        self.meter.cells(1)?;
        let id = NameId(self.names.len() as u32);
        self.names.push(name.to_string());
        self.name_ids.insert(name.to_string(), id);
        Ok(id)
    }

    pub(super) fn name(&self, id: NameId) -> &str {
        &self.names[id.0 as usize]
    }

    pub(super) fn keyword(&mut self, name: &str) -> Result<Value<'w>, Stop> {
        Ok(Value::Keyword(self.name_id(name)?))
    }

    pub(super) fn symbol(&mut self, name: &str) -> Result<Value<'w>, Stop> {
        Ok(Value::Symbol(self.name_id(name)?))
    }

    /// A text of the snapshot costs a cell; one that was made costs its bytes too.
    pub(super) fn text(&mut self, text: impl Into<Cow<'w, str>>) -> Result<Value<'w>, Stop> {
        let text = text.into();
        if matches!(text, Cow::Owned(_)) {
            self.meter.text(text.len())?;
        }
        self.meter.cells(1)?;
        self.texts.push(text);
        Ok(Value::Text((self.texts.len() - 1) as u32))
    }

    /// The first part of a text that fits a regular expression.
    pub(super) fn find_pattern(&mut self, pattern: &str, text: &str) -> Result<Option<String>, Stop> {
        self.meter.steps(1 + text.len() / 32)?;
        if !self.patterns.contains_key(pattern) {
            self.meter.steps(2_000)?;
            self.meter.look()?;
            if self.patterns.len() >= MOST_PATTERNS {
                self.patterns.clear();
            }
            self.patterns.insert(pattern.to_string(), TextPattern::new(pattern)?);
        }
        self.patterns.get_mut(pattern).map_or(Ok(None), |pattern| pattern.find(text))
    }

    pub(super) fn text_of(&self, index: u32) -> &str {
        &self.texts[index as usize]
    }

    pub(super) fn list(&mut self, cells: Vec<Value<'w>>) -> Result<Value<'w>, Stop> {
        self.meter.cells(cells.len() + 1)?;
        let length = cells.len() as u32;
        self.stores.push(CellStore { cells, front: 0 });
        Ok(Value::List(ListView { store: (self.stores.len() - 1) as u32, start: 0, length }))
    }

    pub(super) fn cells(&self, view: ListView) -> &[Value<'w>] {
        let start = view.start as usize;
        &self.stores[view.store as usize].cells[start..start + view.len()]
    }

    /// A list with one more element before the others. It takes a free cell of the same store if there is one.
    pub(super) fn cons(&mut self, first: Value<'w>, rest: ListView) -> Result<Value<'w>, Stop> {
        let (start, length) = (rest.start as usize, rest.length + 1);
        let store = &mut self.stores[rest.store as usize];
        if start > 0 && store.front == start {
            self.meter.cells(1)?;
            store.cells[start - 1] = first;
            store.front = start - 1;
            return Ok(Value::List(ListView { store: rest.store, start: rest.start - 1, length }));
        }
        let free = rest.len() + 3;
        self.meter.steps(rest.len() / 8)?;
        self.meter.cells(free + 1 + rest.len())?;
        let mut cells = vec![Value::Nil; free];
        cells.push(first);
        cells.extend_from_slice(self.cells(rest));
        self.stores.push(CellStore { cells, front: free });
        Ok(Value::List(ListView { store: (self.stores.len() - 1) as u32, start: free as u32, length }))
    }

    /// A list with one more element after the others. It grows the same store if nobody else did.
    pub(super) fn append_one(&mut self, list: ListView, last: Value<'w>) -> Result<Value<'w>, Stop> {
        let store = &mut self.stores[list.store as usize];
        if list.start as usize + list.len() == store.cells.len() {
            self.meter.cells(1)?;
            store.cells.push(last);
            return Ok(Value::List(ListView { length: list.length + 1, ..list }));
        }
        self.meter.steps(list.len() / 8)?;
        let mut cells = self.cells(list).to_vec();
        cells.push(last);
        self.list(cells)
    }

    pub(super) fn dict(&mut self, entries: Vec<(Value<'w>, Value<'w>)>) -> Result<Value<'w>, Stop> {
        self.meter.cells(2 * entries.len() + 1)?;
        self.dicts.push(entries);
        Ok(Value::Dict((self.dicts.len() - 1) as u32))
    }

    pub(super) fn entries(&self, index: u32) -> &[(Value<'w>, Value<'w>)] {
        &self.dicts[index as usize]
    }

    pub(super) fn closure(&mut self, closure: Closure) -> Result<Value<'w>, Stop> {
        self.meter.cells(1)?;
        self.closures.push(closure);
        Ok(Value::Closure((self.closures.len() - 1) as u32))
    }

    pub(super) fn closure_of(&self, index: u32) -> Closure {
        self.closures[index as usize]
    }

    pub(super) fn derive(&mut self, derived: Derived<'w>) -> Result<Value<'w>, Stop> {
        self.meter.cells(1)?;
        self.derived.push(derived);
        Ok(Value::Derived((self.derived.len() - 1) as u32))
    }

    pub(super) fn derived_of(&self, index: u32) -> Derived<'w> {
        self.derived[index as usize]
    }

    /// A scope with one more variable; `None` if its value follows.
    pub(super) fn bind(
        &mut self,
        outer: Scope,
        name: NameId,
        value: Option<Value<'w>>,
    ) -> Result<Scope, Stop> {
        self.meter.cells(1)?;
        self.bindings.push(Binding { name, value, outer });
        Ok(Scope(self.bindings.len() as u32))
    }

    /// Gives the nearest variable of that name its value. It had none before.
    pub(super) fn define(&mut self, scope: Scope, name: NameId, value: Value<'w>) {
        let mut next = scope;
        while next != Scope::default() {
            let binding = &mut self.bindings[next.0 as usize - 1];
            if binding.name == name {
                binding.value = Some(value);
                return;
            }
            next = binding.outer;
        }
    }

    /// The value of a variable; `None` if there is no such variable.
    pub(super) fn lookup(&mut self, scope: Scope, name: NameId) -> Result<Option<Value<'w>>, Stop> {
        let (mut next, mut passed) = (scope, 0);
        while next != Scope::default() {
            passed += 1;
            if passed % 16 == 0 {
                self.meter.steps(1)?;
            }
            let binding = self.bindings[next.0 as usize - 1];
            if binding.name == name {
                let early =
                    || Stop::wrong(format!("`{}` is used before it has a value", excerpt(self.name(name))));
                return binding.value.map(Some).ok_or_else(early);
            }
            next = binding.outer;
        }
        Ok(None)
    }

    /// The names of the variables in a scope.
    pub(super) fn variables(&self, scope: Scope) -> Vec<String> {
        let mut names = Vec::new();
        let mut next = scope;
        while next != Scope::default() && names.len() < 64 {
            let binding = self.bindings[next.0 as usize - 1];
            names.push(self.name(binding.name).to_string());
            next = binding.outer;
        }
        names
    }
}
