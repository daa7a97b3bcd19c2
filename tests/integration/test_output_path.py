"""Output to a path: what stands in it for the job, and that nothing is lost."""


def test_elements_have_files_of_their_own(shared):
    r = shared.submit("-w", "-n", "step/one", "--array", "7-9", "--output", "{name}.{i}.log",
                      "--shell", "echo out $VOLT_ARRAY_INDEX; echo err >&2")
    assert r.code == 0, r
    for i in (7, 8, 9):
        assert (shared.dir / f"step_one.{i}.log").read_text() == f"out {i}\nerr\n"


def test_a_name_is_no_folder_above(shared):
    folder = shared.dir / "above/below"
    folder.mkdir(parents=True)
    for name in (".", ".."):
        r = shared.submit("-w", "-n", name, "--output", "above/below/{name}/x", "echo", "a")
        assert r.code in (125, 126) and "could not be started: stdout" in r.err, r
        assert shared.submit("-w", "-n", name, "--output", "above/below/{name}", "echo",
                             name).code == 0
    assert sorted(p.name for p in folder.iterdir()) == ["_", "__"]
    assert [p.name for p in folder.parent.iterdir()] == ["below"]
    assert (folder / "__").read_text() == "..\n"


def test_the_id_is_the_one_that_was_printed(shared):
    folder = shared.dir / "ids"
    folder.mkdir()
    one = shared.submit("-w", "--output", "ids/{id}-{id}", "echo", "one").lines[0]
    array = shared.submit("-w", "--array", "3", "--output", "ids/{id}", "echo", "three").lines[0]
    assert (folder / f"{one}-{one}").read_text() == "one\n"
    assert (folder / f"{array}_3").read_text() == "three\n"


def test_the_rest_of_a_path_stays(shared):
    """{i} of what is no element, other braces, and a path that grows too long."""
    assert shared.submit("-w", "--output", "{i}{x}{", "echo", "a").code == 0
    assert shared.submit("-w", "--output", "{i}{x}{", "echo", "b").code == 0
    assert (shared.dir / "{i}{x}{").read_text() == "a\nb\n"  # appended to
    r = shared.submit("-w", "-n", "n" * 250, "--output", "{name}" * 40, "true")
    assert r.code in (125, 126) and "could not be started: stdout" in r.err, r
