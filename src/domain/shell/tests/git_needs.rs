//! Which parts of a repository git commands need.

use super::super::{CommandPrediction, GitPart};
use super::read;

/// `index HEAD current branch:NAME`, each with its directory if that is not `/w`.
fn show(reading: &CommandPrediction) -> String {
    let part = |part: &GitPart| match part {
        GitPart::Index => "index".to_string(),
        GitPart::Head => "HEAD".to_string(),
        GitPart::CurrentBranch => "current".to_string(),
        GitPart::Branch(name) => format!("branch:{name}"),
    };
    let place = |dir: &str| if dir == "/w" { String::new() } else { format!("@{dir}") };
    let needs: Vec<String> =
        reading.git_needs.iter().map(|need| part(&need.part) + &place(&need.dir)).collect();
    needs.join(" ")
}

fn check(table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .map(|(command, wanted)| (command, wanted, show(&read(command))))
        .filter(|(_, wanted, got)| got != *wanted)
        .map(|(command, wanted, got)| format!("{command}\n  wanted: {wanted}\n  got:    {got}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn commands_that_read_need_nothing() {
    check(&[
        ("git status", ""),
        ("git diff --cached", ""),
        ("git log --oneline -5 main", ""),
        ("git show HEAD:a.rs", ""),
        ("git branch", ""),
        ("git branch -a -v", ""),
        ("git branch --list 'feature/*'", ""),
        ("git branch --contains abc", ""),
        ("git branch --show-current", ""),
        ("git branch -u origin/main", ""),
        ("git branch --set-upstream-to origin/main topic", ""),
        ("git stash list", ""),
        ("git stash show -p", ""),
        ("git stash drop", ""),
        ("git add -n .", ""),
        ("git add --dry-run .", ""),
        ("git rm -n a.rs", ""),
        ("git mv -n a b", ""),
        ("git commit --dry-run", ""),
        ("git pull --dry-run", ""),
        ("git commit --help", ""),
        ("git apply fix.patch", ""),
        ("git apply --check --index fix.patch", ""),
        ("git restore a.rs", ""),
        ("git restore --source HEAD~1 a.rs", ""),
        ("git checkout -- a.rs", ""),
        ("git checkout README.md", ""),
        ("git checkout", ""),
        ("git bisect log", ""),
        ("git am --show-current-patch", ""),
        ("git rebase --show-current-patch", ""),
        ("git symbolic-ref HEAD", ""),
        ("git fetch", ""),
        ("git fetch origin main", ""),
        ("git fetch origin +refs/heads/*:refs/remotes/origin/*", ""),
        ("git worktree list", ""),
        ("git worktree add ../other main", ""),
        ("git push origin main", ""),
        ("git push origin HEAD:main", ""),
        ("git tag v1", ""),
        ("git clean -fd", ""),
        ("git config user.name me", ""),
        ("git update-ref refs/tags/v1 abc", ""),
        ("git unheard-of", ""),
        ("echo git commit", ""),
        ("git", ""),
    ]);
}

#[test]
fn commands_that_stage() {
    check(&[
        ("git add .", "index"),
        ("git add -A && git status", "index"),
        ("git stage a.rs", "index"),
        ("git rm a.rs", "index"),
        ("git rm --cached a.rs", "index"),
        ("git mv a b", "index"),
        ("git stash", "index"),
        ("git stash -u", "index"),
        ("git stash push -m wip a.rs", "index"),
        ("git stash -- a.rs", "index"),
        ("git stash pop", "index"),
        ("git stash apply stash@{1}", "index"),
        ("git reset", "index"),
        ("git reset a.rs", "index HEAD current"),
        ("git reset README.md", "index"),
        ("git reset -- a.rs", "index"),
        ("git reset HEAD a.rs", "index"),
        ("git reset HEAD", "index"),
        ("git reset -p", "index"),
        ("git restore --staged a.rs", "index"),
        ("git restore -SW a.rs", "index"),
        ("git apply --index fix.patch", "index"),
        ("git apply --cached fix.patch", "index"),
        ("git apply -3 fix.patch", "index"),
        ("git checkout HEAD~1 -- a.rs", "index"),
        ("git checkout main a.rs", "index"),
        ("git checkout -p", "index"),
        ("git cherry-pick -n abc", "index"),
        ("git revert --no-commit abc", "index"),
        ("git merge --squash topic", "index"),
        ("git update-index --add a.rs", "index"),
        ("git checkout -f", "index"),
        ("git read-tree HEAD", "index"),
        ("ls | xargs git add", "index"),
        ("find . -name '*.rs' -exec git add {} +", "index"),
        ("sudo git add .", "index"),
    ]);
}

#[test]
fn commands_that_move_head_and_branches() {
    check(&[
        ("git commit -m 'git push'", "index HEAD current"),
        ("git commit --amend --no-edit", "index HEAD current"),
        ("git commit -m x && git push", "index HEAD current"),
        ("git merge main", "index HEAD current"),
        ("git merge --abort", "index HEAD"),
        ("git rebase --abort", "index HEAD"),
        ("git rebase main refs/heads/topic", "index HEAD branch:topic"),
        ("git pull --rebase", "index HEAD current"),
        ("git cherry-pick abc", "index HEAD current"),
        ("git revert abc", "index HEAD current"),
        ("git am fix.patch", "index HEAD current"),
        ("git rebase main", "index HEAD current"),
        ("git rebase --onto new old", "index HEAD current"),
        ("git rebase main topic", "index HEAD branch:topic"),
        ("git rebase --onto new old topic", "index HEAD branch:topic"),
        ("git rebase --root topic", "index HEAD branch:topic"),
        ("git rebase --continue", "index HEAD current"),
        ("git bisect start", "index HEAD"),
        ("git bisect good", "index HEAD"),
        ("git reset --hard", "index HEAD"),
        ("git reset --hard HEAD", "index HEAD"),
        ("git reset --hard HEAD~1", "index HEAD current"),
        ("git reset --soft HEAD~1", "HEAD current"),
        ("git reset main", "index HEAD current"),
        ("git checkout main", "index HEAD"),
        ("git checkout -", "index HEAD"),
        ("git checkout \"$BRANCH\"", "index HEAD"),
        ("git checkout -b new", "HEAD branch:new"),
        ("git checkout -B new HEAD", "HEAD branch:new"),
        ("git checkout -b new origin/main", "index HEAD branch:new"),
        ("git checkout -b \"$NEW\"", "HEAD"),
        ("git checkout --detach", "HEAD"),
        ("git switch main", "index HEAD"),
        ("git switch -c feature/x", "HEAD branch:feature/x"),
        ("git switch -C old main", "index HEAD branch:old"),
        ("git switch --detach", "HEAD"),
        ("git stash branch topic", "index HEAD branch:topic"),
        ("git symbolic-ref HEAD refs/heads/x", "HEAD"),
        ("git update-ref HEAD abc", "current"),
        ("git update-ref --no-deref HEAD abc", "HEAD"),
        ("git update-ref -d refs/heads/a/b", "branch:a/b"),
        ("git update-ref -m why refs/heads/x abc", "branch:x"),
        ("git branch new", "branch:new"),
        ("git branch new main", "branch:new"),
        ("git branch -f main HEAD~3", "branch:main"),
        ("git branch -d a b", "branch:a branch:b"),
        ("git branch -D \"$X\" b", "branch:b"),
        ("git branch -m new", "HEAD current branch:new"),
        ("git branch -M old new", "branch:old branch:new"),
        ("git branch -c old new", "branch:new"),
        ("git fetch origin main:main", "branch:main"),
        ("git fetch origin +x:refs/heads/y z", "branch:y"),
        ("git worktree add -b new ../other", "branch:new"),
    ]);
}

#[test]
fn a_checkout_before_decides_which_branch_is_current() {
    check(&[
        ("git switch -c new && git commit -m x", "HEAD branch:new index"),
        ("git checkout main && git merge topic", "index HEAD branch:main"),
        ("git switch --detach && git commit -m x", "HEAD index"),
        ("git checkout - && git commit -m x", "index HEAD"),
        ("git checkout -- a.rs && git commit -m x", "index HEAD current"),
        ("(cd src && git switch main); git commit -m x", "index@/w/src HEAD@/w/src index HEAD branch:main"),
    ]);
}

#[test]
fn where_the_repository_is() {
    check(&[
        ("cd src && git add .", "index@/w/src"),
        ("git -C src add .", "index@/w/src"),
        ("git -C src -C deep add .", "index@/w/src/deep"),
        ("git -c a.b=c --no-pager add .", "index"),
        ("(cd docs; git add .); git add .", "index@/w/docs index"),
        ("git add a; git add b", "index"),
        ("bash -c 'git add .'", "index"),
        ("if true; then git add .; fi", "index"),
        ("f() { git add .; }", ""),
        ("f() { git add .; }; f", "index"),
        ("git --git-dir=/x/.git add .", ""),
        ("git --git-dir /x/.git --work-tree /x add .", ""),
        ("GIT_DIR=/x/.git git add .", ""),
        ("GIT_INDEX_FILE=/tmp/i git add .", ""),
        ("export GIT_INDEX_FILE=/tmp/i; git commit -m x", ""),
        ("cd \"$X\" && git add .", ""),
        ("echo $(git add .)", "index"),
    ]);
}
