#!/usr/bin/env python3
"""Rules, alerts, runbook and dashboard agree with the code and each other.

Every metric they name is one of the worker's; every alert has a part of the
runbook and a test that sees it fire; the dashboard is what its script prints;
promtool, where it is installed, finds nothing. Needs PyYAML (python3-yaml).
"""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

import source_tree
from source_tree import Finding

try:
    import yaml
except ImportError:
    yaml = None

PLACE = "deploy/prometheus"
DASHBOARD = "deploy/grafana/penstock.json"
SCRIPT = "deploy/grafana/make_dashboard.py"
SOURCES = (
    "server/admin/connector_metrics.cc",
    "server/admin/worker_metrics.cc",
)
SUFFIXES = ("_bucket", "_sum", "_count")


def rules_of(root, name):
    document = yaml.safe_load(source_tree.read(root, f"{PLACE}/{name}"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def check_queries(root, queries, recorded):
    code = "".join(source_tree.read(root, path) for path in SOURCES)
    metrics = set(re.findall(r'"(penstock_[a-z_]+)"', code))
    conditions = set(re.findall(r'return "([a-z_]+)";', code))
    for path, where, query in queries:
        def finding(rule, text, path=path, where=where):
            return Finding(path, 0, rule, f"{where}: {text}")
        for name in re.findall(r"(?<!:)\bpenstock_[a-z_]+", query):
            plain = [name, *(name.removesuffix(end) for end in SUFFIXES)]
            if not metrics.intersection(plain):
                yield finding("prom-metric", f"no worker has {name}")
        for name in re.findall(r'condition!?="([^"]*)"', query):
            if name not in conditions:
                yield finding("prom-condition", f"there is no {name}")
        for name in re.findall(r"\bconnector:[a-z_0-9:]+", query):
            if name not in recorded:
                yield finding("prom-record", f"nobody records {name}")


def check_alerts(root, alerts):
    runbook = source_tree.read(root, f"{PLACE}/runbook.md")
    parts = set(re.findall(r"^## (\S+)$", runbook, re.MULTILINE))
    tests = source_tree.read(root, f"{PLACE}/tests.yaml")
    for rule in alerts:
        name = rule["alert"]
        if name not in parts:
            yield Finding(f"{PLACE}/runbook.md", 0, "prom-runbook",
                          f"no part for {name}")
        if rule["annotations"]["runbook_url"] != f"runbook.md#{name.lower()}":
            yield Finding(f"{PLACE}/alerts.yaml", 0, "prom-runbook",
                          f"{name}: runbook_url is not its part")
        if not re.search(rf"alertname: {name}, exp_alerts: \[\{{", tests):
            yield Finding(f"{PLACE}/tests.yaml", 0, "prom-test",
                          f"nothing sees {name} fire")
    for part in parts - {rule["alert"] for rule in alerts}:
        yield Finding(f"{PLACE}/runbook.md", 0, "prom-runbook",
                      f"{part} is no alert")


def printed_dashboard(root):
    spec = importlib.util.spec_from_file_location("dashboard", root / SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.dashboard()


def promtool(root):
    if shutil.which("promtool") is None:
        print("NOT RUN: promtool is not installed (apt-get install prometheus)")
        return
    for command in (["check", "rules", "rules.yaml", "alerts.yaml"],
                    ["test", "rules", "tests.yaml"]):
        ran = subprocess.run(["promtool", *command], cwd=root / PLACE,
                             text=True, capture_output=True, check=False)
        if ran.returncode != 0:
            yield Finding(PLACE, 0, "prom-tool", ran.stdout + ran.stderr)


def check(root):
    alerts, records = rules_of(root, "alerts.yaml"), rules_of(root, "rules.yaml")
    queries = [(f"{PLACE}/alerts.yaml", rule["alert"], rule["expr"])
               for rule in alerts]
    queries += [(f"{PLACE}/rules.yaml", rule["record"], rule["expr"])
                for rule in records]
    dashboard = json.loads(source_tree.read(root, DASHBOARD))
    for panel in dashboard["panels"]:
        queries += [(DASHBOARD, panel["title"], target["expr"])
                    for target in panel["targets"]]
    findings = [*check_queries(root, queries,
                               {rule["record"] for rule in records}),
                *check_alerts(root, alerts)]
    if printed_dashboard(root) != dashboard:
        findings.append(Finding(DASHBOARD, 0, "prom-dashboard",
                                f"not what {SCRIPT} prints"))
    return findings + list(promtool(root))


class Test(source_tree.LintTestCase):
    def setUp(self):
        super().setUp()
        tree = pathlib.Path(__file__).resolve().parents[2]
        for path in (f"{PLACE}/alerts.yaml", f"{PLACE}/rules.yaml",
                     f"{PLACE}/tests.yaml", f"{PLACE}/runbook.md", DASHBOARD,
                     SCRIPT, *SOURCES):
            self.write(path, source_tree.read(tree, path))

    def change(self, path, old, new):
        text = source_tree.read(self.root, path)
        self.assertIn(old, text)
        self.write(path, text.replace(old, new))

    def test_each_break_is_found(self):
        for path, old, new, rule in (
            (f"{PLACE}/alerts.yaml", "penstock_sink_breaker_state > 0",
             "penstock_sink_breakers > 0", "prom-metric"),
            (f"{PLACE}/alerts.yaml", 'condition="stalled"',
             'condition="STALLED"', "prom-condition"),
            (f"{PLACE}/rules.yaml", "record: connector:penstock_steps_behind",
             "record: connector:penstock_steps", "prom-record"),
            (f"{PLACE}/runbook.md", "## PenstockTargetSlow",
             "## PenstockTargetSlower", "prom-runbook"),
            (f"{PLACE}/tests.yaml", "alertname: PenstockTargetSlow",
             "alertname: PenstockWorkerDown", "prom-test"),
            (DASHBOARD, "Is a shard skewed?", "Is one?", "prom-dashboard"),
        ):
            with self.subTest(old=old):
                self.setUp()
                self.assertEqual([], self.rules(check))
                self.change(path, old, new)
                self.assertIn(rule, self.rules(check))


def skip(root):
    if yaml is None:
        return "no PyYAML here: apt-get install python3-yaml"
    return None if (root / PLACE).exists() else f"no {PLACE} yet"


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if yaml is None:
        print(f"SKIPPED: {skip(None)}")
        sys.exit(source_tree.SKIPPED)
    source_tree.run(check, __doc__, skip)
