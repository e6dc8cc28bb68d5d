//! Commands that nobody writes, designed to take long. `benches/ratios/readers.rs` includes this file too.

/// Snippets that are repeated.
#[rustfmt::skip]
const UNITS: [&str; 133] = [
    "(", ")", "((", "$(", "$((", "`", "``", "{", "{ ", "}", "'", "\"", "\\", "$", "${", "${a", "a;", "a ", "a|", "a&&",
    "<<", "<<a\n", "<<a ", "<<<", "<(", ">(", ">", ">a ", "&", "if ", "while ", "for ", "case ", "case a in ", "[[ ",
    "f() ", "function f ", "! ", "time ", "sudo ", "eval ", "env ", "x=", "x=(", "a=$a$a;", "{a,b}", "{1..500} ",
    "{1..9}{1..9}", "{{{", "[", "[a", "*", "~", "\n", "#", "\0", "ä", "$'", "$'\\x", "echo $(", "echo \"$(", "cd a;",
    "for i in {1..500}; do ", "a()(", "rm {a,b} ", "find -exec ", "xargs ", "bash -c '", "git -C a ", "sed -i ",
    "echo `echo \\`", "f() { f; f; }; f; ", "while a; do b; done;", "x=`", "cat <<'E'\n", "if a; then b; fi;",
    "a=1 ", "-", "$@", "case a in (a) ", "awk '{print > ", "${a:-", "((a) ", "$((a) ", "\r\n", "a\\\n", "rm -ttt ",
    "<<a\n$(", "rm a*", "cp a ", "f() { rm a; }; ",
    // Each requires looking far ahead, repeatedly.
    "((a;#((\n));", "$((a #((\n)) ", "a[;", "a[;b]=", "a[x", "local a=(", "{a,", "{,", "{a}", "{{a}}", "a{1..2", "[!", "[]",
    "f(){ f", "f()", "`a`;", "cat <<E\n$a\nE\n", "cat <<E <<F\n$a\nE\nF\n", "echo `echo \\`a\\``;", "x=$x:$y;", "a=b;export a;",
    "rm \"$a\"*;", "if a;then cd b;fi;", "a||cd b||", "while read a;do b=$a;done;", "pushd a;", "set -- a $@;", "x=a$x;",
    "echo a|sh;", "echo a|xargs rm;", "find . -name a -delete;", "cd src;", "cp a b c;", "tar xf a -C b;", "patch -p1 <a;",
    "trap 'rm a' 0;", "eval 'rm a';", "sed -e 's/a/b/w c' d;", "awk '{print>\"a\"}' b;", "cat<a|", "$(a)$(b)", "${a}${b}",
];

/// All nasty commands, about `size` bytes each.
pub fn commands(size: usize) -> Vec<String> {
    let mut commands = Vec::new();
    for unit in UNITS {
        let text = unit.repeat(size / unit.len() + 1);
        if unit.contains('(') {
            let half = &text[..unit.len() * (size / unit.len() / 2)];
            commands.push(format!("{half}{}", ")".repeat(1000)));
        }
        commands.push(text);
    }
    commands.extend(composed(size));
    commands
}

/// Combinations of parts that are harmless by themselves.
fn composed(size: usize) -> Vec<String> {
    let half = size / 2;
    let fill = |unit: &str, size: usize| unit.repeat(size / unit.len());
    let lines = |size: usize| fill("some text (of a file)\n", size);
    let each = |size: usize, unit: &dyn Fn(usize) -> String| {
        let mut text = String::new();
        let mut number = 0;
        while text.len() < size {
            text.push_str(&unit(number));
            number += 1;
        }
        text
    };
    let many = |command: &str| format!("{{ {}\n}} <<E\n{}E\n", command.repeat(1500), lines(half));
    vec![
        // Nested braces and brackets.
        format!("rm {}{}", fill("{", half), fill("}", half)),
        format!("rm {}{}", fill("{a,", half), fill("}", half)),
        format!("rm {}", fill(&format!("{}{} ", "{".repeat(2000), "}".repeat(2000)), size)),
        format!("rm {}", fill(&format!("{}{} ", "{a,".repeat(15), "}".repeat(15)), size)),
        format!("rm {}", fill(&format!("{} ", "[".repeat(4000)), size)),
        format!("rm {}", fill(&format!("{}*] ", "[a".repeat(2000)), size)),
        format!("rm {}", fill(&format!("{} ", "*a".repeat(2000)), size)),
        format!("rm {}", fill("a* ", size)),
        // More and more state to remember.
        each(size, &|n| format!("f{n}() {{ rm a{n}; }}; ")),
        each(size, &|n| format!("f{n}() {{ rm a{n}; }}; f{n}; ")),
        each(size, &|n| format!("v{n}=a{n}; ")),
        each(size, &|n| format!("v{n}=a{n} && rm $v{n} || cd a{n}; ")),
        each(size, &|n| format!("if a; then v{n}=a; fi; ")),
        each(size, &|n| format!("while a; do v{n}=a$v{n}; done; ")),
        each(size, &|n| format!("rm a{n}; ")),
        each(size, &|n| format!("pushd a{n}; ")),
        format!(
            "{}{}",
            each(size / 2, &|n| format!("v{n}={}; ", "x".repeat(60_000))),
            fill("w=a; rm $w$v1; ", half)
        ),
        format!("a={}; {}", "x".repeat(65_000), fill("b=$a$a; c=$b; echo $c $c; ", half)),
        format!("set -- {}; {}", fill("a ", half), fill("rm \"$@\"; ", half)),
        // The same long text, repeatedly.
        format!("for i in {{1..500}}; do cat > f$i <<'E'\n{}E\ndone", lines(size)),
        format!("for i in {{1..500}}; do cat > f$i <<E\n$i {}E\ndone", lines(size)),
        format!("for i in {{1..500}}; do echo '{}' > f$i; done", lines(size)),
        format!("for i in {{1..500}}; do echo \"$i {}\" | tee f$i; done", lines(size)),
        format!("f() {{ sh -c '{}'; }}; {}", fill("a;", half), fill("f;", half)),
        many("cat;"),
        many("sh;"),
        many("patch -p1;"),
        many("apply_patch;"),
        many("xargs rm;"),
        many("xargs -I% cp % b;"),
        many("cat | cat;"),
        format!("{}{}{}", "echo \"$(".repeat(40), lines(size), ")\"".repeat(40)),
        format!("{}'{}'{}", "echo \"$(".repeat(40), lines(size), ")\"".repeat(40)),
        format!("echo '{}' {}", lines(half), fill("| cat ", half)),
        format!("echo '{}' | sh", fill("rm a; ", size)),
        format!("bash -c '{}'", fill("rm a; ", size)),
        // Long words for programs with a language of their own.
        format!("curl -{}", fill("s", size)),
        format!("rm -{} a", fill("r", size)),
        format!("sed '{}' a", fill("s/a/b/;", size)),
        format!("sed -n '{}' a", fill("w a\n", size)),
        format!("awk '{}' a", fill("{print>\"a\"}", size)),
        format!("awk '{}{}' a", fill("{print>\"a\" }", half), fill(" ", half)),
        format!("perl -pi -e '{}' a", fill("s/a/b/;", size)),
        format!("find . {} -delete", fill("-name 'a*' ", size)),
        format!("find . {}", fill("-exec rm {} ; ", size)),
        format!("find {} {}", fill("a ", 2000), fill("-exec rm {} ; ", half)),
        format!("find {} {}", fill("a ", 3000), fill("-delete ", half)),
        format!("cd {}; git apply <<'E'\n{}E\n", fill("a", 4000), each(half, &|n| format!("--- a/{n}\n"))),
        format!("patch <<'E'\n{}E\n", each(half, &|n| format!("--- a/{n}\n"))),
        format!("printf '%s\\n' {} | xargs -I{{}} cp {{}} {{}}.bak", fill("a ", size)),
        format!("git apply <<'E'\n{}E\n", fill("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", size)),
        format!("git apply <<'E'\n{}E\n", each(size, &|n| format!("--- a/{n}\n+++ b/{n}\n"))),
        format!("apply_patch <<'E'\n{}E\n", each(size, &|n| format!("*** Add File: {n}\n"))),
        format!("cat <<'E' > a\n{}E\n", lines(size)),
        format!("cat <<E > a\n{}E\n", lines(size)),
        format!("cat <<E > a\n{}E\n", fill("$a\n", size)),
        format!("git commit -m \"$(cat <<'E'\n{}E\n)\"", lines(size)),
    ]
}
