//! Files of expressions with their answers. Expressions are parted by empty lines; an answer follows `;=>`.

use super::ask;

pub(super) struct Example {
    pub(super) text: String,
    pub(super) answer: String,
}

pub(super) fn examples(file: &str) -> Vec<Example> {
    let blocks = file.split("\n\n").filter(|block| !block.starts_with(";;;"));
    let example = |block: &str| {
        let (text, answer) = block.split_once("\n;=> ").unwrap_or((block, ""));
        Example { text: text.trim().to_string(), answer: answer.trim_end().replace("\n;   ", "\n") }
    };
    blocks.map(example).filter(|example| !example.text.is_empty()).collect()
}

/// Every example has the answer that the file says.
pub(super) fn check(examples: &[Example]) {
    let mut wrong = Vec::new();
    for example in examples {
        let answer = ask(&example.text).to_string();
        if answer != example.answer {
            wrong.push(format!("{}\n;=> {}", example.text, answer.replace('\n', "\n;   ")));
        }
    }
    assert!(wrong.is_empty(), "these have other answers now:\n\n{}\n", wrong.join("\n\n"));
}
