# bash completion of voltctl and volt-submit. Words come from --help, so they are those of
# the program that is there; ids of jobs from the voltd that would answer.

_volt_options() { # PROGRAM [VERB]
    "$@" --help 2>/dev/null | grep -oE '^ {2,6}(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+'
}

# The words as the program would get them: readline breaks them at = and : as well. Sets
# words, cword, and cur and prev of what is being written; the option is prev in --x=y too.
_volt_words() {
    local i word before=
    words=() cword=0
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ ($word = = && $before == --?*) || $before == --*= ||
            ($word = : && $before == *unix) || $before == *unix: ]]; then
            words[cword]+=$word
        else
            cword=${#words[@]}
            words[cword]=$word
        fi
        before=${words[cword]}
    done
    cur=${words[cword]} prev=
    ((cword > 0)) && prev=${words[cword - 1]}
    if [[ $cur == --*=* ]]; then
        prev=${cur%%=*} cur=${cur#*=}
    fi
}

# The index of the first word that is no option and no value of one; behind --, if there is
# one, the next; cword: there is none before the cursor.
_volt_operand() {
    local i with
    with=" $("${words[0]}" --help 2>/dev/null |
        sed -nE 's/^ {2,6}((-.), )?(--[a-z-]+)=.*/\2 \3/p' | tr '\n' ' ') "
    for ((i = 1; i < cword; i++)); do
        if [ "${words[i]}" = -- ]; then
            ((i++))
            break
        elif [[ ${words[i]} != -* ]]; then
            break
        elif [[ $with == *" ${words[i]} "* ]]; then
            ((i++))
        fi
    done
    echo $((i < cword ? i : cword))
}

# The ids of the voltd that the command line is for.
_volt_ids() {
    local i where=()
    for ((i = 1; i < cword; i++)); do
        case ${words[i]} in
        --) break ;;
        --user | --system | --address=*) where+=("${words[i]}") ;;
        --address) where+=("${words[i]}=${words[++i]/#\~\//$HOME/}") ;;
        esac
    done
    "${words[0]}" list "${where[@]}" --all -n 50 --no-legend 2>/dev/null | cut -d' ' -f1
}

_volt_values() { # OPTION
    case $1 in
    --state) echo queued starting running stopping done ;;
    --result) echo failed success exit signal timeout exec_failed cancelled lost output_limit ;;
    --since | --until) echo now today yesterday -1h ;;
    --signal | --stop-signal) compgen -A signal SIG | sed s/^SIG// ;;
    --kind) echo exec sleep noop ;;
    --kill-mode) echo tree main ;;
    --on-lost) echo fail retry ;;
    --open-mode) echo append truncate ;;
    --import) echo crontab at tsp ;;
    --if-exists) echo coalesce replace reject ;;
    --output) echo table wide json ndjson ;;
    --sort)
        echo id index name user state result exit done queue prio attempt pid runtime submitted started \
            ended labels directory command
        ;;
    esac
}

_volt_reply() { # WORDS, FOR
    local IFS=$' \n'
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_voltctl() {
    local words cword cur prev verb= at
    _volt_words
    at=$(_volt_operand)
    ((at < cword)) && verb=${words[at]}
    if [[ $prev == --address || $prev == --control-address ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "${cur#unix:}")
    elif [[ $prev == --* && $cur != -* && -n $(_volt_values "$prev") ]]; then
        _volt_reply "$(_volt_values "$prev")" "$cur"
    elif [[ $cur == -* ]]; then
        _volt_reply "$(_volt_options "${words[0]}" ${verb:+"$verb"})" "$cur"
    elif [ -z "$verb" ]; then
        _volt_reply "$("${words[0]}" --help 2>/dev/null | sed -nE '/^  [a-z]+ .*[A-Z]/s/^  ([a-z]+) .*/\1/p')" "$cur"
    else
        _volt_reply "$(_volt_ids)" "$cur"
    fi
}

_volt_submit() {
    local words cword cur prev values=
    _volt_words
    if (($(_volt_operand) < cword)); then # the command's own words
        mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
        return
    fi
    case $prev in
    -f | --file | --each-line | --stdin) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    --address | --control-address) mapfile -t COMPREPLY < <(compgen -f -- "${cur#unix:}") ;;
    -d | --chdir) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    --output | --error)
        mapfile -t COMPREPLY < <(compgen -W "file null" -- "$cur"; compgen -f -- "$cur")
        ;;
    *)
        [[ $prev == --?* && $cur != -* ]] && values=$(_volt_values "$prev")
        if [ -n "$values" ]; then
            _volt_reply "$values" "$cur"
        elif [[ $cur == -* && $prev != -- ]]; then
            _volt_reply "$(_volt_options "${words[0]}")" "$cur"
        else
            mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        fi
        ;;
    esac
}

complete -F _voltctl voltctl
complete -o filenames -o default -F _volt_submit volt-submit
