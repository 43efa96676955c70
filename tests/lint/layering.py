#!/usr/bin/env python3
"""Who may include whom, and what may be called where.

Source: ARCHITECTURE.md (layers) and the include rules it repeats. Arrows point
down only; core knows no gRPC, protobuf or Prometheus; time, threads, chance
and files enter through core/base alone.
"""

import re

import source_tree
from source_tree import Finding

VALUES = ("core/base", "core/record", "core/contract")
EXTENSION = VALUES + ("core/format", "core/queue")
CORE = EXTENSION + ("core/handoff", "core/connector")
ANY_CORE = ("core",)
# The protocol in core values, for what stands at either end of a wire.
PROTOCOL = VALUES + (
    "core/connector/connector_status.h",
    "core/connector/control.h",
    "core/connector/requests.h",
    "core/connector/state_machine.h",
)
# What sources, formats, routers and sinks are configured with.
CONFIGURATIONS = (
    "core/connector/route_config.h",
    "core/format/avro/config.h",
    "core/format/csv/config.h",
    "core/format/json/config.h",
    "core/format/msgpack/config.h",
    "core/format/ndjson/config.h",
    "core/format/protobuf/config.h",
    "core/format/raw/config.h",
    "core/format/rows/envelope.h",
    "core/format/schemas/registry_config.h",
    "core/sinks/dead_letter_file/config.h",
    "core/sinks/file/config.h",
    "core/sinks/kafka/config.h",
    "core/sinks/null/config.h",
    "core/sinks/postgres/config.h",
    "core/sources/file/config.h",
    "core/sources/kafka/config.h",
)

# Directory -> directories it may include, besides itself. The longest matching
# directory rules. A name in the list is a file, or covers what lies below it.
MAY_INCLUDE = {
    "core/base": (),
    "core/compress": ("core/base",),
    "core/pg": ("core/base",),
    "core/kafka": ("core/base",),
    "core/tls": ("core/base",),
    "core/http": ("core/base",),
    "core/registry": ("core/base", "core/contract", "core/format/schemas",
                      "core/http"),
    "core/record": ("core/base",),
    "core/contract": ("core/base", "core/record"),
    "core/queue": VALUES,
    "core/handoff": VALUES,
    "core/format": VALUES,
    "core/connector": CORE,
    "core/sources/file": EXTENSION + ("core/compress",),
    "core/sources/kafka": EXTENSION + ("core/kafka",),
    "core/sources/*": EXTENSION,
    "core/sinks/postgres": EXTENSION + ("core/pg",),
    "core/sinks/kafka": EXTENSION + ("core/kafka",),
    "core/sinks/file": EXTENSION + ("core/compress",),
    "core/sinks/*": EXTENSION,
    "proto/wire": PROTOCOL + CONFIGURATIONS + ("proto/penstock",),
    "server/dispatch": ANY_CORE + ("proto/wire", "proto/penstock"),
    "server": ANY_CORE + ("proto/wire", "proto/penstock", "proto/grpc"),
    "client/controller": PROTOCOL
    + ("client", "core/pg", "proto/wire", "proto/penstock"),
    "client/conformance": ("core/base", "proto/wire", "proto/penstock"),
    "client/cli": ANY_CORE + ("client", "proto/wire", "proto/penstock"),
    "client": PROTOCOL + ("core/pg", "core/tls", "proto/wire", "proto/penstock"),
    "tests/support": ANY_CORE + ("client/controller/state_store.h",),
    "deploy/examples/source": EXTENSION,
    "tests/contract": ANY_CORE
    + ("client/controller", "deploy/examples/source", "tests/support"),
    "tests/core": ANY_CORE + ("tests/support", "tests/contract"),
    "tests": ANY_CORE + ("proto", "server", "client", "tests"),
}
# What a directory may not include although the rule above would let it.
MAY_NOT_INCLUDE = {
    "client": ("client/cli", "client/conformance", "client/controller"),
    "client/controller": ("client/cli", "client/conformance",
                          "client/internal"),
}
PROJECT_TOPS = ("core", "proto", "server", "client", "deploy", "tests")

# Directories that must not see these headers, not even through another header
# of ours.
GRPC = re.compile(r"^(grpcpp|grpc)/|\.grpc\.pb\.h$")
OUTSIDE = re.compile(
    r"^(grpcpp|grpc|google/protobuf|prometheus|absl/flags)/|\.pb\.h$"
)
MAY_NOT_SEE = {
    "core": OUTSIDE,
    "deploy": OUTSIDE,
    "tests/core": OUTSIDE,
    "tests/support": OUTSIDE,
    "tests/contract": OUTSIDE,
    "server/dispatch": GRPC,
    "client/controller": GRPC,
    "tests/simulation": GRPC,
}

# Parts that must run on one thread in virtual time.
DETERMINISTIC = ("core", "proto/wire", "server/dispatch", "client/controller")
NONDETERMINISTIC_EXCEPT = ("core/base",)
BANNED_HEADERS = re.compile(
    r"^(thread|mutex|shared_mutex|condition_variable|future|semaphore|latch"
    r"|barrier|random|fstream|filesystem|fcntl\.h|unistd\.h|pthread\.h"
    r"|sys/stat\.h|sys/time\.h|absl/synchronization/.*|absl/random/.*"
    r"|absl/time/clock\.h)$"
)
SLEEPS = (
    r"\babsl::SleepFor\b|\bsleep_(?:for|until)\b"
    r"|(?<![\w.>])(?:::)?(?:u|nano)?sleep\s*\("
)
BANNED_CALLS = re.compile(
    SLEEPS + r"|\babsl::Now\s*\(|\bGetCurrentTimeNanos\b"
    r"|(?<![\w.>])(?:std::|::)?(?:rand|srand|random|getenv|secure_getenv"
    r"|gettimeofday|clock_gettime)\s*\("
    r"|\b(?:system|steady|high_resolution)_clock::now\b"
    r"|\bstd::random_device\b|\bstd::this_thread\b"
    r"|(?<![\w.>])(?:std::|::)?time\s*\(\s*(?:nullptr|NULL|0)\s*\)"
    r"|(?<![\w.>])(?:std::|::)?fopen\s*\("
)
# Tests wait for fake clocks, never for real ones; these run real processes.
MAY_SLEEP = ("tests/integration", "tests/chaos", "tests/bench")


def within(path, directory):
    return path == directory or path.startswith(directory + "/")


def rule_of(path, table):
    """The (directory, value) of `table` with the longest match, or None."""
    best = None
    for pattern, value in table.items():
        directory = pattern
        if pattern.endswith("/*"):
            stem = pattern[:-1]
            if not path.startswith(stem) or "/" not in path[len(stem) :]:
                continue
            directory = stem + path[len(stem) :].split("/")[0]
        if within(path, directory):
            if best is None or len(directory) > len(best[0]):
                best = (directory, value)
    return best


def check_direction(path, found):
    rule = rule_of(path, MAY_INCLUDE)
    if rule is None:
        yield Finding(path, 0, "layer", "no layer is defined for this place")
        return
    home, allowed = rule
    denied = MAY_NOT_INCLUDE.get(home, ())
    for line, quote, name in found:
        top = name.split("/")[0]
        ours = top in PROJECT_TOPS and "/" in name
        if quote == '"' and not ours:
            yield Finding(
                path,
                line,
                "quotes",
                f'"{name}": quotes are for headers of ours, named from the'
                " repository root",
            )
        if quote == "<" and ours:
            yield Finding(
                path, line, "quotes", f"<{name}>: headers of ours take quotes"
            )
        if not ours:
            continue
        good = within(name, home) or any(within(name, a) for a in allowed)
        if any(within(name, d) for d in denied):
            good = False
        if not good:
            yield Finding(
                path, line, "layer", f"{home} may not include {name}"
            )


def check_sight(path, graph):
    """Looks for outside headers through every chain of our own headers."""
    rule = rule_of(path, MAY_NOT_SEE)
    if rule is None:
        return
    home, banned = rule
    seen = {path}
    pending = [(path, None, ())]
    while pending:
        current, first_line, chain = pending.pop()
        for line, _, name in graph.get(current, ()):
            at = first_line or line
            if banned.search(name):
                via = " through " + " > ".join(chain) if chain else ""
                yield Finding(
                    path, at, "sight", f"{home} may not see {name}{via}"
                )
            elif name in graph and name not in seen:
                seen.add(name)
                pending.append((name, at, chain + (name,)))


def check_determinism(path, text, found):
    raw = text.split("\n")
    ours = any(within(path, d) for d in DETERMINISTIC) and not any(
        within(path, d) for d in NONDETERMINISTIC_EXCEPT
    )
    if ours:
        for line, _, name in found:
            if BANNED_HEADERS.match(name):
                if not source_tree.allowed_here(raw, line, "banned-header"):
                    yield Finding(
                        path,
                        line,
                        "banned-header",
                        f"<{name}> belongs to core/base",
                    )
    pattern = None
    if ours:
        pattern = BANNED_CALLS
    elif within(path, "tests") and not any(
        within(path, d) for d in MAY_SLEEP
    ):
        pattern = re.compile(SLEEPS)
    if pattern is None:
        return
    for number, line in enumerate(source_tree.code_lines(text), 1):
        match = pattern.search(line)
        if match and not source_tree.allowed_here(raw, number, "banned-call"):
            yield Finding(
                path,
                number,
                "banned-call",
                f"{match.group(0).strip()}: time, chance, environment and"
                " files come through core/base",
            )


def check_cycles(graph):
    """Directories that include each other, by whatever way."""
    edges = {}
    for path, found in graph.items():
        home = path.rsplit("/", 1)[0]
        for line, _, name in found:
            other = name.rsplit("/", 1)[0]
            if name in graph and other != home:
                edges.setdefault(home, {}).setdefault(other, (path, line))
    for home in sorted(edges):
        seen = set()
        pending = sorted(edges[home])
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            if home in edges.get(current, {}):
                path, line = edges[current][home]
                if home < current:
                    yield Finding(
                        path,
                        line,
                        "cycle",
                        f"{home} and {current} include each other",
                    )
            pending.extend(edges.get(current, {}))


def check(root):
    texts = {
        path: source_tree.read(root, path)
        for path in source_tree.files(
            root, source_tree.CPP_SUFFIXES, source_tree.CODE_DIRS
        )
    }
    graph = {p: source_tree.includes(t) for p, t in texts.items()}
    findings = []
    for path, text in texts.items():
        findings.extend(check_direction(path, graph[path]))
        findings.extend(check_sight(path, graph))
        findings.extend(check_determinism(path, text, graph[path]))
    findings.extend(check_cycles(graph))
    return findings


class LayeringTest(source_tree.LintTestCase):
    def includes(self, path, *lines):
        self.write(path, "".join(f"#include {line}\n" for line in lines))

    def test_downward_include_is_clean(self):
        self.includes("core/queue/q.h", '"core/contract/c.h"', "<vector>")
        self.includes("server/rpc/r.cc", "<grpcpp/grpcpp.h>", '"core/x/y.h"')
        self.assertEqual([], self.rules(check))

    def test_upward_include_is_found(self):
        self.includes("core/base/b.h", '"core/record/r.h"')
        self.assertEqual(["layer"], self.rules(check))

    def test_siblings_may_not_include_each_other(self):
        self.includes("core/queue/q.h", '"core/handoff/h.h"')
        self.assertEqual(["layer"], self.rules(check))

    def test_connector_knows_no_concrete_source(self):
        self.includes("core/connector/c.cc", '"core/sources/file/f.h"')
        self.assertEqual(["layer"], self.rules(check))

    def test_one_source_may_not_include_another(self):
        self.includes("core/sources/kafka/k.cc", '"core/sources/file/f.h"')
        self.assertEqual(["layer"], self.rules(check))

    def test_a_source_may_include_itself(self):
        self.includes("core/sources/file/f.cc", '"core/sources/file/f.h"')
        self.assertEqual([], self.rules(check))

    def test_a_sink_may_not_include_the_handoff(self):
        self.includes("core/sinks/file/f.cc", '"core/handoff/h.h"')
        self.assertEqual(["layer"], self.rules(check))

    def test_product_may_not_include_tests(self):
        self.includes("server/app.cc", '"tests/support/fake_clock.h"')
        self.assertEqual(["layer"], self.rules(check))

    def test_client_may_not_include_its_controller(self):
        self.includes("client/client.cc", '"client/controller/c.h"')
        self.assertEqual(["layer"], self.rules(check))

    def test_client_speaks_the_protocol_but_runs_no_connector(self):
        self.includes(
            "client/client.h",
            '"core/connector/requests.h"',
            '"core/connector/driver.h"',
        )
        self.assertEqual([2], [finding.line for finding in check(self.root)])

    def test_unknown_place_is_found(self):
        self.includes("core/common/c.h")
        self.assertEqual(["layer"], self.rules(check))

    def test_core_may_not_see_grpc_protobuf_prometheus_flags(self):
        self.includes(
            "core/record/r.h",
            "<grpcpp/grpcpp.h>",
            "<google/protobuf/message.h>",
            "<prometheus/counter.h>",
            "<absl/flags/flag.h>",
        )
        self.assertEqual(["sight"] * 4, self.rules(check))

    def test_generated_header_in_core_is_found(self):
        self.includes("core/record/r.h", '"proto/penstock/v1/types.pb.h"')
        self.assertEqual(["layer", "sight"], self.rules(check))

    def test_grpc_behind_another_header_is_found(self):
        self.includes("server/dispatch/d.cc", '"proto/wire/status.h"')
        self.includes("proto/wire/status.h", "<grpcpp/support/status.h>")
        self.assertEqual(["sight"], self.rules(check))

    def test_controller_may_not_see_grpc(self):
        self.includes("client/controller/c.cc", "<grpcpp/channel.h>")
        self.assertEqual(["sight"], self.rules(check))

    def test_threads_outside_base_are_found(self):
        for number, name in enumerate(
            ("thread", "mutex", "random", "condition_variable")
        ):
            self.includes(f"core/queue/q{number}.cc", f"<{name}>")
        self.assertEqual(["banned-header"] * 4, self.rules(check))

    def test_threads_inside_base_are_clean(self):
        self.includes("core/base/thread.h", "<thread>", "<mutex>")
        self.assertEqual([], self.rules(check))

    def test_each_banned_call_is_found(self):
        calls = (
            "auto t = absl::Now();",
            "absl::SleepFor(d);",
            "int r = rand();",
            "int s = std::rand();",
            'auto* e = getenv("HOME");',
            "auto n = std::chrono::steady_clock::now();",
            "auto u = std::chrono::system_clock::now();",
            "std::this_thread::sleep_for(d);",
            "time(nullptr);",
            "std::random_device seed;",
        )
        self.write("core/queue/q.cc", "\n".join(calls))
        self.assertEqual(
            list(range(1, len(calls) + 1)),
            [finding.line for finding in check(self.root)],
        )

    def test_comments_strings_and_methods_are_not_calls(self):
        self.write(
            "core/queue/q.cc",
            "// absl::Now() is not for us\n"
            'const char* a = "absl::Now()";\n'
            'const char* b = R"(absl::Now())";\n'
            "int c = 1'000 + clock.Now() + rate.random() + x->time(0);\n"
            "void operand(int);\n",
        )
        self.assertEqual([], self.rules(check))

    def test_an_excuse_needs_a_reason(self):
        self.write(
            "core/queue/q.cc",
            "a = absl::Now();  // NOLINT(penstock-banned-call): a reason\n"
            "// NOLINTNEXTLINE(penstock-banned-call): a reason\n"
            "a = absl::Now();\n"
            "a = absl::Now();  // NOLINT(penstock-banned-call)\n",
        )
        self.assertEqual([4], [finding.line for finding in check(self.root)])

    def test_a_unit_test_may_not_sleep(self):
        self.write("tests/core/queue/q_test.cc", "absl::SleepFor(d);\n")
        self.write("tests/chaos/kill.cc", "absl::SleepFor(d);\n")
        self.assertEqual(["banned-call"], self.rules(check))

    def test_quotes_are_for_our_headers(self):
        self.includes("core/base/b.cc", '"b.h"', "<core/base/b.h>")
        self.assertEqual(["quotes", "quotes"], self.rules(check))

    def test_a_cycle_is_found(self):
        self.includes("server/a/a.h", '"server/b/b.h"')
        self.includes("server/b/b.h", '"server/a/a.h"')
        self.assertEqual(["cycle"], self.rules(check))


if __name__ == "__main__":
    source_tree.run(check, __doc__)
