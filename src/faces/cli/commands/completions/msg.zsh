#compdef msg
# Completions of msg for zsh. They ask msg itself, so names and ids are those of this moment.
_msg() {
    local line head="" value about
    local -a values shown end
    while IFS= read -r line; do
        if [[ -z $head ]]; then
            head=$line
            continue
        fi
        value=${line%%$'\t'*}
        about=${line#*$'\t'}
        values+=("$value")
        if [[ $value == $line ]]; then
            shown+=("$value")
        else
            shown+=("${(r:20:)value}  -- $about")
        fi
    done < <(command msg completions --answer zsh "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null </dev/null)
    [[ $head == *open ]] && end=(-S '')
    # `compadd` quotes what it inserts.
    (( $#values )) && compadd -l -V msg $end -d shown -a values && return 0
    case $head in
    files*) _files ;;
    dirs*) _files -/ ;;
    esac
}

if [[ $funcstack[1] == _msg ]]; then
    _msg "$@"
elif (( $+functions[compdef] )); then
    compdef _msg msg
fi
