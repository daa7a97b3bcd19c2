# Damage to the store, place by place: all of it is half a minute for two processors that have
# nothing else to do, so `make check` takes a part, another each time.
DAMAGE := $(B)/tests/damage/damage

$(DAMAGE): $(DAMAGE).o $(TEST_LIBS) ; $(link-test)

check-damage: $(DAMAGE)
	@$(RUN) $<
check-damage-part: $(DAMAGE)
	@$(RUN) $< $(if $(SAN),97,7) $(SEED)
.PHONY: check-damage check-damage-part
