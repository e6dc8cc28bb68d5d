# Completions of msg for bash. They ask msg itself, so names and ids are those of this moment.
_msg() {
    local line head=""
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ -z $head ]]; then
            head=$line
        else
            COMPREPLY+=("$line")
        fi
    done < <(command msg completions --answer bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
    # Bash 3.2 has no compopt: there, files are completed where nothing else is known.
    case $head in
    none*) compopt +o default +o bashdefault 2>/dev/null ;;
    dirs*) compopt -o dirnames 2>/dev/null ;;
    esac
    case $head in
    *open) compopt -o nospace 2>/dev/null ;;
    esac
    return 0
}

complete -F _msg -o nosort -o bashdefault -o default msg 2>/dev/null || complete -F _msg -o bashdefault -o default msg
