//! What follows on the work of a run for a crew: the commands that prove its task are run, it is reviewed, merged with the
//! crew's branch in memory, tested there, and put on the branch.
//!
//! It is the supervisor's, so whoever started the crew may be killed at any moment. What is done is written down step by
//! step; a run that takes over from a dead supervisor goes on after the last step.

use std::path::Path;
use std::time::Duration;

use crate::domain::runs::{CrewEnd, CrewTest, ProvenTree, ReviewOutcome, ReviewVerdict, RunReview, RunState};
use crate::domain::{SeenWork, TaskEvidence, VerifyRun, sha256};
use crate::store::CrewOrder;
use crate::sys::clock;
use crate::sys::files::{self, Scratch};
use crate::sys::flock::FileLock;
use crate::sys::git::run_tree::{CrewBranch, CrewMerge, CrewMove, PreparedStep, RunTreeError, WantedFiles};
use crate::sys::keeper::commands::{CommandsEnd, KeptCommands};

use super::supervisor::{RunFinish, Supervisor};
use super::work::{RunWork, git_state};
use super::worker_call;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::tasks::{
    CrewSpecTask, GivenAwayTask, complete_for_run, confirm_for_run, crew_spec, trusted_commands,
};

/// How often to look whether it is one's turn to merge.
const LOOK: Duration = Duration::from_millis(100);
/// How often to look whether a branch is still checked out.
const LOOK_AT_BRANCH: Duration = Duration::from_millis(300);
/// How much of the output of a command is kept.
const MOST_TAIL: usize = 4_000;

/// How the commands that prove a task ended.
enum Proof {
    /// There are none.
    None,
    Given(CrewTest),
    Failed(CrewTest),
    /// The run is to stop.
    Stopped,
}

impl Supervisor<'_> {
    /// Writes down that the worker is done, so that nobody starts another one for the same attempt.
    pub(super) fn mark_worked(&mut self) {
        if let Some(part) = &mut self.run.crew {
            part.is_worked = true;
        }
        if let Err(error) = self.mesh.runs().put(&self.run) {
            self.op.warn(format!(
                "that the worker of run {} is done could not be recorded: {error}",
                self.run.id
            ));
        }
    }

    /// Brings the work, which is saved, as far to the branch as it gets. `None`: the run is to stop.
    pub(super) fn finish_for_crew(&mut self, order: &CrewOrder) -> Option<()> {
        let end = match self.bring_to_branch(order) {
            Ok(Some(end)) => end,
            Ok(None) => return None,
            Err(error) => CrewEnd::Stuck(error.message),
        };
        if let CrewEnd::Merged { commit, proof } = &end
            && let Err(error) = self.complete_merged(&evidence(commit.as_deref(), proof.as_ref()))
        {
            self.op.warn(format!("the task of run {} is completed later: {error}", self.run.id));
        }
        if let Some(part) = &mut self.run.crew {
            part.end = Some(end);
        }
        Some(())
    }

    /// `None`: the run is to stop.
    fn bring_to_branch(&mut self, order: &CrewOrder) -> Result<Option<CrewEnd>, CommandError> {
        let Some(tree) = self.work.as_ref().map(|work| work.tree.clone()) else {
            return Ok(Some(CrewEnd::Stuck("it has no worktree".to_string())));
        };
        let branch = CrewBranch::of(tree.repository(), &order.crew)?;
        // Whoever was killed may have come so far.
        if let CrewMerge::Already { commit } = branch.prepare(&tree)? {
            return self.merged_before(&branch, commit).map(Some);
        }
        let marked = tree.marked_files()?;
        if !marked.is_empty() {
            let files = marked.iter().map(|path| path.display().to_string()).collect();
            return Ok(Some(CrewEnd::Conflict(files)));
        }
        if let Some(why) = self.work.as_ref().map(RunWork::why_unmergeable).transpose()?.flatten() {
            return Ok(Some(CrewEnd::Stuck(why)));
        }
        self.do_now("runs the commands that prove its task")?;
        let own_proof = match self.prove((&order.verify, order), &tree.path(), "verify")? {
            Proof::Stopped => return Ok(None),
            Proof::Failed(test) => return Ok(Some(CrewEnd::Unproven(test))),
            Proof::Given(test) => Some(test),
            Proof::None => None,
        };
        self.review();
        let has_no_verdict = |review: &RunReview| matches!(review.outcome, ReviewOutcome::Missing(_));
        if self.run.review.as_ref().is_some_and(has_no_verdict) && !self.is_to_stop()? {
            // It may have been cut short, or have answered nonsense: it is asked once more.
            self.review();
        }
        let is_shipped = match self.run.review.as_ref().map(|review| &review.outcome) {
            None => false,
            Some(ReviewOutcome::Given(review)) if review.verdict == ReviewVerdict::Ship => true,
            Some(_) if self.is_to_stop()? => return Ok(None),
            Some(_) => return Ok(Some(CrewEnd::NotShipped)),
        };
        self.do_now("waits until it can be merged")?;
        let Some(_turn) = self.wait_for_turn(&order.crew)? else { return Ok(None) };
        loop {
            if let Err(error) = GivenAwayTask::Refuse.check(self.mesh, &self.run, "merge") {
                return match error.kind {
                    CommandErrorKind::NotYours => Ok(Some(CrewEnd::GivenAway(error.message))),
                    _ => Err(error),
                };
            }
            let step = match branch.prepare(&tree)? {
                CrewMerge::Already { commit } => return self.merged_before(&branch, commit).map(Some),
                CrewMerge::Nothing if own_proof.is_some() || is_shipped => {
                    return Ok(Some(CrewEnd::Merged { commit: None, proof: own_proof }));
                }
                CrewMerge::Nothing => return Ok(Some(CrewEnd::Nothing)),
                CrewMerge::Conflicts(conflicts) => {
                    let files = conflicts.iter().map(|conflict| conflict.path.display().to_string());
                    return Ok(Some(CrewEnd::Conflict(files.collect())));
                }
                CrewMerge::Ready(step) => step,
            };
            if branch.checked_out_at()?.is_some() {
                match self.wait_until_left(&branch)? {
                    // Whoever had it may have moved it.
                    Some(()) => continue,
                    None => return Ok(None),
                }
            }
            self.do_now("is tested together with what others did")?;
            self.make_room_for_setup();
            let proof = match self.prove_merged(order, &step)? {
                Proof::Stopped => return Ok(None),
                Proof::Failed(test) => return Ok(Some(CrewEnd::RedTogether(test))),
                Proof::Given(test) => Some(test),
                Proof::None => None,
            };
            if let (Some(part), Some(test)) = (&mut self.run.crew, &proof) {
                part.proven = Some(ProvenTree { tree: step.tree.clone(), test: test.clone() });
                self.mesh.runs().put(&self.run)?;
            }
            // Others get the work once the branch moves, so the server of a linked mesh is asked before. That the task is
            // done is said after the move: nobody who is killed, or finds that the branch has moved, can take that back.
            match self.wait_for_confirmation()? {
                Some(Ok(())) => {}
                Some(Err(given_away)) => return Ok(Some(CrewEnd::GivenAway(given_away.message))),
                None => return Ok(None),
            }
            match branch.advance(&tree, &step, &order.message) {
                Ok(CrewMove::Moved { commit }) => {
                    return Ok(Some(CrewEnd::Merged { commit: Some(commit), proof }));
                }
                // Somebody moved the branch, or may be about to: what was tested is not what would be there.
                Ok(CrewMove::Behind) | Err(RunTreeError::CheckedOut(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The end of work that is on the branch already, put there by this run or by one before it whose supervisor has died.
    fn merged_before(&self, branch: &CrewBranch, commit: Option<String>) -> Result<CrewEnd, CommandError> {
        let Some(made) = &commit else { return Ok(CrewEnd::Merged { commit, proof: None }) };
        let tree = branch.tree_of(made)?;
        let mut run = Some(self.run.clone());
        while let Some(one) = run {
            if let Some(proven) = one.crew.and_then(|part| part.proven).filter(|proven| proven.tree == tree) {
                return Ok(CrewEnd::Merged { commit, proof: Some(proven.test) });
            }
            run = match &one.earlier {
                Some(earlier) => self.mesh.runs().get(earlier.id())?,
                None => None,
            };
        }
        Ok(CrewEnd::Merged { commit, proof: None })
    }

    /// Waits until nobody has the branch checked out. `None`: the run is to stop.
    fn wait_until_left(&mut self, branch: &CrewBranch) -> Result<Option<()>, CommandError> {
        let mut told = None;
        while let Some(place) = branch.checked_out_at()? {
            if self.is_to_stop()? {
                return Ok(None);
            }
            if told.as_ref() != Some(&place) {
                self.do_now(&format!(
                    "waiting for `{}`, which is checked out in `{place}`, to be left",
                    branch.name()
                ))?;
                told = Some(place);
            }
            clock::pause(LOOK_AT_BRANCH);
        }
        Ok(Some(()))
    }

    /// Asks the server of a linked mesh whether the task is still of this machine, and waits until it can be asked. An error
    /// inside if another machine has it now; `None`: the run is to stop.
    fn wait_for_confirmation(&mut self) -> Result<Option<Result<(), CommandError>>, CommandError> {
        let mut is_told = false;
        loop {
            match confirm_for_run(self.op, self.mesh, &self.run) {
                Ok(()) => return Ok(Some(Ok(()))),
                Err(error) => match error.kind {
                    CommandErrorKind::NotYours | CommandErrorKind::AlreadyCompleted => {
                        return Ok(Some(Err(error)));
                    }
                    CommandErrorKind::NotLinked => {}
                    _ => return Err(error),
                },
            }
            if self.is_to_stop()? {
                return Ok(None);
            }
            self.wait_for_server(&mut is_told)?;
        }
    }

    /// Completes the task of work that is on the branch. The server of a linked mesh is waited for: if this machine gave the
    /// task back now, another one would do it again.
    fn complete_merged(&mut self, evidence: &TaskEvidence) -> Result<(), CommandError> {
        let mut is_told = false;
        loop {
            match complete_for_run(self.op, self.mesh, &self.run, evidence.clone()) {
                Err(error) if error.kind == CommandErrorKind::NotLinked && !self.is_to_stop()? => {
                    self.wait_for_server(&mut is_told)?;
                }
                ended => return ended,
            }
        }
    }

    /// Waits a moment. What it waits for is said once.
    fn wait_for_server(&mut self, is_told: &mut bool) -> Result<(), CommandError> {
        if !*is_told {
            self.do_now("waits until the server of the linked mesh is reached")?;
            *is_told = true;
        }
        clock::pause(LOOK_AT_BRANCH);
        Ok(())
    }

    /// Who stopped it.
    pub(super) fn stopped_by(&self) -> Option<String> {
        let order = self.mesh.runs().stop_order(&self.run.id).ok().flatten()?;
        Some(format!("stopped by {}", order.by))
    }

    /// The end of a run whose work was done by the one that it continues.
    pub(super) fn finish_of_earlier(&self) -> Result<RunFinish, CommandError> {
        let earlier =
            self.run.earlier.as_ref().map(|earlier| self.mesh.runs().get(earlier.id())).transpose()?;
        let result = earlier.flatten().and_then(|earlier| earlier.result);
        Ok(RunFinish { state: Some(RunState::Done), result, ..RunFinish::default() })
    }

    fn is_to_stop(&self) -> Result<bool, CommandError> {
        Ok(self.mesh.runs().stop_order(&self.run.id)?.is_some())
    }

    /// Runs commands in a directory.
    fn prove(
        &self,
        (commands, order): (&[String], &CrewOrder),
        dir: &Path,
        log: &str,
    ) -> Result<Proof, CommandError> {
        if commands.is_empty() {
            return Ok(Proof::None);
        }
        let project = self.run.project.clone().unwrap_or_default();
        let mesh = self.op.location.to_string();
        let env = worker_call::setup_environment(&self.run.id, self.run.slot, &mesh, &project);
        let kept = KeptCommands {
            dir,
            commands,
            env: &env,
            log: &self.mesh.runs().dir(&self.run.id).join(log),
            limit: Duration::from_secs(order.verify_seconds),
        };
        Ok(proof_of(commands, kept.run(&|| self.is_unwanted())?))
    }

    /// Whether it is to stop. If that can't be read, it goes on to its end.
    fn is_unwanted(&self) -> bool {
        self.is_to_stop().unwrap_or(false)
    }

    /// Runs the commands in a directory that has nothing but the files of the next commit, and what every worktree gets:
    /// those of this task, whose proof this is, and then those of the tasks that are on the branch already.
    fn prove_merged(&self, order: &CrewOrder, step: &PreparedStep) -> Result<Proof, CommandError> {
        let others = self.commands_on_branch(order)?;
        let is_needed = !order.verify.is_empty() || !others.is_empty();
        let Some(work) = self.work.as_ref().filter(|_| is_needed) else { return Ok(Proof::None) };
        let above = git_state(&self.op.home).join("verify");
        files::create_dir(&above)?;
        let scratch = Scratch::make_in(&above)?;
        let dir = scratch.path().join("tree");
        work.tree.export_tree(&step.tree, &dir)?;
        let wanted = self.order.worktree.clone().unwrap_or_default();
        work.tree.bring_into(&dir, &WantedFiles { copy: wanted.copy, link: wanted.link })?;
        let set_up = work.set_up_at(&self.run, &dir, &wanted.setup, &|| self.is_unwanted())?;
        let mut proof = match proof_of(&wanted.setup, set_up) {
            Proof::None | Proof::Given(_) => self.prove((&order.verify, order), &dir, "verify-merged")?,
            ended => ended,
        };
        for commands in &others {
            if matches!(proof, Proof::Failed(_) | Proof::Stopped) {
                break;
            }
            match self.prove((commands, order), &dir, "verify-branch")? {
                Proof::None | Proof::Given(_) => {}
                ended => proof = ended,
            }
        }
        work.tear_down_at(&self.run, &dir, &wanted.teardown);
        scratch.remove()?;
        Ok(proof)
    }

    /// The commands of the tasks that are on the branch, without those that are run anyway: what was proven has to stay so.
    fn commands_on_branch(&self, order: &CrewOrder) -> Result<Vec<Vec<String>>, CommandError> {
        let file = self.order.task.as_ref().and_then(|task| task.file.as_deref());
        let (Some(file), Some(own)) = (file, &self.run.claim) else { return Ok(Vec::new()) };
        let runs = self.mesh.runs().list()?.runs;
        let is_merged = |task: &CrewSpecTask| {
            runs.iter().any(|run| {
                let claim = run.claim.as_ref();
                let part = run.crew.as_ref().filter(|part| part.crew == order.crew);
                claim.is_some_and(|claim| claim.spec == own.spec && claim.task == task.id)
                    && task.reopened_at.is_none_or(|reopened| run.queued_at > reopened)
                    && part.is_some_and(|part| match part.end {
                        Some(CrewEnd::Merged { .. }) => true,
                        // Its supervisor died between completing the task and its own end.
                        None => part.is_worked && task.is_done,
                        Some(_) => false,
                    })
            })
        };
        let mut known = order.verify.clone();
        let mut others = Vec::new();
        for task in crew_spec(self.op, file)?.tasks.iter().filter(|task| is_merged(task)) {
            let mut commands = trusted_commands(self.op, file, &task.id)?;
            commands.retain(|command| !known.contains(command));
            known.extend(commands.iter().cloned());
            others.push(commands);
        }
        Ok(others)
    }

    /// What setup made in the worktree of the run has the same number as what it makes where the merged tree is tested, so
    /// the worktree goes first. Nobody needs it any more.
    fn make_room_for_setup(&mut self) {
        let wanted = self.order.worktree.clone().unwrap_or_default();
        if wanted.setup.is_empty() && wanted.teardown.is_empty() {
            return;
        }
        self.move_place_out();
        if let Some(work) = &mut self.work
            && let Err(error) = work.free(&self.run, &wanted.teardown, self.run.slot)
        {
            self.op.warn(format!("the worktree of run {} was not removed: {error}", self.run.id));
        }
    }

    /// One run of a crew is merged at a time: what is tested by two at once would be tested again by one of them. `None`:
    /// the run is to stop.
    fn wait_for_turn(&self, crew: &str) -> Result<Option<FileLock>, CommandError> {
        let locks = git_state(&self.op.home).join("crew-locks");
        files::create_dir(&locks)?;
        let repository = self.work.as_ref().map(|work| work.record.repository.clone()).unwrap_or_default();
        let name = sha256(format!("{repository}\0{crew}").as_bytes());
        let path = locks.join(format!("{}.lock", &name[..16]));
        loop {
            if let Some(lock) = FileLock::try_acquire(&path)? {
                return Ok(Some(lock));
            }
            if self.is_to_stop()? {
                return Ok(None);
            }
            clock::pause(LOOK);
        }
    }
}

/// What the end of commands proves.
fn proof_of(commands: &[String], end: CommandsEnd) -> Proof {
    match end {
        _ if commands.is_empty() => Proof::None,
        CommandsEnd::Stopped => Proof::Stopped,
        CommandsEnd::Done { tail } => Proof::Given(CrewTest {
            command: commands.join("\n"),
            how: "exit code 0".to_string(),
            exit_code: Some(0),
            tail: last(&tail),
        }),
        CommandsEnd::Failed { command, how, code, tail } => {
            Proof::Failed(CrewTest { command, how, exit_code: code, tail: last(&tail) })
        }
    }
}

/// What is recorded with the completion of the task.
fn evidence(commit: Option<&str>, proof: Option<&CrewTest>) -> TaskEvidence {
    TaskEvidence {
        text: None,
        verified: proof.map(|proof| VerifyRun {
            command: proof.command.clone(),
            exit_code: proof.exit_code.unwrap_or_default(),
            tail: proof.tail.clone(),
        }),
        commit: commit.map(str::to_string),
        at: clock::now(),
        seen: SeenWork::default(),
    }
}

/// The end of an output.
fn last(tail: &str) -> String {
    let start = tail.len().saturating_sub(MOST_TAIL);
    let start = (start..=tail.len()).find(|start| tail.is_char_boundary(*start)).unwrap_or(tail.len());
    tail[start..].to_string()
}
