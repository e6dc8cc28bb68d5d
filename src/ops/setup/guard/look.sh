(
    ravenry_asked=
    for ravenry_msg in @PROGRAMS@; do
        ravenry_file=$(command -v "$ravenry_msg" 2>/dev/null) || continue
        [ "$ravenry_file" -ef "$ravenry_asked" ] 2>/dev/null && continue
        ravenry_asked=$ravenry_file
        ravenry_said=$("$ravenry_msg" guard check --color never@MESH@ 2>&1 </dev/null) && ravenry_code=0 || ravenry_code=$?
        [ -z "$ravenry_said" ] || printf '%s\n' "$ravenry_said" >&2
        case "$ravenry_code $ravenry_said" in
            "0 "*) exit 0 ;;
            "1 "*"refused: "*) exit 1 ;;
        esac
    done
    echo 'msg guard: nobody looked whether others have reserved what this commit changes (is msg still there?)' >&2
) || exit 1
