#!/usr/bin/env python3
"""The status page of a real worker, in a real browser without a network.

Empty; with a connector at work; with one that failed for good; with a thousand, also
in a narrow window; and when the worker no longer answers. PENSTOCK_SCREENSHOTS names a directory for pictures of
each, light and dark: a test cannot see whether they look well.
"""
import argparse
import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import harness

RECORDS = 300_000
LIGHT, DARK = 1, 0


def need_browser():
    program = shutil.which("chromium")
    if program is None:
        print("NOTHING WAS TESTED: chromium is not installed")
        raise SystemExit(77)
    return program


def get(url):
    """(status, body)."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Browser:
    def __init__(self, program, directory):
        self.program = program
        self.directory = directory
        self.pictures = os.environ.get("PENSTOCK_SCREENSHOTS", "")

    def _run(self, url, look, *more):
        return subprocess.run(
            [self.program, "--headless", "--no-sandbox", "--disable-gpu",
             "--hide-scrollbars", f"--user-data-dir={self.directory}/{look}",
             f"--blink-settings=preferredColorScheme={look}",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             "--window-size=1280,1000", "--virtual-time-budget=7000", *more,
             url], capture_output=True, text=True, check=False,
            timeout=harness.WAIT_MAX)

    def text(self, url, name, *more):
        """What a person reads there; pictures if they are wanted."""
        if self.pictures:
            for look, shade in ((LIGHT, "light"), (DARK, "dark")):
                self._run(url, look, *more, "--screenshot=" + os.path.join(
                    self.pictures, f"{name}-{shade}.png"))
        dom = self._run(url, LIGHT, *more, "--dump-dom").stdout
        dom = re.sub(r"<(script|style)\b.*?</\1>", "", dom, flags=re.DOTALL)
        return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", dom))


def expect(name, text, *wanted):
    for words in wanted:
        if words not in text:
            raise harness.Failure(f"{name}: no '{words}' in: {text}")
    print(f"{name}: as it should be", flush=True)


class Played(http.server.BaseHTTPRequestHandler):
    """A worker's page above a status that is given; none: no answer."""

    def __init__(self, page, status, *arguments):
        self.page, self.status = page, status
        super().__init__(*arguments)

    def do_GET(self):  # pylint: disable=invalid-name
        body = self.page if self.path == "/" else self.status
        if body is None:
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8"
                         if self.path == "/" else "application/json")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def played(page, status):
    """Where it listens."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Played, page, status))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def show_no_answer(browser, page):
    with played(page, None) as url:
        expect("no answer", browser.text(url, "no-answer"),
               "no answer", "has not answered since", "(HTTP 503)",
               "Nothing is known yet")


def show_many(browser, page, status):
    """A thousand of the one that is there: who is ill stands above."""
    (connector,) = status["connectors"]
    well = {**connector, "state": "RUNNING", "condition": "ok", "reason": ""}
    status["connectors"] = [
        {**well, "name": f"a-name-that-is-rather-long-{number:04}"}
        for number in range(999)] + [{**connector, "name": "the-last"}]
    with played(page, json.dumps(status)) as url:
        for name, size in (("many", "1280,1000"), ("narrow", "420,900")):
            text = browser.text(url, name, f"--window-size={size}")
            expect(name, text, "999 ok", "1 fatal", "300 of 1000 shown",
                   "the-last")
            if text.index("the-last") > text.index("a-name-that-is"):
                raise harness.Failure(f"{name}: the failed one is not above")


def fail_for_good(programs, pipeline, source):
    """The file is replaced by another: at its next step it cannot go on."""
    os.rename(source.path, source.path + ".gone")
    harness.make_records(source.path, 1000, 5)
    for _ in range(100):
        answer = programs.call("queue", pipeline, "--wait", "1s")
        if answer.returncode != 0:
            return
        programs.call("release", pipeline)
    raise harness.Failure("a connector whose file was replaced goes on")


def test(program, programs, directory):
    browser = Browser(program, directory)
    grpc, admin = os.path.join(directory, "w.sock"), f"127.0.0.1:{harness.free_port()}"
    worker = programs.start_worker(grpc, os.path.join(directory, "state"),
                                   admin=admin)
    harness.wait_until("a worker", lambda: os.path.exists(grpc),
                       alive=[worker])
    url = f"http://{admin}/"
    _, page = get(url)
    outside = set(re.findall(r"https?://[^\"' ]+", page))
    if outside - {"http://www.w3.org/2000/svg"}:
        raise harness.Failure(f"the page names {outside}")
    expect("empty", browser.text(url, "empty"), "ready",
           "No connectors are open", "penstock run pipeline.yaml")
    expect("health", get(url + "healthz")[1], "ok: 0 of 0")

    source = harness.make_source(os.path.join(directory, "in.ndjson"), RECORDS,
                                 7)
    pipeline = harness.write_pipeline(
        harness.fresh(os.path.join(directory, "s")), source.path, name="shop",
        socket=grpc, limits={"queued_bytes_max": "4MiB"})
    for verb in ("open", "extend", "queue", "release", "checkpoint"):
        answer = programs.call(verb, pipeline)
        if answer.returncode != 0:
            raise harness.Failure(f"{verb}: {answer.stderr.decode()}")
    expect("at work", browser.text(url + "#orders", "at-work"), "1 ok",
           "orders shop", "running", "exactly once", "steps made",
           "Records in")
    fail_for_good(programs, pipeline, source)
    expect("failed", browser.text(url + "#orders", "failed"), "1 fatal",
           "failed fatal", "fatal since", "POSITION_EXPIRED")
    status, report = get(url + "healthz?verbose")
    expect("health", f"{status} {report}", "503 degraded: 0 of 1",
           "[-] orders FAILED fatal for ")
    if get(url + "livez")[0] != 200 or get(url + "readyz")[0] != 200:
        raise harness.Failure("a failed connector made probes fail")
    failed = json.loads(get(url + "status.json")[1])
    (connector,) = failed["connectors"]
    if connector["condition"] != "fatal" or not connector["errors"]:
        raise harness.Failure(f"status.json: {connector}")
    show_many(browser, page, failed)
    show_no_answer(browser, page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    program = need_browser()
    return harness.main("status_page", functools.partial(test, program),
                        arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
