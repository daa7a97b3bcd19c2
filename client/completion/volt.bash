# bash completion of voltctl and volt-submit. Words come from --help, so they are those of
# the program that is there; ids of jobs from the voltd that answers.

_volt_options() { # PROGRAM [VERB]
    "$@" --help 2>/dev/null | grep -oE '^ {2,6}(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+'
}

# The index of the first word that is no option and no value of one; behind --, if there is
# one, the next; COMP_CWORD: there is none before the cursor.
_volt_operand() {
    local i with word
    with=" $("${COMP_WORDS[0]}" --help 2>/dev/null |
        sed -nE 's/^ {2,6}((-.), )?(--[a-z-]+)=.*/\2 \3/p' | tr '\n' ' ') "
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [ "$word" = -- ]; then
            ((i++))
            break
        elif [[ $word != -* ]]; then
            break
        elif [ "${COMP_WORDS[i + 1]}" = = ]; then
            ((i += 2))
        elif [[ $with == *" $word "* ]]; then
            ((i++))
        fi
    done
    echo $((i < COMP_CWORD ? i : COMP_CWORD))
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
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb= at
    local program=${COMP_WORDS[0]}
    [ "$cur" = = ] && cur=
    [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    at=$(_volt_operand)
    ((at < COMP_CWORD)) && verb=${COMP_WORDS[at]}
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
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=
    [ "$cur" = = ] && cur=
    [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}
    if (($(_volt_operand) < COMP_CWORD)); then # the command's own words
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
    fi
    case $prev in
    -f | --file | --stdin) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    -d | --chdir) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    --output) mapfile -t COMPREPLY < <(compgen -W "file null" -- "$cur"; compgen -f -- "$cur") ;;
    *)
        [[ $prev == --?* && $cur != -* ]] && words=$(_volt_values "$prev")
        if [ -n "$words" ]; then
            _volt_reply "$words" "$cur"
        elif [[ $cur == -* && $prev != -- ]]; then
            _volt_reply "$(_volt_options "${COMP_WORDS[0]}")" "$cur"
        else
            mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        fi
        ;;
    esac
}

complete -F _voltctl voltctl
complete -o filenames -o default -F _volt_submit volt-submit
