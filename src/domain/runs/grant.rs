//! What a run was granted, by whom: a person's budget, or the run whose worker started it.

use super::id::RunId;
use super::money::MicroUsd;
use super::usage::{Cost, Usage};

/// What a budget counts.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum GrantKind {
    Usd,
    Tokens,
}

impl GrantKind {
    pub const ALL: [Self; 2] = [Self::Usd, Self::Tokens];

    /// What a run used of it by itself, in millionths of a dollar or in tokens, if that is known.
    pub fn used(self, usage: Usage, cost: Cost) -> Option<u64> {
        match self {
            Self::Usd => cost.amount().map(MicroUsd::micros),
            Self::Tokens => usage.tokens(),
        }
    }
}

/// Who granted something.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Granter {
    /// The run whose worker asked for it, or one above that.
    Run(RunId),
    /// The budget that a person set, by its id. Setting it anew makes another one.
    Budget(String),
}

/// An amount, and who granted it; nobody if nothing was limited.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GrantShare {
    pub amount: u64,
    pub by: Option<Granter>,
    /// The budget that applies where the run works, if the run that granted it is no part of that one.
    pub also: Option<String>,
}

impl GrantShare {
    /// Whether it was taken out of the budget with this id itself, not out of a part of it.
    pub fn is_out_of(&self, budget: &str) -> bool {
        matches!(&self.by, Some(Granter::Budget(id)) if id == budget) || self.also.as_deref() == Some(budget)
    }
}

/// What a run may use up, together with all runs that its worker starts. `None`: no limit of that kind.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Grant {
    pub usd: Option<GrantShare>,
    pub tokens: Option<GrantShare>,
}

impl Grant {
    pub fn of(&self, kind: GrantKind) -> Option<&GrantShare> {
        match kind {
            GrantKind::Usd => self.usd.as_ref(),
            GrantKind::Tokens => self.tokens.as_ref(),
        }
    }

    pub fn set(&mut self, kind: GrantKind, share: Option<GrantShare>) {
        match kind {
            GrantKind::Usd => self.usd = share,
            GrantKind::Tokens => self.tokens = share,
        }
    }

    pub fn amount(&self, kind: GrantKind) -> Option<u64> {
        self.of(kind).map(|share| share.amount)
    }

    /// Who granted that kind.
    pub fn by(&self, kind: GrantKind) -> Option<&Granter> {
        self.of(kind).and_then(|share| share.by.as_ref())
    }

    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}
