#!/usr/bin/env python3
"""A worker as its pod runs it: process 1, not root, a root that it cannot write.

Command, places, user, preStop, grace and probes are read from
deploy/kubernetes and the Dockerfile. First it is told to go as a kubelet would,
while a source that is written to all the time is read: preStop, SIGTERM, and
SIGKILL at the end of the grace, which must not be needed. It is alive and not
ready meanwhile, and what it left comes again: every line is there once. Then
every target is dead, for a while: its probes stay green, for neither a restart
nor another worker would help, while its health says which connectors suffer.

Needs root, for namespaces of its own (else it says so and exits with 77), and
PyYAML; the second part needs a PostgreSQL server, too.

  PENSTOCK_CHAOS_DEAD_SECONDS  how long the targets are dead (15)
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import harness
import stall
from worker_process import probe

try:
    import yaml
except ImportError:
    yaml = None

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
INSIDE = "PENSTOCK_POD_INSIDE"
# Of the machine, as a pod's root has them from its image.
SYSTEM = ("bin", "etc", "lib", "lib64", "usr")
MIB = 1 << 20


class Manifest:
    """What deploy/kubernetes and the image say of a worker's pod."""

    def __init__(self):
        with open(ROOT / "deploy/kubernetes/statefulset.yaml",
                  encoding="utf-8") as text:
            pod = yaml.safe_load(text)["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
        entry = re.search(r"^ENTRYPOINT (\[.*?\])",
                          re.sub(r"\\\n\s*", "", image), re.MULTILINE)
        self.command = json.loads(entry.group(1)) + container["args"]
        self.grace = pod["terminationGracePeriodSeconds"]
        self.user = pod["securityContext"]["runAsUser"]
        self.group = pod["securityContext"]["runAsGroup"]
        self.pre_stop = container["lifecycle"]["preStop"]["exec"]["command"]
        self.places = {mount["name"]: mount["mountPath"]
                       for mount in container["volumeMounts"]}
        ports = {port["name"]: port["containerPort"]
                 for port in container["ports"]}
        self.grpc = f"127.0.0.1:{ports['grpc']}"
        self.admin = ports["admin"]
        self.live = container["livenessProbe"]["httpGet"]["path"]
        self.live_seconds = container["livenessProbe"]["timeoutSeconds"]
        self.ready = container["readinessProbe"]["httpGet"]["path"]


class Pod:
    """Volumes that stay, and a container that comes and goes."""

    def __init__(self, programs, directory):
        self._programs = programs
        self.manifest = manifest = Manifest()
        self.volumes = {name: os.path.join(directory, name)
                        for name in manifest.places}
        for path in self.volumes.values():
            os.makedirs(path)
            os.chown(path, manifest.user, manifest.group)
        self._root = os.path.join(directory, "root")
        os.makedirs(self._root)
        self._process = None

    def start(self):
        bin_dir = os.path.dirname(os.path.realpath(self._programs.worker))
        root = shlex.quote(self._root)
        script = [f"mount -t tmpfs tmpfs {root}"]
        binds = [(f"/{name}", f"/{name}") for name in SYSTEM
                 if os.path.isdir(f"/{name}")]
        binds += [(bin_dir, "/app"), ("/dev", "/dev")]
        binds += [(path, self.manifest.places[name])
                  for name, path in self.volumes.items()]
        for outside, inside in binds:
            script += [f"mkdir -p {root}{inside}", "mount --rbind "
                       f"{shlex.quote(outside)} {root}{inside}"]
        script += [f"mkdir {root}/proc {root}/tmp",
                   f"mount -t proc proc {root}/proc",
                   f"mount -o remount,ro {root}",
                   f"exec chroot {root} {self._as_user()} env -i PATH=/app "
                   + shlex.join(self.manifest.command)]
        self._process = self._programs.start(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount",
             "--propagation", "private", "sh", "-ec", "\n".join(script)], {})
        harness.wait_until("the worker to be ready", lambda:
                           self.probe(self.manifest.ready) == 200,
                           alive=[self._process])

    def _as_user(self):
        return (f"setpriv --reuid={self.manifest.user} "
                f"--regid={self.manifest.group} --clear-groups "
                "--no-new-privs --bounding-set=-all --pdeathsig=KILL")

    def remove(self):
        """At once."""
        os.kill(self.first_process(), signal.SIGKILL)
        self._process.wait()

    def probe(self, path):
        return probe(self.manifest.admin, path)

    def get(self, path):
        """(status, body)"""
        url = f"http://127.0.0.1:{self.manifest.admin}{path}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def first_process(self):
        return harness.child_of(self._process)

    def run_inside(self, command):
        """As `exec` of a container does."""
        return subprocess.Popen(
            ["nsenter", f"--target={self.first_process()}", "--pid", "--mount",
             "--root", f"--setuid={self.manifest.user}",
             f"--setgid={self.manifest.group}", *command],
            preexec_fn=harness.die_with_parent)

    def terminate(self, before_signal):
        """preStop, then SIGTERM. Returns when each began."""
        began = time.monotonic()
        code = self.run_inside(self.manifest.pre_stop).wait()
        if code != 0:
            raise harness.Failure(f"preStop ended with {code}")
        if self.probe(self.manifest.live) != 200:
            raise harness.Failure("preStop ended the worker")
        before_signal()
        signalled = time.monotonic()
        os.kill(self.first_process(), signal.SIGTERM)
        return began, signalled

    def wait_for_end(self, began):
        try:
            return self._process.wait(
                self.manifest.grace - (time.monotonic() - began))
        except subprocess.TimeoutExpired:
            raise harness.Failure(
                f"SIGKILL would have been needed: it had not ended after "
                f"{self.manifest.grace} s") from None


class Load:
    """Appends lines to a file until it is told to stop."""

    def __init__(self, path):
        self.path = path
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self):
        number = 0
        with open(self.path, "ab", buffering=0) as out:
            while not self._stop.wait(0.01):
                out.write(b"".join(
                    b'{"id": %d, "key": "k%d", "pad": "%s"}\n'
                    % (number + i, i, b"x" * 60) for i in range(200)))
                number += 200

    def stop(self):
        self._stop.set()
        self._thread.join()
        return harness.fingerprint_of_file(self.path)


def connector(name, data, sink):
    return (f"  - name: {name}\n"
            f"    source: {{file: {{path: '{data}/in/*.ndjson', follow: true}}}}\n"
            "    format: {ndjson: {key: key}}\n"
            "    schema: {columns: [{name: id, type: BIGINT}]}\n"
            f"    sink: {{{sink}}}\n    shards: 2\n"
            "    limits: {step_bytes: 128KiB, step_bytes_max: 256KiB, "
            "chunk_bytes_max: 32KiB, block_bytes: 64KiB}\n")


class Scene:
    """A pod under load, and a controller outside of it."""

    def __init__(self, programs, pod, directory, sinks):
        self.pod = pod
        data = pod.volumes["data"]
        os.makedirs(os.path.join(data, "in"))
        self.load = Load(os.path.join(data, "in", "a.ndjson"))
        self.out = os.path.join(data, "disk", "out")
        pod.start()
        pipeline = os.path.join(directory, "pipeline.yaml")
        with open(pipeline, "w", encoding="utf-8") as out:
            out.write(
                f"name: pod\nstore: '{harness.default_store(directory)}'\n"
                "checkpoint_interval: 500ms\n"
                f"workers: [{{address: '{pod.manifest.grpc}'}}]\nconnectors:\n"
                + "".join(connector(name, pod.manifest.places["data"], sink)
                          for name, sink in sinks.items()))
        self.run = programs.start_run(pipeline)

    def wait_for_output(self, size):
        harness.wait_until("output", lambda:
                           harness.committed_bytes(self.out) > size,
                           alive=[self.run])

    def end(self, is_there):
        """Ends the load; `is_there(what was written)` in the end, and no more.
        """
        wanted = self.load.stop()
        harness.wait_until("the last line", alive=[self.run],
                           condition=lambda: is_there(wanted))
        self.run.send_signal(signal.SIGTERM)
        harness.wait_for_end(self.run, 0)
        found = harness.fingerprint_of_output(self.out)
        if found.count != wanted.count:
            raise harness.Failure(f"output has {found}, input {wanted}")
        return wanted


def count_lines(out):
    return harness.fingerprint_of_output(out).count


def file_sink(pod):
    return f"file: {{path: '{pod.manifest.places['data']}/disk/out'}}"


def terminated(programs, directory):
    """As a kubelet ends a pod, under load; then the pod comes back."""
    pod = Pod(programs, directory)
    disk = os.path.join(pod.volumes["data"], "disk")
    os.mkdir(disk)
    os.chmod(disk, 0o777)
    scene = Scene(programs, pod, directory, {"orders": file_sink(pod)})
    scene.wait_for_output(MIB)
    # Held on for a moment, so that the drain is met and not only its end.
    began, signalled = pod.terminate(lambda: harness.stop(scene.run))
    harness.wait_until("the drain to show", lambda:
                       pod.probe(pod.manifest.ready) == 503)
    for _ in range(20):
        seen = pod.probe(pod.manifest.live), pod.probe(pod.manifest.ready)
        if seen != (200, 503):
            raise harness.Failure(f"while it drains the probes say {seen}")
    scene.run.send_signal(signal.SIGCONT)
    code = pod.wait_for_end(began)
    took = time.monotonic() - signalled
    if code != 0:
        raise harness.Failure(f"it was led and ended with {code}")
    if scene.run.poll() is not None:
        raise harness.Failure("the run must wait for the pod to come back")
    before = harness.committed_bytes(scene.out)
    pod.start()
    scene.wait_for_output(before + MIB)
    wanted = scene.end(lambda wanted: count_lines(scene.out) >= wanted.count)
    pod.remove()
    print(f"terminated: preStop and a drain of {took:.1f} s within "
          f"{pod.manifest.grace} s; {wanted.count} lines exactly once",
          flush=True)


def look_while_dead(pod, seconds):
    """Probes as often as can be; returns how many, and the slowest."""
    slowest, count = 0.0, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for path in (pod.manifest.live, pod.manifest.ready):
            began = time.monotonic()
            status = pod.probe(path)
            slowest = max(slowest, time.monotonic() - began)
            if status != 200:
                raise harness.Failure(f"{path} says {status} while targets "
                                      "are dead")
            count += 1
        time.sleep(0.05)
    if slowest > pod.manifest.live_seconds:
        raise harness.Failure(f"a probe took {slowest:.1f} s")
    return count, slowest


def is_ill(pod, names):
    """Whether health tells of each of them."""
    status, body = pod.get("/healthz?verbose")
    return status == 503 and all(
        re.search(rf"^\[-\] {name} \w+ (degraded|stalled|needs_config) ", body,
                  re.MULTILINE) for name in names)


def all_dead(programs, directory, seconds, server):
    """Every target dies at work; then they come back."""
    server.make_database("db")
    pod = Pod(programs, directory)
    with stall.SmallDisk(os.path.join(pod.volumes["data"], "disk")) as disk:
        os.chmod(disk.path, 0o777)
        sinks = {"orders": file_sink(pod),
                 "rows": "postgres: {url: 'postgresql://postgres@127.0.0.1/db'"
                         ", table: lines, create_table: true}"}
        scene = Scene(programs, pod, directory, sinks)

        def rows():
            return int(server.rows("db", "SELECT count(*) FROM lines")[0][0])

        scene.wait_for_output(MIB)
        harness.wait_until("rows", lambda: "lines" in server.command(
            "db", "\\dt") and rows() > 0, alive=[scene.run])
        harness.wait_until("health", lambda: pod.get("/healthz")[0] == 200)
        disk.fill()
        server.stop_at_once()
        harness.wait_until("health to tell", lambda: is_ill(pod, sinks),
                           alive=[scene.run])
        count, slowest = look_while_dead(pod, seconds)
        if not is_ill(pod, sinks):
            raise harness.Failure(f"health: {pod.get('/healthz?verbose')}")
        disk.empty()
        server.start()
        disk.enlarge()
        harness.wait_until("health to be well again",
                           lambda: pod.get("/healthz")[0] == 200)
        wanted = scene.end(lambda wanted: rows() >= wanted.count and
                           count_lines(scene.out) >= wanted.count)
        if rows() != wanted.count:
            raise harness.Failure(f"{rows()} rows of {wanted}")
        pod.remove()
    print(f"all dead: {count} probes in {seconds:.0f} s were green, the slowest "
          f"after {slowest * 1000:.0f} ms; {wanted.count} lines exactly once in "
          "both targets", flush=True)


def begin_again_inside():
    """In a network of its own, where the pod's ports are free."""
    alone = ["unshare", "--net", "--mount", "--propagation", "private", "sh",
             "-c", 'ip link set lo up && exec "$@"', "sh"]
    tried = subprocess.run([*alone, "true"], capture_output=True, text=True,
                           check=False)
    if tried.returncode != 0:
        print("pod: SKIPPED, NOTHING WAS TESTED: namespaces take root: "
              + tried.stderr.strip())
        sys.exit(SKIPPED)
    os.execvpe(alone[0], [*alone, sys.executable, "-B", *sys.argv],
               {**os.environ, INSIDE: "1"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    if yaml is None:
        print("pod: SKIPPED, NOTHING WAS TESTED: no PyYAML (python3-yaml)")
        return SKIPPED
    harness.need_postgres()
    if INSIDE not in os.environ:
        begin_again_inside()

    def test(programs, directory):
        # Its users are others than ours.
        os.chmod(directory, 0o755)
        terminated(programs, os.path.join(directory, "t"))
        with open(os.path.join(directory, "postgres.log"), "wb") as log:
            server = harness.PostgresServer(
                os.path.join(directory, "pg"), log,
                {"listen_addresses": "127.0.0.1"})
            try:
                all_dead(programs, os.path.join(directory, "d"),
                         harness.setting("DEAD_SECONDS", 15), server)
            finally:
                server.end()

    return harness.main("pod", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
