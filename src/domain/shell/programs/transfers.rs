//! Archives, compressed files and downloads.

use super::options::{ProgramOptions, ValueFlags};
use super::wrappers::change_dir;
use crate::domain::shell::Extent;
use crate::domain::shell::field::{Field, FieldChar};
use crate::domain::shell::interpreter::{ProgramCall, ShellInterpreter, ShellState};

/// Letters of `tar` flags that take a value.
const TAR_VALUES: &str = "fCbIXTgHKLNVF";

pub fn tar(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    call: &ProgramCall<'_>,
) -> Option<String> {
    let takes = ValueFlags {
        short: TAR_VALUES,
        long: "file directory exclude exclude-from files-from strip-components transform \
               use-compress-program owner group mode",
        attached: "",
    };
    let options = ProgramOptions::parse(&with_dashes(call.arguments), takes);
    let mut own = state.clone();
    change_dir(&mut own, options.value("-C --directory"));
    if options.has("-x --extract --get") {
        if !options.has("-O --to-stdout") {
            interpreter.write(&own, &Field::literal("."), Extent::Tree, "tar -x");
        }
    } else if options.has("-c --create -r --append -u --update -A --delete") {
        for archive in options.values("-f --file").filter(|archive| archive.text != "-") {
            interpreter.write(state, archive, Extent::File, "tar");
        }
        if options.has("--remove-files") {
            options.operands.iter().for_each(|file| interpreter.write(&own, file, Extent::Tree, "tar"));
        }
    }
    None
}

/// Rewrites `tar xfz a b` as `tar -x -f a -z b`.
fn with_dashes(arguments: &[Field]) -> Vec<Field> {
    let Some((first, rest)) = arguments.split_first().filter(|(first, _)| !first.text.starts_with('-'))
    else {
        return arguments.to_vec();
    };
    let mut rest = rest.iter();
    let mut words = Vec::new();
    for letter in first.text.chars() {
        words.push(Field::literal(format!("-{letter}")));
        if TAR_VALUES.contains(letter) {
            words.extend(rest.next().cloned());
        }
    }
    words.extend(rest.cloned());
    words
}

pub fn unzip(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if options.has("-l -t -p -c -v -Z -z") || options.operands.is_empty() {
        return;
    }
    let here = Field::literal(".");
    interpreter.write(state, options.value("-d").unwrap_or(&here), Extent::Tree, name);
}

pub fn zip(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    let Some((archive, files)) = options.operands.split_first() else {
        return;
    };
    if archive.text != "-" {
        let has_ending = archive.text.rsplit('/').next().unwrap_or_default().contains('.');
        let archive = if has_ending { archive.clone() } else { archive.with(".zip") };
        interpreter.write(state, &archive, Extent::File, name);
    }
    if options.has("-m --move") {
        files.iter().for_each(|file| interpreter.write(state, file, Extent::Tree, name));
    }
}

/// Compressors write a file with another extension, and most remove the original.
pub fn gzip(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if options.has("-c --stdout --to-stdout -t --test -l --list") {
        return;
    }
    let ending = match name {
        "xz" | "unxz" => ".xz",
        "bzip2" | "bunzip2" => ".bz2",
        "zstd" | "unzstd" => ".zst",
        "lzma" => ".lzma",
        "lz4" => ".lz4",
        _ => ".gz",
    };
    let unpacks = name.contains("un") || options.has("-d --decompress --uncompress");
    let keeps = options.has("-k --keep") || matches!(name, "zstd" | "unzstd" | "lz4");
    let extent = if options.has("-r --recursive") { Extent::Tree } else { Extent::File };
    if let Some(output) = options.value("-o") {
        interpreter.write(state, output, Extent::File, name);
        return;
    }
    for file in options.operands.iter().filter(|file| file.text != "-") {
        if !keeps {
            interpreter.write(state, file, extent, name);
        }
        let other = match (unpacks, file.text.strip_suffix(ending)) {
            (true, Some(_)) if file.pattern.is_some() => {
                let pattern = file.as_pattern();
                let pattern = pattern.strip_suffix(ending).map(str::to_string);
                let text = file.text.trim_end_matches(ending).to_string();
                Field { text, pattern, ..Field::default() }
            }
            (true, Some(text)) => Field::literal(text),
            (true, None) => continue,
            (false, _) => file.with(ending),
        };
        if extent == Extent::File {
            interpreter.write(state, &other, extent, name);
        }
    }
}

pub fn split(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    if options.has("--filter") {
        interpreter.set_opaque();
    }
    let prefix = match options.operands.get(1) {
        Some(prefix) if name == "split" => prefix.clone(),
        _ => Field::literal(if name == "split" { "x" } else { "xx" }),
    };
    let mut letters: Vec<FieldChar> = prefix.text.chars().map(|c| FieldChar { c, is_quoted: true }).collect();
    letters.push(FieldChar { c: '*', is_quoted: false });
    interpreter.write(state, &Field::new(&letters), Extent::File, name);
}

pub fn curl(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    let in_dir = |file: &Field| match options.value("--output-dir") {
        Some(dir) if !file.text.starts_with('/') => dir.join(file),
        _ => file.clone(),
    };
    for file in options.values("-o --output").filter(|file| file.text != "-") {
        interpreter.write(state, &in_dir(file), Extent::File, "curl -o");
    }
    for file in options.values("-D --dump-header -c --cookie-jar --trace --trace-ascii --stderr") {
        if file.text != "-" {
            interpreter.write(state, file, Extent::File, name);
        }
    }
    if options.has("-J --remote-header-name -K --config") {
        interpreter.set_opaque();
    }
    if options.has("-O --remote-name --remote-name-all") {
        for url in options.operands.iter().chain(options.values("--url")) {
            write_download(interpreter, state, url, &in_dir, "curl -O");
        }
    }
}

pub fn wget(
    interpreter: &mut ShellInterpreter<'_>,
    state: &mut ShellState,
    options: &ProgramOptions,
    name: &str,
) {
    for log in options.values("-o --output-file -a --append-output") {
        interpreter.write(state, log, Extent::File, name);
    }
    if options.has("--spider") {
        return;
    }
    if let Some(file) = options.value("-O --output-document") {
        if file.text != "-" {
            interpreter.write(state, file, Extent::File, "wget -O");
        }
        return;
    }
    let dir = options.value("-P --directory-prefix");
    if options.has("-r --recursive -m --mirror -p --page-requisites -x --force-directories") {
        interpreter.write(state, dir.unwrap_or(&Field::literal(".")), Extent::Tree, name);
        return;
    }
    if options.has("-i --input-file --content-disposition") {
        interpreter.set_opaque();
    }
    let in_dir = |file: &Field| dir.map_or_else(|| file.clone(), |dir| dir.join(file));
    for url in &options.operands {
        write_download(interpreter, state, url, &in_dir, name);
    }
}

/// Notes a write to the file named after the last part of the URL.
fn write_download(
    interpreter: &mut ShellInterpreter<'_>,
    state: &ShellState,
    url: &Field,
    in_dir: &dyn Fn(&Field) -> Field,
    by: &str,
) {
    let path = url.text.split_once("://").map_or(url.text.as_str(), |(_, path)| path);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    match path.rsplit_once('/') {
        Some((_, base)) if !base.is_empty() && url.is_known() => {
            interpreter.write(state, &in_dir(&Field::literal(base)), Extent::File, by);
        }
        _ => interpreter.set_opaque(),
    }
}
