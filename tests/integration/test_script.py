"""Scripts that bring their options: #VOLT lines, and those of Slurm that have an equal."""
import pytest


def write(daemon, name, text, mode=0o755):
    path = daemon.dir / name
    path.write_text(text)
    path.chmod(mode)
    return path


def dry(daemon, *words):
    r = daemon.submit("--dry-run", *words)
    assert r.code == 0, r
    return r.json


def test_options_of_a_script(shared):
    write(shared, "job.sh", """#!/bin/sh
# what it is for
#VOLT --name "night ly" --label=a='b c'   # said
#VOLT --array=1-2

#VOLT --timeout 2h
echo "$1 $VOLT_ARRAY_INDEX"
#VOLT --name=late
""")
    spec = dry(shared, "job.sh", "word")
    assert spec["name"] == "night ly" and spec["labels"] == {"a": "b c"}
    assert spec["timeout_usec"] == 7200_000_000 and spec["argv"] == [f"{shared.dir}/job.sh", "word"]
    assert dry(shared, "-n", "mine", "--", "./job.sh")["name"] == "mine"
    assert dry(shared, "--shell", "./job.sh").get("name") is None
    r = shared.submit("-w", "job.sh", "word")
    assert r.code == 0 and shared.ctl("logs", "--no-prefix", r.lines[0]).out == "word 1\nword 2\n"


def test_one_that_is_not_executable(shared):
    write(shared, "plain.sh", "#! /bin/sh -e\n#VOLT -n plain\nfalse\necho never\n", 0o644)
    assert dry(shared, "plain.sh", "x")["argv"] == ["/bin/sh", "-e", f"{shared.dir}/plain.sh", "x"]
    r = shared.submit("-w", "./plain.sh")
    assert r.code == 1
    write(shared, "bare.sh", "#VOLT -n bare\n", 0o644)
    r = shared.submit("bare.sh")
    assert r.code == 125 and "no first line like #!/bin/sh" in r.err, r


def test_in_the_directory_of_the_job(shared):
    (shared.dir / "sub").mkdir()
    write(shared, "sub/there.sh", "#!/bin/sh\n#VOLT -n there\npwd\n")
    r = shared.submit("-w", "-d", "sub", "there.sh")
    assert r.code == 0 and shared.ctl("logs", r.lines[0]).out == f"{shared.dir}/sub\n"
    assert shared.ctl("list", "--all", "-o", "name", "--no-legend", r.lines[0]).out.strip() == "there"


@pytest.mark.parametrize("mode", [0o755, 0o644])
@pytest.mark.parametrize("line", ["#VOLT --chdir=/", "#SBATCH -D /"])
@pytest.mark.parametrize("words", [["away.sh"], ["./away.sh"], ["-d", "under", "--", "deep.sh"]])
def test_a_script_that_names_another_directory(shared, words, line, mode):
    (shared.dir / "under").mkdir(exist_ok=True)
    for name in "away.sh", "under/deep.sh":
        write(shared, name, f"#!/bin/sh\n{line}\npwd\n", mode)
    r = shared.submit("-w", *words)
    expect = f"{shared.dir}/under" if "-d" in words else "/"
    assert r.code == 0 and shared.ctl("logs", r.lines[0]).out == expect + "\n", r


@pytest.mark.parametrize("line, why", [
    ("#VOLT --nmae=x", "unknown option --nmae; did you mean --name?"),
    ("#VOLT --name", "option --name needs a value"),
    ("#VOLT word", "word in a #VOLT line of it is no option"),
    ("#VOLT -n 'x", "line 2: a quote is not closed"),
    ("#VOLT --timeout=soon", "--timeout: soon is not a time"),
    ("#SBATCH --dependency=afterok:17", "--dependency=afterok:17 of Slurm has no equal"),
    ("#SBATCH --depend=afterok:17", "--depend=afterok:17 of Slurm has no equal"),
    ("#SBATCH -H", "-H of Slurm has no equal"),
])
def test_mistakes(shared, line, why):
    write(shared, "bad.sh", f"#!/bin/sh\n{line}\n")
    r = shared.submit("-w", "bad.sh")
    assert r.code == 125 and why in r.err and r.out == "", r


def test_slurm(shared):
    write(shared, "slurm.sh", """#!/bin/bash
#SBATCH --job-name=train
#SBATCH -t 1-02:30:00 --mem=4G
#SBATCH -o out/%x.%A_%a.log -e 'out/%x.%a.err'
#SBATCH --array=1-3%2 --cpus-per-task 4
#SBATCH --export=NONE,A=1
#SBATCH --requeue
echo $VOLT_ARRAY_INDEX $A
""")
    r = shared.submit("--dry-run", "slurm.sh")
    spec = r.json
    assert spec["name"] == "train" and spec["timeout_usec"] == 95_400_000_000
    assert spec["output_path"].endswith("/out/{name}.{id}.log")
    assert spec["error_path"].endswith("/out/{name}.{i}.err") and spec["open_mode"] == "truncate"
    assert spec["array"] == {"first": 1, "last": 3} and spec["env"] == {"A": "1"}
    assert spec["on_lost"] == "retry"
    assert [line.split(" of Slurm")[0].split(": ")[-1] for line in r.err.splitlines() if "left out" in line] == [
        "--mem=4G", "--cpus-per-task 4"]
    assert "no array has a limit of its own" in r.err
    (shared.dir / "out").mkdir()
    ident = shared.submit("-w", "slurm.sh").lines[0]
    assert (shared.dir / f"out/train.{ident}_2.log").read_text() == "2 1\n"


@pytest.mark.parametrize("text, usec", [
    ("10", 600), ("10:30", 630), ("1:02:03", 3723), ("2-3", 183600), ("2-3:04", 183840), ("1-0:0:1", 86401)])
def test_times_of_slurm(shared, text, usec):
    write(shared, "time.sh", f"#!/bin/sh\n#SBATCH --time={text}\n")
    assert dry(shared, "time.sh")["timeout_usec"] == usec * 1_000_000


@pytest.mark.parametrize("line", ["-o out-%N.txt", "--output=out-%A-%a.txt", "-e '%N'"])
def test_a_path_of_slurm_that_is_left_out(shared, line):
    write(shared, "path.sh", f"#!/bin/sh\n#SBATCH {line}\n")
    r = shared.submit("-w", "path.sh")
    assert r.code == 0 and "is left out" in r.err and "open-mode" not in r.err, r


def test_a_path_of_slurm_that_is_too_long(shared):
    write(shared, "path.sh", f"#!/bin/sh\n#SBATCH -o {'%x' * 5000}\n")
    r = shared.submit("path.sh")
    assert r.code == 125 and "left out" not in r.err and "--output" in r.err, r


def test_the_command_line_takes_a_path_of_slurm_back(shared):
    write(shared, "path.sh", "#!/bin/sh\n#SBATCH -o out.txt\necho here\n")
    assert dry(shared, "path.sh")["open_mode"] == "truncate"
    assert dry(shared, "--open-mode=append", "path.sh")["open_mode"] == "append"
    r = shared.submit("-w", "--output=file", "path.sh")
    assert r.code == 0 and shared.ctl("logs", r.lines[0]).out == "here\n", r


@pytest.mark.parametrize("text, priority", [
    ("", -100), ("=7", -7), ("=-7", 7), ("=10000", -1000), ("=-10000", 1000), ("=99999999999999999999", -1000)])
def test_nice_of_slurm(shared, text, priority):
    write(shared, "nice.sh", f"#!/bin/sh\n#SBATCH --nice{text}\n")
    r = shared.submit("--dry-run", "nice.sh")
    assert r.code == 0 and r.json["priority"] == priority
    assert ("it goes from -1000 to 1000" in r.err) == (abs(priority) == 1000), r


@pytest.mark.parametrize("text", ["much", "1x", ""])
def test_no_nice_of_slurm(shared, text):
    write(shared, "nice.sh", f"#!/bin/sh\n#SBATCH --nice={text}\n")
    r = shared.submit("--dry-run", "nice.sh")
    assert "priority" not in r.json and "is left out" in r.err, r


@pytest.mark.parametrize("text", ["x", "1:2:3:4", "1-", "-1", "1:", ""])
def test_no_times_of_slurm(shared, text):
    write(shared, "time.sh", f"#!/bin/sh\n#SBATCH --time={text}\n")
    r = shared.submit("--dry-run", "time.sh")
    assert "timeout_usec" not in r.json and "is left out" in r.err, r
