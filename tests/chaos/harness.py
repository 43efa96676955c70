"""What the chaos scripts share: data, pipelines, processes, verification.

Nothing here knows the code under test: committed bytes are read from the
published format of the file sink (core/sinks/file/README.md), and records are
counted and compared by Python alone, beside `penstock verify`.
"""
import collections
import contextlib
import ctypes
import glob
import gzip
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import zlib

SHARDS = 4
NOT_CHECKPOINTED = 8  # Exit code of a run that was stopped with steps left.
# Nothing that a test waits for may take longer (seconds).
WAIT_MAX = float(os.environ.get("PENSTOCK_CHAOS_WAIT_S", "120"))


class Failure(Exception):
    """The test found something wrong."""


class TooLate(Failure):
    """A blow fell when all was done already, so it proves nothing.

    How fast a machine is decides that, so it is no finding; but what always
    comes too late tests nothing: see `strike_in_time`.
    """


TRIALS_MAX = 5
GROWTH = 3  # From one trial to the next.


def strike_in_time(programs, play):
    """What `play(trial)` returns, anew while its blow comes too late.

    `trial` counts from 0: what it plays with has to grow, see `Growing`, for
    on a fast machine the same would be too late again.
    """
    for trial in range(TRIALS_MAX - 1):
        with contextlib.suppress(TooLate):
            return play(trial)
        print(f"too late, again with {GROWTH} times as much", flush=True)
        programs.end_all()
    return play(TRIALS_MAX - 1)


class Growing:
    """`make(name, records)` by trial, each `GROWTH` times the one before.

    `name` tells the trials apart. What was made once is kept.
    """

    def __init__(self, make, records):
        self._make = make
        self._records = records
        self._made = []

    def __getitem__(self, trial):
        while len(self._made) <= trial:
            number = len(self._made)
            self._made.append(self._make(f"trial{number}",
                                         self._records * GROWTH**number))
        return self._made[trial]


def setting(name, default):
    """The whole number PENSTOCK_CHAOS_<name> of the environment."""
    return int(os.environ.get(f"PENSTOCK_CHAOS_{name}", default))


def free_port():
    """One of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def default_bin():
    here = os.path.dirname(os.path.realpath(__file__))
    return os.path.join(here, "..", "..", "build", "release", "bin")


def make_records(path, count, seed):
    """Writes NDJSON of about 100 bytes a record, some of them equal."""
    rng = random.Random(seed)
    bits = rng.getrandbits
    words = ["gate", "weir", "sluice", "intake", "turbine", "spillway"]
    previous = None
    with open(path, "w", encoding="utf-8", buffering=1 << 20) as out:
        for number in range(count):
            drawn = bits(48)
            if previous is not None and drawn & 127 == 0:
                out.write(previous)  # An equal record, in the same shard.
                continue
            previous = (
                f'{{"id":{number},"key":"k{drawn >> 32 & 0xfff}","word":'
                f'"{words[(drawn >> 8) % 6]}","value":{drawn >> 16 & 0xffff},'
                f'"pad":"{drawn:012x}{drawn ^ seed:024x}"}}\n')
            out.write(previous)


def default_store(directory):
    return f"sqlite:{directory}/state.db"


def write_pipeline(directory, source, *, name="chaos", socket=None,
                   checkpoint="200ms", shards=SHARDS, key="key", limits=None,
                   delivery=None, level=None, on_parse_error=None, beside=None, store=None,
                   lease=None, sink=None, read=None):
    """Writes a pipeline file; its output goes to `directory`/out.

    `beside`: the source of a second connector, whose output goes to
    `directory`/beside. `store`: another than SQLite's in `directory`. `sink`:
    another than files, in YAML. `read`: another source than the file
    `source`, in YAML.
    """
    path = os.path.join(directory, "pipeline.yaml")
    lines = [f"name: {name}", f"store: '{store or default_store(directory)}'",
             f"checkpoint_interval: {checkpoint}"]
    if lease:
        lines.append(f"lease: {lease}")
    if level:
        lines.append(f"level: {level}")
    if socket:
        lines.append(f"workers: [{{address: 'unix:{socket}'}}]")
    lines.append("connectors:")
    connectors = [("orders", read or f"file: {{path: '{source}'}}", "out")]
    if beside:
        connectors.append(("beside", f"file: {{path: '{beside}'}}", "beside"))
    for connector, from_, written in connectors:
        lines += [f"  - name: {connector}",
                  "    source: {" + from_ + "}",
                  f"    format: {{ndjson: {{key: {key}}}}}",
                  "    sink: {" + (
                      sink or f"file: {{path: '{directory}/{written}'}}") + "}",
                  f"    shards: {shards}"]
        if on_parse_error:
            lines.append(f"    on_parse_error: {on_parse_error}")
        for section, fields in (("limits", limits), ("delivery", delivery)):
            if fields:
                lines.append(f"    {section}: {{" + ", ".join(
                    f"{field}: {value}" for field, value in fields.items()) +
                             "}")
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    return path


# --- Committed output, by the published format -------------------------------

def _records(data):
    at = 0
    while at + 16 <= len(data) and data[at:at + 4] == b"PnsR":
        (length,) = struct.unpack_from("<I", data, at + 12)
        end = at + 16 + length
        if data[end:end + 4] != b"end\n":
            return
        yield data[at + 16:end]
        at = end + 4


DataFile = collections.namedtuple("DataFile", "path size compression finished")
# How a DataFile is compressed, and what its name ends with.
NONE, GZIP, ZSTD = range(3)
EXTENSIONS = ("", ".gz", ".zst")


def _writer_name(epoch, opened):
    return f"{epoch:020d}-{opened:020d}"


def _text(data, at):
    (length,) = struct.unpack_from("<I", data, at)
    at += 4
    return data[at:at + length].decode(), at + length


def _data_files(payload, at):
    """The list at `at`: {(shard, epoch, open, number): [what there is]}."""
    (count,) = struct.unpack_from("<I", payload, at)
    at += 4
    found = {}
    for _ in range(count):
        shard, epoch, opened, size, number, stage, compression, copy = (
            struct.unpack_from("<IQQQIBBB", payload, at))
        name, at = _text(payload, at + 35)
        found[(shard, epoch, opened, number)] = [
            size, stage, compression, copy, name]
    return found


def _segment_id(payload, at):
    """A name or None, and where it ends."""
    if payload[at] == 0:
        return None, at + 1
    epoch, opened, number = struct.unpack_from("<QQI", payload, at + 1)
    return f"segment.{_writer_name(epoch, opened)}.{number:06d}", at + 21


class _Manifest:
    """What one manifest says; `files` is None if it is not complete."""

    def __init__(self, data):
        self.files, self.progress, self.segment = None, [], None
        with contextlib.suppress(struct.error, IndexError):
            # A damaged record (no checksums here): what precedes it counts.
            for payload in _records(data):
                self._apply(payload[0], payload, 9)

    def _apply(self, kind, payload, at):
        if kind == 1:
            version, epoch, opened = struct.unpack_from("<IQQ", payload, at)
            if version != 2:
                raise Failure(f"format version {version}")
            self._writer, at = (epoch, opened), at + 25
            for _ in range(3):
                _, at = _text(payload, at)
            self._compression = payload[at]
            self._pattern, _ = _text(payload, at + 1)
        elif kind == 2:
            (count,) = struct.unpack_from("<I", payload, at)
            self.progress = list(
                struct.unpack_from(f"<{count}Q", payload, at + 4))
            self.segment, at = _segment_id(payload, at + 4 + 8 * count)
            self.files = _data_files(payload, at)
        elif kind == 3 and self.files is not None:
            (count,) = struct.unpack_from("<I", payload, at)
            for i in range(count):
                self._commit(*struct.unpack_from("<IQQIB", payload,
                                                 at + 4 + 25 * i))

    def _commit(self, shard, size, steps, number, finishes):
        if shard < len(self.progress):
            self.progress[shard] = steps
        key = (shard, *self._writer, number)
        if key not in self.files and size > 0:
            name = self._pattern and self._pattern.format(
                shard=f"{shard:04d}", writer=_writer_name(*self._writer),
                number=f"{number:06d}") + EXTENSIONS[self._compression]
            self.files[key] = [size, 0, self._compression, 0, name]
        if key in self.files:
            self.files[key][0] = size
            if finishes:
                self.files[key][1] = 1 if self._pattern else 2


def _highest_manifest(directory):
    """A _Manifest, or None before the first open."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return None
    for name in sorted((n for n in names if n.startswith("manifest.")),
                       reverse=True):
        try:
            with open(os.path.join(directory, name), "rb") as manifest:
                read = _Manifest(manifest.read())
        except FileNotFoundError:
            return _highest_manifest(directory)  # The next part is there.
        if read.files is not None:
            return read
    return None


def _path_of(directory, key, compression, copy, name):
    """Where a data file stands now."""
    shard, epoch, opened, number = key
    work = (("copy" if copy else "data") +
            f"-{shard:04d}.{_writer_name(epoch, opened)}" +
            (f".{number:06d}" if number else "") + EXTENSIONS[compression])
    if not name:
        return os.path.join(directory, work)
    final = os.path.join(directory, "files", name)
    hidden = os.path.join(directory, "files", "." + work)
    return hidden if os.path.exists(hidden) else final


def committed_files(directory):
    """Each committed DataFile of a file sink; none before its first open."""
    manifest = _highest_manifest(directory)
    if manifest is None:
        return []
    files, segment = [manifest.files], manifest.segment
    while segment:
        with open(os.path.join(directory, segment), "rb") as file:
            _, payload = _records(file.read())
        segment, at = _segment_id(payload, 9)
        files.append(_data_files(payload, at))
    return [DataFile(_path_of(directory, key, compression, copy, name), size,
                     compression, stage > 0)
            for listed in files
            for key, (size, stage, compression, copy, name) in listed.items()
            if size > 0]


def committed(directory):
    """{data file: committed bytes} of a file sink; {} before its first open."""
    return {os.path.relpath(file.path, directory): file.size
            for file in committed_files(directory)}


def progress(directory):
    """Each shard's count of committed steps; [] before the first open."""
    read = _highest_manifest(directory)
    return [] if read is None else read.progress


def committed_bytes(directory):
    return sum(committed(directory).values())


def snapshot(directory):
    """Every file's bytes, to tell whether anything changed."""
    found = {}
    for root, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(root, name)
            if not os.path.isfile(path):
                continue  # A socket.
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = file.read()
    return found


# --- Independent verification ------------------------------------------------

class Fingerprint:
    """Count, bytes and order-free hash of lines: equal iff equal multisets.

    The hash is the sum of Python's keyed 64-bit hash of each line.
    """

    def __init__(self):
        self.count = self.bytes = self.sum = 0

    def add(self, lines):
        for line in lines:
            self.sum += hash(line)
            self.bytes += len(line)
            self.count += 1

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __str__(self):
        return f"{self.count} records, {self.bytes} bytes"


def lines_of(path):
    """Each line with a line end, which the last one may lack in the file."""
    with open(path, "rb", buffering=1 << 20) as lines:
        for line in lines:
            yield line if line.endswith(b"\n") else line + b"\n"


def fingerprint_of_file(path):
    result = Fingerprint()
    result.add(lines_of(path))
    return result


class Source:
    """A file of records and what is in it."""

    def __init__(self, path):
        self.path = path
        self.print = fingerprint_of_file(path)

    def counts(self):
        return collections.Counter(lines_of(self.path))


def make_source(path, records, seed):
    make_records(path, records, seed)
    return Source(path)


def growing_source(directory, records, seed):
    """By trial a Source in `directory`, see `Growing`."""
    return Growing(
        lambda name, count: make_source(
            os.path.join(directory, f"{name}-{records}.ndjson"), count, seed),
        records)


def has_zstd():
    return shutil.which("zstd") is not None


def decompress(data, compression):
    """All of `data`, which must be whole members or frames."""
    if compression == GZIP:
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise Failure(f"gzip: {error}") from None
    if compression == ZSTD:
        done = subprocess.run(["zstd", "-dc"], input=data, capture_output=True,
                              timeout=WAIT_MAX, check=False)
        if done.returncode != 0:
            raise Failure(f"zstd: {done.stderr.decode()}")
        return done.stdout
    return data


def committed_lines(directory):
    """For each committed data file, in no order: its lines."""
    for path, size, compression, _ in committed_files(directory):
        try:
            with open(path, "rb") as data:
                held = data.read(size)
        except FileNotFoundError:
            raise Failure(f"{path} is committed and missing") from None
        if len(held) != size:
            raise Failure(f"{path} holds {len(held)} of {size} bytes")
        held = decompress(held, compression)
        if held and not held.endswith(b"\n"):
            raise Failure(f"{path} is committed up to the middle of a record")
        yield held.splitlines(keepends=True)


def whole_file_lines(directory):
    """For each file of `directory`/files without a leading dot: its lines."""
    files = os.path.join(directory, "files")
    for name in sorted(os.listdir(files)):
        if name.startswith("."):
            continue
        with open(os.path.join(files, name), "rb") as data:
            held = decompress(data.read(), next(
                (kind for kind in (GZIP, ZSTD)
                 if name.endswith(EXTENSIONS[kind])), NONE))
        yield held.splitlines(keepends=True)


def fingerprint_of_output(directory):
    result = Fingerprint()
    for lines in committed_lines(directory):
        result.add(lines)
    return result


# --- Processes ---------------------------------------------------------------

def die_with_parent():
    """In the child: even a killed test leaves no process behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Programs:
    """Starts the programs under test; ends what it started, nothing else."""

    def __init__(self, directory, log):
        self.penstock = os.path.join(directory, "penstock")
        self.worker = os.path.join(directory, "penstock-worker")
        self.by_hand = os.path.join(directory, "penstock_by_hand")
        for program in (self.penstock, self.worker, self.by_hand):
            if not os.access(program, os.X_OK):
                raise SystemExit(f"no program {program}: build it, or --bin")
        self._log = log
        self._started = []

    def _start(self, arguments, stdin=subprocess.DEVNULL, stderr=None,
               environment=None, **options):
        process = subprocess.Popen(
            arguments, stdin=stdin, stderr=stderr or self._log,
            preexec_fn=die_with_parent,
            env={**os.environ, **(environment or {})}, **options)
        self._started.append(process)
        return process

    def start(self, arguments, environment):
        """Another program, whose output is the log."""
        return self._start(arguments, environment=environment, stdout=self._log)

    def start_logged(self, arguments, log):
        """One of the programs by another way, with a log of its own."""
        return self._start(arguments, stdout=log, stderr=log)

    def start_worker(self, socket, state, *more, admin="", environment=None):
        return self.start_worker_at(f"unix:{socket}", state, *more, admin=admin,
                                    environment=environment)

    def start_worker_at(self, address, state, *more, admin="",
                        environment=None):
        """`address`: unix:/path or host:port."""
        if address.startswith("unix:"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(address[len("unix:"):])
        return self._start(
            [self.worker, "--listen", address, "--admin-listen", admin,
             "--state-dir", state, "--log-level", "warning", *more],
            stdout=self._log, environment=environment)

    def start_run(self, pipeline, *more, output=None, errors=None,
                  stdin=subprocess.DEVNULL):
        return self._start(
            [self.penstock, "run", pipeline, "--output", "json", *more],
            stdin=stdin, stdout=output or self._log, stderr=errors)

    def start_watch(self, target, output, *more):
        return self._start([self.penstock, "watch", "--worker", target, *more],
                           stdout=output)

    def start_by_hand(self, target, pipeline):
        """A controller that takes commands (by_hand.cc)."""
        return self._start([self.by_hand, target, pipeline],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, *arguments):
        return subprocess.run(
            [self.penstock, *arguments], stdin=subprocess.DEVNULL,
            capture_output=True, timeout=WAIT_MAX, check=False)

    def end_all(self):
        for process in self._started:
            if process.poll() is None:
                process.kill()  # Also ends one that is stopped.
                process.wait()
        self._started = []


def child_of(process):
    """The pid of the one child (the local worker), or None."""
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children",
                  encoding="ascii") as children:
            pids = children.read().split()
    except FileNotFoundError:
        return None
    return int(pids[0]) if pids else None


def kill_local_worker(run):
    """Another is started by `run`. Returns whether there was one to kill."""
    child = wait_until("a local worker",
                       lambda: run.poll() is not None or child_of(run))
    if run.poll() is not None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
        return True
    return False


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def stop(process):
    """SIGSTOP, and returns only when no thread of it runs any more.

    The signal is delivered to each thread in its own time: what is looked at
    before that may still be changed by the process.
    """
    process.send_signal(signal.SIGSTOP)
    wait_until_stopped(process)


def wait_until_stopped(process):
    tasks = f"/proc/{process.pid}/task"

    def stopped():
        for task in os.listdir(tasks):
            with open(os.path.join(tasks, task, "stat"), "rb") as stat:
                state = stat.read().rpartition(b") ")[2][:1]
            if state != b"T":
                return False
        return True

    wait_until(f"process {process.pid} to stop", stopped, alive=[process])


def wait_until(what, condition, *, alive=(), timeout=None):
    """Polls until `condition()`; a process of `alive` that ends is a failure.
    """
    deadline = time.monotonic() + (timeout or WAIT_MAX)
    while True:
        value = condition()
        if value:
            return value
        for process in alive:
            if process.poll() is not None:
                raise Failure(f"waiting for {what}: the process ended with "
                              f"{process.returncode}")
        if time.monotonic() > deadline:
            raise Failure(f"waiting for {what}: not within {WAIT_MAX} s")
        time.sleep(0.005)


def wait_for_end(process, *codes, timeout=None):
    try:
        code = process.wait(timeout or WAIT_MAX)
    except subprocess.TimeoutExpired:
        raise Failure("a run did not end in time") from None
    if code not in codes:
        raise Failure(f"a run ended with {code}, expected {codes}")
    return code


class Hand:
    """A controller by hand: says commands to a worker, hears the answers."""

    def __init__(self, programs, socket, pipeline):
        self._process = programs.start_by_hand(f"unix:{socket}", pipeline)

    def say(self, *words):
        """The answer, a dictionary; its "error" is OK if all is well."""
        self._process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise Failure(f"no answer to {words}")
        return json.loads(line)

    def do(self, *words):
        answer = self.say(*words)
        if answer["error"] != "OK":
            raise Failure(f"{words}: {answer}")
        return answer


# --- A PostgreSQL server -----------------------------------------------------

def _postgres_bin():
    """Where Debian keeps the newest version's programs, or None."""
    given = os.environ.get("PENSTOCK_POSTGRES_BIN")
    found = [given] if given else sorted(
        glob.glob("/usr/lib/postgresql/*/bin"),
        key=lambda path: int(path.split("/")[4]))
    found = [path for path in found
             if os.access(os.path.join(path, "postgres"), os.X_OK)]
    return found[-1] if found else None


def need_postgres():
    """Ends a script that needs a server where there is none."""
    if _postgres_bin() is None:
        if os.environ.get("PENSTOCK_REQUIRE_POSTGRES") == "1":
            raise SystemExit("no PostgreSQL server is installed")
        print("NOTHING WAS TESTED: no PostgreSQL server is installed")
        raise SystemExit(77)


class PostgresServer:
    """A server of the script's own, on a Unix socket and no port.

    It ends with the script, however that ends. Unless `settings` say other, it
    syncs nothing.
    """

    def __init__(self, directory, log, settings=None):
        self._bin = _postgres_bin()
        self._log = log
        self._settings = {"listen_addresses": "", "fsync": "off",
                          "full_page_writes": "off", "shared_buffers": "16MB",
                          **(settings or {})}
        self.directory = directory
        os.makedirs(directory)
        # It refuses to run as root: then it runs as the package's user.
        self._user = {"user": "postgres", "group": "postgres"}
        if os.geteuid() != 0:
            self._user = {}
        else:
            shutil.chown(directory, "postgres", "postgres")
            os.chmod(os.path.dirname(directory), 0o755)
        self._data = os.path.join(directory, "data")
        subprocess.run(
            [os.path.join(self._bin, "initdb"), "-D", self._data, "-U",
             "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
             "--no-sync", "--no-instructions"],
            stdout=log, stderr=log, cwd=directory, check=True, **self._user)
        self._process = None
        self.start()

    def start(self):
        self._process = subprocess.Popen(
            [os.path.join(self._bin, "postgres"), "-D", self._data, "-k",
             self.directory] + [f"--{name}={value}" for name, value
                                in self._settings.items()],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            cwd=self.directory, preexec_fn=die_with_parent, **self._user)
        wait_until("the PostgreSQL server", lambda: self._psql(
            "postgres", "SELECT 1").returncode == 0, alive=[self._process])

    def stop_at_once(self):
        """As a crash ends it: recovery at the next start."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def _psql(self, database, sql):
        return subprocess.run(
            [os.path.join(self._bin, "psql"), "-h", self.directory, "-U",
             "postgres", "-d", database, "-XAtq", "-F", "\t", "-c", sql],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT_MAX,
            check=False, text=True)

    def command(self, database, text):
        """What psql prints; `text` is SQL or one of psql's own commands."""
        answer = self._psql(database, text)
        if answer.returncode != 0:
            raise Failure(f"psql: {answer.stderr}")
        return answer.stdout

    def rows(self, database, sql):
        """Each row as a list of texts."""
        return [line.split("\t")
                for line in self.command(database, sql).splitlines()]

    def make_database(self, name):
        self.command("postgres", f"CREATE DATABASE {name}")

    def drop_database(self, name):
        """With its sessions, if it is there."""
        self.command("postgres",
                     f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def url(self, database):
        host = self.directory.replace("/", "%2F")
        return f"postgresql://postgres@{host}/{database}"

    def end(self):
        if self._process.poll() is None:
            self.stop_at_once()


# --- Frame of a script -------------------------------------------------------

def _ask_verify(programs, pipeline):
    """The verdicts of `penstock verify`, one a connector, all of them good."""
    verdict = programs.call("verify", pipeline, "--output", "json")
    if verdict.returncode != 0:
        raise Failure("penstock verify: " + verdict.stdout.decode() +
                      verdict.stderr.decode())
    return [json.loads(line) for line in verdict.stdout.splitlines()]


def verify(programs, pipeline, source_print, out="out"):
    """Exactly once, by `penstock verify` and by our own count and hash."""
    directory = os.path.dirname(pipeline)
    found = fingerprint_of_output(os.path.join(directory, out))
    if found != source_print:
        raise Failure(f"output has {found}, input {source_print}")
    counts = _ask_verify(programs, pipeline)
    if source_print.count not in [each["records_out"] for each in counts]:
        raise Failure(f"penstock verify counted {counts}")


def verify_at_least_once(programs, pipeline, source_counts):
    """Nothing lost, nothing foreign; returns how many records are doubled.

    `source_counts`: a Counter of the input's lines.
    """
    out = os.path.join(os.path.dirname(pipeline), "out")
    found = collections.Counter()
    for lines in committed_lines(out):
        found.update(lines)
    lost = source_counts - found
    if lost:
        raise Failure(f"{lost.total()} records are lost, for example "
                      f"{next(iter(lost))}")
    for line in found:
        if line not in source_counts:
            raise Failure(f"not in the input: {line}")
    doubled = found.total() - source_counts.total()
    (counts,) = _ask_verify(programs, pipeline)
    if counts["lost"] != 0 or counts["doubled"] != doubled:
        raise Failure(f"{doubled} are doubled, but penstock verify counted "
                      f"{counts}")
    return doubled


def fresh(directory):
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    return directory


def last_lines(path, count=15):
    with open(path, "r", encoding="utf-8", errors="replace") as log:
        return "".join(re.sub(r"[\0-\10]", "?", line)
                       for line in log.readlines()[-count:])


def main(script, test, programs_dir):
    """Runs `test(programs, directory)`; prints what failed and the log."""
    # Short: a socket's path has room for 107 bytes only.
    directory = tempfile.mkdtemp(prefix="pschaos-")
    log_path = os.path.join(directory, "log")
    started = time.monotonic()
    with open(log_path, "ab") as log:
        programs = Programs(programs_dir, log)
        try:
            test(programs, directory)
        except Failure as failure:
            log.flush()
            print(f"{script}: FAILED: {failure}\n--- end of the log:\n"
                  f"{last_lines(log_path)}--- kept: {directory}", flush=True)
            return 1
        finally:
            programs.end_all()
    shutil.rmtree(directory)
    print(f"{script}: passed in {time.monotonic() - started:.0f} s")
    return 0
