#!/usr/bin/env python3
"""No secret leaves by any door (INV-10), and no record fills the log.

Each case is a connector whose configuration has a secret: a password, a whole
connection string, a key in PEM; by variable or by file; right, wrong, or quoted
by a server that does not know better. Each is opened, given a step, cut off from
its target; then everything that shows anything is asked: logs as text and JSON,
GetConnector, errors, describe, doctor, dry runs, watches, the admin port, the
stored state. Then a worker's own TLS key, and a record of a megabyte.
"""
import argparse
import contextlib
import http.client
import os
import socket
import subprocess
import sys
import threading

import harness

# Each word by itself is as bad as all of it.
SECRET = "heron-quay7"
WORDS = (b"heron", b"quay7")
VARIABLE = "PENSTOCK_TEST_SECRET"
KAFKA = ("kafka: {topic: t, options: {bootstrap.servers: '127.0.0.1:%d', "
         "security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN, "
         "sasl.username: u, %s}}")
# How a case goes, where that must be seen, and by which word: the connector was
# opened; it could not be; it was only tried, as it would only wait; the file was
# refused before.
OPENED, REFUSED, PROBED, UNREAD = "opened", "refused", "probed", "unread"
# Opened, and then the target answers with the secret in what it says.
TURNED = "turned"
JSON = " --output json"
SEEN = {
    OPENED: (b"orders", (
        "/metrics", "/status.json", "/healthz?verbose", "connectors",
        "connectors orders", "connectors orders" + JSON, "errors",
        "errors" + JSON, "top --once", "top --once" + JSON, "checkpoints",
        "checkpoints" + JSON, "log of worker", "log of watch", "doctor",
        "doctor" + JSON, "validate")),
    REFUSED: (b"orders", ("log of worker", "log of run", "log of watch",
                          "connectors orders", "validate --probe",
                          "validate --probe" + JSON)),
    PROBED: (b"orders", ("validate", "validate" + JSON)),
    UNREAD: (b"pipeline.yaml:", ("log of hand", "log of run", "validate",
                                 "validate --probe")),
}
# Doors that tell what a target said.
SEEN[TURNED] = (b"is wrong", (
    "/status.json", "/healthz?verbose", "connectors orders",
    "connectors orders" + JSON, "errors", "errors" + JSON, "log of worker",
    "log of watch", "doctor", "doctor" + JSON))
TABLE = "postgres: {url: '%s', table: orders, create_table: true}"


class Echo:
    """A server of PostgreSQL's protocol that quotes the password it is given."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heard = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self._refuse, args=(connection,),
                             daemon=True).start()

    def _refuse(self, connection):
        with connection:
            # An offer of TLS or Kerberos is declined; then the start.
            while int.from_bytes(connection.recv(65536)[4:8], "big") != 196608:
                connection.sendall(b"N")
            connection.sendall(b"R" + (8).to_bytes(4, "big") +
                               (3).to_bytes(4, "big"))
            password = connection.recv(65536)[5:-1]
            self.heard += SECRET.encode() in password
            error = (b"SFATAL\0C28P01\0Mno, " + password + b" is wrong\0\0")
            connection.sendall(b"E" + (4 + len(error)).to_bytes(4, "big") +
                               error)


class Turncoat(Echo):
    """As Echo, but at first it passes everything on to a real server."""

    def __init__(self, server):
        self._server = server
        self._passed_on = []
        self._is_honest = True
        super().__init__()

    def turn(self):
        self._is_honest = False
        for end in self._passed_on:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _refuse(self, connection):
        if not self._is_honest:
            super()._refuse(connection)
            return
        there = socket.socket(socket.AF_UNIX)
        there.connect(os.path.join(self._server.directory, ".s.PGSQL.5432"))
        self._passed_on += [connection, there]
        back = threading.Thread(target=self._pass_on, args=(there, connection),
                                daemon=True)
        back.start()
        self._pass_on(connection, there)
        back.join()

    @staticmethod
    def _pass_on(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


def get(admin, path):
    client = http.client.HTTPConnection(admin, timeout=harness.WAIT_MAX)
    client.request("GET", path)
    answer = client.getresponse()
    text = answer.read()
    client.close()
    # A connector that is not well makes it 503; what it says is said all the
    # same.
    if answer.status != 200 and not (answer.status == 503 and
                                     path.startswith("/healthz")):
        raise harness.Failure(f"{path}: {answer.status} {text}")
    return text


class Site:
    """A worker with a log of its own, and what can be asked about it."""

    def __init__(self, programs, directory, log_format):
        self.programs = programs
        self.directory = harness.fresh(directory)
        self.socket = os.path.join(directory, "w.sock")
        self.admin = f"127.0.0.1:{harness.free_port()}"
        self.logs = {}
        worker = programs.start_logged(
            [programs.worker, "--listen", f"unix:{self.socket}",
             "--admin-listen", self.admin, "--log-format", log_format,
             "--state-dir", self.path("worker-state")], self.log("worker"))
        harness.wait_until("a worker", lambda: os.path.exists(self.socket),
                           alive=[worker])
        self.watch = programs.start_watch(
            f"unix:{self.socket}", self.log("watch"))

    def path(self, name):
        return os.path.join(self.directory, name)

    def log(self, name):
        self.logs[name] = self.path(name + ".log")
        return open(self.logs[name], "ab")

    def pipeline(self, sink, source="in.ndjson", more=""):
        """Two files: one for a controller, one for hands."""
        harness.make_records(self.path("in.ndjson"), 2000, 3)
        written = harness.write_pipeline(
            self.directory, self.path(source), socket=self.socket, sink=sink,
            shards=1, limits={"block_bytes": "16KiB", "step_bytes": "32KiB",
                              "step_bytes_max": "64KiB"})
        with open(written, "a", encoding="utf-8") as out:
            out.write(more)
        return written

    def doors(self, pipeline):
        """(name, bytes) of everything that shows something of a connector."""
        at, json = ["--worker", f"unix:{self.socket}"], ["--output", "json"]
        looks = (["connectors"], ["connectors", "orders"], ["errors"],
                 ["top", "--once"], ["checkpoints"])
        for page in ("/", "/metrics", "/status.json", "/healthz?verbose",
                     "/readyz"):
            yield page, get(self.admin, page)
        asked = [(look, at) for look in looks]
        asked += [(["describe", "sink.postgres"], []),
                  (["describe", "sink.kafka"], [])]
        asked += [(look, [pipeline]) for look in (
            ["doctor"], ["validate"], ["validate", "--probe"])]
        for look, more in asked:
            for form in ([], json):
                answer = self.programs.call(*look, *more, *form)
                yield " ".join(look + form), answer.stdout + answer.stderr
        for name, path in self.logs.items():
            with open(path, "rb") as log:
                yield f"log of {name}", log.read()
        for name, content in harness.snapshot(self.directory).items():
            if name not in ("secret", "pipeline.yaml"):
                yield f"file {name}", content

    def look(self, case, pipeline, seen):
        looked = 0
        word_seen, wanted = seen
        shown = set()
        for name, text in self.doors(pipeline):
            looked += 1
            if word_seen in text:
                shown.add(name)
            for word in WORDS:
                if word in text:
                    at = text.index(word)
                    raise harness.Failure(
                        f"{case}: '{word.decode()}' stands in {name}: "
                        f"{text[max(0, at - 200):at + 60]}")
        # A door behind which there is nothing proves nothing.
        for door in wanted:
            if door not in shown:
                raise harness.Failure(f"{case}: {door} shows nothing of it, "
                                      f"only {sorted(shown)} do")
        return looked


def drive(site, pipeline, fate, cut_off):
    """By hand as far as it goes, then a controller for a while."""
    if fate == PROBED:
        return
    opens = fate in (OPENED, TURNED)
    for verb in ("open", "extend", "queue", "release")[:4 if opens else 1]:
        answer = site.programs.call(verb, pipeline)
        with site.log("hand") as log:
            log.write(answer.stdout + answer.stderr)
        if opens and answer.returncode != 0:
            raise harness.Failure(f"{verb}: {answer.stderr.decode()}")
    if opens:
        cut_off()
        for verb in ("queue", "release"):
            site.programs.call(verb, pipeline)

        def in_trouble():
            page = get(site.admin, "/status.json")
            # The cut itself is told first, what the target says then later.
            return b'"condition":"ok"' not in page and SEEN[fate][0] in page

        harness.wait_until("trouble with the target", in_trouble)
        return
    run = site.programs.start_logged(
        [site.programs.penstock, "run", pipeline, "--output", "json"],
        site.log("run"))
    harness.wait_until("a word of the controller", lambda: run.poll() is not None
                       or os.path.getsize(site.logs["run"]) > 200)
    if run.poll() is None:
        harness.kill(run)


def cases(site, server, echo, turncoat):
    """(name, sink, how it goes)."""
    by_variable, by_file = f"${{env:{VARIABLE}}}", f"${{file:{site.path('secret')}}}"
    nobody = harness.free_port()
    yield ("a password by variable", TABLE % (
        f"{server.url('db')}?password={by_variable}"), OPENED)
    yield ("a password by file", TABLE % (
        f"{server.url('db')}?password={by_file}"), OPENED)
    yield ("a server that quotes it", TABLE % (
        f"postgresql://u:{by_variable}@127.0.0.1:{echo.port}/db"), REFUSED)
    yield ("a server that quotes it later", TABLE % (
        f"postgresql://postgres:{by_variable}@127.0.0.1:{turncoat.port}/db"),
           TURNED)
    yield ("a server that is not there", TABLE % (
        f"postgresql://u:{by_variable}@127.0.0.1:{nobody}/db"), REFUSED)
    yield ("a connection string that is none", TABLE % by_variable, REFUSED)
    yield ("a password of Kafka", KAFKA % (
        nobody, f"sasl.password: '{by_variable}'"), PROBED)
    yield ("a key that is none", "kafka: {topic: t, options: {"
           f"bootstrap.servers: '127.0.0.1:{nobody}', security.protocol: SSL, "
           f"ssl.key.pem: '{by_file}'}}}}", REFUSED)
    yield ("an option that is none", KAFKA % (
        nobody, f"batch.size: '{by_file}'"), REFUSED)
    yield ("a password in plain text", TABLE % (
        f"postgresql://u:{SECRET}@127.0.0.1:{nobody}/db"), UNREAD)


def play_cases(programs, directory, server, echo):
    for number in range(100):
        log_format = ("text", "json")[number % 2]
        site = Site(programs, os.path.join(directory, "s"), log_format)
        with open(site.path("secret"), "w", encoding="utf-8") as out:
            out.write(SECRET + "\n")
        turncoat = Turncoat(server)
        left = list(cases(site, server, echo, turncoat))[number:]
        if not left:
            programs.end_all()
            return number
        name, sink, fate = left[0]
        server.make_database("db")
        pipeline = site.pipeline(sink)
        drive(site, pipeline, fate, turncoat.turn if fate == TURNED else
              server.stop_at_once)
        looked = site.look(name, pipeline, SEEN[fate])
        if fate == TURNED and turncoat.heard == 0:
            raise harness.Failure("it was not told the password again")
        programs.end_all()
        if fate == OPENED:
            server.start()
        server.drop_database("db")
        print(f"{name}: in none of {looked} places", flush=True)
    raise harness.Failure("cases without end")


def tls_key(programs, directory):
    """Of a worker: whole, and damaged in its middle."""
    key, certificate = (os.path.join(directory, name)
                        for name in ("w.key", "w.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "2", "-subj", "/CN=w", "-keyout", key, "-out", certificate],
        check=True, capture_output=True)
    with open(key, encoding="ascii") as text:
        lines = text.read().splitlines()
    for name, body in (("whole", lines), ("damaged", lines[:9] + lines[12:])):
        with open(key, "w", encoding="ascii") as out:
            out.write("\n".join(body) + "\n")
        ran = subprocess.Popen(
            [programs.worker, "--listen", "127.0.0.1:0", "--admin-listen", "",
             "--state-dir", os.path.join(directory, "tls"), "--tls-cert",
             certificate, "--tls-key", key, "--role", "observer=*"],
            stderr=subprocess.PIPE, preexec_fn=harness.die_with_parent)
        if name == "whole":
            said = ran.stderr.readline()
            ran.kill()
        said = (said if name == "whole" else b"") + ran.stderr.read()
        if ran.wait() == 0 or not said:
            raise harness.Failure(f"a key that is {name}: it said {said}")
        for line in lines[1:-1]:
            if line.encode() in said:
                raise harness.Failure(f"a key that is {name} stands in {said}")
    print("a key of TLS: not in the log", flush=True)


def large_record(programs, directory):
    site = Site(programs, os.path.join(directory, "large"), "json")
    pipeline = site.pipeline(None, "bad.ndjson")
    with open(site.path("bad.ndjson"), "w", encoding="utf-8") as out:
        out.write('{"id":' + "x" * 1_000_000 + "}\n")
    for verb in ("open", "extend", "queue"):
        programs.call(verb, pipeline)
    harness.wait_until("a bad record", lambda: b'"parse_errors":1' in get(
        site.admin, "/status.json"))
    with open(site.logs["worker"], "rb") as log:
        longest = max(map(len, log.read().splitlines()))
    if longest > 16 * 1024:
        raise harness.Failure(f"a line of the log has {longest} bytes")
    for name, text in site.doors(pipeline):
        if b"x" * 10_000 in text and name != "file bad.ndjson":
            raise harness.Failure(f"a whole record stands in {name}")
    programs.end_all()
    print(f"a record of a megabyte: {longest} bytes in the log at most",
          flush=True)


def test(programs, directory):
    os.environ[VARIABLE] = SECRET
    tls_key(programs, directory)
    large_record(programs, directory)
    with open(os.path.join(directory, "postgres.log"), "wb") as log:
        server = harness.PostgresServer(os.path.join(directory, "pg"), log)
        try:
            echo = Echo()
            count = play_cases(programs, directory, server, echo)
            if echo.heard == 0:
                raise harness.Failure("nobody told the server the password")
        finally:
            server.end()
    print(f"secrets: {count} cases, nothing seen", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    harness.need_postgres()
    return harness.main("secrets", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
