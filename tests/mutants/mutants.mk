# Mistakes in the sources of the daemon and of libvolt, each of which a test must find. Part of
# the Makefile at the top; only of the plain build. MUTANTS="Q1 K3": these only. SEED=: which part.
mutants-runtime: all
	@tests/mutants/mutants.py --list runtime $(MUTANTS)
mutants-daemon: all
	@tests/mutants/mutants.py $(MUTANTS)
# Another part of them each time, in a minute and a half.
mutants-daemon-part: all
	@tests/mutants/mutants.py --seconds 90 $(if $(SEED),--seed $(SEED))
# Operator mutants: N=160 of them, in the order that SEED=1 gives; ROOM=core: of this room. -part:
# some of the same, another choice each time.
N ?= 160
OPERATORS_PART ?= 12
OPERATORS = tests/mutants/run_operators.py --count $(N)
mutants-operators: all
	@$(OPERATORS) $(if $(filter command%,$(origin SEED)),--seed $(SEED)) $(if $(ROOM),--room $(ROOM))
mutants-operators-part: all
	@$(OPERATORS) --part $(OPERATORS_PART) --part-seed $(SEED)
# Which unit programs reach which source: reach.txt, by a build that counts. Minutes.
mutants-reach:
	@tests/mutants/reach
.PHONY: mutants-runtime mutants-daemon mutants-daemon-part mutants-operators mutants-operators-part mutants-reach
