#!/usr/bin/env python3
"""Three controllers of one pipeline; the leading one is killed or stopped.

Their state is in PostgreSQL. Each round: a fresh pipeline, three controllers,
one or two strikes at whoever leads, midway: SIGKILL, or SIGSTOP and SIGCONT
later. A standby takes over when the lease has ended by the server's clock, with
a higher epoch, and not before. Who is woken changes nothing, in the store or in
the target, and ends with the code for a stale epoch. At the end every record is
there exactly once. In some rounds the server is restarted as well, or away for
longer than a lease, or the leading controller is asked to end.

  PENSTOCK_CHAOS_ROUNDS   rounds (20)
  PENSTOCK_CHAOS_RECORDS  records of the file (1,000,000)
  PENSTOCK_CHAOS_SEED     seed (from the clock; printed)
"""
import argparse
import collections
import itertools
import json
import os
import random
import signal
import sys
import time

import harness

LIMITS = {"block_bytes": "128KiB", "step_bytes": "32KiB",
          "step_bytes_max": "64KiB", "chunk_bytes_max": "16KiB"}
DATABASE = "state"
CONTROLLERS = 3
LEASE_S = 5.0
# A standby asks when the lease ends; a machine under load is late.
TAKEOVER_SLACK_S = 5.0
SUPERSEDED = 5
# The server asks nobody for a password, so any is right.
SECRET = "weir-keeper's word"
SECRET_NAME = "PENSTOCK_CHAOS_STATE_SECRET"
KINDS = ("kill", "stop, woken at the end", "stop, woken midway",
         "kill and restart the server", "asked to end",
         "the server is away for longer than a lease")

Lease = collections.namedtuple("Lease", "pid epoch ends began")


class Site:
    """A fresh pipeline, a worker, and controllers that stand by."""

    _numbers = itertools.count()

    def __init__(self, programs, server, directory, source):
        self.programs = programs
        self.server = server
        self.directory = harness.fresh(directory)
        self.name = f"round-{next(Site._numbers)}"
        self.out = os.path.join(directory, "out")
        self.source = source
        socket = os.path.join(directory, "w.sock")
        self.pipeline = harness.write_pipeline(
            directory, source.path, name=self.name, socket=socket, limits=LIMITS,
            store=server.url(DATABASE).replace(
                "@", ":${env:" + SECRET_NAME + "}@"), lease=f"{LEASE_S:.0f}s")
        self.worker = programs.start_worker(
            socket, os.path.join(directory, "worker"))
        # Who lost its lease without being struck may find that another leads.
        self.may_be_superseded = False
        self.outputs = {}
        self.controllers = []
        for _ in range(CONTROLLERS):
            self.start_controller()

    def start_controller(self):
        path = os.path.join(self.directory, f"run-{len(self.outputs)}.json")
        with open(path, "wb") as output:
            process = self.programs.start_run(self.pipeline, output=output)
        self.outputs[process.pid] = path
        self.controllers.append(process)

    def lease(self):
        """Who leads, by the database; None before the first."""
        rows = self.server.rows(DATABASE, (
            "SELECT controller, epoch, extract(epoch FROM expires_at),"
            " extract(epoch FROM expires_at - lasts)"
            " FROM penstock_state.leases JOIN penstock_state.pipelines"
            f" USING (pipeline) WHERE pipeline = '{self.name}'"
            " AND holder <> '' AND epoch > 0"))
        if not rows:
            return None
        controller, epoch, ends, began = rows[0]
        return Lease(int(controller.rpartition(":")[2]), int(epoch),
                     float(ends), float(began))

    def leader(self):
        """(process, lease) of the one that leads."""
        lease = harness.wait_until("a leader", self.lease)
        for process in self.controllers:
            if process.pid == lease.pid:
                return process, lease
        raise harness.Failure(f"{lease} is no controller of ours")

    def wait_for(self, size):
        harness.wait_until(f"{size} committed bytes",
                           lambda: harness.committed_bytes(self.out) >= size)

    def store(self):
        """Everything that is stored about this pipeline."""
        return [self.server.rows(DATABASE, (
            f"SELECT t::text FROM penstock_state.{table} t"
            f" WHERE pipeline = '{self.name}' ORDER BY 1"))
                for table in ("pipelines", "leases", "connectors", "journal")]

    def standbys(self):
        """How many controllers said who leads while they stood by."""
        said = 0
        for path in self.outputs.values():
            with open(path, encoding="utf-8") as lines:
                events = [json.loads(line) for line in lines
                          if line.endswith("\n")]
            said += any(event["event"] == "standby" and event["leader"] and
                        event["lease_until"] for event in events)
        return said


def await_takeover(site, old, lease):
    """A higher epoch, when the lease of `old` has ended. Returns seconds."""
    last = lease

    def taken():
        nonlocal last
        now = site.lease()
        if now is not None and now.pid == old.pid:
            last = now  # Renewed before the strike.
            return None
        return now if now is not None and now.epoch > lease.epoch else None

    new = harness.wait_until("a standby to take over", taken)
    if new.began < last.ends:
        raise harness.Failure(f"{new} began before {last} ended")
    waited = new.began - last.ends
    # The first look may come after the first renewal.
    if waited > LEASE_S / 3 + TAKEOVER_SLACK_S:
        raise harness.Failure(f"{new} began {waited:.1f} s after the end")
    return waited


def ask_to_end(site, process, lease):
    """It takes a last checkpoint and frees its lease: nobody waits for that to
    end. Returns seconds from its end to the next one's beginning."""
    process.send_signal(signal.SIGTERM)
    harness.wait_for_end(process, 0)
    ended = time.monotonic()
    site.controllers.remove(process)
    site.start_controller()

    def taken():
        now = site.lease()
        return now is not None and now.epoch > lease.epoch

    harness.wait_until("a standby to take over", taken)
    waited = time.monotonic() - ended
    if waited > TAKEOVER_SLACK_S:
        raise harness.Failure(f"a free lease was taken after {waited:.1f} s")
    return waited


def take_server_away(site, lease):
    """Whoever led stops before its lease ends, and leads again or learns that
    another does. Returns seconds from the server's return to the next epoch."""
    site.server.stop_at_once()
    time.sleep(LEASE_S + 1)
    committed = harness.committed_bytes(site.out)
    time.sleep(1)
    if harness.committed_bytes(site.out) != committed:
        raise harness.Failure("a controller commands without its lease")
    site.server.start()
    back = time.monotonic()

    def taken():
        now = site.lease()
        return now is not None and now.epoch > lease.epoch

    harness.wait_until("somebody to lead again", taken)
    site.may_be_superseded = True
    return time.monotonic() - back


def strike(site, kind):
    """Returns (stopped process or None, seconds after the lease's end).

    (None, None): all was done already, and nothing was taken over.
    """
    process, lease = site.leader()
    if kind == "asked to end":
        return None, ask_to_end(site, process, lease)
    if "away" in kind:
        return None, take_server_away(site, lease)
    harness.stop(process)
    if harness.committed_bytes(site.out) >= site.source.print.bytes:
        # It may be about to end in its own right.
        process.send_signal(signal.SIGCONT)
        return None, None
    if kind.startswith("kill"):
        harness.kill(process)
    site.controllers.remove(process)
    if "server" in kind:
        site.server.stop_at_once()
        site.server.start()
    waited = await_takeover(site, process, lease)
    if kind.startswith("kill"):
        site.start_controller()  # As a supervisor does.
        return None, waited
    return process, waited


def wake(process):
    process.send_signal(signal.SIGCONT)
    harness.wait_for_end(process, SUPERSEDED)


def play_round(programs, server, directory, source, rng, kind):
    site = Site(programs, server, directory, source)
    asleep = []
    delays = []
    for _ in range(rng.choice((1, 1, 2))):
        done = harness.committed_bytes(site.out)
        site.wait_for(done + int(rng.uniform(0.05, 0.35) * source.print.bytes))
        time.sleep(rng.uniform(0, 0.05))
        process, waited = strike(site, kind)
        if waited is None:
            break  # Too late.
        delays.append(waited)
        if process is None:
            continue
        if "midway" in kind:
            wake(process)
        else:
            asleep.append(process)
    if not delays:
        raise harness.TooLate("the run ended before the first strike")
    codes = (0, SUPERSEDED) if site.may_be_superseded else (0,)
    ends = [harness.wait_for_end(process, *codes)
            for process in site.controllers]
    if 0 not in ends:
        raise harness.Failure("no controller came to the end")
    harness.verify(programs, site.pipeline, source.print)
    before = site.store(), harness.snapshot(site.out)
    for process in asleep:
        wake(process)
    if (site.store(), harness.snapshot(site.out)) != before:
        raise harness.Failure("a woken controller changed store or target")
    if site.standbys() < CONTROLLERS - 1:
        raise harness.Failure("those who stood by did not say who leads")
    epoch = int(server.rows(DATABASE, (
        "SELECT epoch FROM penstock_state.pipelines WHERE pipeline ="
        f" '{site.name}'"))[0][0])
    harness.kill(site.worker)
    written = harness.snapshot(os.path.dirname(site.directory))
    if any(SECRET.encode() in content for name, content in written.items()
           if not name.startswith("pg/")) or SECRET in str(before[0]):
        raise harness.Failure("the password was written somewhere")
    return delays, epoch


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    rounds = harness.setting("ROUNDS", 20)
    records = harness.setting("RECORDS", 1_000_000)
    seed = harness.setting("SEED", time.time_ns() % 10**9)
    harness.need_postgres()
    os.environ[SECRET_NAME] = SECRET
    print(f"failover: seed {seed}, {rounds} rounds, {records} records",
          flush=True)

    def test(programs, directory):
        rng = random.Random(seed)
        sources = harness.growing_source(directory, records, seed)
        with open(os.path.join(directory, "postgres.log"), "wb") as log:
            server = harness.PostgresServer(os.path.join(directory, "pg"), log)
            try:
                server.make_database(DATABASE)
                for number in range(rounds):
                    kind = KINDS[number % len(KINDS)]
                    started = time.monotonic()
                    delays, epoch = harness.strike_in_time(
                        programs, lambda trial, kind=kind: play_round(
                            programs, server, os.path.join(directory, "s"),
                            sources[trial], rng, kind))
                    print(f"round {number + 1:2}: {kind}; taken over "
                          f"{', '.join(f'{d:.2f} s' for d in delays)} after it "
                          f"was free; {epoch} epochs; "
                          f"{time.monotonic() - started:.1f} s", flush=True)
            finally:
                server.end()
        print(f"failover: {sources[0].print} exactly once in each of {rounds} "
              "rounds", flush=True)

    return harness.main("failover", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
