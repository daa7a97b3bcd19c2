"""The judge: what a history proves against the daemon.

check(history) returns findings, each "kind: text". The kinds:

    lost      an acknowledged job that the daemon does not know, or never ended
    twice     two runs of one attempt, an attempt nobody asked for, two ids for one key
    invented  a status, a job or an answer that nothing accounts for
    output    other bytes than the job printed
    order     more at a time than there are slots
    torn      a damaged ledger
    late      jobs that were not at their end when patience was
    left      a process, descriptor or record that outlived the end

A status is accounted for: `exit` and `success` by exactly one START and END with that code;
`signal` by a kill of ours or a request to stop; `cancelled`, `timeout` by a request;
`exec_failed` by an injected error; `lost` by the death of the job's shim, and by nothing
else. What a daemon without a durable store forgot when it was killed is no finding; what it
still says must be true all the same.
"""

import collections

from ledger import END, START, code_of, name_of, output_of, read_marks

SETTLED = {"success", "exit", "signal", "timeout", "exec_failed", "cancelled", "lost",
           "output_limit", "dependency"}


class Case:
    """All that is known about one job."""

    def __init__(self):
        self.starts, self.ends = [], []


def check(h):
    marks, found = read_marks(h.ledger)
    found = list(found)
    cases = collections.defaultdict(Case)
    for mark in marks:
        (cases[mark.job].starts if mark.type == START else cases[mark.job].ends).append(mark)
    sent = {}
    for s in h.sent:
        if s.key in sent:
            found.append(f"torn: key {s.key} was sent twice as if new")
        sent[s.key] = s
    key_of = check_acks(h, sent, found)
    for job, case in sorted(cases.items()):
        check_ledger(job, case, key_of, sent, found)
    check_known(h, sent, key_of, cases, found)
    for job, view in sorted(h.jobs.items()):
        check_status(h, job, view, cases[job], key_of, sent, found)
    check_timeouts(h, key_of, sent, found)
    check_told(h, cases, found)
    check_outputs(h, cases, found)
    check_slots(h, marks, found)
    found += [f"left: {what}" for what in h.left]
    return found


def check_acks(h, sent, found):
    """Returns the key of each id."""
    key_of, id_of = {}, {}
    for key, number, durable, life in h.acks:
        if key not in sent:
            found.append(f"invented: id {number} acknowledges key {key}, which nobody sent")
            continue
        if key_of.setdefault(number, key) != key:
            found.append(f"twice: keys {key_of[number]} and {key} have the same id {number}")
        if h.unique_keys and id_of.setdefault(key, number) != number:
            found.append(f"twice: key {key} has the ids {id_of[key]} and {number}")
    return key_of


def check_ledger(job, case, key_of, sent, found):
    name = name_of(job)
    for mark in case.starts + case.ends:
        key = key_of.setdefault(job[0], mark.key)
        if mark.key not in sent:
            found.append(f"invented: job {name} ran with key {mark.key}, which nobody sent")
        elif key != mark.key:
            found.append(f"invented: job {name} ran with key {mark.key} instead of {key}")
        else:
            count = sent[mark.key].count
            if (job[1] >= 0) != (count >= 0) or job[1] >= max(count, 0):
                found.append(f"invented: job {name} is no element of its array of {count}")
    attempts = [m.attempt for m in case.starts]
    for attempt in sorted(set(attempts)):
        if attempts.count(attempt) > 1:
            found.append(f"twice: job {name} attempt {attempt} started {attempts.count(attempt)} times")
    allowed = sent[key_of[job[0]]].attempts if key_of.get(job[0]) in sent else 1
    if len(set(attempts)) > allowed:
        found.append(f"twice: job {name} had attempts {sorted(set(attempts))}, allowed is {allowed}")
    if any(a < 1 or a > allowed for a in attempts):
        found.append(f"twice: job {name} has attempt {attempts}, allowed are 1 to {allowed}")
    for end in case.ends:
        starts = [m for m in case.starts if m.attempt == end.attempt and m.pid == end.pid]
        if not starts or starts[0].mono_ns > end.mono_ns:
            found.append(f"torn: job {name} has an END without a START before it")
        if end.code != code_of(job):
            found.append(f"torn: job {name} ended with {end.code}, f(id) is {code_of(job)}")
    ends = [m.attempt for m in case.ends]
    if len(ends) != len(set(ends)):
        found.append(f"twice: job {name} ended more than once in an attempt")


def elements(number, count):
    return [(number, -1)] if count < 0 else [(number, i) for i in range(count)]


def check_known(h, sent, key_of, cases, found):
    """Every acknowledged job is there, and nothing else."""
    last = len(h.lives)
    for key, number, durable, life in h.acks:
        if key not in sent or not (durable or life == last):
            continue
        for job in elements(number, sent[key].count):
            if job not in h.jobs:
                found.append(f"lost: job {name_of(job)} was acknowledged and is not known")
    for job, view in sorted(h.jobs.items()):
        key = key_of.get(job[0], view.get("key"))
        if key is None and view.get("orphan"):
            continue
        if key is None or key not in sent:
            found.append(f"invented: nobody sent job {name_of(job)}")
        if h.unique_keys and view.get("key") not in (None, key):
            found.append(f"twice: job {name_of(job)} has key {view['key']}, not {key}")
    if h.unique_keys:
        by_key = collections.defaultdict(set)
        for job, view in h.jobs.items():
            by_key[key_of.get(job[0], view.get("key"))].add(job[0])
        for key, numbers in sorted(by_key.items(), key=str):
            if len(numbers) > 1:
                found.append(f"twice: key {key} has the jobs {sorted(numbers)}")


def check_status(h, job, view, case, key_of, sent, found):
    name, state, result, code = name_of(job), view["state"], view["result"], view["code"]
    spec = sent.get(key_of.get(job[0]))
    if state != "done":
        found.append(f"lost: job {name} is {state} for ever")
        return
    if result not in SETTLED:
        found.append(f"invented: job {name} has the result {result}")
        return
    forgotten = view["orphan"] and view.get("step") == "never started"
    why = unaccounted(h, job, result, code, case, spec, forgotten)
    if why:
        found.append(f"invented: job {name} is said to have ended as {result} {code}, {why}")


def check_timeouts(h, key_of, sent, found):
    """One may come late, and its job be over; not all of many."""
    timed = [view for job, view in h.jobs.items()
             if key_of.get(job[0]) in sent and sent[key_of[job[0]]].timeout]
    if len(timed) >= 30 and all(view["result"] in ("success", "exit") for view in timed):
        found.append(f"lost: of {len(timed)} timeouts none has ended its job")


def unaccounted(h, job, result, code, case, spec, forgotten):
    """Why a status cannot be right; None: it can. forgotten: its voltd forgot it, and its record
    is said to tell that it never began."""
    newest = max((m.attempt for m in case.starts + case.ends), default=0)
    last = [e for e in case.ends if e.attempt == newest]
    asked = job[0] in h.cancels
    timed = spec is not None and spec.timeout
    killed = any(s.pid in h.mains for s in case.starts)
    shim = any(s.parent in h.shims or (s.code and h.shims) for s in case.starts)
    if result in ("success", "exit"):
        if len(last) != 1 or not case.starts:
            return f"with {len(case.starts)} START and {len(last)} END"
        if code != last[0].code or (result == "success") != (code == 0):
            return f"but END says {last[0].code}"
    elif result == "signal":
        unborn = (h.children or h.shims) and not case.starts  # forks of a shim look like it
        if not (killed or asked or timed or unborn) or not code:
            return "but nobody signalled it"
    elif result == "cancelled":
        if not asked:
            return "but nobody cancelled it"
    elif result == "timeout":
        if not timed:
            return "but it has no timeout"
    elif result == "exec_failed":
        if case.starts:
            return "but it ran"
        if code not in h.errors:
            return f"but nothing failed with errno {code}"
    elif result == "lost":
        if case.starts and (forgotten or not shim):
            return "but its shim was never killed"
        if not case.starts and not h.shims and not forgotten:
            return "but no shim was ever killed"
    else:
        return "which nobody asked for"
    return None


def check_told(h, cases, found):
    """What a client was told stays true."""
    first = {}
    for job, result, code in h.told:
        if first.setdefault(job, (result, code)) != (result, code):
            found.append(f"invented: job {name_of(job)} was {first[job]}, then {result} {code}")
        if result in ("success", "exit"):
            codes = {e.code for e in cases[job].ends}
            if codes != {code}:
                found.append(f"invented: a client was told {result} {code} of job {name_of(job)}, "
                             f"its END says {sorted(codes)}")
    for job, view in sorted(h.jobs.items()):
        if job in first and first[job] != (view["result"], view["code"]):
            found.append(f"invented: job {name_of(job)} was told as {first[job]} and is now "
                         f"{view['result']} {view['code']}")


def check_outputs(h, cases, found):
    for job, view in sorted(h.jobs.items()):
        case, data = cases[job], h.outputs.get(job)
        if not case.starts:
            if data:
                found.append(f"output: job {name_of(job)} never ran and has {len(data)} bytes")
            continue
        whole = b"".join(output_of(job, m.attempt)
                         for m in sorted(case.starts, key=lambda m: m.attempt))
        if case.ends and len(case.ends) == len(case.starts):
            if data != whole:
                found.append(f"output: job {name_of(job)} has {None if data is None else len(data)} "
                             f"bytes that are not the {len(whole)} it printed")
        elif data is not None and len(set(m.attempt for m in case.starts)) == 1 and \
                not whole.startswith(data):
            found.append(f"output: job {name_of(job)} has bytes that it did not print")


def check_slots(h, marks, found):
    """Never more between START and END than there are slots. A run without END is left out:
    when it ended is not known."""
    if not h.slots:
        return
    ended = {(m.job, m.attempt) for m in marks if m.type == END}
    running = worst = 0
    for mark in sorted((m for m in marks if (m.job, m.attempt) in ended),
                       key=lambda m: (m.mono_ns, m.type == START)):
        running += 1 if mark.type == START else -1
        worst = max(worst, running)
    if worst > h.slots:
        found.append(f"order: {worst} jobs ran at a time, there are {h.slots} slots")


def tally(found):
    """What the last line of a run counts."""
    kinds = collections.Counter(f.split(":", 1)[0] for f in found)
    return kinds["lost"], kinds["twice"], kinds["invented"], \
        len(found) - kinds["lost"] - kinds["twice"] - kinds["invented"]
