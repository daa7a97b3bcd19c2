# voltd and libvolt. Targets: all (default), deps, demo, check, bench, install, clean.
# Variants: SAN=address,undefined or SAN=thread; CC=gcc or clang. Objects go to
# build/<variant>/, programs of the plain variant to build/bin/.
SHELL := /bin/bash
.DELETE_ON_ERROR:
MAKEFLAGS += -r

VERSION := 0.1.0
prefix  ?= /usr/local
CC      := gcc
AR      := ar
SAN     ?=
comma   := ,
VARIANT := $(if $(SAN),san-$(subst $(comma),-,$(SAN)),plain)
B       := build/$(VARIANT)

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
          -Wcast-qual -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough -Werror
CFLAGS ?= -O2 -g
CSTD   := -std=c11 -D_GNU_SOURCE -DVOLT_VERSION='"$(VERSION)"'
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
            $(if $(findstring thread,$(SAN)),-DVOLT_TSAN)
INC    := -Ilib/include -Ilib -I. -I$(B)/gen
ALLC   := $(CSTD) $(CFLAGS) $(WARN) $(SANFLAGS) $(INC) -fvisibility=hidden -fPIC -pthread -MMD -MP
LDLIBS := -levent_core -ljansson -lsystemd -linih -pthread

# One library per layer; everything but the mains is in one, so that tests link it.
LIBVOLT_SRC := $(wildcard lib/base/*.c lib/task/*.c lib/sync/*.c lib/driver/*.c lib/sched/*.c lib/runtime/*.c lib/io/*.c)
WIRE_SRC    := $(wildcard lib/wire/*.c)
DAEMON_SRC  := $(wildcard daemon/*.c daemon/job/*.c daemon/store/*.c daemon/exec/*.c daemon/server/*.c daemon/method/*.c daemon/observe/*.c daemon/sysd/*.c)
KEEPER_SRC  := $(wildcard daemon/keeper/*.c)
CLIENT_SRC  := $(wildcard client/*.c client/voltctl/*.c)
MAINS       := daemon/main.c daemon/keeper/main.c client/volt-submit.c client/voltctl.c

obj = $(patsubst %.c,$(B)/%.o,$(filter-out $(MAINS),$(1)))
all:

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALLC) -c -o $@ $<

$(B)/libvolt.a: $(call obj,$(LIBVOLT_SRC))
	$(AR) rcs $@ $^

clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)
.PHONY: all clean
