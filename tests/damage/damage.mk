# Damage to the store, place by place. Sanitizers are slow: they take a part, another each time.
DAMAGE := $(B)/tests/damage/damage

$(DAMAGE): $(DAMAGE).o $(TEST_LIBS) ; $(link-test)

check-damage: $(DAMAGE)
	@$(RUN) $< $(if $(SAN),97 $$(date +%j))
.PHONY: check-damage
