"""The judge is judged: sound histories pass, and each altered one is flagged.

A made-up history has every kind of end in it. Then one thing is altered that no daemon may
do; 1,000 times, with seeds, and not one may go unnoticed.
"""

import copy
import random

import pytest

from checker import check, check_timeouts, tally
from ledger import END, ENTRY, START, History, Mark, Sent, code_of, output_of, read_marks

ENOENT, ENOSPC = 2, 28


def sound(seed):
    """A history that is right in every detail."""
    r = random.Random(seed)
    h = History(unique_keys=r.random() < 0.7, slots=4, lives=["kill"] * r.randrange(3),
                errors={ENOSPC})
    marks, clock, number = [], 1000, 1
    life = len(h.lives)
    for key in range(100, 130):
        count = r.choice([-1, -1, -1, 2, 3])
        sent = Sent(key, count, timeout=key % 7 == 3, attempts=2 if key % 10 == 4 else 1)
        h.sent.append(sent)
        number += r.randrange(1, 3)
        acked = r.random() < 0.8
        if acked:
            h.acks.append([key, number, True, r.randrange(life + 1)])
        elif key == 101:
            continue  # sent, and never arrived
        for index in range(max(count, 1)):
            job = (number, index if count >= 0 else -1)
            clock = one_job(r, h, marks, sent, job, clock)
    h.ledger = b"".join(m.pack() for m in marks)
    return h


def one_job(r, h, marks, sent, job, clock):
    fate = r.choices(["exit", "signal", "cancelled", "early", "failed", "lost", "timeout"],
                     [12, 1, 1, 1, 1, 1, 2 if sent.timeout else 0])[0]
    view = {"state": "done", "result": "success", "code": 0, "key": sent.key, "orphan": False}
    h.jobs[job] = view
    tries = 2 if sent.attempts == 2 and r.random() < 0.5 else 1
    if fate == "early":
        h.cancels.add(job[0])
        view["result"] = "cancelled"
        return clock
    if fate == "failed":
        view.update(result="exec_failed", code=ENOSPC)
        return clock
    for attempt in range(1, tries + 1):
        pid, parent = clock, clock + 1
        marks.append(Mark(START, sent.key, job, attempt, 0, pid, parent, clock))
        data = output_of(job, attempt)
        clock += 2
        if attempt == tries and fate != "exit":
            break
        marks.append(Mark(END, sent.key, job, attempt, code_of(job), pid, parent, clock))
        h.outputs[job] = h.outputs.get(job, b"") + data
        clock += 1
    else:
        view.update(result="exit" if code_of(job) else "success", code=code_of(job))
        if r.random() < 0.3:
            h.told.append([job, view["result"], view["code"]])
        return clock
    if tries == 1:
        h.outputs[job] = data[:r.randrange(len(data) + 1)]
    if fate == "signal":
        h.mains.add(pid)
        view.update(result="signal", code=9)
    elif fate == "cancelled":
        h.cancels.add(job[0])
        view.update(result="cancelled", code=15)
    elif fate == "timeout":
        view.update(result="timeout", code=15)
    else:
        h.shims.add(parent)
        view.update(result="lost", code=0)
    return clock


def pick(r, seq):
    seq = list(seq)
    return r.choice(seq) if seq else None


def finished(h):
    return [job for job, v in sorted(h.jobs.items()) if v["result"] in ("exit", "success")]


def marks_of(h, kind, jobs=None):
    marks, _ = read_marks(h.ledger)
    return marks, [m for m in marks if m.type == kind and (jobs is None or m.job in jobs)]


def write(h, marks):
    h.ledger = b"".join(m.pack() for m in marks)


# Each alteration returns False where this history has nothing to alter.

def forget_job(r, h):
    acked = {n for _, n, *_ in h.acks}
    job = pick(r, [j for j in sorted(h.jobs) if j[0] in acked])
    return job is not None and h.jobs.pop(job) is not None


def never_end(r, h):
    h.jobs[pick(r, sorted(h.jobs))]["state"] = r.choice(["queued", "starting", "running", "stopping"])


def other_code(r, h):
    job = pick(r, finished(h))
    view = h.jobs[job]
    view["code"] = r.choice([c for c in range(256) if c != view["code"]])
    view["result"] = "exit" if view["code"] else "success"


def other_result(r, h):
    job = pick(r, finished(h))
    choices = ["signal", "exec_failed", "lost", "output_limit", "dependency", "nonsense"]
    if job[0] not in h.cancels:
        choices.append("cancelled")
    else:
        choices.remove("signal")
    timed = {s.key for s in h.sent if s.timeout}
    if h.jobs[job]["key"] in timed and "signal" in choices:
        choices.remove("signal")
    h.jobs[job].update(result=r.choice(choices), code=9)


def success_of_another(r, h):
    a = pick(r, [j for j in finished(h) if code_of(j)])
    if a is None:
        return False
    h.jobs[a].update(result="success", code=0)


def run_twice(r, h):
    marks, starts = marks_of(h, START)
    again = copy.copy(pick(r, starts))
    again.pid += 500000
    again.mono_ns += 1
    write(h, marks + [again])


def extra_attempt(r, h):
    marks, starts = marks_of(h, START)
    allowed = {s.key: s.attempts for s in h.sent}
    again = copy.copy(pick(r, starts))
    again.attempt = allowed[again.key] + r.randrange(1, 3)
    again.pid += 500000
    write(h, marks + [again])


def drop_start(r, h):
    marks, starts = marks_of(h, START, set(finished(h)))
    victim = pick(r, starts)
    write(h, [m for m in marks if m is not victim])


def drop_end(r, h):
    marks, ends = marks_of(h, END, set(finished(h)))
    last = {m.job: m for m in ends}
    victim = pick(r, last.values())
    write(h, [m for m in marks if m is not victim])


def end_twice(r, h):
    marks, ends = marks_of(h, END)
    write(h, marks + [pick(r, ends)])


def end_first(r, h):
    marks, ends = marks_of(h, END)
    pick(r, ends).mono_ns = 1
    write(h, marks)


def ledger_code(r, h):
    marks, ends = marks_of(h, END)
    pick(r, ends).code += r.randrange(1, 40)
    write(h, marks)


def flip_bit(r, h):
    data = bytearray(h.ledger)
    data[r.randrange(len(data))] ^= 1 << r.randrange(8)
    h.ledger = bytes(data)


def truncate(r, h):
    h.ledger = h.ledger[:-r.randrange(1, ENTRY.size)]


def ghost(r, h):
    marks, _ = marks_of(h, START)
    write(h, marks + [Mark(START, 999, (9999, -1), 1, 0, 77, 78, 5)])


def foreign_key(r, h):
    marks, starts = marks_of(h, START)
    mark = pick(r, starts)
    mark.key = pick(r, [s.key for s in h.sent if s.key != mark.key])
    write(h, marks)


def foreign_element(r, h):
    marks, starts = marks_of(h, START, {j for j in h.jobs if j[1] >= 0})
    mark = pick(r, starts)
    if mark is None:
        return False
    mark.job = (mark.job[0], 50)
    write(h, marks)


def unknown_job(r, h):
    h.jobs[(9999, -1)] = {"state": "done", "result": "cancelled", "code": 0, "key": None,
                          "orphan": False}


def unsent_ack(r, h):
    h.acks.append([5555, 8888, True, 0])


def same_id(r, h):
    a, b = pick(r, h.acks), pick(r, h.acks)
    if a[0] == b[0]:
        return False
    h.acks.append([b[0], a[1], True, 0])


def second_id(r, h):
    if not h.unique_keys:
        return False
    h.acks.append([pick(r, h.acks)[0], 7777, False, -1])


def second_job(r, h):
    job = pick(r, finished(h))
    if not h.unique_keys:
        return False
    h.jobs[(7777, job[1])] = {"state": "done", "result": "cancelled", "code": 0,
                              "key": h.jobs[job]["key"], "orphan": False}
    h.cancels.add(7777)


def told_otherwise(r, h):
    job = pick(r, finished(h))
    h.told.append([job, "exit", h.jobs[job]["code"] + 1])


def output_changed(r, h):
    job = pick(r, [j for j in finished(h) if h.outputs.get(j)])
    data = bytearray(h.outputs[job])
    data[r.randrange(len(data))] ^= 1
    h.outputs[job] = bytes(data)


def output_short(r, h):
    job = pick(r, [j for j in finished(h) if h.outputs.get(j)])
    h.outputs[job] = h.outputs[job][:-1] if r.random() < 0.5 else h.outputs[job][1:]


def output_double(r, h):
    job = pick(r, [j for j in finished(h) if h.outputs.get(j)])
    h.outputs[job] *= 2


def output_gone(r, h):
    job = pick(r, [j for j in finished(h) if h.outputs.get(j)])
    h.outputs[job] = r.choice([None, b""])


def output_swapped(r, h):
    jobs = [j for j in finished(h) if h.outputs.get(j)]
    a, b = pick(r, jobs), pick(r, jobs)
    if h.outputs[a] == h.outputs[b]:
        return False
    h.outputs[a], h.outputs[b] = h.outputs[b], h.outputs[a]


def too_many(r, h):
    h.slots = 1
    marks, ends = marks_of(h, END)
    for mark in ends:
        mark.mono_ns += 50
    write(h, marks)


def something_left(r, h):
    h.left.append("process 4711")


def wrong_errno(r, h):
    job = pick(r, [j for j, v in sorted(h.jobs.items()) if v["result"] == "exec_failed"])
    if job is None:
        return False
    h.jobs[job]["code"] = ENOENT


def uncancelled(r, h):
    job = pick(r, [j for j, v in sorted(h.jobs.items()) if v["result"] == "cancelled"])
    if job is None:
        return False
    h.cancels.discard(job[0])


def unkilled(r, h):
    which = r.choice([h.shims, h.mains])
    pids = {m.parent if which is h.shims else m.pid for m in read_marks(h.ledger)[0]}
    victim = pick(r, sorted(which & pids))
    if victim is None:
        return False
    asked = {s.key for s in h.sent if s.timeout}
    mark = next(m for m in read_marks(h.ledger)[0] if victim in (m.pid, m.parent))
    if which is h.mains and (mark.key in asked or mark.job[0] in h.cancels):
        return False
    which.discard(victim)


ALTERATIONS = [forget_job, never_end, other_code, other_result, success_of_another, run_twice,
               extra_attempt, drop_start, drop_end, end_twice, end_first, ledger_code, flip_bit,
               truncate, ghost, foreign_key, foreign_element, unknown_job, unsent_ack, same_id,
               second_id, second_job, told_otherwise, output_changed, output_short,
               output_double, output_gone, output_swapped, too_many, something_left,
               wrong_errno, uncancelled, unkilled]


def test_sound_histories_pass():
    for seed in range(200):
        assert check(sound(seed)) == [], f"seed {seed}"


def test_what_a_memory_store_forgot_is_no_loss_but_lies_are():
    h = sound(1)
    h.lives = ["kill"]
    h.acks = [[key, number, False, 0] for key, number, _, _ in h.acks]
    job = finished(h)[0]
    view = h.jobs.pop(job)
    h.told = [t for t in h.told if t[0] != job]
    assert check(h) == []
    h.jobs[job] = {**view, "code": view["code"] + 1, "result": "exit"}
    assert tally(check(h))[2] > 0


@pytest.mark.parametrize("results, wrong", [
    (["success", "exit"] * 15, True), (["success"] * 29 + ["timeout"], False), (["success"] * 29, False)])
def test_timeouts_that_end_no_job_are_found(results, wrong):
    sent = {i: Sent(i, -1, True) for i in range(len(results))}
    h = History(jobs={(i, -1): {"result": result} for i, result in enumerate(results)})
    found = []
    check_timeouts(h, {i: i for i in sent}, sent, found)
    assert bool(found) == wrong


def test_a_thousand_altered_histories_are_all_flagged():
    done = missed = 0
    seed = 0
    used = set()
    while done < 1000:
        seed += 1
        r = random.Random(seed)
        alter = ALTERATIONS[seed % len(ALTERATIONS)]
        h = sound(seed)
        if alter(r, h) is False:
            continue
        done += 1
        used.add(alter.__name__)
        if not check(h):
            missed += 1
            print(f"seed {seed}: {alter.__name__} went unnoticed")
    assert missed == 0
    assert used == {a.__name__ for a in ALTERATIONS}


@pytest.mark.parametrize("alter, kind", [
    (forget_job, 0), (run_twice, 1), (other_code, 2), (output_changed, 3)])
def test_findings_are_counted_by_kind(alter, kind):
    h = sound(3)
    alter(random.Random(3), h)
    counts = tally(check(h))
    assert counts[kind] > 0
