#!/bin/bash
# make demo: one round through voltd with real work.
#
# A private voltd is started from the build; two arrays checksum and compress files of
# /usr/share, and a few of them fail on purpose (their file is not there). The results are
# checked against what sha256sum says here, then voltd is shut down, and no process of the
# demo may be left. Any surprise ends it with a non-zero exit; everything is cleaned up.
set -euo pipefail

bin=${VOLT_BIN:-$(cd "$(dirname "$0")/.." && pwd)/build/bin}
count=${DEMO_FILES:-300}
missing=(41 142 243)
dir=$(mktemp -d /tmp/volt-demo-XXXXXX)
mkdir "$dir/in" "$dir/gz"
daemon=

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' off=$'\e[0m'; else bold='' green='' red='' off=''; fi
step() { printf '\n%s==> %s%s\n' "$bold" "$*" "$off"; }
fail() { printf '%sdemo: %s%s\n' "$red" "$*" "$off" >&2; exit 1; }

# Prints a command as one would type it, then runs it on the private voltd.
show() {
    printf '%s$ %s%s\n' "$bold" "$*" "$off"
    "$@"
}
# Only what the demo starts carries its directory in the environment.
mark() { env VOLT_DEMO="$dir" VOLT_ADDRESS="unix:$dir/run/voltd.sock" "$@"; }
volt-submit() { (cd "$dir" && mark "$bin/volt-submit" "$@"); }
voltctl() { env VOLT_ADDRESS="unix:$dir/run/voltd.sock" "$bin/voltctl" "$@"; }

# Processes whose environment names the directory: voltd, its keeper, shims and jobs.
ours() {
    local p
    for p in /proc/[0-9]*; do
        if tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qxF "VOLT_DEMO=$dir" 2>/dev/null; then
            echo "${p#/proc/}"
        fi
    done 2>/dev/null
    return 0
}

cleanup() {
    local status=$? pid
    trap - EXIT
    for pid in $(ours); do kill -KILL "$pid" 2>/dev/null || true; done
    if [ "$status" != 0 ] && [ -s "$dir/voltd.log" ]; then
        echo "demo: what voltd said last:" >&2
        tail -n 20 "$dir/voltd.log" >&2
    fi
    rm -rf "$dir"
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

SECONDS=0
step "Choosing $count files of /usr/share"
find /usr/share -type f -size +1k -size -512k -readable 2>/dev/null | LC_ALL=C sort | head -n "$count" >"$dir/files" || true
have=$(wc -l <"$dir/files")
[ "$have" -ge 250 ] || fail "only $have files under /usr/share"
i=0
while IFS= read -r file; do
    i=$((i + 1))
    ln -s "$file" "$dir/in/$i"
done <"$dir/files"
for i in "${missing[@]}"; do ln -sfn /nonexistent/on-purpose "$dir/in/$i"; done
echo "$have files, $(xargs -d '\n' cat <"$dir/files" | wc -c) bytes; the files of ${missing[*]} are missing on purpose"

step "Starting a private voltd"
: >"$dir/voltd.conf"
mark "$bin/voltd" --user --runtime-dir="$dir/run" --state-dir="$dir/state" --config="$dir/voltd.conf" --workers=2 \
    >"$dir/voltd.log" 2>&1 </dev/null &
daemon=$!
until voltctl version >/dev/null 2>&1; do
    kill -0 "$daemon" 2>/dev/null || fail "voltd did not start"
    [ "$SECONDS" -lt 60 ] || fail "voltd does not answer"
    read -rt 0.05 <> <(:) || true
done
show voltctl version

step "Submitting two arrays: checksums and compression"
show volt-submit --name=checksums --array "1-$have" -- sha256sum "in/{i}" >"$dir/id"
cat "$dir/id"; sums=$(tail -n 1 "$dir/id")
# shellcheck disable=SC2016 # the job's shell expands it
show volt-submit --name=compress --array "1-$have" --shell 'gzip -c "in/$VOLT_ARRAY_INDEX" >"gz/$VOLT_ARRAY_INDEX.gz"' >"$dir/id"
cat "$dir/id"; gz=$(tail -n 1 "$dir/id")
show voltctl list

step "Waiting for both"
status=0
show voltctl wait "$sums" "$gz" || status=$?
echo "exit code $status, the largest of all"
[ "$status" = 1 ] || fail "the exit code should be 1, that of the jobs without a file"

step "Results"
show voltctl list --all
for id in "$sums" "$gz"; do
    voltctl show "$id" >"$dir/show"
    grep -qx "counts.done=$have" "$dir/show" || fail "job $id: not all are done"
    grep -qx "counts.failed=${#missing[@]}" "$dir/show" || fail "job $id: other than ${#missing[@]} failed"
done
checked=0
for ((i = 1; i <= have; i += 7)); do
    case " ${missing[*]} " in *" $i "*) continue ;; esac
    want=$(sha256sum <"$dir/in/$i")
    [ "$(voltctl logs "${sums}_$i" | cut -d ' ' -f 1)" = "${want%% *}" ] || fail "checksum $i differs"
    [ "$(gzip -dc "$dir/gz/$i.gz" | sha256sum)" = "$want" ] || fail "archive $i differs"
    checked=$((checked + 1))
done
echo "$checked checksums and archives compared with the files: all equal"

step "One that failed, and its output"
show voltctl status "${sums}_${missing[0]}"
voltctl logs "${sums}_${missing[0]}" | grep -q 'No such file' || fail "its log does not say why"

step "What the workers of the scheduler did"
show voltctl stats

step "Shutting down, with a job still running"
show volt-submit --name=sleeper -- sleep 1000
show voltctl shutdown --cancel --wait
code=0
wait "$daemon" || code=$?
[ "$code" = 0 ] || fail "voltd ended with $code"
left=$(ours)
[ -z "$left" ] || fail "left behind: $(for pid in $left; do tr '\0' ' ' <"/proc/$pid/cmdline"; done)"
printf '\n%sdemo: %d jobs, %d failed on purpose, every result right, no process left (%d s)%s\n' \
    "$green" "$((2 * have))" "$((2 * ${#missing[@]}))" "$SECONDS" "$off"
