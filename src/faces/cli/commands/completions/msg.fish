# Completions of msg for fish. They ask msg itself, so names and ids are those of this moment.
function __msg_complete
    set -l raw (commandline -ct)
    set -l typed "$raw"
    if test -n "$raw"
        set -l plain (string unescape -- "$raw" 2>/dev/null)
        and set typed "$plain"
    end
    set -l answer (command msg completions --answer fish (commandline -opc) "$typed" 2>/dev/null </dev/null)
    set -l head $answer[1]
    set -e answer[1]
    # Fish quotes what it inserts.
    if test (count $answer) -gt 0
        printf '%s\n' $answer
    else if string match -q 'files*' -- "$head"
        __fish_complete_path "$raw"
    else if string match -q 'dirs*' -- "$head"
        __fish_complete_directories "$raw" ''
    end
end

complete -c msg -f -k -a '(__msg_complete)'
