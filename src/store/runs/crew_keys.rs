//! How the part of a run that is about its crew is written in `run.json`.

use serde::{Deserialize, Serialize};

use crate::domain::runs::{CrewEnd, CrewPart, CrewTest, ProvenTree};

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CrewKeys {
    crew: String,
    #[serde(default)]
    is_worked: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proven: Option<ProvenKeys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<EndKeys>,
}

#[derive(Deserialize, Serialize)]
struct ProvenKeys {
    tree: String,
    test: TestKeys,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", tag = "is")]
enum EndKeys {
    Merged {
        #[serde(default)]
        commit: Option<String>,
        #[serde(default)]
        proof: Option<TestKeys>,
    },
    Unproven {
        test: TestKeys,
    },
    Nothing,
    NotShipped,
    Conflict {
        files: Vec<String>,
    },
    RedTogether {
        test: TestKeys,
    },
    GivenAway {
        reason: String,
    },
    Stuck {
        reason: String,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct TestKeys {
    command: String,
    how: String,
    #[serde(default)]
    exit_code: Option<i32>,
    #[serde(default)]
    tail: String,
}

impl TestKeys {
    fn of(test: CrewTest) -> Self {
        let CrewTest { command, how, exit_code, tail } = test;
        Self { command, how, exit_code, tail }
    }

    fn test(self) -> CrewTest {
        let Self { command, how, exit_code, tail } = self;
        CrewTest { command, how, exit_code, tail }
    }
}

impl CrewKeys {
    pub(super) fn of(part: &CrewPart) -> Self {
        let CrewPart { crew, is_worked, proven, end } = part.clone();
        let proven = proven.map(|ProvenTree { tree, test }| ProvenKeys { tree, test: TestKeys::of(test) });
        let end = end.map(|end| match end {
            CrewEnd::Merged { commit, proof } => EndKeys::Merged { commit, proof: proof.map(TestKeys::of) },
            CrewEnd::Unproven(test) => EndKeys::Unproven { test: TestKeys::of(test) },
            CrewEnd::Nothing => EndKeys::Nothing,
            CrewEnd::NotShipped => EndKeys::NotShipped,
            CrewEnd::Conflict(files) => EndKeys::Conflict { files },
            CrewEnd::RedTogether(test) => EndKeys::RedTogether { test: TestKeys::of(test) },
            CrewEnd::GivenAway(reason) => EndKeys::GivenAway { reason },
            CrewEnd::Stuck(reason) => EndKeys::Stuck { reason },
        });
        Self { crew, is_worked, proven, end }
    }

    pub(super) fn part(self) -> CrewPart {
        let Self { crew, is_worked, proven, end } = self;
        let proven = proven.map(|ProvenKeys { tree, test }| ProvenTree { tree, test: test.test() });
        let end = end.map(|end| match end {
            EndKeys::Merged { commit, proof } => CrewEnd::Merged { commit, proof: proof.map(TestKeys::test) },
            EndKeys::Unproven { test } => CrewEnd::Unproven(test.test()),
            EndKeys::Nothing => CrewEnd::Nothing,
            EndKeys::NotShipped => CrewEnd::NotShipped,
            EndKeys::Conflict { files } => CrewEnd::Conflict(files),
            EndKeys::RedTogether { test } => CrewEnd::RedTogether(test.test()),
            EndKeys::GivenAway { reason } => CrewEnd::GivenAway(reason),
            EndKeys::Stuck { reason } => CrewEnd::Stuck(reason),
        });
        CrewPart { crew, is_worked, proven, end }
    }
}
