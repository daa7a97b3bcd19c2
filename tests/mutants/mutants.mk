# Mistakes in the daemon's sources, each of which a test must find. Part of the Makefile at the
# top; only of the plain build. MUTANTS="Q1 K3": these only. SEED=: which part.
mutants-daemon: all
	@tests/mutants/mutants.py $(MUTANTS)
# Another part of them each time, in two minutes.
mutants-daemon-part: all
	@tests/mutants/mutants.py --seconds 120 $(if $(SEED),--seed $(SEED))
.PHONY: mutants-daemon mutants-daemon-part
