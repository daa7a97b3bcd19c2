"""What is done to the daemon: kills, stops, restarts, at seeded moments."""

import random
import signal
import time


class Nemesis:
    def __init__(self, house, seed):
        self.house, self.random = house, random.Random(seed ^ 0xC4A05)
        self.kills = 0
        self.done = {}

    def step(self):
        """One attack; returns its name."""
        acts = [(self.kill_voltd, 24), (self.kill_keeper, 16), (self.kill_both, 10),
                (self.kill_all, 6), (self.kill_shim, 14), (self.kill_job, 6),
                (self.stop_voltd, 8), (self.stop_keeper, 8), (self.stop_shim, 6),
                (self.restart, 8), (self.reload, 4)]
        act = self.random.choices([a for a, _ in acts], [w for _, w in acts])[0]
        act()
        self.done[act.__name__] = self.done.get(act.__name__, 0) + 1
        return act.__name__

    def kill_voltd(self):
        self.kills += self.house.kill_voltd()

    def kill_keeper(self):
        self.kills += self.house.kill_keeper()

    def kill_both(self):
        for act in self.random.sample([self.kill_voltd, self.kill_keeper], 2):
            act()

    def kill_shim(self):
        shims = self.house.shims()
        for pid in self.random.sample(shims, min(len(shims), self.random.randrange(1, 4))):
            self.kills += self.house.kill_shim(pid)

    def kill_all(self):
        """Voltd, keeper and every shim at once."""
        shims = self.house.shims()
        self.kill_voltd()
        self.kill_keeper()
        for pid in shims:
            self.kills += self.house.kill_shim(pid)

    def kill_job(self):
        jobs = self.house.pids("ledger-job")
        if jobs:
            pid = self.random.choice(jobs)
            self.house.history.mains.add(pid)
            self.house.strike(pid, signal.SIGKILL)

    def pause(self, pid):
        if pid is None or not self.house.strike(pid, signal.SIGSTOP):
            return
        time.sleep(self.random.uniform(0.01, 0.5))
        self.house.strike(pid, signal.SIGCONT)

    def stop_voltd(self):
        self.pause(self.house.process.pid)

    def stop_keeper(self):
        self.pause(self.house.keeper())

    def stop_shim(self):
        shims = self.house.shims()
        self.pause(self.random.choice(shims) if shims else None)

    def restart(self):
        """An orderly end, as an upgrade makes it."""
        self.house.kill_voltd(signal.SIGTERM)

    def reload(self):
        if self.house.up.is_set():
            self.house.process.send_signal(signal.SIGHUP)
