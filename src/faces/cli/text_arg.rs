//! Reads the TEXT argument: given directly, from standard input (`-`) or from a file.

use std::io::Read;

use clap::Args;

use crate::ops::{CommandError, CommandErrorKind, readable_text_file};

#[derive(Args, Debug)]
pub(super) struct TextArgs {
    /// The text, or `-` to read it from standard input
    #[arg(value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// Read the text from a file
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
}

impl TextArgs {
    pub(super) fn read(&self) -> Result<Option<String>, CommandError> {
        match (&self.text, &self.file) {
            (Some(text), _) if text == "-" => {
                let mut text = String::new();
                let read = std::io::stdin().lock().read_to_string(&mut text);
                read.map(|_| Some(text)).map_err(|error| unreadable("standard input", &error))
            }
            (Some(text), _) => Ok(Some(text.clone())),
            (None, Some(file)) => {
                let path = readable_text_file(file)?;
                fs_err::read_to_string(path).map(Some).map_err(|error| unreadable(file, &error))
            }
            (None, None) => Ok(None),
        }
    }
}

fn unreadable(what: &str, error: &std::io::Error) -> CommandError {
    CommandError::new(CommandErrorKind::InvalidValue, format!("`{what}` can't be read as text: {error}"))
}
