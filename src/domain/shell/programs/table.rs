//! The table of known programs: which of their arguments they write.
//!
//! A program that is not in it may do anything.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::options::{ProgramOptions, ValueFlags};
use super::{copies, editors, finders, git, patches, transfers, wrappers};
use crate::domain::shell::field::Field;
use crate::domain::shell::interpreter::{ProgramCall, ShellInterpreter, ShellState};
use crate::domain::shell::{Extent, builtins};

/// What a program does to files.
#[derive(Clone, Copy)]
pub enum FileEffect {
    Reads,
    /// It writes its operands.
    Operands(OperandExtent),
    /// It writes its operands if one of these flags is given; otherwise it only reads.
    OperandsIf(&'static str, OperandExtent),
    /// It writes its operands unless one of these flags is given.
    OperandsUnless(&'static str, OperandExtent),
    /// It writes the values of these flags.
    Values(&'static str),
    /// It only reads with one of these subcommands; otherwise it may do anything. `pr+view` is a subcommand of two
    /// words.
    ReadsIf(&'static str),
    /// A special rule for its flags and operands. The last argument is the program's name.
    Rule(fn(&mut ShellInterpreter<'_>, &mut ShellState, &ProgramOptions, &str)),
    /// A special rule for the whole call. Returns its output, if known.
    Call(fn(&mut ShellInterpreter<'_>, &mut ShellState, &ProgramCall<'_>) -> Option<String>),
    Anything,
}

/// How much of each operand is written.
#[derive(Clone, Copy)]
pub enum OperandExtent {
    Files,
    /// The whole tree if one of these flags is given.
    TreesIf(&'static str),
    /// The whole tree if the operand is a directory.
    Dirs,
    /// Like `Dirs`, and the program expands globs itself.
    Globs,
}

struct KnownProgram {
    /// Separated by blanks.
    names: &'static str,
    takes: ValueFlags,
    does: FileEffect,
}

const fn program(
    names: &'static str,
    short: &'static str,
    long: &'static str,
    does: FileEffect,
) -> KnownProgram {
    KnownProgram { names, takes: ValueFlags { short, attached: "", long }, does }
}

const fn attached(names: &'static str, takes: ValueFlags, does: FileEffect) -> KnownProgram {
    KnownProgram { names, takes, does }
}

const fn call(
    names: &'static str,
    does: fn(&mut ShellInterpreter<'_>, &mut ShellState, &ProgramCall<'_>) -> Option<String>,
) -> KnownProgram {
    KnownProgram {
        names,
        takes: ValueFlags { short: "", attached: "", long: "" },
        does: FileEffect::Call(does),
    }
}

#[rustfmt::skip]
static PROGRAMS: &[KnownProgram] = &[
    // Files and directories.
    program("rm", "", "", FileEffect::Operands(OperandExtent::TreesIf("-r -R --recursive"))),
    program("rmdir unlink touch shred", "dtrn", "date reference iterations size",
        FileEffect::Operands(OperandExtent::Files)),
    program("truncate", "sr", "size reference", FileEffect::Operands(OperandExtent::Files)),
    program("mkdir", "mZ", "mode context", FileEffect::Rule(copies::mkdir)),
    attached("mktemp", ValueFlags { short: "p", attached: "", long: "suffix" }, FileEffect::Rule(copies::mktemp)),
    program("mkfifo mknod", "mZ", "mode context", FileEffect::Operands(OperandExtent::Files)),
    program("cp", "tS", "target-directory suffix", FileEffect::Rule(copies::cp)),
    program("mv", "tS", "target-directory suffix", FileEffect::Rule(copies::mv)),
    program("ln", "tS", "target-directory suffix", FileEffect::Rule(copies::ln)),
    program("install ginstall", "tSmog", "target-directory suffix mode owner group",
        FileEffect::Rule(copies::install)),
    program("rsync", "efBTM@", "rsh filter block-size temp-dir exclude include exclude-from include-from \
        files-from log-file compare-dest copy-dest link-dest backup-dir suffix rsync-path chmod chown
        max-size min-size timeout port bwlimit out-format partial-dir", FileEffect::Rule(copies::rsync)),
    program("scp", "cFiJloPSX", "", FileEffect::Rule(copies::scp)),
    call("chmod", copies::chmod),
    program("chown chgrp", "", "reference from", FileEffect::Rule(copies::chown)),
    program("chattr setfacl", "", "", FileEffect::Anything),
    call("dd", copies::dd),
    program("tee sponge", "", "output-error", FileEffect::Operands(OperandExtent::Files)),
    program("split csplit", "abCln", "suffix-length bytes line-bytes lines number filter additional-suffix",
        FileEffect::Rule(transfers::split)),

    // Text.
    attached("sed gsed", ValueFlags { short: "efl", attached: "i", long: "expression file line-length" },
        FileEffect::Rule(editors::sed)),
    attached("perl", ValueFlags { short: "eEMmI", attached: "iFCdD", long: "" }, FileEffect::Rule(editors::perl)),
    program("awk gawk mawk nawk", "Ffviel", "field-separator assign file include source load",
        FileEffect::Rule(editors::awk)),
    program("ed ex vi vim nvim nano pico micro", "cuSTpwW", "cmd", FileEffect::Rule(editors::editor)),
    program("sort", "okStT", "output key field-separator buffer-size temporary-directory parallel \
        compress-program batch-size files0-from random-source sort", FileEffect::Values("-o --output")),
    program("shuf", "oni", "output head-count input-range random-source", FileEffect::Values("-o --output")),
    program("sdiff", "oIWw", "output ignore-matching-lines width diff-program", FileEffect::Values("-o --output")),
    program("iconv", "oft", "output from-code to-code", FileEffect::Values("-o --output")),
    program("tree", "oLIPH", "filelimit charset sort timefmt", FileEffect::Values("-o")),
    program("uniq", "fsw", "skip-fields skip-chars check-chars", FileEffect::Rule(editors::second_operand)),
    program("xxd", "cglnosR", "cols groupsize len name seek", FileEffect::Rule(editors::second_operand)),
    program("yq", "", "", FileEffect::Rule(editors::yq)),
    call("patch gpatch", patches::patch),
    call("apply_patch applypatch apply-patch", patches::apply_patch),

    // Formatters.
    program("prettier", "", "config ignore-path parser log-level plugin print-width tab-width",
        FileEffect::OperandsIf("--write -w", OperandExtent::Globs)),
    program("eslint", "cof", "config ext output-file format rule ignore-path ignore-pattern plugin parser \
        max-warnings", FileEffect::OperandsIf("--fix", OperandExtent::Globs)),
    program("rustfmt", "", "config config-path edition style-edition emit print-config color",
        FileEffect::Rule(editors::rustfmt)),
    program("gofmt gofumpt goimports shfmt", "r", "", FileEffect::OperandsIf("-w --write", OperandExtent::Dirs)),
    call("clang-format", editors::clang_format),
    program("black", "clt", "code line-length target-version config include exclude extend-exclude \
        force-exclude workers", FileEffect::OperandsUnless("--check --diff -c --code", OperandExtent::Dirs)),
    program("isort", "lps", "profile line-length settings-path skip skip-glob",
        FileEffect::OperandsUnless("--check --check-only --diff -c", OperandExtent::Dirs)),
    program("autopep8 yapf", "", "style max-line-length", FileEffect::OperandsIf("-i --in-place", OperandExtent::Dirs)),
    program("ruff", "", "config select ignore line-length target-version exclude extend-select output-format",
        FileEffect::Rule(editors::ruff)),

    // Archives and downloads.
    call("tar gtar bsdtar", transfers::tar),
    program("unzip", "dxP", "", FileEffect::Rule(transfers::unzip)),
    program("zip", "xibntP", "", FileEffect::Rule(transfers::zip)),
    program("gzip gunzip xz unxz bzip2 bunzip2 zstd unzstd lzma lz4", "STob", "suffix threads",
        FileEffect::Rule(transfers::gzip)),
    program("curl", "oXHdFuAebcDTxmwKErQtYyzC", "output output-dir request header data data-raw data-binary \
        data-urlencode form user user-agent referer cookie cookie-jar dump-header upload-file proxy
        max-time connect-timeout write-out config cert key cacert retry retry-delay json url resolve range
        trace trace-ascii stderr form-string interface limit-rate", FileEffect::Rule(transfers::curl)),
    program("wget", "OPoaUtTwQlRAIDeiB", "output-document directory-prefix output-file append-output \
        user-agent header tries timeout wait quota level input-file post-data post-file user password
        execute", FileEffect::Rule(transfers::wget)),

    // Programs that run others.
    call("git", git::git),
    call("find gfind", finders::find),
    call("fd fdfind", finders::fd),
    call("xargs gxargs", finders::xargs),
    call("sudo doas", wrappers::sudo),
    call("env genv", wrappers::env),
    call("time nohup nice ionice setsid stdbuf timeout gtimeout command builtin exec npx bunx uvx \
        caffeinate", wrappers::wrapper),
    call("sh bash zsh dash ksh", wrappers::shell),
    call("eval", wrappers::eval),
    call("python python3", wrappers::python),
    program("parallel", "", "", FileEffect::Anything),

    // Builtins that change the shell's state.
    call("cd chdir", builtins::cd),
    call("pushd", builtins::pushd),
    call("popd", builtins::popd),
    call("export declare local readonly typeset", builtins::declare),
    call("read mapfile readarray getopts let", builtins::forget),
    call("unset", builtins::unset),
    call("set", builtins::set),
    call("shift", builtins::shift),
    call("exit return break continue", builtins::leave),
    call("trap", builtins::trap),

    // Programs with predictable output.
    call("echo", builtins::echo),
    call("printf", builtins::printf),
    call("cat", builtins::cat),
    call("pwd", builtins::pwd),
    call("dirname basename", builtins::part),

    // Programs that only read.
    program("ls dir exa eza lsd head tail grep egrep fgrep zgrep rg ag ack wc cut tr diff cmp colordiff \
        file stat du df dust true false : test [ which type whereis hash date sleep ps pgrep pstree
        top htop lsof jq realpath readlink md5sum sha1sum sha256sum sha512sum shasum cksum b2sum md5
        hexdump od strings seq expr bc dc id whoami groups users who w uname hostname arch nproc uptime
        free man info help less more most bat column nl tac rev fold fmt paste join comm look zcat xzcat
        bzcat base64 base32 numfmt factor msg printenv locale getconf lscpu lsblk mount nm objdump
        readelf ldd size tokei cloc scc loc alias unalias kill pkill killall wait jobs fg bg disown ulimit
        umask history clear reset tput stty tty sync shopt setopt unsetopt enable bind complete compgen
        dirs times caller suspend ssh ping host dig nslookup nc netstat ss ip ifconfig yes cal logger
        pbpaste pbcopy xclip open xdg-open notify-send sw_vers locate mdfind diffstat delta fzf tsort
        zipinfo envsubst getent sysctl dmesg journalctl vmstat iostat", "", "", FileEffect::Reads),
    program("cargo", "", "color config",
        // Every command that resolves dependencies may write `Cargo.lock`.
        FileEffect::ReadsIf("search version help locate-project read-manifest --version -V --list")),
    program("rustup", "", "", FileEffect::ReadsIf("show which --version help doc check")),
    program("npm pnpm yarn", "", "",
        FileEffect::ReadsIf("ls list view info show outdated search ping whoami help why root bin prefix \
        --version -v")),
    program("pip pip3", "", "", FileEffect::ReadsIf("list show freeze check search help --version -V")),
    program("go", "", "", FileEffect::ReadsIf("version env list doc help vet")),
    program("brew apt apt-cache", "", "",
        FileEffect::ReadsIf("list info search show policy deps leaves outdated --version")),
    program("docker podman nerdctl", "H", "host context",
        FileEffect::ReadsIf("ps images logs inspect version info top stats port history events search --version")),
    program("kubectl oc", "n", "namespace context",
        FileEffect::ReadsIf("get describe logs version explain top cluster-info api-resources api-versions auth")),
    program("systemctl", "", "",
        FileEffect::ReadsIf("status show list-units list-unit-files is-active is-enabled cat")),
    program("terraform", "", "", FileEffect::ReadsIf("show validate version output providers graph")),
    program("gh", "R", "repo",
        FileEffect::ReadsIf("issue api search status auth browse --version version help label pr+view pr+list pr+diff \
        pr+checks pr+status pr+create pr+comment pr+edit pr+review pr+ready run+view run+list run+watch run+rerun
        release+list release+view repo+view repo+list workflow+list workflow+view workflow+run")),
    program("node deno bun", "", "", FileEffect::ReadsIf("--version -v -h")),
];

static BY_NAME: LazyLock<HashMap<&str, &KnownProgram>> = LazyLock::new(|| {
    let names = |program: &'static KnownProgram| {
        program.names.split_ascii_whitespace().map(move |name| (name, program))
    };
    PROGRAMS.iter().flat_map(names).collect()
});

/// Directories in which a program is what its name says.
const SYSTEM_DIRS: [&str; 7] = [
    "/bin/",
    "/usr/bin/",
    "/sbin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
    "/usr/local/sbin/",
];

impl ShellInterpreter<'_> {
    /// Follows one program call. Returns its output, if known.
    pub fn call(&mut self, state: &mut ShellState, name: &Field, arguments: &[Field]) -> Option<String> {
        if !self.spend(arguments.len() / 64) {
            return None;
        }
        if let Some(body) = state.functions.get(&name.text).cloned() {
            self.function(state, &name.text, &body, arguments);
            return None;
        }
        self.note_run(state, name, arguments);
        let dir = SYSTEM_DIRS.iter().find_map(|dir| name.text.strip_prefix(dir));
        let program = BY_NAME.get(dir.unwrap_or(&name.text)).filter(|_| name.is_known());
        match program {
            Some(program) => {
                let name = dir.unwrap_or(&name.text);
                self.deeper(|interpreter| {
                    interpreter.program(state, program, &ProgramCall { name, arguments })
                })
            }
            None => {
                let is_question =
                    |field: &Field| matches!(field.text.as_str(), "--version" | "--help" | "-V" | "version");
                let is_asked = name.is_known() && matches!(arguments, [only] if is_question(only));
                if !is_asked {
                    self.set_opaque();
                }
                None
            }
        }
    }

    fn program(
        &mut self,
        state: &mut ShellState,
        program: &KnownProgram,
        call: &ProgramCall<'_>,
    ) -> Option<String> {
        if let FileEffect::Call(rule) = program.does {
            return rule(self, state, call);
        }
        let options = ProgramOptions::parse(call.arguments, program.takes);
        if options.has("--help --version") {
            return None;
        }
        let name = call.name;
        match program.does {
            FileEffect::Operands(reach) => self.write_operands(state, &options, reach, name),
            FileEffect::OperandsIf(flags, reach) => {
                if let Some(flag) = options.given(flags) {
                    // Without operands it finds the files by itself.
                    if options.operands.is_empty() {
                        self.set_opaque();
                    }
                    self.write_operands(state, &options, reach, &format!("{name} {flag}"));
                }
            }
            FileEffect::OperandsUnless(flags, reach) => {
                if !options.has(flags) {
                    self.write_operands(state, &options, reach, name);
                }
            }
            FileEffect::Values(flags) => {
                for value in options.values(flags) {
                    self.write(state, value, Extent::File, &format!("{name} -o"));
                }
            }
            FileEffect::ReadsIf(words) => {
                let first =
                    options.operands.first().or(call.arguments.first()).map(|first| first.text.as_str());
                let both = options
                    .operands
                    .get(1)
                    .zip(first)
                    .map(|(second, first)| format!("{first}+{}", second.text));
                let is_known = |word: &str| Some(word) == first || Some(word) == both.as_deref();
                if !words.split_ascii_whitespace().any(is_known) {
                    self.set_opaque();
                }
            }
            FileEffect::Rule(rule) if state.instead.is_empty() => rule(self, state, &options, name),
            FileEffect::Rule(rule) => {
                self.everywhere(state, |interpreter, own| rule(interpreter, own, &options, name));
            }
            FileEffect::Anything => self.set_opaque(),
            FileEffect::Reads | FileEffect::Call(_) => {}
        }
        None
    }

    fn write_operands(
        &mut self,
        state: &ShellState,
        options: &ProgramOptions,
        reach: OperandExtent,
        by: &str,
    ) {
        let tree_flag = if let OperandExtent::TreesIf(flags) = reach { options.given(flags) } else { None };
        let by = tree_flag.map_or_else(|| by.to_string(), |flag| format!("{by} {flag}"));
        for operand in options.operands.iter().filter(|operand| operand.text != "-") {
            match reach {
                OperandExtent::Globs
                    if operand.pattern.is_none() && operand.text.contains(['*', '?', '{']) =>
                {
                    let mut own = operand.clone();
                    own.pattern = Some(own.text.clone());
                    self.write(state, &own, Extent::File, &by);
                }
                OperandExtent::Dirs | OperandExtent::Globs => self.write_dir_or_file(state, operand, &by),
                OperandExtent::TreesIf(_) if tree_flag.is_some() => {
                    self.write(state, operand, Extent::Tree, &by);
                }
                OperandExtent::Files | OperandExtent::TreesIf(_) => {
                    self.write(state, operand, Extent::File, &by);
                }
            }
        }
    }

    /// Notes a write to the whole tree if it is a directory, otherwise to the file.
    pub fn write_dir_or_file(&mut self, state: &ShellState, field: &Field, by: &str) {
        let extent = if self.is_dir(state, field) { Extent::Tree } else { Extent::File };
        self.write(state, field, extent, by);
    }
}
