/* The idle protocol of lib/sched/idle.h under sequential consistency, with unbounded cycles
 * of parking and waking: complements the explorer, which has weak memory but bounded runs.
 *
 * N workers, two producers that submit K tasks each; a task may push a child onto the ring
 * of its worker. Property: whenever nothing can move, every task made has run and every
 * queue is empty (INV-1). -DMUT=n selects a mutant of ../mutants.txt: 3 no look before
 * sleep, 4 look before publishing, both to be found. */
#ifndef MUT
#define MUT 0
#endif
#ifndef N
#define N 3
#endif
#ifndef K
#define K 1
#endif
#define KIDS 2

byte searchers = 0;
bool parked[N];
bool token[N]; /* the park word: NOTIFIED */
byte global = 0;
byte ring[N];
byte made = 0, ran = 0, kids = 0;

/* notify: fence, read the word, claim the lowest parked worker by one CAS; then unpark. */
inline notify()
{
    atomic {
        hit = false;
        claimed = 0;
        do
        :: searchers == 0 && claimed < N && !parked[claimed] -> claimed++
        :: searchers == 0 && claimed < N && parked[claimed] ->
            parked[claimed] = false;
            searchers++;
            hit = true;
            break
        :: else -> break
        od
    };
    if
    :: hit -> atomic { token[claimed] = true; hit = false }
    :: else
    fi
}

inline look()
{
    atomic {
        visible = global > 0;
        victim = 0;
        do
        :: victim < N -> visible = visible || ring[victim] > 0; victim++
        :: else -> break
        od
    }
}

/* One RMW: still parked, or claimed and then a searcher. */
inline unpark_self()
{
    atomic {
        searching = !parked[i];
        parked[i] = false
    }
}

proctype Worker(byte i)
{
    bool searching = false, hit = false, visible = false, got = false, last = false;
    byte claimed = 0, victim = 0;

again:
    got = false;
    atomic {
        if
        :: ring[i] > 0 -> ring[i]--; got = true
        :: else
        fi
    };
    if
    :: !got && !searching ->
        atomic {
            if
            :: 2 * searchers < N -> searchers++; searching = true
            :: else
            fi
        }
    :: else
    fi;
    if
    :: !got && searching ->
        victim = 0;
        do
        :: victim < N && !got ->
            atomic {
                if
                :: victim != i && ring[victim] > 0 -> ring[victim]--; got = true
                :: else
                fi;
                victim++
            }
        :: else -> break
        od
    :: else
    fi;
    if
    :: !got ->
        atomic {
            if
            :: global > 0 -> global--; got = true
            :: else
            fi
        }
    :: else
    fi;
    if
    :: got ->
        if
        :: searching ->
            atomic { searching = false; searchers--; last = (searchers == 0) };
            if
            :: last ->
                look();
                if
                :: visible -> notify()
                :: else
                fi
            :: else
            fi
        :: else
        fi;
        if
        :: kids < KIDS ->
            atomic { kids++; made++; ring[i]++ };
            notify()
        :: true
        fi;
        ran++;
        goto again
    :: else
    fi;
    if
    :: MUT == 4 ->
        look();
        if
        :: visible -> goto again
        :: else
        fi
    :: else
    fi;
    atomic {
        parked[i] = true;
        if
        :: searching -> searchers--
        :: else
        fi;
        last = (searchers == 0);
        searching = false
    };
    if
    :: last && MUT != 3 && MUT != 4 ->
        look();
        if
        :: visible -> unpark_self(); goto again
        :: else
        fi
    :: else
    fi;
end:
    token[i];
    token[i] = false;
    unpark_self();
    goto again
}

proctype Producer()
{
    byte k = 0, claimed = 0;
    bool hit = false;

    do
    :: k < K ->
        atomic { global++; made++ };
        notify();
        k++
    :: else -> break
    od
}

init {
    byte w = 0;

    atomic {
        do
        :: w < N -> run Worker(w); w++
        :: else -> break
        od;
        run Producer();
        run Producer()
    };
    timeout -> assert(ran == made && global == 0);
    w = 0;
    do
    :: w < N -> assert(ring[w] == 0); w++
    :: else -> break
    od
}
