# bash completion of voltctl and volt-submit. Words come from --help, so they are those of
# the program that is there; ids of jobs from the voltd that answers.

_volt_options() { # PROGRAM [VERB]
    "$@" --help 2>/dev/null | grep -oE '^ {2,6}(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+'
}

_volt_values() { # OPTION
    case $1 in
    --state) echo queued starting running stopping done ;;
    --result) echo success exit signal timeout exec_failed cancelled lost output_limit ;;
    --since | --until) echo now today yesterday -1h ;;
    --signal | --stop-signal) compgen -A signal SIG | sed s/^SIG// ;;
    --kind) echo exec sleep noop ;;
    --kill-mode) echo tree main ;;
    --on-lost) echo fail retry ;;
    --if-exists) echo coalesce replace reject ;;
    --output) echo table json ;;
    esac
}

_volt_reply() { # WORDS, FOR
    local IFS=$' \n'
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_voltctl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb= i
    local program=${COMP_WORDS[0]}
    [ "$cur" = = ] && cur=
    [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* ]] || { verb=${COMP_WORDS[i]}; break; }
    done
    if [[ $prev == --* && $cur != -* && -n $(_volt_values "$prev") ]]; then
        _volt_reply "$(_volt_values "$prev")" "$cur"
    elif [[ $cur == -* ]]; then
        _volt_reply "$(_volt_options "$program" ${verb:+"$verb"})" "$cur"
    elif [ -z "$verb" ]; then
        _volt_reply "$("$program" --help 2>/dev/null | sed -nE '/^  [a-z]+ .*[A-Z]/s/^  ([a-z]+) .*/\1/p')" "$cur"
    else
        _volt_reply "$("$program" list --all -n 50 --no-legend 2>/dev/null | cut -d' ' -f1)" "$cur"
    fi
}

_volt_submit() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
    [ "$cur" = = ] && cur=
    [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    if [[ $prev == --* && $cur != -* && -n $(_volt_values "$prev") ]]; then
        _volt_reply "$(_volt_values "$prev")" "$cur"
    elif [[ $cur == -* ]]; then
        _volt_reply "$(_volt_options "${COMP_WORDS[0]}")" "$cur"
    else
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    fi
}

complete -F _voltctl voltctl
complete -o default -F _volt_submit volt-submit
