//! How the evaluator calls functions.

use std::cmp::Ordering;

use super::builtins::builtin;
use super::code::Target;
use super::fault::{Stop, WantedItem};
use super::heap::Scope;
use super::machine::{Machine, Pending, Step};
use super::outcome::{
    Builtin, BuiltinRun, EachCall, EachTask, FoldCall, FoldShape, Outcome, SortCall, SortOrder,
};
use super::value::{Derived, Value};

impl<'w> Machine<'_, '_, 'w> {
    pub(super) fn apply(
        &mut self,
        function: Value<'w>,
        mut arguments: Vec<Value<'w>>,
        place: usize,
    ) -> Result<Step<'w>, Stop> {
        match function {
            Value::Builtin(index) => self.apply_builtin(builtin(index), &arguments, place),
            Value::Closure(index) => self.apply_closure(index, &arguments),
            Value::Derived(index) => match self.heap.derived_of(index) {
                Derived::Partial { function, first } => {
                    let mut all = self.heap.cells(first).to_vec();
                    self.heap.meter.steps(all.len() / 4)?;
                    all.append(&mut arguments);
                    Ok(Step::Apply { function, arguments: all, place })
                }
                Derived::Composed(functions) => {
                    let Some(last) = functions.len().checked_sub(1) else {
                        return Ok(Step::Return(arguments.first().copied().unwrap_or(Value::Nil)));
                    };
                    if last > 0 {
                        self.pending.push(Pending::Compose { functions, next: last - 1, place });
                    }
                    let function = self.heap.cells(functions)[last];
                    Ok(Step::Apply { function, arguments, place })
                }
                Derived::Negated(function) => {
                    self.pending.push(Pending::Negate);
                    Ok(Step::Apply { function, arguments, place })
                }
                Derived::Constant(value) => Ok(Step::Return(value)),
                Derived::Accessor(_) => self.apply_key(function, &arguments),
                Derived::Several(functions) => {
                    let Value::List(arguments) = self.heap.list(arguments)? else {
                        return Err(Stop::wrong("expected arguments"));
                    };
                    let task = EachTask::Several(arguments);
                    let call =
                        EachCall { task, function: Value::Nil, lists: vec![functions], results: Vec::new() };
                    self.next_each(Box::new(call), place)
                }
            },
            Value::Keyword(_) | Value::Text(_) => self.apply_key(function, &arguments),
            Value::Symbol(name) => {
                let is_field = matches!(arguments.as_slice(), [Value::Record(_) | Value::Dict(_)]);
                if is_field && super::fields::field_name(self.heap.name(name)).is_some() {
                    return self.apply_key(function, &arguments);
                }
                let function = self.variable(name, Scope::default())?;
                if matches!(function, Value::Symbol(_)) {
                    return Err(Stop::wrong("a symbol stands for itself here, and is not a function"));
                }
                Ok(Step::Apply { function, arguments, place })
            }
            Value::Dict(_) | Value::List(_) | Value::Record(_) => self.apply_container(function, &arguments),
            other => {
                let described = self.heap.describe(other);
                Err(Stop::wrong(format!("{described} is not a function, and stands where one is called")))
            }
        }
    }

    /// `(:confidence p)`
    fn apply_key(&mut self, key: Value<'w>, arguments: &[Value<'w>]) -> Result<Step<'w>, Stop> {
        self.charge_arguments(&[key])?;
        self.charge_arguments(arguments)?;
        match arguments {
            [from] => self.heap.get(*from, key, None).map(Step::Return),
            [from, default] => self.heap.get(*from, key, Some(*default)).map(Step::Return),
            _ => {
                let key = self.heap.describe(key);
                Err(Stop::wrong(format!("{key} is called with a record, as in (:name d)")))
            }
        }
    }

    /// `({:a 1} :a)`, `(["x" "y"] 0)`, `(#{"x"} "x")`
    fn apply_container(&mut self, from: Value<'w>, arguments: &[Value<'w>]) -> Result<Step<'w>, Stop> {
        let [key, ..] = arguments else {
            return Err(Stop::wrong(format!(
                "{} stands where a function is called",
                self.heap.describe(from)
            )));
        };
        if let (Value::List(list), false) = (from, matches!(key, Value::Integer(_))) {
            for index in 0..list.len() {
                let element = self.heap.cells(list)[index];
                if self.heap.are_equal(element, *key)? {
                    return Ok(Step::Return(*key));
                }
            }
            return Ok(Step::Return(Value::Nil));
        }
        self.heap.get(from, *key, arguments.get(1).copied()).map(Step::Return)
    }

    /// Builtins look at their arguments, so long texts and many arguments cost more.
    fn charge_arguments(&mut self, arguments: &[Value<'w>]) -> Result<(), Stop> {
        let letters = arguments.iter().map(|argument| self.heap.letters(*argument).map_or(0, str::len));
        let cost = letters.map(|length| length / 64).sum::<usize>() + arguments.len() / 8;
        Ok(self.heap.meter.steps(cost)?)
    }

    fn apply_builtin(
        &mut self,
        builtin: &'static Builtin,
        arguments: &[Value<'w>],
        place: usize,
    ) -> Result<Step<'w>, Stop> {
        self.charge_arguments(arguments)?;
        let count = arguments.len();
        if count < builtin.least || builtin.most.is_some_and(|most| count > most) {
            let expected = expected_arguments(builtin.least, builtin.most);
            let message = format!("`{}` takes {expected} and got {count}", builtin.name);
            return Err(Stop::wanting(message, WantedItem::Usage(builtin.name)));
        }
        let outcome = match builtin.run {
            BuiltinRun::Plain(run) => run(self.heap, arguments).map(Outcome::Value),
            BuiltinRun::Calling(run) => run(self.heap, arguments),
        };
        let outcome = outcome.map_err(|stop| name_builtin(stop, builtin))?;
        match outcome {
            Outcome::Value(value) => Ok(Step::Return(value)),
            Outcome::Call { function, arguments } => Ok(Step::Apply { function, arguments, place }),
            Outcome::Each(call) => self.next_each(call, place),
            Outcome::Fold(call) => self.next_fold(call, place),
            Outcome::Sort { order, items } => self.start_sort(order, items, place),
        }
    }

    fn apply_closure(&mut self, index: u32, arguments: &[Value<'w>]) -> Result<Step<'w>, Stop> {
        let closure = self.heap.closure_of(index);
        let code = self.code;
        let lambda = code.lambda(closure.lambda);
        let count = arguments.len();
        if count < lambda.required || lambda.rest.is_none() && count > lambda.targets.len() {
            let name = match lambda.name {
                Some(name) => format!("`{}`", self.heap.name(name)),
                None => "this function".to_string(),
            };
            let most = if lambda.rest.is_some() { None } else { Some(lambda.targets.len()) };
            let expected = expected_arguments(lambda.required, most);
            return Err(Stop::wrong(format!("{name} takes {expected} and got {count}")));
        }
        let mut scope = closure.scope;
        if let Some(recur) = lambda.recur {
            scope = self.heap.bind(scope, recur, Some(Value::Closure(index)))?;
        }
        for (nth, target) in lambda.targets.iter().enumerate() {
            scope = self.bind_target(scope, target, arguments.get(nth).copied().unwrap_or(Value::Nil))?;
        }
        if let Some(rest) = &lambda.rest {
            let more = self.heap.list(arguments.get(lambda.targets.len()..).unwrap_or(&[]).to_vec())?;
            scope = self.bind_target(scope, rest, more)?;
        }
        Ok(Step::Evaluate(lambda.body, scope))
    }

    /// Binds a value, or the parts of it.
    pub(super) fn bind_target(
        &mut self,
        scope: Scope,
        target: &Target,
        value: Value<'w>,
    ) -> Result<Scope, Stop> {
        match target {
            Target::Name(name) => self.heap.bind(scope, *name, Some(value)),
            Target::Parts { parts, rest } => {
                let list = self.heap.as_list(value)?;
                let mut scope = scope;
                for (nth, part) in parts.iter().enumerate() {
                    let value = self.heap.cells(list).get(nth).copied().unwrap_or(Value::Nil);
                    scope = self.bind_target(scope, part, value)?;
                }
                match rest {
                    Some(rest) => self.bind_target(scope, rest, Value::List(list.skip(parts.len()))),
                    None => Ok(scope),
                }
            }
            Target::Keys { keys, whole } => {
                let mut scope = scope;
                for (name, key) in keys {
                    let value = self.heap.get(value, Value::Keyword(*key), None)?;
                    scope = self.heap.bind(scope, *name, Some(value))?;
                }
                match whole {
                    Some(whole) => self.heap.bind(scope, *whole, Some(value)),
                    None => Ok(scope),
                }
            }
        }
    }

    pub(super) fn next_each(&mut self, call: Box<EachCall<'w>>, place: usize) -> Result<Step<'w>, Stop> {
        let next = call.results.len();
        let count = call.lists.iter().map(|list| list.len()).min().unwrap_or(0);
        if next >= count {
            return match self.heap.finish_each(*call)? {
                Outcome::Sort { order, items } => self.start_sort(order, items, place),
                Outcome::Value(value) => Ok(Step::Return(value)),
                _ => Ok(Step::Return(Value::Nil)),
            };
        }
        let mut arguments: Vec<Value<'w>> =
            call.lists.iter().map(|list| self.heap.cells(*list)[next]).collect();
        let mut function = call.function;
        if let EachTask::Several(with) = call.task {
            function = arguments[0];
            arguments = self.heap.cells(with).to_vec();
        }
        self.pending.push(Pending::Each { call, place });
        Ok(Step::Apply { function, arguments, place })
    }

    pub(super) fn resume_each(
        &mut self,
        mut call: Box<EachCall<'w>>,
        value: Value<'w>,
        place: usize,
    ) -> Result<Step<'w>, Stop> {
        let nth = call.results.len();
        let element = call.lists.first().and_then(|list| self.heap.cells(*list).get(nth).copied());
        let early = match call.task {
            EachTask::Any if value.is_true() => Some(value),
            EachTask::Every if !value.is_true() => Some(Value::Truth(false)),
            EachTask::NotAny if value.is_true() => Some(Value::Truth(false)),
            EachTask::Find if value.is_true() => element,
            EachTask::Position if value.is_true() => Some(Value::Integer(nth as i64)),
            _ => None,
        };
        if let Some(early) = early {
            return Ok(Step::Return(early));
        }
        self.heap.meter.cells(1)?;
        call.results.push(value);
        self.next_each(call, place)
    }

    fn next_fold(&mut self, mut call: Box<FoldCall<'w>>, place: usize) -> Result<Step<'w>, Stop> {
        let cells = self.heap.cells(call.list);
        let element = match call.shape {
            FoldShape::FromTheEnd => {
                call.list.len().checked_sub(call.next + 1).and_then(|nth| cells.get(nth).copied())
            }
            _ => cells.get(call.next).copied(),
        };
        let Some(element) = element else {
            return match call.way {
                Some(way) => self.heap.list(way).map(Step::Return),
                None => Ok(Step::Return(call.before)),
            };
        };
        call.next += 1;
        let arguments = match call.shape {
            FoldShape::BeforeFirst => vec![call.before, element],
            _ => vec![element, call.before],
        };
        let function = call.function;
        self.pending.push(Pending::Fold { call, place });
        Ok(Step::Apply { function, arguments, place })
    }

    pub(super) fn resume_fold(
        &mut self,
        mut call: Box<FoldCall<'w>>,
        value: Value<'w>,
        place: usize,
    ) -> Result<Step<'w>, Stop> {
        call.before = value;
        if let Some(way) = &mut call.way {
            self.heap.meter.cells(1)?;
            way.push(value);
        }
        self.next_fold(call, place)
    }

    fn start_sort(
        &mut self,
        order: SortOrder<'w>,
        items: Vec<(Value<'w>, Value<'w>)>,
        place: usize,
    ) -> Result<Step<'w>, Stop> {
        let is_descending = match order {
            SortOrder::Ascending => false,
            SortOrder::Descending => true,
            SortOrder::By(Value::Builtin(index)) if matches!(builtin(index).name, "<" | "<=" | "compare") => {
                false
            }
            SortOrder::By(Value::Builtin(index)) if matches!(builtin(index).name, ">" | ">=") => true,
            SortOrder::By(less) => return self.next_sort(Box::new(SortCall::new(less, items)), place),
        };
        let items = merge_sort(items, |a, b| {
            let order = self.heap.order(a, b)?;
            Ok(if is_descending { order.reverse() } else { order })
        })?;
        self.heap.list(items.into_iter().map(|(_, item)| item).collect()).map(Step::Return)
    }

    fn next_sort(&mut self, mut call: Box<SortCall<'w>>, place: usize) -> Result<Step<'w>, Stop> {
        match call.question() {
            None => {
                let sorted = call.items.iter().map(|(_, item)| *item).collect();
                self.heap.list(sorted).map(Step::Return)
            }
            Some((a, b)) => {
                let function = call.less;
                self.pending.push(Pending::Sort { call, place });
                Ok(Step::Apply { function, arguments: vec![a, b], place })
            }
        }
    }

    pub(super) fn resume_sort(
        &mut self,
        mut call: Box<SortCall<'w>>,
        value: Value<'w>,
        place: usize,
    ) -> Result<Step<'w>, Stop> {
        let is_less = match value {
            Value::Integer(number) => number < 0,
            Value::Float(number) => number < 0.0,
            other => other.is_true(),
        };
        call.answer(if is_less { Ordering::Less } else { Ordering::Greater });
        self.next_sort(call, place)
    }
}

/// Says in whose call something is wrong.
fn name_builtin(stop: Stop, builtin: &'static Builtin) -> Stop {
    match stop {
        Stop::Wrong(mut fault) => {
            if fault.place.is_none() && matches!(fault.wanted, WantedItem::Nothing) {
                fault.message = format!("`{}`: {}", builtin.name, fault.message);
                fault.wanted = WantedItem::Usage(builtin.name);
            }
            Stop::Wrong(fault)
        }
        over => over,
    }
}

/// How many arguments a function takes.
fn expected_arguments(least: usize, most: Option<usize>) -> String {
    match most {
        Some(1) if least == 1 => "1 argument".to_string(),
        Some(most) if most == least => format!("{most} arguments"),
        Some(most) => format!("{least} to {most} arguments"),
        None => format!("{least} or more arguments"),
    }
}

/// Sorts by the first of each pair, and keeps the order of equal ones. `sort_by` wants an order that can't fail.
fn merge_sort<T: Copy>(
    mut items: Vec<(T, T)>,
    mut order: impl FnMut(T, T) -> Result<Ordering, Stop>,
) -> Result<Vec<(T, T)>, Stop> {
    let mut width = 1;
    while width < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for run in items.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            while let (Some(a), Some(b)) = (left.first(), right.first()) {
                let next = if order(a.0, b.0)? == Ordering::Greater { &mut right } else { &mut left };
                merged.push(next[0]);
                *next = &next[1..];
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        items = merged;
        width *= 2;
    }
    Ok(items)
}
