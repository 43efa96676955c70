#!/usr/bin/env python3
"""The status page of a real worker, in a real browser without a network.

Empty; with a connector at work; with one that failed for good; and when the
worker no longer answers. PENSTOCK_SCREENSHOTS names a directory for pictures of
each, light and dark: a test cannot see whether they look well.
"""
import argparse
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

    def text(self, url, name):
        """What a person reads there; pictures if they are wanted."""
        if self.pictures:
            for look, shade in ((LIGHT, "light"), (DARK, "dark")):
                self._run(url, look, "--screenshot=" + os.path.join(
                    self.pictures, f"{name}-{shade}.png"))
        dom = self._run(url, LIGHT, "--dump-dom").stdout
        dom = re.sub(r"<(script|style)\b.*?</\1>", "", dom, flags=re.DOTALL)
        return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", dom))


def expect(name, text, *wanted):
    for words in wanted:
        if words not in text:
            raise harness.Failure(f"{name}: no '{words}' in: {text}")
    print(f"{name}: as it should be", flush=True)


class NoAnswer(http.server.BaseHTTPRequestHandler):
    """A worker of which only the page is left."""

    def __init__(self, page, *arguments):
        self.page = page
        super().__init__(*arguments)

    def do_GET(self):  # pylint: disable=invalid-name
        if self.path != "/":
            self.send_error(503)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.page.encode())

    def log_message(self, *_):
        pass


def show_no_answer(browser, page):
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(NoAnswer, page))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        expect("no answer",
               browser.text(f"http://127.0.0.1:{server.server_port}/",
                            "no-answer"),
               "no answer", "has not answered since", "(HTTP 503)",
               "Nothing is known yet")
    finally:
        server.shutdown()


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
    (connector,) = json.loads(get(url + "status.json")[1])["connectors"]
    if connector["condition"] != "fatal" or not connector["errors"]:
        raise harness.Failure(f"status.json: {connector}")
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
