//! Whatever three agents do and however they die, `msg` answers as a model of a few lines does.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::crowd::{Caller, Host, entries, ledger, number};
use crate::support::environment::{TestEnvironment, put, rounds};

const CASES: usize = 80;
const FLAG: &str = "RAVENRY_SWARM_CASES";
const AGENTS: usize = 3;
const SPEC: &str = "- [ ] T-1: a\n- [ ] T-2: b\n- [ ] T-3: c (needs T-1)\n- [ ] T-4: d (needs T-2, T-3)\n";
const TASKS: [(&str, &[usize]); 4] = [("T-1", &[]), ("T-2", &[]), ("T-3", &[0]), ("T-4", &[1, 2])];

/// One step; agents and tasks are given by number.
#[derive(Clone, Copy, Debug)]
enum Step {
    Claim(usize, usize),
    Next(usize),
    Complete(usize, usize),
    Unclaim(usize),
    /// The last agent number stands for an unknown agent.
    Handoff(usize, usize, usize),
    /// Killed, and replaced by another.
    Die(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (agent, task) = (0..AGENTS, 0..TASKS.len());
    prop_oneof![
        3 => (agent.clone(), task.clone()).prop_map(|(agent, task)| Step::Claim(agent, task)),
        3 => agent.clone().prop_map(Step::Next),
        4 => (agent.clone(), task.clone()).prop_map(|(agent, task)| Step::Complete(agent, task)),
        1 => agent.clone().prop_map(Step::Unclaim),
        2 => (agent.clone(), task, 0..=AGENTS).prop_map(|(agent, task, to)| Step::Handoff(agent, task, to)),
        1 => agent.prop_map(Step::Die),
    ]
}

/// The owner of each task, and who completed it, by name.
#[derive(Default)]
struct Model {
    claims: BTreeMap<usize, String>,
    done: BTreeMap<usize, String>,
}

impl Model {
    fn task_of(&self, name: &str) -> Option<usize> {
        self.claims.iter().find(|(_, owner)| *owner == name).map(|(task, _)| *task)
    }

    fn is_ready(&self, task: usize) -> bool {
        TASKS[task].1.iter().all(|dependency| self.done.contains_key(dependency))
    }

    /// The claimed task, or the kind of the refusal.
    fn claim(&mut self, name: &str, task: usize) -> Result<usize, &'static str> {
        match self.task_of(name) {
            Some(mine) if mine == task => return Ok(task),
            Some(_) => return Err("already_have_claim"),
            None if self.done.contains_key(&task) => return Err("already_completed"),
            None if self.claims.contains_key(&task) => return Err("already_claimed"),
            None if !self.is_ready(task) => return Err("blocked"),
            None => {}
        }
        self.claims.insert(task, name.to_string());
        Ok(task)
    }

    fn next(&mut self, name: &str) -> Result<usize, &'static str> {
        if self.task_of(name).is_some() {
            return Err("already_have_claim");
        }
        let is_free = |task: &usize| !self.done.contains_key(task) && !self.claims.contains_key(task);
        let first = (0..TASKS.len()).find(|task| is_free(task) && self.is_ready(*task));
        match first {
            Some(task) => self.claim(name, task),
            None if self.done.len() == TASKS.len() => Err("all_done"),
            None => Err("nothing_ready"),
        }
    }

    /// Only one's own task can be completed or handed over.
    fn own(&self, name: &str, task: usize) -> Result<usize, &'static str> {
        match self.claims.get(&task) {
            Some(owner) if owner == name => Ok(task),
            Some(_) => Err("not_yours"),
            None if self.done.contains_key(&task) => Err("already_completed"),
            None => Err("not_claimed"),
        }
    }

    fn complete(&mut self, name: &str, task: usize) -> Result<usize, &'static str> {
        if self.done.get(&task).is_some_and(|by| by == name) {
            return Ok(task);
        }
        self.own(name, task)?;
        self.claims.remove(&task);
        self.done.insert(task, name.to_string());
        Ok(task)
    }

    fn unclaim(&mut self, name: &str) -> Result<usize, &'static str> {
        let task = self.task_of(name).ok_or("not_claimed")?;
        self.claims.remove(&task);
        Ok(task)
    }

    fn handoff(&mut self, name: &str, task: usize, to: Option<&str>) -> Result<usize, &'static str> {
        self.own(name, task)?;
        match to {
            None => Err("unknown_agent"),
            Some(to) if to == name => Err("invalid_value"),
            Some(to) if self.task_of(to).is_some() => Err("already_have_claim"),
            Some(to) => {
                self.claims.insert(task, to.to_string());
                Ok(task)
            }
        }
    }

    fn states(&self) -> Vec<(&'static str, Value)> {
        let state = |task: usize| match (self.done.get(&task), self.claims.get(&task)) {
            (Some(by), _) => ("done", json!(by)),
            (None, Some(owner)) => ("claimed", json!(owner)),
            (None, None) if self.is_ready(task) => ("open", Value::Null),
            (None, None) => ("blocked", Value::Null),
        };
        (0..TASKS.len()).map(state).collect()
    }
}

/// The real agents.
struct Crowd {
    env: TestEnvironment,
    caller: Caller,
    agents: Vec<(String, Host)>,
    lives: usize,
}

impl Crowd {
    fn new() -> Self {
        let env = TestEnvironment::new();
        put(&env.work().join("spec.md"), SPEC);
        let caller = Caller::of(&env);
        let mut crowd = Self { env, caller, agents: Vec::new(), lives: 0 };
        for _ in 0..AGENTS {
            let agent = crowd.join();
            crowd.agents.push(agent);
        }
        crowd
    }

    fn join(&mut self) -> (String, Host) {
        self.lives += 1;
        let (name, host) = (format!("Agent{}", self.lives), Host::new());
        let (pid, session) = (host.pid().to_string(), format!("session of {name}"));
        self.caller.ok(&["join", &name, "--pid", &pid, "--session", &session, "--spec", "spec.md"]);
        (name, host)
    }

    fn take(&mut self, step: Step, model: &mut Model) {
        let name = |agent: usize| self.agents[agent].0.clone();
        let id = |task: usize| TASKS[task].0;
        let (who, args, expected) = match step {
            Step::Claim(who, task) => (who, vec!["claim", id(task)], model.claim(&name(who), task)),
            Step::Next(who) => (who, vec!["claim", "--next"], model.next(&name(who))),
            Step::Complete(who, task) => (who, vec!["complete", id(task)], model.complete(&name(who), task)),
            Step::Unclaim(who) => (who, vec!["unclaim"], model.unclaim(&name(who))),
            Step::Handoff(who, task, to) => {
                let heir = self.agents.get(to).map(|(name, _)| name.as_str());
                let args = vec!["handoff", id(task), heir.unwrap_or("Nobody")];
                (who, args, model.handoff(&name(who), task, heir))
            }
            Step::Die(who) => {
                if let Some(task) = model.task_of(&name(who)) {
                    model.claims.remove(&task);
                }
                self.agents[who].1.kill();
                self.agents[who] = self.join();
                return;
            }
        };
        let ended = self.caller.run(&[&args[..], &["--as", &self.agents[who].0]].concat());
        match expected {
            Ok(task) => {
                let said = ended.expect_code(0).json();
                let said = said.get("claim").unwrap_or(&said["completion"])["task"].clone();
                assert_eq!(said, id(task), "{step:?}");
            }
            Err(kind) => assert_eq!(ended.kind(), kind, "{step:?}: {ended}"),
        }
    }

    fn states(&self) -> Vec<(String, Value)> {
        let listing = self.caller.ok(&["tasks", "--as", &self.agents[0].0]);
        let rows = listing["tasks"].as_array().unwrap().iter();
        rows.map(|row| (row["state"].as_str().unwrap().to_string(), row["agent"].clone())).collect()
    }
}

#[test]
fn it_is_what_the_model_says() {
    let cases = number(FLAG, rounds(CASES)) as u32;
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 60,
        ..Config::default()
    });
    let outcome = runner.run(&prop::collection::vec(step(), 1..30), |steps| {
        let (mut crowd, mut model) = (Crowd::new(), Model::default());
        for step in steps {
            crowd.take(step, &mut model);
            let expected: Vec<(String, Value)> =
                model.states().into_iter().map(|(state, agent)| (state.to_string(), agent)).collect();
            prop_assert_eq!(crowd.states(), expected, "after {:?}", step);
        }
        let done = entries(&ledger(&crowd.env.mesh(), "completions.json"));
        prop_assert_eq!(done.len(), model.done.len());
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
