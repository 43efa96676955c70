#!/usr/bin/env python3
"""A controller and two workers on three hosts, and a network that fails.

Hosts are network namespaces on one bridge. First a black hole: packets are
dropped, nothing is closed; both ends must notice by the heartbeats they agreed
on, and once it is healed the run goes on without loss. Then rounds, each with
one trouble drawn at random: a partition, delay, loss, a worker or the
controller killed and replaced. At the end of each every record is there once.

Needs root, `ip netns` and iptables (else it says so and exits with 77). Delay
needs netem, which not every kernel has: without it that trouble is loss.

  PENSTOCK_CHAOS_NETNS_ROUNDS  rounds (3; 25 are wanted before a release)
  PENSTOCK_CHAOS_SEED          seed (from the clock; printed)
"""
import argparse
import os
import random
import subprocess
import sys
import time

import harness

SKIPPED = 77
RECORDS = 60_000
HEARTBEAT = 0.5
# Three silent intervals, and a generous allowance for a loaded machine.
NOTICED_MAX = 60
LIMITS = {"block_bytes": "32KiB", "step_bytes": "32KiB",
          "step_bytes_max": "64KiB", "chunk_bytes_max": "16KiB"}
CONTROLLER, FIRST, SECOND = "c", "w1", "w2"
HOSTS = {CONTROLLER: 1, FIRST: 2, SECOND: 3}
PORT = 7400


def tool(*words, check=True):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise harness.Failure(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.returncode == 0


class Network:
    """Three hosts on a bridge. Names bear our pid: two tests do not meet."""

    def __init__(self):
        self.tag = f"ps{os.getpid() % 100000}"
        self.bridge = f"{self.tag}b"
        tool("ip", "link", "add", self.bridge, "type", "bridge")
        tool("ip", "link", "set", self.bridge, "up")
        for host, number in HOSTS.items():
            space, inside, outside = self.space(host), f"{self.tag}i", \
                f"{self.tag}{host}"
            tool("ip", "netns", "add", space)
            tool("ip", "link", "add", outside, "type", "veth", "peer", "name",
                 inside, "netns", space)
            tool("ip", "link", "set", outside, "master", self.bridge, "up")
            for words in (("link", "set", "lo", "up"),
                          ("addr", "add", f"10.77.0.{number}/24", "dev",
                           inside),
                          ("link", "set", inside, "up")):
                tool("ip", "-n", space, *words)
        self.has_netem = self.delay(CONTROLLER)
        self.heal()

    def space(self, host):
        return f"{self.tag}-{host}"

    @staticmethod
    def address(host):
        return f"10.77.0.{HOSTS[host]}"

    def inside(self, host):
        """What a command line begins with."""
        return ["ip", "netns", "exec", self.space(host)]

    def _rule(self, host, *words):
        tool(*self.inside(host), "iptables", *words)

    def partition(self, host):
        """Nothing reaches or leaves it, and nobody is told."""
        self._rule(host, "-A", "INPUT", "-i", f"{self.tag}i", "-j", "DROP")
        self._rule(host, "-A", "OUTPUT", "-o", f"{self.tag}i", "-j", "DROP")

    def lose(self, host, share):
        self._rule(host, "-A", "INPUT", "-i", f"{self.tag}i", "-m",
                   "statistic", "--mode", "random", "--probability",
                   str(share), "-j", "DROP")

    def delay(self, host):
        return tool(*self.inside(host), "tc", "qdisc", "add", "dev",
                    f"{self.tag}i", "root", "netem", "delay", "40ms", "20ms",
                    check=False)

    def heal(self):
        for host in HOSTS:
            self._rule(host, "-F")
            tool(*self.inside(host), "tc", "qdisc", "del", "dev",
                 f"{self.tag}i", "root", check=False)

    def remove(self):
        for host in HOSTS:
            tool("ip", "netns", "del", self.space(host), check=False)
        tool("ip", "link", "del", self.bridge, check=False)


class Site:
    def __init__(self, programs, network, directory, source):
        self.programs, self.network = programs, network
        self.directory = harness.fresh(directory)
        self.source = source
        self.pipeline = harness.write_pipeline(
            directory, source.path, limits=LIMITS, beside=source.path)
        self._place_workers()
        self.workers, self.logs = {}, {}
        for host in (FIRST, SECOND):
            self.start_worker(host)
        self.start_run()

    def _place_workers(self):
        """One connector on each."""
        workers = ", ".join(
            f"{{name: {host}, address: '{self.network.address(host)}:{PORT}', "
            f"connectors: [{connector}]}}"
            for host, connector in ((FIRST, "orders"), (SECOND, "beside")))
        with open(self.pipeline, "r+", encoding="utf-8") as out:
            text = out.read()
            out.seek(0)
            out.write(text.replace("connectors:\n",
                                   f"workers: [{workers}]\nconnectors:\n", 1))

    def _log(self, name):
        self.logs[name] = os.path.join(self.directory, f"{name}.log")
        return open(self.logs[name], "ab")

    def said(self, name, words):
        with open(self.logs[name], encoding="utf-8", errors="replace") as log:
            return words in log.read()

    def start_worker(self, host):
        with self._log(host) as log:
            self.workers[host] = self.programs.start_logged(
                [*self.network.inside(host), self.programs.worker, "--listen",
                 f"{self.network.address(host)}:{PORT}", "--insecure",
                 "--admin-listen", "", "--state-dir",
                 os.path.join(self.directory, f"state-{host}"), "--log-level",
                 "warning"], log)

    def start_run(self):
        with self._log("run") as log:
            self.run = self.programs.start_logged(
                [*self.network.inside(CONTROLLER), self.programs.penstock,
                 "run", self.pipeline, "--insecure", "--output", "json",
                 "--heartbeat", str(HEARTBEAT)], log)

    def committed(self):
        return sum(harness.committed_bytes(os.path.join(self.directory, out))
                   for out in ("out", "beside"))

    def wait_for_share(self, share):
        size = int(share * 2 * self.source.print.bytes)
        harness.wait_until(f"{size} committed bytes",
                           lambda: self.committed() >= size, alive=[self.run])

    def finish(self):
        harness.wait_for_end(self.run, 0)
        for out in ("out", "beside"):
            found = harness.fingerprint_of_output(
                os.path.join(self.directory, out))
            if found != self.source.print:
                raise harness.Failure(f"{out} has {found}, the input "
                                      f"{self.source.print}")
        for worker in self.workers.values():
            harness.kill(worker)


def black_hole(programs, network, directory, source):
    site = Site(programs, network, directory, source)
    site.wait_for_share(0.1)
    network.partition(FIRST)
    began = time.monotonic()
    for name, words in (("run", "nothing was heard of the worker"),
                        (FIRST, "nothing was heard of the controller")):
        harness.wait_until(f"{name} to notice a black hole", timeout=NOTICED_MAX,
                           condition=lambda: site.said(name, words),
                           alive=[site.run, site.workers[FIRST]])
    print(f"netns: a black hole was noticed by both ends within "
          f"{time.monotonic() - began:.1f} s, heartbeats every {HEARTBEAT} s",
          flush=True)
    if site.said(SECOND, "nothing was heard"):
        raise harness.Failure("the other worker was disturbed")
    network.heal()
    site.finish()


def trouble_of(network, rng):
    """A name, and what brings it about on a site."""

    def partition(site):
        network.partition(rng.choice((FIRST, SECOND, CONTROLLER)))
        time.sleep(rng.uniform(0, 5 * HEARTBEAT))

    def loss(site):
        network.lose(rng.choice((FIRST, SECOND)), 0.1)
        time.sleep(rng.uniform(0, 2))

    def delay(site):
        if not network.delay(rng.choice((FIRST, CONTROLLER))):
            return loss(site)
        time.sleep(rng.uniform(0, 2))

    def kill_worker(site):
        host = rng.choice((FIRST, SECOND))
        harness.kill(site.workers[host])
        site.start_worker(host)

    def kill_controller(site):
        harness.kill(site.run)
        site.start_run()

    return rng.choice((partition, loss, delay, kill_worker, kill_controller))


def play(programs, network, directory, source, rng):
    site = Site(programs, network, directory, source)
    for moment in sorted(rng.uniform(0.02, 0.8) for _ in range(2)):
        site.wait_for_share(moment)
        if site.run.poll() is not None:
            break
        trouble = trouble_of(network, rng)
        print(f"netns: {trouble.__name__} at {moment:.0%}", flush=True)
        trouble(site)
        network.heal()
    site.finish()


def test(programs, directory):
    seed = int(os.environ.get("PENSTOCK_CHAOS_SEED", time.time_ns() % 10**9))
    print(f"netns: PENSTOCK_CHAOS_SEED={seed}", flush=True)
    rng = random.Random(seed)
    source = harness.make_source(os.path.join(directory, "in.ndjson"), RECORDS,
                                 seed)
    network = Network()
    try:
        if not network.has_netem:
            print("netns: no netem in this kernel: no delays", flush=True)
        black_hole(programs, network, os.path.join(directory, "h"), source)
        for _ in range(harness.setting("NETNS_ROUNDS", 3)):
            play(programs, network, os.path.join(directory, "r"), source, rng)
    finally:
        programs.end_all()
        network.remove()


def why_not():
    if os.geteuid() != 0:
        return "it needs root, to make network namespaces"
    probe = f"ps{os.getpid() % 100000}-probe"
    for words in (("ip", "netns", "add", probe),
                  ("ip", "netns", "exec", probe, "iptables", "-L")):
        try:
            if not tool(*words, check=False):
                return f"`{' '.join(words)}` fails here"
        except OSError as error:
            return f"{words[0]}: {error}"
    tool("ip", "netns", "del", probe)
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    REASON = why_not()
    if REASON is not None:
        print(f"netns: SKIPPED, nothing was tested: {REASON}")
        sys.exit(SKIPPED)
    sys.exit(harness.main("netns", test, arguments.bin))
