#!/usr/bin/env python3
"""A real Prometheus scrapes two workers; the dashboard's queries have answers.

One worker is at work, one has a connector that failed for good. Every query of
deploy/grafana/penstock.json returns data, the recording rules record, and the
alert for the failed connector fires, while none is even pending about the other
connector.
"""
import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request

import harness

HERE = os.path.dirname(os.path.realpath(__file__))
DEPLOY = os.path.join(HERE, "..", "..", "deploy")
RECORDS = 300_000


def need_prometheus():
    program = shutil.which("prometheus")
    if program is None:
        print("NOTHING WAS TESTED: prometheus is not installed")
        raise SystemExit(77)
    return program


class Prometheus:
    """A server of the script's own, which scrapes once a second."""

    def __init__(self, programs, program, directory, targets):
        self.port = harness.free_port()
        os.makedirs(directory)
        for name in ("rules.yaml", "alerts.yaml"):
            shutil.copy(os.path.join(DEPLOY, "prometheus", name), directory)
        path = os.path.join(directory, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({  # JSON is YAML.
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": ["rules.yaml", "alerts.yaml"],
                "scrape_configs": [{"job_name": "penstock", "static_configs": [
                    {"targets": targets}]}]}, out)
        self.process = programs.start(
            [program, f"--config.file={path}",
             f"--storage.tsdb.path={directory}/data",
             f"--web.listen-address=127.0.0.1:{self.port}",
             "--log.level=error"], {})

    def ask(self, path, **arguments):
        url = (f"http://127.0.0.1:{self.port}/api/v1/{path}?" +
               urllib.parse.urlencode(arguments))
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None  # It is not up yet.

    def series(self, query):
        found = self.ask("query", query=query)
        return [] if found is None else found["result"]

    def alerts(self, *states):
        alerts = self.ask("alerts")
        return [] if alerts is None else [
            (alert["labels"]["alertname"], alert["labels"].get("connector"))
            for alert in alerts["alerts"] if alert["state"] in states]


def start_worker(programs, directory, name):
    """(gRPC socket, admin address) of a worker that listens."""
    place = os.path.join(directory, name)
    os.makedirs(place)
    grpc, admin = os.path.join(place, "w.sock"), f"127.0.0.1:{harness.free_port()}"
    worker = programs.start_worker(grpc, os.path.join(place, "state"),
                                   admin=admin)
    harness.wait_until("a worker", lambda: os.path.exists(grpc),
                       alive=[worker])
    return grpc, admin


def work_by_hand(programs, directory, name, grpc, source):
    """A connector that stays open, with a few steps made and released."""
    place = harness.fresh(os.path.join(directory, name))
    pipeline = harness.write_pipeline(
        place, source.path, name=name, socket=grpc,
        limits={"queued_bytes_max": "4MiB"})
    # Two pipelines, two names for people to tell apart.
    with open(pipeline, encoding="utf-8") as file:
        text = file.read().replace("- name: orders", f"- name: {name}")
    with open(pipeline, "w", encoding="utf-8") as file:
        file.write(text)
    for verb in ("open", "extend", "queue", "release", "checkpoint"):
        answer = programs.call(verb, pipeline)
        if answer.returncode != 0:
            raise harness.Failure(f"{verb}: {answer.stderr.decode()}")
    return pipeline


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


def check_dashboard(prometheus):
    path = os.path.join(DEPLOY, "grafana", "penstock.json")
    with open(path, encoding="utf-8") as file:
        dashboard = json.load(file)
    asked = 0
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            asked += 1
            harness.wait_until(
                f"data for: {panel['title']} ({target['expr']})",
                lambda query=target["expr"]: any(
                    # Nothing is drained here: its quantile is not a number.
                    "_drain_" in query or math.isfinite(float(one["value"][1]))
                    for one in prometheus.series(query)),
                timeout=60)
    return asked


def go_on_again(programs, pipeline):
    """Closed and opened: what the first new step takes is a fail-over."""
    for verb in ("disconnect", "open", "extend", "queue", "release"):
        answer = programs.call(verb, pipeline)
        if answer.returncode != 0:
            raise harness.Failure(f"{verb}: {answer.stderr.decode()}")


def check_histograms(prometheus):
    """Each has counted what happened, and no more than its labels."""
    for series in (
            'penstock_step_duration_seconds_count{kind="queue"}',
            'penstock_open_to_step_duration_seconds_count{kind="first"}',
            'penstock_open_to_step_duration_seconds_count{kind="failover"}',
            'penstock_step_ack_duration_seconds_count{connector="well"}',
            'penstock_end_to_end_duration_seconds_count{connector="well"}',
            'penstock_sink_write_duration_seconds_count{connector="well"}'):
        harness.wait_until(f"a count in {series}", lambda query=series:
                           prometheus.series(f"{query} > 0"))
    kinds = {(one["metric"]["direction"], one["metric"]["kind"])
             for one in prometheus.series(
                 'penstock_connector_info{connector="well"}')}
    if kinds != {("in", "file"), ("out", "file")}:
        raise harness.Failure(f"penstock_connector_info: {kinds}")


def check_listed(text):
    """Whoever looks up a metric finds it in the reference."""
    with open(os.path.join(DEPLOY, "prometheus", "METRICS.md"),
              encoding="utf-8") as page:
        listed = set(re.findall(r"^\| `(\w+)` \|", page.read(), re.MULTILINE))
    shown = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    if not shown or shown - listed:
        raise harness.Failure(f"not in METRICS.md: {shown - listed}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    program = need_prometheus()

    def test(programs, directory):
        source = harness.make_source(os.path.join(directory, "in.ndjson"),
                                     RECORDS, 7)
        doomed = harness.make_source(os.path.join(directory, "doomed.ndjson"),
                                     RECORDS, 8)
        sockets, admins = zip(*(start_worker(programs, directory, name)
                                for name in ("one", "two")))
        prometheus = Prometheus(programs, program,
                                os.path.join(directory, "prometheus"),
                                list(admins))
        well = work_by_hand(programs, directory, "well", sockets[0], source)
        failed = work_by_hand(programs, directory, "failed", sockets[1],
                              doomed)
        harness.wait_until("both workers to be scraped", lambda: [
            one["value"][1] for one in prometheus.series('up{job="penstock"}')
        ] == ["1", "1"], alive=[prometheus.process])
        fail_for_good(programs, failed, doomed)
        # Rates need two scrapes with a difference between them.
        for verb in ("queue", "release", "checkpoint"):
            answer = programs.call(verb, well)
            if answer.returncode != 0:
                raise harness.Failure(f"{verb}: {answer.stderr.decode()}")
        go_on_again(programs, well)
        check_histograms(prometheus)
        print(f"dashboard: {check_dashboard(prometheus)} queries have data",
              flush=True)
        harness.wait_until(
            "the alert of the failed connector", lambda:
            ("PenstockConnectorFailed", "failed") in
            prometheus.alerts("firing"))
        # The others wait for a minute or more: pending is bad enough, but for
        # one look that fell between a step and its checkpoint. That the source
        # of the other is held back, as nobody asks it for steps, is so.
        harness.wait_until("no alert about what is well", lambda: not {
            name for name, connector in prometheus.alerts("firing", "pending")
            if connector != "failed"} - {"PenstockTargetSlow",
                                         "PenstockConnectorsFail"})
        print("alerts: the failed connector pages, no other is meant",
              flush=True)
        for admin in admins:
            with urllib.request.urlopen(f"http://{admin}/metrics",
                                        timeout=10) as scrape:
                text = scrape.read()
            checked = subprocess.run(["promtool", "check", "metrics"],
                                     input=text, capture_output=True,
                                     check=False)
            if checked.returncode != 0:
                raise harness.Failure("promtool check metrics: " +
                                      checked.stderr.decode())
            check_listed(text.decode())
        print("promtool check metrics: clean, and all are in METRICS.md",
              flush=True)

    return harness.main("prometheus", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
