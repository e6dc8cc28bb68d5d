//! The settings: [`Settings`] has a typed field for every key, and [`KEYS`] lists the keys. One table makes both.
//!
//! Keys are text only where people write them: in configuration files, in environment variables and in `msg config`.
//! Values are checked when they are set, so reading one cannot fail.

mod domain_map;
mod group_map;
mod model_price;
mod notify_choice;
mod prices;
mod value_types;

use std::time::Duration;

use jiff::SignedDuration;

use super::awareness::work_domain::{ConfiguredDomain, DomainError};
use super::name_words::{NameTheme, WordsError};
use super::pattern::{NormalPath, Pattern};
use super::recipient_group::GroupError;
use domain_map::DomainMap;
use group_map::GroupMap;
pub use model_price::ModelPrice;
use notify_choice::{NotifyChoice, QuietHoursChoice};
use prices::PriceMap;
pub use value_types::{
    AwarenessMode, BroadcastScope, ColourTheme, DependencyPolicy, Durability, FeedPrivacy, KnowledgeMode,
    PromptSharing, RawValue, SettingSource, SettingValue, WakePolicy,
};
use value_types::{
    BoundedNumber, CommandWords, ContextMode, DirectoryPath, Globs, Probability, SettingType, SocketName,
    ThemeChoice, WordChoice, WordLists,
};

/// Who may set a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SetBy {
    /// The user only. A project's file comes with a clone, so it must not control the user's machine.
    User,
    /// The user, and a project's file.
    Anyone,
}

/// One key.
#[derive(Debug)]
pub struct SettingKey {
    pub name: &'static str,
    pub set_by: SetBy,
    pub about: &'static str,
    /// Whether text is taken literally, even if it looks like a number or a list.
    pub is_plain_text: bool,
    /// The words to choose from, or the usual ones; none if any text or number is a value.
    pub choices: fn() -> Vec<&'static str>,
    get: fn(&Settings) -> (SettingValue, &SettingSource),
    set: fn(&mut Settings, &RawValue, SettingSource) -> Result<(), SettingError>,
}

/// Makes [`Settings`] and [`KEYS`] from a table of `key, who may set it => field: type = default; help`. The type has
/// the limits.
macro_rules! settings {
    ($($key:literal, $set_by:ident => $vis:vis $field:ident: $type:ty = $default:expr; $about:literal)*) => {
        /// A checked value for every key.
        #[derive(Clone, Debug)]
        pub struct Settings {
            $(#[doc = $about] $vis $field: $type,)*
            sources: Sources,
        }

        /// Where the value of every field of [`Settings`] came from.
        #[derive(Clone, Debug)]
        struct Sources {
            $($field: SettingSource,)*
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($field: $default,)* sources: Sources { $($field: SettingSource::Default,)* } }
            }
        }

        /// Every key, in the order in which they are shown.
        pub const KEYS: &[SettingKey] = &[$(SettingKey {
            name: $key,
            set_by: SetBy::$set_by,
            about: $about,
            is_plain_text: <$type as SettingType>::IS_PLAIN_TEXT,
            choices: <$type as SettingType>::choices,
            get: |settings| (settings.$field.shown(), &settings.sources.$field),
            set: |settings, raw, source| {
                let checked = SettingType::check(raw, &settings.$field);
                settings.$field = checked.map_err(|mismatch| mismatch.of_key($key))?;
                settings.sources.$field = source;
                Ok(())
            },
        },)*];
    };
}

settings! {
    "mesh", User => mesh: DirectoryPath = DirectoryPath(None);
        "the directory that agents share"
    "autoRegister", Anyone => auto_register: bool = false;
        "join when a harness session starts"
    "autoRegisterPaths", Anyone => auto_register_paths: Globs = Globs(Vec::new());
        "folders in which sessions join by themselves"
    "scopeToFolder", Anyone => pub scope_to_folder: bool = false;
        "see and address only agents of the same folder by default"
    // The user's only: a project must not send what is said in it to other projects.
    "broadcastScope", User => pub broadcast_scope: BroadcastScope = BroadcastScope::Project;
        "whom `broadcast`, `@all` and `@harness:NAME` reach: agents of this `project`, or `everywhere` on this machine"
    "groups", Anyone => groups: GroupMap = GroupMap(Vec::new());
        "names for several agents, used as `@NAME` in `send`: {\"backend\": [\"Robin\", \"@branch\"]}"
    "nameTheme", Anyone => name_theme: ThemeChoice = ThemeChoice::Default;
        "words of generated names"
    "nameWords", Anyone => name_words: WordLists = WordLists(None);
        "the words of the theme `custom`: {\"adjectives\": […], \"nouns\": […]}"
    "contextMode", Anyone => context_mode: ContextMode = ContextMode::Full;
        "how much a model is told: `none`, `minimal` (the reply hint) or `full` (as the three keys below say)"
    "registrationContext", Anyone => pub registration_context: bool = true;
        "tell a joining model who is here"
    "replyHint", Anyone => pub reply_hint: bool = true;
        "tell how to reply beneath a message"
    "senderDetailsOnFirstContact", Anyone => pub sender_details_on_first_contact: bool = true;
        "tell who a new sender is"
    "stuckThreshold", Anyone => stuck_threshold: BoundedNumber<1, 604_800> = BoundedNumber(900.0);
        "seconds of silence after which an agent that holds something counts as stuck"
    // The user's only, because all projects share one feed and one set of graves.
    "feedRetention", User => feed_retention: BoundedNumber<0, 10_000_000> = BoundedNumber(10_000.0);
        "how many events the feed keeps, or a few more; with 0, nothing is written"
    "feedPrivacy", User => pub feed_privacy: FeedPrivacy = FeedPrivacy::Names;
        "whether the feed shows only who wrote to whom, or the text of direct messages too"
    // These two are the user's only, because a project must not make a user's prompts visible.
    "awareness", User => pub awareness: AwarenessMode = AwarenessMode::Warn;
        "whether agents' prompts and files are followed (`show`), and collisions told beforehand (`warn`)"
    "sharePrompts", User => pub share_prompts: PromptSharing = PromptSharing::Topics;
        "what other agents can see of a prompt: its `topics`, its `text` too, or nothing (`off`)"
    "awarenessWindow", Anyone => awareness_window: BoundedNumber<1, 168> = BoundedNumber(8.0);
        "hours for which an agent counts as being in the files that it changed"
    "warnAt", Anyone => warn_at: Probability = Probability(0.5);
        "how likely a collision must be to be told, from 0 to 1"
    "calibrate", Anyone => pub calibrate: bool = true;
        "let `warnAt` follow what became of earlier predictions in each repository"
    "overlapAt", Anyone => overlap_at: Probability = Probability(0.35);
        "the share of common topics above which `overlaps` says that two agents approach each other, from 0 to 1"
    "domains", Anyone => domains: DomainMap = DomainMap(Vec::new());
        "parts of the project, by name: {\"auth\": {\"words\": [\"login\"], \"paths\": [\"src/auth/**\"]}}"
    // The user's only: a project must not bring texts of others back to a user who does not want them.
    "knowledge", User => pub knowledge: KnowledgeMode = KnowledgeMode::Offer;
        "whether a model is asked to record what it decided (`ask`), and offered what was recorded, too (`offer`)"
    "dependencies", Anyone => pub dependencies: DependencyPolicy = DependencyPolicy::Strict;
        "whether a task whose dependencies are not done may be claimed"
    "mailTurns", Anyone => mail_turns: BoundedNumber<0, 1000> = BoundedNumber(5.0);
        "how often waiting mail may keep an agent going per prompt of its user"
    "wake", User => pub wake: WakePolicy = WakePolicy { is_enabled: true, may_paste: false };
        "whether mail may wake an idle agent, and by a tmux paste too"
    "durability", User => pub durability: Durability = Durability::Process;
        "`process`: what was accepted outlives any process; `power`: a power cut too (slower)"
    "strict", User => pub strict: bool = false;
        "a hook that fails refuses the tool call, or the commit, instead of letting it through"
    // The user's only: a project must not shorten the time that other agents have.
    "contestTimeout", User => contest_timeout: BoundedNumber<1, 604_800> = BoundedNumber(120.0);
        "seconds that the holder of a contested path has to answer before the contester may take it"
    // The user's only: a project must not decide how long a question of its workers waits.
    "questionTimeout", User => question_timeout: BoundedNumber<1, 80_000> = BoundedNumber(1800.0);
        "seconds that the parent of a worker has to answer its permission question before it counts as refused"
    // The user's only: a project must not decide how long its own commands may run.
    "verifyTimeout", User => verify_timeout: BoundedNumber<1, 86_400> = BoundedNumber(600.0);
        "seconds that the `verify:` commands of a task may take in `msg complete --verify` before they are ended"
    // These two are the user's only, because they are about the user's time and run a program.
    "followSeconds", User => follow_seconds: BoundedNumber<0, 86_400> = BoundedNumber(90.0);
        "seconds for which `msg run` follows its run inside a harness; the end comes as mail"
    // The user's only: a project must not decide where a program is started, or how much it costs to watch it.
    "tmuxSocket", User => tmux_socket: SocketName = SocketName(None);
        "the tmux server for `msg run --tmux` and `msg up` outside of tmux: a name (`tmux -L`) or a path (`tmux -S`)"
    "lookSeconds", User => look_seconds: BoundedNumber<0, 3600> = BoundedNumber(2.0);
        "seconds between two looks of a supervisor at its worker in tmux, for dialogs and the end of a turn"
    "lookPace", User => look_pace: BoundedNumber<0, 100> = BoundedNumber(1.0);
        "what multiplies the times between looks at what an agent does (`wait --for`, stalls): 0.5 looks twice as often"
    // These three are the user's only: they run a program, and are about the user's attention.
    "notify", User => notify: NotifyChoice = NotifyChoice::RunCommand(CommandWords(Vec::new()));
        "how you are told of what happens, by kind: {\"urgent\": [\"bell\"]}; or a command that is run for each change of a run, with the run's id and state as its last arguments"
    "notifyCommand", User => notify_command: CommandWords = CommandWords(Vec::new());
        "the command of the way `command` in `notify`: it gets the alert as JSON, and its line in $MSG_ALERT"
    "quietHours", User => quiet_hours: QuietHoursChoice = QuietHoursChoice(None);
        "local time in which nothing of `notify` is told: `22:00-07:00`, or `22:00-07:00 except urgent`"
    "theme", User => pub theme: ColourTheme = ColourTheme::Auto;
        "colours of `msg tui` for a `dark` or a `light` background; `auto` asks the terminal"
    "lockTimeout", User => lock_timeout: BoundedNumber<0, 3600> = BoundedNumber(10.0);
        "seconds to wait for a lock of the mesh"
    // The user's only: it is about the user's machine, whatever the project.
    "slots", User => slots: BoundedNumber<0, 1000> = BoundedNumber(0.0);
        "how many workers run at once on this machine; 0: twice the number of cores, and at least 4"
    "freeMemory", User => free_memory: BoundedNumber<0, 1_048_576> = BoundedNumber(256.0);
        "MiB of memory that have to be free before another worker is started"
    "backOff", User => back_off: BoundedNumber<0, 3600> = BoundedNumber(10.0);
        "seconds that a profile waits after three failed runs in a row; each further one doubles it, up to 30 times"
    "prices", User => prices: PriceMap = PriceMap(Vec::new());
        "what models cost, for workers that don't report it: {\"MODEL\": {\"input\": 3, \"output\": 15}} in dollars for a million tokens"
    "graveDays", User => grave_days: BoundedNumber<1, 36_500> = BoundedNumber(30.0);
        "days for which a session that is gone is remembered; its unread mail stays longer"
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingError {
    #[error("there is no key `{}`", .0.escape_debug())]
    UnknownKey(String),
    #[error("`{key}` must be {expected}")]
    WrongKind { key: &'static str, expected: String },
    #[error("`{key}` must start with `/` or `~`")]
    RelativePath { key: &'static str },
    #[error("`{key}`: {source}")]
    Words {
        key: &'static str,
        #[source]
        source: WordsError,
    },
    #[error("`{key}`: {source}")]
    Domains {
        key: &'static str,
        #[source]
        source: DomainError,
    },
    #[error("`{key}`: {source}")]
    Groups {
        key: &'static str,
        #[source]
        source: GroupError,
    },
}

pub fn find_key(name: &str) -> Result<&'static SettingKey, SettingError> {
    KEYS.iter().find(|key| key.name == name).ok_or_else(|| SettingError::UnknownKey(name.to_string()))
}

/// Access by the name of a key.
impl Settings {
    /// Sets a value, replacing the previous one.
    pub fn set(&mut self, name: &str, raw: &RawValue, source: SettingSource) -> Result<(), SettingError> {
        (find_key(name)?.set)(self, raw, source)
    }

    pub fn get(&self, name: &str) -> Result<(SettingValue, &SettingSource), SettingError> {
        Ok((find_key(name)?.get)(self))
    }

    /// Every key with its value and source, in the order of [`KEYS`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static SettingKey, SettingValue, &SettingSource)> {
        KEYS.iter().map(|key| {
            let (value, source) = (key.get)(self);
            (key, value, source)
        })
    }
}

/// What the values mean.
impl Settings {
    /// Applies `contextMode` to the three keys that it is a shortcut for.
    pub fn apply_shortcuts(&mut self) {
        self.reply_hint = match self.context_mode {
            ContextMode::Full => return,
            ContextMode::Minimal => true,
            ContextMode::None => false,
        };
        self.registration_context = false;
        self.sender_details_on_first_contact = false;
        let implied = SettingSource::Implied("contextMode");
        self.sources.reply_hint = implied.clone();
        self.sources.registration_context = implied.clone();
        self.sources.sender_details_on_first_contact = implied;
    }

    pub fn mesh(&self) -> Option<(&str, &SettingSource)> {
        self.mesh.0.as_deref().map(|path| (path, &self.sources.mesh))
    }

    /// The theme of generated names; `None` if it is `custom` and no words are configured.
    pub fn theme(&self) -> Option<NameTheme> {
        match self.name_theme {
            ThemeChoice::Custom => {
                let (adjectives, nouns) = self.name_words.0.clone()?;
                NameTheme::custom(adjectives, nouns).ok()
            }
            built_in => NameTheme::built_in(built_in.word()),
        }
    }

    /// The time between two looks at a screen that usually are that far apart.
    pub fn paced(&self, usual: Duration) -> Duration {
        const LEAST: Duration = Duration::from_millis(50);
        const LEAST_PACE: f64 = 0.01;
        usual.mul_f64(self.look_pace.0.max(LEAST_PACE)).max(LEAST)
    }

    /// How often waiting mail may keep an agent going per prompt of its user.
    pub fn mail_turns(&self) -> u32 {
        self.mail_turns.0 as u32
    }

    /// Whether sessions join automatically in every folder.
    pub fn joins_all_sessions(&self) -> bool {
        self.auto_register
    }

    /// Whether sessions join automatically, at least in some folders.
    pub fn joins_sessions(&self) -> bool {
        self.joins_all_sessions() || !self.auto_register_paths.0.is_empty()
    }

    /// Whether sessions that start in this folder join automatically. A leading `~` is the home directory, and a
    /// folder includes everything below it.
    pub fn registers_in(&self, folder: &str, home: &str) -> bool {
        if self.auto_register {
            return true;
        }
        let root = NormalPath::absolute("/");
        let folder = NormalPath::absolute(folder);
        let is_meant = |glob: &String| {
            let whole = match glob.strip_prefix('~') {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
                _ => glob.clone(),
            };
            // The trailing slash makes the glob cover everything below, too.
            Pattern::new(&format!("{whole}/"), &root).is_ok_and(|pattern| pattern.covers(&folder))
        };
        self.auto_register_paths.0.iter().any(is_meant)
    }

    /// For how long an agent counts as being in the files that it changed.
    pub fn awareness_window(&self) -> SignedDuration {
        SignedDuration::from_secs_f64(self.awareness_window.0 * 3600.0)
    }

    /// How likely a collision must be to be told.
    pub fn warn_at(&self) -> f64 {
        self.warn_at.0
    }

    /// The share of common topics above which two agents approach each other.
    pub fn overlap_at(&self) -> f64 {
        self.overlap_at.0
    }

    /// Parts of the project that are named, those of the project's file last.
    pub fn domains(&self) -> &[ConfiguredDomain] {
        &self.domains.0
    }

    /// How long an agent that holds something may be silent before it counts as stuck.
    pub fn stuck_threshold(&self) -> SignedDuration {
        SignedDuration::from_secs_f64(self.stuck_threshold.0)
    }

    /// How long the holder of a contested path has to answer.
    pub fn contest_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.contest_timeout.0)
    }

    /// How long a permission question of a worker waits for an answer.
    pub fn question_timeout(&self) -> SignedDuration {
        SignedDuration::from_secs_f64(self.question_timeout.0)
    }

    /// How long the commands that prove a task may take.
    pub fn verify_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.verify_timeout.0)
    }

    /// How many events the feed keeps; 0: it is off.
    pub fn feed_retention(&self) -> u64 {
        self.feed_retention.0 as u64
    }

    /// How long a run is followed inside a harness.
    pub fn follow_limit(&self) -> Duration {
        Duration::from_secs_f64(self.follow_seconds.0)
    }

    /// The tmux server to use outside of tmux.
    pub fn tmux_socket(&self) -> Option<&str> {
        self.tmux_socket.0.as_deref()
    }

    /// How often the screen of a worker is looked at.
    pub fn look_interval(&self) -> Duration {
        Duration::from_secs_f64(self.look_seconds.0.max(0.02))
    }

    /// What a model costs, if that is configured.
    pub fn price_of(&self, model: &str) -> Option<&ModelPrice> {
        self.prices.of(model)
    }

    pub fn lock_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.lock_timeout.0)
    }

    /// How many workers run at once on this machine; `None`: as many as its cores suggest.
    pub fn slots(&self) -> Option<u32> {
        Some(self.slots.0 as u32).filter(|slots| *slots > 0)
    }

    /// How many MiB have to be free before another worker is started.
    pub fn free_memory(&self) -> u64 {
        self.free_memory.0 as u64
    }

    /// How long a profile waits after three failed runs in a row; zero: it does not wait.
    pub fn back_off(&self) -> SignedDuration {
        SignedDuration::from_secs_f64(self.back_off.0)
    }

    pub fn grave_days(&self) -> u32 {
        self.grave_days.0 as u32
    }
}

#[cfg(test)]
mod tests;
