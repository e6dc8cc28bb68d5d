//! What the shell itself does: directories, variables, branches, loops, quotes.

use super::check;

#[test]
fn directories() {
    check(&[
        ("cd src && > a", "src/a"),
        ("cd src; cd deep; > a", "src/deep/a"),
        ("cd /tmp && > a", "/tmp/a"),
        ("cd && > a", "/home/me/a"),
        ("cd ~ && > a", "/home/me/a"),
        ("(cd src && > a); > b", "src/a b"),
        ("{ cd src; }; > a", "src/a"),
        ("cd src | cat; > a", "a"),
        ("cd src & > a", "a"),
        ("pushd src && > a; popd; > b", "src/a b"),
        ("(pushd src); popd; > a", "?"),
        ("cd \"$X\" && > a", "?"),
        ("cd \"$X\" && > /tmp/a", "/tmp/a"),
        ("cd -; > a", "?"),
        ("cd src || exit 1; > a", "src/a"),
        ("cd src || cd docs; > a", "?"),
        ("cd src || { echo no; exit 1; }; > a", "src/a"),
        ("if x; then cd src; fi; > a", "?"),
        ("if true; then cd src; > b; fi", "src/b"),
        ("for d in src docs; do (cd $d && > a); done", "src/a docs/a"),
        ("for d in src docs; do cd $d; > a; cd ..; done", "src/a src/../docs/a"),
        ("while true; do cd src; > a; done", "src/a ?"),
        ("env -C src touch a", "src/a"),
        ("> ~/a", "/home/me/a"),
        ("> $HOME/a; > \"$HOME\"/b; > ${HOME}/c", "/home/me/a /home/me/b /home/me/c"),
        ("cd src; > $PWD/a", "src/a"),
        ("> ~other/a", "?"),
        ("> '~/a'", "~/a"),
        ("> \"$(pwd)/a\"", "a"),
        ("cd $(git rev-parse --show-toplevel) && > a", "a"),
        ("> $(dirname src/main.rs)/a", "src/a"),
    ]);
}

#[test]
fn variables() {
    check(&[
        ("F=src/x.rs; echo hi > \"$F\"", "src/x.rs"),
        ("F=src/x.rs; echo hi > ${F}.bak", "src/x.rs.bak"),
        ("F=x.rs; > ${F%.rs}.md", "?"),
        ("F='a  b'; rm $F", "a b"),
        ("F='a b'; rm \"$F\"", "a b"),
        ("F='*.rs'; rm $F", "glob:*.rs"),
        ("F='*.rs'; rm \"$F\"", "*.rs"),
        ("export F=a; > $F", "a"),
        ("local F=a; > $F", "a"),
        ("> $OUT/a", "out/a"),
        ("> $NOBODY/a", "?"),
        ("> ${D:-docs}/a", "docs/a"),
        ("> ${OUT:-docs}/a", "out/a"),
        ("read F; > $F", "?"),
        ("F=a; read F; > $F", "?"),
        ("F=$(date); > $F", "?"),
        ("F=$(basename src/a.rs); > $F", "a.rs"),
        ("F=a; if x; then F=b; fi; > $F", "?"),
        ("i=0; while true; do > f$i; i=$((i+1)); done", "f0 ?"),
        ("F=a true; > $F", "?"),
        ("F=a bash -c '> $F'", "a"),
        ("A=(a b); rm ${A[@]}", "?"),
        ("local -a A=(a $(rm b)\n c); rm d", "b d"),
        ("A[1]=x B+=y; rm c", "c"),
        ("rm \"$1\"", "?"),
        ("set -- a b; rm \"$@\"", "a b"),
        ("set -euo pipefail; > a", "a"),
        ("rm \"$@\"", "?"),
        ("echo $X ${Y:-$(rm a)}", "a"),
        ("E=; rm $E a", "a"),
    ]);
}

#[test]
fn words() {
    check(&[
        ("rm {a,b}.txt", "a.txt b.txt"),
        ("rm src/{a,b{c,d}}.rs", "src/a.rs src/bc.rs src/bd.rs"),
        ("rm f{1..3}", "f1 f2 f3"),
        ("rm f{01..03..2}", "f01 f03"),
        ("rm {c..a}", "c b a"),
        ("rm '{a,b}' {a} {", "{a,b} {a} {"),
        ("rm {a,b}*", "glob:a* glob:b*"),
        ("rm {x}*", "glob:[{]x[}]*"),
        ("rm {1..100000}", "?"),
        ("rm a''b \"c\"'d'", "ab cd"),
        ("rm \"a\\\"b\" 'a\\b'", "a\"b a\\b"),
        ("rm \\\n a", "a"),
        ("rm $'a\\x41\\u00e4\\101'", "aAäA"),
        ("rm $\"a b\"", "a b"),
        ("rm a # b > c", "a"),
        ("rm a#b", "a#b"),
        ("rm ''", ""),
    ]);
}

#[test]
fn substitutions() {
    check(&[
        ("echo $(rm a)", "a"),
        ("echo \"$(rm a)\"", "a"),
        ("echo `rm a`", "a"),
        ("echo \"`rm \\`echo a\\``\"", "a"),
        ("echo $(echo $(rm a))", "a"),
        ("echo '$(rm a)'", ""),
        ("diff <(rm a; ls) <(ls)", "a"),
        ("ls > >(tee a)", "a"),
        ("ls | tee >(cat > a)", "a"),
        ("echo $((1 + $(rm a)))", "a"),
        ("echo $(( (1+2) * 3 ))", ""),
        ("echo $((rm a); ls)", "a"),
        ("x=$(rm a)", "a"),
        ("x=($(rm a) b)", "a"),
        ("git commit -m \"$(cat <<'EOF'\nsay > what\n\nit's\nEOF\n)\" && rm a", "a"),
        ("[[ $(rm a) == b && x =~ ^(a|b)$ ]] && > c", "a c"),
        ("((i++)) && > a", "a"),
    ]);
}

#[test]
fn compositions() {
    check(&[
        ("rm a && rm b || rm c; rm d\nrm e & rm f", "a b c d e f"),
        ("! rm a", "a"),
        ("rm a | rm b |& rm c", "a b c"),
        ("if rm a; then rm b; elif rm c; then rm d; else rm e; fi", "a b c d e"),
        ("while rm a; do rm b; done; until rm c; do rm d; done", "a b c d"),
        ("for f in a b c; do rm $f; done", "a b c"),
        ("for f in a b\ndo\n  rm \"$f.txt\"\ndone", "a.txt b.txt"),
        ("for f in src/*.rs; do sed -i s/a/b/ \"$f\"; done", "glob:src/*.rs"),
        ("for f in *.a; do mv \"$f\" \"$f.b\"; done", "glob:*.a… glob:*.a.b…"),
        ("for f in $(ls); do rm $f; done", "?"),
        ("for ((i=0;i<3;i++)); do rm a; done", "a"),
        ("for i in {1..3}; do > f$i; done", "f1 f2 f3"),
        ("case $x in a|b) rm a;; (c) rm c;; *) rm d; esac", "a c d"),
        ("case x in\n  a)\n    rm a\n    ;;\nesac\nrm b", "a b"),
        ("f() { rm \"$1\"; }; f a; f b", "a b"),
        ("function f { rm a; }; f", "a"),
        ("f() { rm a; }", "a"),
        ("f() { f; }; f", "?"),
        ("f() { cd src; }; f; > a", "src/a"),
        ("select x in a b; do rm $x; done", "a b"),
        ("trap 'rm -f tmp' EXIT; ls", "tmp"),
        ("time rm a", "a"),
        ("echo if then; rm a", "a"),
    ]);
}

#[test]
fn wrappers() {
    check(&[
        ("sudo rm a", "a"),
        ("sudo -u me -E rm a", "a"),
        ("doas rm a", "a"),
        ("sudo -u; sudo -e -u; git -C; env -u; xargs -I; bash -o; npx -p; timeout; timeout -k; rm a", "a ?"),
        ("env -u B A=1 rm a", "a"),
        ("env -i A=1 rm a", "a"),
        ("A=1 B=2 rm a", "a"),
        ("nohup rm a &", "a"),
        ("nice -n 5 rm a", "a"),
        ("ionice -c 3 rm a", "a"),
        ("timeout -k 5 10s rm a", "a"),
        ("stdbuf -oL rm a", "a"),
        ("setsid rm a", "a"),
        ("exec rm a", "a"),
        ("builtin cd src; > a", "src/a"),
        ("bash -c 'rm a; cd src && > b'", "a src/b"),
        ("bash -lc \"rm a\"", "a"),
        ("sh -euc 'rm \"$1\"' x a", "a"),
        ("bash -c \"$X\"", "?"),
        ("bash -c 'bash -c \"rm a\"'", "a"),
        ("bash <<'EOF'\nrm a\nEOF", "a"),
        ("bash <<EOF\nrm a\nEOF", "a"),
        ("bash <<EOF\nrm $X\nEOF", "?"),
        ("echo 'rm a' | sh", "a"),
        ("bash -s a <<'EOF'\nrm $1\nEOF", "a"),
        ("python3 <<'EOF'\nopen('a','w')\nEOF", "?"),
        ("eval 'rm a'", "a"),
        ("eval \"$X\"", "?"),
        ("X='rm a'; eval \"$X\"; $X", "a"),
        ("xargs rm", "?"),
        ("ls | xargs rm -f a", "a ?"),
        ("ls | xargs grep x", ""),
        ("ls | xargs -n1 wc -l", ""),
        ("echo a b | xargs rm", "a b"),
        ("ls | xargs -I{} cp {} src/", "?"),
        ("echo a | xargs -I% mv % %.bak", "a… a.bak…"),
        ("cat list.txt | xargs rm", "one.txt two.txt"),
        ("find . -name '*.o' -delete", "glob:./**/*.o"),
        ("find src docs -delete", "src… docs…"),
        ("find . -type f -name '*.rs' -exec sed -i s/a/b/ {} +", "glob:./**/*.rs"),
        ("find src -exec rm {} \\;", "src…"),
        ("find . -maxdepth 1 -name '*.o' -exec rm {} \\;", "glob:./*.o"),
        ("find . \\( -name a -o -name b \\) -delete", ".…"),
        ("find . -name '*.rs' -exec grep x {} \\; -fprint out", "out"),
        (
            "find . -name '*.c' -exec sh -c 'mv \"$1\" \"$1.bak\"' _ {} \\;",
            "glob:./**/*.c… glob:./**/*.c.bak…",
        ),
        ("fd -e rs -x rm", "?"),
        ("parallel rm ::: a", "?"),
        ("ssh host 'rm a'", ""),
        ("ssh host ls > a", "a"),
    ]);
}

#[test]
fn what_cannot_be_known() {
    check(&[
        ("make", "?"),
        ("python x.py", "?"),
        ("./script.sh", "?"),
        ("bash script.sh", "?"),
        ("cargo build", "?"),
        ("cargo test > log", "log ?"),
        ("npm install", "?"),
        ("$CC a.c", "?"),
        ("source env.sh; > a", "a ?"),
        ("rm \"$X\" a", "a ?"),
        ("rm a; echo 'unclosed", "a ?"),
        ("rm a\nif then", "a ?"),
        ("rm a; )", "a ?"),
        ("echo $(rm a", "?"),
        ("", ""),
        ("# nothing", ""),
    ]);
}

/// As agents write them every day.
#[test]
fn everyday_commands() {
    check(&[
        ("cd /w/src && cat > foo.rs <<'EOF'\nfn main() {}\nEOF\ncargo fmt", "src/foo.rs ?"),
        (
            "mkdir -p src/x && touch src/x/mod.rs && echo 'pub mod x;' >> src/lib.rs",
            "src/x src/x/mod.rs src/lib.rs",
        ),
        ("mv src/{old,new}.rs", "src/old.rs… src/new.rs…"),
        ("cp .env{.example,}", ".env"),
        ("[ -f a ] || touch a", "a"),
        ("awk 'NR>1 {print $2}' f > out && mv out f", "out out… f…"),
        ("echo x | sudo tee /etc/x > /dev/null", "/etc/x"),
        ("sudo sh -c 'echo x > /etc/y'", "/etc/y"),
        ("grep -rl foo src | xargs sed -i s/foo/bar/g", "?"),
        ("git diff --name-only | while read -r f; do sed -i s/a/b/ \"$f\"; done", "?"),
        ("cargo build 2>&1 | tee build.log | tail -5", "build.log ?"),
        ("npm run build && cp -r dist/* ../public/", "glob:../public/*… ?"),
        ("git show HEAD:src/a.rs > src/a.rs", "src/a.rs"),
        ("exec > >(tee log) 2>&1", "log"),
        ("X=src; Y=$X/a; rm \"$Y\".bak", "src/a.bak"),
        ("rm -rf \"${DIR:?}/x\"", "?"),
        ("function go() { local d=$1; mkdir -p \"$d\"; cd \"$d\" && touch a; }\ngo new", "new new/a"),
        ("! grep -q x f && echo x >> f", "f"),
        ("cat <<EOF > f\n`rm z`\nEOF", "z f"),
        ("echo foo >file1 >>file2 2>file3", "file1 file2 file3"),
    ]);
}
