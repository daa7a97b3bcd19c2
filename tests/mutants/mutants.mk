# Mistakes in the sources of the daemon and of libvolt, each of which a test must find. Part of
# the Makefile at the top; only of the plain build. MUTANTS="Q1 K3": these only. SEED=: which part.
mutants-runtime: all
	@tests/mutants/mutants.py --list runtime $(MUTANTS)
mutants-daemon: all
	@tests/mutants/mutants.py $(MUTANTS)
# Operator mutants: N=160 of them, in the order that SEED=1 gives; ROOM=core: of this room.
N ?= 160
REACH := build/reach
mutants-operators: all $(REACH)
	@tests/mutants/run_operators.py --count $(N) --reach $(REACH) $(if $(filter command%,$(origin SEED)),--seed $(SEED)) $(if $(ROOM),--room $(ROOM))
# Which unit programs reach which source, by a build that counts: minutes. One that is old makes a
# mutant slower to find, and no more: it is made anew when it is removed.
$(REACH):
	@mkdir -p $(@D)
	@tests/mutants/reach $@
.PHONY: mutants-runtime mutants-daemon mutants-operators
