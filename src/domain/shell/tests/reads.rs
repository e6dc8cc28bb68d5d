//! Commands that only read: none of them may yield a write or be opaque.

use super::read;

const READS: &str = r#"
ls -la src
cat a b | head -5
tail -f log
grep -rn 'a > b' src
rg -n "fn main" -g '*.rs'
rg 'x' | sort -u | uniq -c | sort -rn | head
fd '\.rs$' src
find . -name '*.rs' -type f -print
find . -newer a -exec grep -l x {} +
wc -l < a
cut -d: -f1 a | tr a-z A-Z
diff -u a b
cmp a b
file a && stat b
du -sh . ; df -h
pwd
echo "a > b"
echo 'rm -rf /'
echo a \> b
printf '%s\n' "$X"
true || false
test -f a && [ -d b ]
[[ -f a && $x > b ]] && echo yes
which cargo; type ls
env
env | grep PATH
date +%s; sleep 1
ps aux | grep msg
jq '.a > 1' f.json
yq .a f.yaml
tree -L 2
basename "$X" .rs
dirname $X; realpath .; readlink -f a
md5sum a; sha256sum b
xxd a | head; hexdump -C a; od -c a; strings a
seq 1 10; expr 1 + 1; echo '1+1' | bc
id; whoami; uname -a; hostname
man ls | less
column -t a; nl a; tac a; rev a; fold a; paste a b; join a b; comm a b
awk '{print $1}' a
awk '$3 > 5' a
awk -F: '{ if ($1 > 2) print $2 }' a
sed -n '1,10p' a
sed 's/write/w/g' a
sed -e 's/a/b/' -e '/w/d' a
sed 's|/w|/x|' a
msg send Bob 'look > here'
export A=1; set -e; unset A; alias l=ls; umask 022
read -r line < a
kill -9 123; wait; jobs
ulimit -n
cargo --version; cargo search x; cargo locate-project
npm ls; npm view react
docker ps -a; docker logs x
kubectl get pods; kubectl -n x describe pod y
git status; git diff HEAD~1 -- a; git log --oneline -5; git show HEAD:a
git add -A && git log --grep='x > y'
git fetch origin; git branch -a; git tag v1; git rev-parse HEAD
git ls-files | xargs wc -l
git blame a; git grep x; git config user.name; git remote -v
git config -f .gitmodules --get-regexp path x; git config --file a.ini user.name; git config get --file a.ini k
sdiff a b; mktemp -u src/x.XXXX
find . -name a -execdir grep x {} +
git -C src status --short
git --no-pager diff --stat
git log --format='%h > %s' | cat
cp
sort a
sort -k2 -t, a
tar tzf a.tgz
unzip -l a.zip
gzip -l a.gz
zcat a.gz
curl -s https://x/y | jq .
curl -X POST -H 'A: b' -d '{"a": 1}' https://x
prettier --check src
eslint src
rustfmt --check src/main.rs
black --check .
ruff check .
gofmt -l .
clang-format -style=file a.c
find . -type d | wc -l
cat <<'EOF'
rm a > b
EOF
cat <<EOF | grep x
a > b
EOF
command -v cargo
bash -c 'ls; echo "$1"' x y
bash -n script.sh
timeout 5 ls
sudo ls /root
xargs -n1 echo < a
for f in *.rs; do echo "$f"; wc -l "$f"; done
while read -r l; do echo "$l"; done < a
if [ -f a ]; then cat a; else echo none; fi
case $x in a) echo a;; esac
perl -ne 'print if /x/' a
python3 --version
node --version
cd src && ls
echo $((1 > 2))
echo ${A:-b} ${#A} ${A/x/y}
diff <(ls a) <(ls b)
ls 2>&1 | tee /dev/null
: > /dev/null
"#;

/// One command per line; a here-document extends to its end marker.
fn commands() -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut in_here = false;
    for line in READS.lines().filter(|line| !line.is_empty()) {
        match commands.last_mut() {
            Some(last) if in_here => {
                last.push('\n');
                last.push_str(line);
            }
            _ => commands.push(line.to_string()),
        }
        in_here = (in_here || line.contains("<<")) && line != "EOF";
    }
    commands
}

#[test]
fn reads_write_nothing_and_are_known() {
    let commands = commands();
    assert!(commands.len() >= 60, "{}", commands.len());
    for command in &commands {
        let reading = read(command);
        assert_eq!(reading.writes, [], "{command}");
        assert!(!reading.is_opaque, "{command}");
    }
}
