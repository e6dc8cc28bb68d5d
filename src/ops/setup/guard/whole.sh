#!/bin/sh
# >>> ravenry guard, all of this file >>>
# Refuses a commit of what another agent has reserved: first the hook that was here before runs, if there was one.
# `msg guard uninstall` takes it out; `git commit --no-verify` gets past it.
if [ -f "${0%/*}/pre-commit.ravenry/pre-commit" ] && [ -x "${0%/*}/pre-commit.ravenry/pre-commit" ]; then
    "${0%/*}/pre-commit.ravenry/pre-commit" "$@" || exit $?
fi
@LOOK@# <<< ravenry guard <<<
