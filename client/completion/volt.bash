# bash completion of voltctl, volt-submit and volt-lock. Words come from --help, so they are those of
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
            ($word = : && $before =~ (^|=)(unix|name)$) || $before =~ (^|=)(unix|name):$ ]]; then
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

# What voltctl says of the voltd that the command line is for.
_volt_ask() { # VERB OPTION...
    local i where=() program=${words[0]/volt-submit/voltctl}
    for ((i = 1; i < cword; i++)); do
        case ${words[i]} in
        --) break ;;
        --user | --system | --address=*) where+=("${words[i]}") ;;
        --address) where+=("${words[i]}=${words[++i]/#\~\//$HOME/}") ;;
        esac
    done
    "${program/volt-lock/voltctl}" "$1" "${where[@]}" "${@:2}" 2>/dev/null
}

_volt_list() { # OPTION...
    _volt_ask list --all -n 50 --no-legend "$@"
}

_volt_queues() {
    _volt_ask queues | sed '1d; s/ .*//'
}

_volt_locks() {
    _volt_ask locks | sed '1d; s/ .*//'
}

# The option with two dashes that this one is short for; otherwise the word itself.
_volt_long() { # WORD [VERB]
    local long=
    [[ $1 == -[a-zA-Z] ]] && long=$("${words[0]}" ${2:+"$2"} --help 2>/dev/null |
        sed -nE "s/^ {2,6}$1, (--[a-z-]+)=.*/\1/p")
    echo "${long:-$1}"
}

# Behind name: names of jobs; readline replaces what is behind the colon.
_volt_ids() {
    if [[ $cur == name:* ]]; then
        _volt_names
    else
        _volt_list -o id
    fi
}

# Those that are one word.
_volt_names() {
    _volt_list -o name | grep -v ' ' | sort -u
}

# Whether this option has a value of which nothing is known.
_volt_takes_value() { # OPTION [VERB]
    [[ $1 == --?* ]] && "${words[0]}" ${2:+"$2"} --help 2>/dev/null | grep -q -- " $1="
}

# From here to the next mark by client/completion/generate.
_volt_values() { # OPTION
    case $1 in
    --old-queue | --queue) _volt_queues ;;
    --after | --after-any | --after-any-each | --after-notok | --after-notok-each | --after-ok | --after-ok-each | --after-start | --after-start-each) _volt_ids ;;
    --if-exists) echo reject coalesce replace ;;
    --kind) echo exec sleep noop ;;
    --lock | --lock-shared | --sem) _volt_locks ;;
    --open-mode) echo append truncate ;;
    --signal | --stop-signal) compgen -A signal SIG | sed -n '/JUNK/d; /RTMAX/d; s/^SIG//p' ;;
    --kill-mode) echo tree main ;;
    --retry-on) echo exit signal timeout exec_failed oom ;;
    --on-lost) echo fail retry ;;
    --import) echo crontab at tsp ;;
    --sort) echo id index name user state wait place result exit code done queue prio attempt pid runtime submitted started ended labels directory command ;;
    --state) echo queued starting running paused stopping done ;;
    --result) echo success exit signal timeout exec_failed cancelled lost output_limit expired dependency oom failed ;;
    --name | --old-name) _volt_names ;;
    --since | --until) echo now today yesterday -1h ;;
    --output) echo table wide json ndjson id index name user state wait place result exit code done queue prio attempt pid runtime submitted started ended labels directory command ;;
    esac
}
_volt_queue_changes="set pause resume drain reset create delete"
_volt_queue_settings="slots= nominal= max= max-per-user= weight= lend= default-timeout= max-timeout= users= groups="
# The end of what is generated.

_volt_reply() { # WORDS, FOR
    local IFS=$' \n'
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "${2#name:}")
}

_voltctl() {
    local words cword cur prev verb= at
    _volt_words
    at=$(_volt_operand)
    ((at < cword)) && verb=${words[at]}
    prev=$(_volt_long "$prev" "$verb")
    if [[ $prev == --address || $prev == --control-address ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "${cur#unix:}")
    elif [[ $prev == --* && $cur != -* && -n $(_volt_values "$prev") ]]; then
        _volt_reply "$(_volt_values "$prev")" "$cur"
    elif [[ $cur == -* ]]; then
        _volt_reply "$(_volt_options "${words[0]}" ${verb:+"$verb"})" "$cur"
    elif _volt_takes_value "$prev" "$verb"; then
        COMPREPLY=()
    elif [[ -z $verb || $verb == help ]]; then
        _volt_reply "$("${words[0]}" --help 2>/dev/null | sed -nE '/^  [a-z]+ .*[A-Z]/s/^  ([a-z]+) .*/\1/p')" "$cur"
    elif [[ $verb == queue || $verb == locks ]]; then
        _volt_change "$verb" $((cword - at)) "${words[at + 1]}"
    else
        _volt_reply "$(_volt_ids)" "$cur"
    fi
}

# What is changed, of what, and how. A setting is followed by its value: no blank.
_volt_change() { # VERB PLACE CHANGE
    case $1,$2 in
    queue,1) _volt_reply "$_volt_queue_changes" "$cur" ;;
    queue,2) _volt_reply "$(_volt_queues)" "$cur" ;;
    queue,*)
        [[ $3 == set || $3 == create ]] && _volt_reply "$_volt_queue_settings" "$cur"
        compopt -o nospace 2>/dev/null
        ;;
    locks,1) _volt_reply "resize reset free" "$cur" ;;
    locks,2) _volt_reply "$(_volt_locks)" "$cur" ;;
    esac
}

_volt_submit() {
    local words cword cur prev values=
    _volt_words
    if (($(_volt_operand) < cword)); then # the command's own words
        mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
        return
    fi
    prev=$(_volt_long "$prev")
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
        elif _volt_takes_value "$prev"; then
            COMPREPLY=()
        else
            mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        fi
        ;;
    esac
}

# The first operand is a lock, the next a command.
_volt_lock() {
    local words cword cur prev at
    _volt_words
    at=$(_volt_operand)
    [[ $at -lt $cword && ${words[at + 1]} == -- ]] && ((at++))
    if ((at + 1 < cword)); then
        mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
    elif ((at < cword)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    elif [[ $prev == --address || $prev == --control-address ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "${cur#unix:}")
    elif [[ $cur == -* && $prev != -- ]]; then
        _volt_reply "$(_volt_options "${words[0]}")" "$cur"
    elif _volt_takes_value "$prev"; then
        COMPREPLY=()
    else
        _volt_reply "$(_volt_locks)" "$cur"
    fi
}

complete -F _voltctl voltctl
complete -o filenames -o default -F _volt_lock volt-lock
complete -o filenames -o default -F _volt_submit volt-submit
