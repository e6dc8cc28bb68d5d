use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{Message, visible};
use crate::faces::cli::output::{Outcome, Page, Report, style};
use crate::ops::{self, CommandError, Context};

/// Confirm messages, so that their senders can see it
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg ack k3x9ab
  msg ack k3x9ab 0f2m7c")]
pub(in crate::faces::cli) struct AckArgs {
    /// Six letters each, or the start of an id
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

pub(super) fn run(ctx: &Context, args: AckArgs) -> Result<Outcome, CommandError> {
    Ok(Acked(ops::ack(ctx, &args.ids)?).into())
}

struct Acked(Vec<Message>);

impl Report for Acked {
    fn json(&self) -> Map<String, Value> {
        let ids = self.0.iter().map(|message| json!(message.id.as_str())).collect();
        Map::from_iter([("acked".to_string(), ids)])
    }

    fn text(&self, page: &mut Page) {
        for message in &self.0 {
            page.line(format!("{} can see that you have its message.", style::bold(&visible(&message.from))));
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}
