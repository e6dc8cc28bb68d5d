//! `runs/budgets/<repository>`: what all runs of a repository together may use up, as a person set it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::admission::AdmissionLock;
use super::place::{id_of, nearest, repository_of};
use crate::domain::runs::{MicroUsd, RunId};
use crate::domain::workers::Budget;
use crate::store::error::StoreError;
use crate::store::handles::RunLedger;
use crate::store::wire::{pretty, time};
use crate::sys::files;

/// A budget as somebody set it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RecordedBudget {
    /// Another one whenever it is set anew, so that what was granted out of an earlier one does not count.
    pub id: String,
    /// What it limits. Without any limit it only says that a budget of a folder above does not apply.
    pub amounts: Budget,
    pub since: Timestamp,
    /// The runs that went on when it was set. They count in it, too.
    pub carried: Vec<RunId>,
    /// The directory that it is set for.
    pub directory: String,
    /// That is a folder outside of any repository, and it is about everything below.
    pub is_folder: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct BudgetKeys {
    id: String,
    micros: Option<u64>,
    tokens: Option<u64>,
    #[serde(with = "time")]
    since: Timestamp,
    #[serde(default)]
    carried: Vec<String>,
    directory: String,
    #[serde(default)]
    is_folder: bool,
}

impl RunLedger<'_> {
    fn budgets_dir(self) -> PathBuf {
        self.mesh.layout.directory("runs").join("budgets")
    }

    /// The budget that applies at `path`, which has its links resolved; `None` if nobody set one. One that can't be read
    /// is an error: a limit that somebody set must not disappear.
    pub fn budget_at(self, path: &Path) -> Result<Option<RecordedBudget>, StoreError> {
        let names = files::list(&self.budgets_dir())?;
        if names.is_empty() {
            return Ok(None);
        }
        nearest(&names, path)
            .map_or(Ok(None), |id| self.recorded_budget(&self.budgets_dir().join(id.as_str())))
    }

    /// Every budget.
    pub fn budgets(self) -> Result<Vec<RecordedBudget>, StoreError> {
        let paths = files::list(&self.budgets_dir())?.into_iter().map(|name| self.budgets_dir().join(name));
        let paths = paths.filter(|path| path.extension().is_none());
        paths.filter_map(|path| self.recorded_budget(&path).transpose()).collect()
    }

    /// Whether a budget that is set at `here` applies to a run that works for `place`: none is nearer to that. Both have
    /// their links resolved.
    pub fn is_budget_for(self, here: &Path, place: &Path) -> Result<bool, StoreError> {
        let own = id_of(&repository_of(here).unwrap_or_else(|| here.to_path_buf()));
        let mut names = files::list(&self.budgets_dir())?;
        names.push(own.as_str().to_string());
        Ok(nearest(&names, place).is_some_and(|id| id.as_str() == own.as_str()))
    }

    fn recorded_budget(self, path: &Path) -> Result<Option<RecordedBudget>, StoreError> {
        let Some(content) = files::read(path)? else { return Ok(None) };
        let corrupt = |reason: String| StoreError::Corrupt { path: path.to_path_buf(), reason };
        let keys: BudgetKeys =
            serde_json::from_slice(&content).map_err(|error| corrupt(error.to_string()))?;
        let carried = keys.carried.iter().map(|id| RunId::new(id)).collect::<Result<_, _>>();
        Ok(Some(RecordedBudget {
            id: keys.id,
            amounts: Budget { usd: keys.micros.map(MicroUsd::from_micros), tokens: keys.tokens },
            since: keys.since,
            carried: carried.map_err(|error| corrupt(error.to_string()))?,
            directory: keys.directory,
            is_folder: keys.is_folder,
        }))
    }

    /// Sets the budget of the repository that contains `path`, or of the folder `path` if there is none. A record that
    /// can't be read is set aside. Without limits, nothing is recorded, unless a folder above has a budget.
    pub fn set_budget(
        self,
        path: &Path,
        mut budget: RecordedBudget,
        _lock: &AdmissionLock,
    ) -> Result<RecordedBudget, StoreError> {
        let repository = repository_of(path);
        budget.is_folder = repository.is_none();
        let directory = repository.unwrap_or_else(|| path.to_path_buf());
        let dir = self.budgets_dir();
        let file = dir.join(id_of(&directory).as_str());
        if matches!(self.recorded_budget(&file), Err(StoreError::Corrupt { .. })) {
            files::put_back(&file, &file.with_extension("damaged"))?;
        }
        budget.directory = directory.to_string_lossy().into_owned();
        if budget.amounts.is_unlimited() {
            files::remove(&file)?;
            if matches!(self.budget_at(path), Ok(None)) {
                return Ok(budget);
            }
        }
        self.mesh.tighten()?;
        files::create_dir(&self.mesh.layout.directory("runs"))?;
        files::create_dir(&dir)?;
        let keys = BudgetKeys {
            id: budget.id.clone(),
            micros: budget.amounts.usd.map(MicroUsd::micros),
            tokens: budget.amounts.tokens,
            since: budget.since,
            carried: budget.carried.iter().map(ToString::to_string).collect(),
            directory: budget.directory.clone(),
            is_folder: budget.is_folder,
        };
        self.mesh.files.replace(&file, &pretty(&keys))?;
        Ok(budget)
    }
}
