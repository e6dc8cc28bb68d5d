//! `msg tell`: types a prompt into the terminal of an agent, answers the dialog on its screen, or ends its turn. For the
//! parent of a worker, those above it, and people.

use std::rc::Rc;

use crate::domain::runs::{Run, RunQuestion};
use crate::domain::screens::{Dialog, ScreenState, acting_character, reads_as_command};
use crate::domain::{Agent, AgentName, shell_word};
use crate::harness::screen::ScreenReader;
use crate::ops::link::elsewhere;
use crate::store::Mesh;
use crate::sys::clock;
use crate::sys::tmux::{PaneInfo, TmuxError, TmuxPane};

use super::agent_pane;
use super::hook_facts::{HookFacts, PromptReport};
use super::pane_look::PaneLook;
use super::sight::{reader_of, reader_of_run};
use super::tell_error::{no_such_choice, not_joined, refused, unanswered, with_dialog};
use super::typing::{HeldPane, LOOK_EVERY};
use super::typing_error::{PromptObstacle, PromptProof, TypingError};
use crate::ops::agents::list::{grave_of, verb};
use crate::ops::agents::names;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::ops::runs::own_run::run_of_agent;
use crate::ops::runs::tell::{self as questions, AnswerChoice, AnswerRequest, Answerer};

/// The longest text that is typed. A program may take seconds for more, or forget a part of it.
const MOST_TEXT: usize = 256 * 1024;

/// An answer to whatever a worker asks: a question that was sent as mail, or a dialog on its screen.
#[derive(Clone, Debug)]
pub struct TellAnswer {
    /// An agent, or a run.
    pub name: String,
    /// `allow`, `deny`, the number of a choice, or the beginning of its words.
    pub choice: String,
    /// The number of the question, or the id of the dialog.
    pub question: Option<String>,
    /// What the worker is told with the answer to a question.
    pub text: Option<String>,
}

/// What was told.
#[derive(Clone, Debug)]
pub enum Told {
    Question { run: Box<Run>, question: RunQuestion, choice: AnswerChoice },
    Prompt { agent: AgentName, characters: usize, proof: PromptProof },
    Dialog(ToldDialog),
    Interrupt { agent: AgentName, state: Option<ScreenState> },
}

/// A dialog that was answered.
#[derive(Clone, Debug)]
pub struct ToldDialog {
    pub agent: AgentName,
    pub dialog: Dialog,
    /// The choice that was taken.
    pub choice: usize,
    /// What its screen shows now; `None` if its program has ended.
    pub state: Option<ScreenState>,
    /// The dialog that is open now.
    pub next: Option<Dialog>,
}

/// An agent and its terminal.
struct ScreenTarget {
    /// Its name, or the id of the run whose worker has not joined yet.
    name: AgentName,
    agent: Option<Agent>,
    pane: TmuxPane,
    reader: &'static dyn ScreenReader,
}

/// Whom a name means.
struct Addressee {
    run: Option<Run>,
    agent: Option<Agent>,
}

/// Types a prompt for an agent.
pub fn prompt(op: &Op, name: &str, text: &str) -> Result<Told, CommandError> {
    let text = checked_text(text)?;
    let mesh = mesh(op, name)?;
    let addressee = find(op, &mesh, name)?;
    if let Answerer::Agent(_) = authorise(op, &mesh, &addressee, name)?
        && reads_as_command(&text)
    {
        let error = "the text begins like a command of the program itself, which only people may type";
        return Err(CommandError::new(CommandErrorKind::InvalidValue, error)
            .hint("begin with a word: `Run: /review` instead of `/review`"));
    }
    let run = addressee.run.as_ref().filter(|run| run.pane.is_some()).map(|run| run.id.clone());
    let target = target(&mesh, addressee, name)?;
    let held = hold(op, &target)?;
    let Some(agent) = &target.agent else { return Err(not_joined(name)) };
    let has_just_begun = || Ok(HookFacts::read(&mesh, agent)?.signs.has_just_begun_turn());
    wait_for_screen(&held, &agent.name, has_just_begun)?;
    let report = PromptReport::of(&text);
    let has_begun = || Ok(Some(report.is_there(&mesh, &agent.session)?));
    // Its supervisor tells the parent when the turn of this prompt is over.
    if let Some(run) = &run {
        mesh.runs().announce_prompt(run, report.mark())?;
    }
    let typed = held.type_prompt(&text, has_begun);
    match (&run, &typed) {
        (Some(run), Ok(_)) => mesh.runs().note_prompt_sent(run)?,
        (Some(run), Err(_)) => mesh.runs().withdraw_prompt(run)?,
        (None, _) => {}
    }
    let proof = typed.map_err(|error| {
        let refused = refused(&agent.name, &error);
        match (error, held.look()) {
            // Whoever reads this decides what becomes of the text.
            (
                TypingError::NotShown
                | TypingError::NotTaken
                | TypingError::TurnBegan
                | TypingError::Unanswered,
                Ok(look),
            ) => refused.fact("screen", look.screen.text()),
            _ => refused,
        }
    })?;
    Ok(Told::Prompt { agent: agent.name.clone(), characters: text.chars().count(), proof })
}

/// Ends the turn of an agent.
pub fn interrupt(op: &Op, name: &str) -> Result<Told, CommandError> {
    let mesh = mesh(op, name)?;
    let addressee = find(op, &mesh, name)?;
    authorise(op, &mesh, &addressee, name)?;
    let target = target(&mesh, addressee, name)?;
    let look = hold(op, &target)?.interrupt().map_err(|error| refused(&target.name, &error))?;
    Ok(Told::Interrupt { agent: target.name, state: look.reading.state })
}

/// Answers the question that is open: the one that was sent as mail, else the dialog on the screen.
pub fn answer(op: &Op, request: &TellAnswer) -> Result<Told, CommandError> {
    let wanted = request.question.as_deref().map(QuestionName::parse).transpose()?;
    let mesh = mesh(op, &request.name)?;
    let addressee = find(op, &mesh, &request.name)?;
    if let Some(run) = &addressee.run {
        let is_mail = match &wanted {
            Some(QuestionName::Number(_)) => true,
            Some(QuestionName::Dialog(_)) => false,
            None => questions::has_open_question(&mesh, run)? || !has_screen(&mesh, &addressee)?,
        };
        if is_mail {
            return answer_question(op, request, &wanted);
        }
    }
    let answerer = authorise(op, &mesh, &addressee, &request.name)?;
    let target = target(&mesh, addressee, &request.name)?;
    let held = hold(op, &target)?;
    let agent = &target.name;
    let look = held.look().map_err(|error| refused(agent, &error))?;
    let dialog = open_dialog_at(agent, &look)?;
    match (&wanted, &answerer) {
        (Some(QuestionName::Dialog(id)), _) if *id == dialog.id() => {}
        (Some(_), _) => return Err(refused(agent, &TypingError::AnotherDialog(dialog))),
        // It may mean an earlier one.
        (None, Answerer::Agent(_)) => {
            let text = format!("which dialog of {}? The open one has the id {}", agent, dialog.id());
            let line = answer_line(agent, &request.choice, &dialog);
            return Err(with_dialog(CommandError::new(CommandErrorKind::NoQuestion, text), &dialog)
                .hint(format!("look at it with `msg look {}`, then run `{line}`", agent)));
        }
        (None, Answerer::Person(_)) => {}
    }
    if let Answerer::Agent(_) = answerer
        && dialog.kind.is_for_people()
    {
        let text = format!("{agent} asks about {}, which only a person decides", dialog.kind.name());
        let line = person_required::with_mesh(op, &answer_line(agent, &request.choice, &dialog));
        return Err(with_dialog(CommandError::new(CommandErrorKind::InHarness, text), &dialog)
            .hint(format!("ask a person to type this at a terminal: {line}")));
    }
    if request.text.as_deref().is_some_and(|text| !text.trim().is_empty()) {
        let text = "TEXT can't be told with the answer to a dialog on a screen";
        return Err(CommandError::new(CommandErrorKind::Usage, text).hint("leave it out"));
    }
    let Some(choice) = dialog.choice_named(&request.choice) else {
        return Err(no_such_choice(&request.choice, &dialog));
    };
    let after = held.answer(&dialog.id(), choice).map_err(|error| refused(agent, &error))?;
    let (state, next) = after.map_or((None, None), |look| (look.reading.state, look.reading.dialog));
    Ok(Told::Dialog(ToldDialog { agent: agent.clone(), dialog, choice, state, next }))
}

/// The dialog that is open on the screen of an agent, for a person who is about to answer it. `None` if what would be
/// answered is a question that was sent as mail.
pub fn open_dialog(op: &Op, name: &str) -> Result<Option<Dialog>, CommandError> {
    let mesh = mesh(op, name)?;
    let addressee = find(op, &mesh, name)?;
    if let Some(run) = &addressee.run
        && (questions::has_open_question(&mesh, run)? || !has_screen(&mesh, &addressee)?)
    {
        return Ok(None);
    }
    authorise(op, &mesh, &addressee, name)?;
    let target = target(&mesh, addressee, name)?;
    let look = hold(op, &target)?.look().map_err(|error| refused(&target.name, &error))?;
    open_dialog_at(&target.name, &look).map(Some)
}

/// The command that answers a dialog.
pub fn answer_line(agent: &AgentName, choice: &str, dialog: &Dialog) -> String {
    format!("msg tell {agent} --answer {} --question {}", shell_word(choice), dialog.id())
}

/// What `--question` names.
enum QuestionName {
    Number(u32),
    Dialog(String),
}

impl QuestionName {
    fn parse(text: &str) -> Result<Self, CommandError> {
        let is_id = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match text.parse::<u32>() {
            _ if is_id => Ok(Self::Dialog(text.to_ascii_lowercase())),
            Ok(number) if number > 0 => Ok(Self::Number(number)),
            _ => {
                let text = format!("`{text}` is neither the number of a question nor the id of a dialog");
                Err(CommandError::new(CommandErrorKind::Usage, text)
                    .hint("`msg runs show` has the number of a question, `msg look` the id of a dialog"))
            }
        }
    }
}

fn answer_question(
    op: &Op,
    request: &TellAnswer,
    wanted: &Option<QuestionName>,
) -> Result<Told, CommandError> {
    let Some(choice) = AnswerChoice::of_name(&request.choice) else {
        let text = format!("`{}` does not answer a permission question", request.choice);
        return Err(CommandError::new(CommandErrorKind::Usage, text).hint("answer with `allow` or `deny`"));
    };
    let number = match wanted {
        Some(QuestionName::Number(number)) => Some(*number),
        _ => None,
    };
    let (name, text) = (request.name.clone(), request.text.clone());
    let (run, question) = questions::answer(op, &AnswerRequest { name, choice, number, text })?;
    Ok(Told::Question { run: Box::new(run), question, choice })
}

fn mesh(op: &Op, name: &str) -> Result<Rc<Mesh>, CommandError> {
    op.mesh()?.ok_or_else(|| unknown(name).hint("nobody has joined this mesh yet: `msg join` joins it"))
}

fn unknown(name: &str) -> CommandError {
    CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent and no run is called {name}"))
}

/// The run and its worker, or the agent.
fn find(op: &Op, mesh: &Mesh, name: &str) -> Result<Addressee, CommandError> {
    let run = match questions::find_worker(op, name) {
        Ok(run) => Some(run),
        Err(error) if error.kind == CommandErrorKind::UnknownRun => None,
        Err(error) => return Err(error),
    };
    let census = mesh.registry().census()?;
    let worker = match &run {
        Some(run) => mesh.runs().worker(&run.id)?.or_else(|| run.agent.clone()),
        None => Some(AgentName::new(name).map_err(|_| unknown(name))?),
    };
    let found = worker.as_ref().and_then(|name| census.find(name, clock::now()));
    let found = match (found, &run) {
        (Some(record), None) => {
            elsewhere::refuse(&record.agent, "tell")?;
            found
        }
        // The worker of a run is here.
        (found, _) => found.filter(|record| !record.agent.is_remote()),
    };
    match (&run, &worker, found) {
        (None, Some(name), None) => match census.unreadable(name) {
            Some(file) => Err(names::unreadable(name, file)),
            None => Err(match grave_of(mesh, name)? {
                Some((agent, grave)) => {
                    let text = format!("{} is gone: it {}", agent.name, verb(grave.why));
                    CommandError::new(CommandErrorKind::NotRunning, text)
                }
                None => names::with_nearest(unknown(name.as_str()), name, &census),
            }),
        },
        (None, _, Some(record)) if !record.is_live() => {
            let (name, pid) = (&record.agent.name, record.agent.process.pid());
            let text = format!("{name} is gone: its process {pid} has ended");
            Err(CommandError::new(CommandErrorKind::NotRunning, text))
        }
        _ => {
            let agent = found.filter(|record| record.is_live()).map(|record| record.agent.clone());
            let Some((its_run, named)) = run.as_ref().zip(agent.as_ref()) else {
                return Ok(Addressee { run, agent });
            };
            // Its supervisor keeps the place of a worker that has not joined yet.
            if named.process == its_run.owner {
                return Ok(Addressee { run, agent: None });
            }
            if run_of_agent(mesh, named)?.is_some_and(|its| its.id == its_run.id) {
                return Ok(Addressee { run, agent });
            }
            // The run knows its worker by name, and somebody else may have the name by now.
            let is_run_asked_for = its_run.id.as_str().eq_ignore_ascii_case(name)
                || !named.name.as_str().eq_ignore_ascii_case(name);
            Ok(match is_run_asked_for {
                true => Addressee { run, agent: None },
                false => Addressee { run: None, agent },
            })
        }
    }
}

/// Whether its screen can be read.
fn has_screen(mesh: &Mesh, addressee: &Addressee) -> Result<bool, CommandError> {
    let Some(agent) = &addressee.agent else {
        let Some(run) = &addressee.run else { return Ok(false) };
        return Ok(run_target(run).map_err(|error| unanswered(run, error))?.is_some());
    };
    if reader_of(agent).is_none() {
        return Ok(false);
    }
    match pane_for(addressee.run.as_ref(), agent) {
        Ok(Some((_, info))) => is_shown(mesh, &info, agent),
        Ok(None) => Ok(false),
        Err(error) => Err(refused(&agent.name, &error.into())),
    }
}

/// The pane of an agent. The supervisor of a run knows that of its worker. What a process says about its pane can be set
/// by whoever starts it, and is inherited: a worker without a pane would have that of its parent.
fn pane_for(run: Option<&Run>, agent: &Agent) -> Result<Option<(TmuxPane, PaneInfo)>, TmuxError> {
    let Some(run) = run else { return agent_pane::find_pane(agent, TmuxPane::info) };
    let Some(target) = run_target(run)? else { return Ok(None) };
    let info = target.pane.info()?;
    Ok(Some((target.pane, info)))
}

/// Whether the pane shows the agent.
fn is_shown(mesh: &Mesh, info: &PaneInfo, agent: &Agent) -> Result<bool, CommandError> {
    Ok(!info.is_dead && agent_pane::is_shown_in(mesh, info.pid, agent)?)
}

/// Who is calling, if that one may type there: for a worker its parent, those above it, and people; for others people.
fn authorise(op: &Op, mesh: &Mesh, addressee: &Addressee, name: &str) -> Result<Answerer, CommandError> {
    match &addressee.run {
        Some(run) if !run.state.is_final() => questions::answering(op, mesh, run, "type into its terminal"),
        _ => {
            let line = format!("msg tell {}", shell_word(name));
            person_required::required_at_terminal(op, || person_required::with_mesh(op, &line))?;
            Ok(Answerer::Person("a person".to_string()))
        }
    }
}

/// The terminal of an agent.
fn target(mesh: &Mesh, addressee: Addressee, name: &str) -> Result<ScreenTarget, CommandError> {
    let no_screen = |why: String| {
        CommandError::new(CommandErrorKind::NoScreen, why)
            .hint(format!("write to it instead: `msg send {} TEXT`", shell_word(name)))
    };
    let Some(agent) = addressee.agent else {
        let Some(run) = addressee.run else { return Err(not_joined(name)) };
        if run.state.is_final() {
            let text = format!("run {} has ended: {}", run.id, run.outcome());
            let error = CommandError::new(CommandErrorKind::NotRunning, text);
            return Err(error.fact("state", run.state.name()));
        }
        let target = run_target(&run).map_err(|error| unanswered(&run, error))?;
        return target.ok_or_else(|| not_joined(name));
    };
    let Some(reader) = reader_of(&agent) else {
        return Err(no_screen(format!("{} runs in a program whose screen msg can't read", agent.name)));
    };
    match pane_for(addressee.run.as_ref(), &agent) {
        Ok(Some((pane, info))) if is_shown(mesh, &info, &agent)? => {
            Ok(ScreenTarget { name: agent.name.clone(), agent: Some(agent), pane, reader })
        }
        Ok(Some(_)) => Err(no_screen(format!("{} is not what its tmux pane shows", agent.name))),
        Ok(None) if agent_pane::panes_of(&agent).is_empty() => {
            Err(no_screen(format!("{} is not in a tmux pane", agent.name)))
        }
        Ok(None) => Err(no_screen(format!("the tmux pane of {} is gone", agent.name))),
        Err(error) => Err(refused(&agent.name, &error.into())),
    }
}

/// The terminal of a worker, as its supervisor has recorded it: also of one that has not joined yet, because it shows a
/// dialog at its start. A server that does not answer is an error: the pane may be there.
fn run_target(run: &Run) -> Result<Option<ScreenTarget>, TmuxError> {
    let name = run.agent.clone().or_else(|| AgentName::new(run.id.as_str()).ok());
    let (Some(pane), Some(reader), Some(name)) = (agent_pane::pane_of_run(run), reader_of_run(run), name)
    else {
        return Ok(None);
    };
    let info = match pane.info() {
        Err(TmuxError::NoPane(_) | TmuxError::NoServer(_)) => return Ok(None),
        info => info?,
    };
    let is_its = agent_pane::is_pane_of_run(&info, run);
    Ok(is_its.then_some(ScreenTarget { name, agent: None, pane, reader }))
}

fn hold<'t>(op: &Op, target: &'t ScreenTarget) -> Result<HeldPane<'t>, CommandError> {
    Ok(HeldPane::hold(&agent_pane::pane_locks(&op.home), &target.pane, target.reader)?)
}

/// A screen may not show yet what a hook has just begun, so that is waited for. A dialog and a turn that it shows count at
/// once; a turn that was interrupted since is not on it, and no hook tells of that.
fn wait_for_screen(
    held: &HeldPane<'_>,
    name: &AgentName,
    has_just_begun: impl Fn() -> Result<bool, CommandError>,
) -> Result<(), CommandError> {
    while has_just_begun()? {
        let look = held.look().map_err(|error| refused(name, &error))?;
        match PromptObstacle::at(&look) {
            Some(obstacle @ (PromptObstacle::Turn | PromptObstacle::Dialog(_))) => {
                return Err(refused(name, &TypingError::Obstacle(obstacle)));
            }
            _ => clock::pause(LOOK_EVERY),
        }
    }
    Ok(())
}

fn open_dialog_at(agent: &AgentName, look: &PaneLook) -> Result<Dialog, CommandError> {
    if look.capture.is_in_mode {
        return Err(refused(agent, &TypingError::Obstacle(PromptObstacle::ScrolledBack)));
    }
    look.reading.dialog.clone().ok_or_else(|| refused(agent, &TypingError::NoDialog))
}

/// The text as it is typed. A control character would act as a key: the end of the paste, or Enter.
fn checked_text(text: &str) -> Result<String, CommandError> {
    let text = text.replace("\r\n", "\n");
    let text = text.trim_end_matches('\n');
    if text.trim().is_empty() {
        return Err(CommandError::new(CommandErrorKind::Empty, "there is nothing to tell"));
    }
    if text.len() > MOST_TEXT {
        let error = format!("the text has {} bytes; at most {MOST_TEXT} can be typed", text.len());
        return Err(
            CommandError::new(CommandErrorKind::TooLarge, error).hint("write it to a file and tell its path")
        );
    }
    if let Some(sign) = acting_character(text) {
        let error = format!("the text has the control character U+{:04X}", u32::from(sign));
        return Err(CommandError::new(CommandErrorKind::InvalidValue, error)
            .hint("remove it: in a terminal it would act as a key"));
    }
    Ok(text.to_string())
}
