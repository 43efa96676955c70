#!/usr/bin/env python3
"""deploy/kubernetes agrees with itself, with the worker's options and with the
image. Needs PyYAML (python3-yaml); skipped without it.
"""

import json
import pathlib
import re
import sys

import source_tree
from source_tree import Finding

try:
    import yaml
except ImportError:
    yaml = None

PLACE = "deploy/kubernetes"
CONTROLLER = f"{PLACE}/controller"
MONITORING = f"{PLACE}/monitoring"
ALERTS = "deploy/prometheus/alerts.yaml"
MAIN = "server/command_line.cc"
CLI = "client/cli/command_line.cc"
IMAGE = "Dockerfile"
VERSION = "CMakeLists.txt"
# A worker has ended so long behind its drain (server/end_of_process.h).
END_S = 10
# A controller whose file is wrong has ended long before.
READY_S = 30


def load(root, findings, place=PLACE):
    """{kind: resource} of what the kustomization.yaml of a place names."""
    whole = yaml.safe_load(
        source_tree.read(root, f"{place}/kustomization.yaml")
    )
    listed = whole["resources"]
    # What becomes a ConfigMap is no resource by itself.
    named = set(listed) | {
        name
        for generator in whole.get("configMapGenerator", ())
        for name in generator["files"]
    }
    there = {
        path.rpartition("/")[2]
        for path in source_tree.files(root, (".yaml",), (place,))
        if path.rpartition("/")[0] == place
    } - {"kustomization.yaml"}
    for name in sorted(named ^ there):
        findings.append(
            Finding(f"{place}/{name}", 0, "k8s-listed", "listed, and there?")
        )
    for image in whole.get("images", ()):
        if image["newTag"] != version(root):
            findings.append(
                Finding(f"{place}/kustomization.yaml", 0, "k8s-version",
                        f"the image's tag is not {version(root)}")
            )
    found = {}
    for name in sorted(set(listed) & there):
        for document in yaml.safe_load_all(
            source_tree.read(root, f"{place}/{name}")
        ):
            found[document["kind"]] = document
    return found


def version(root):
    match = re.search(
        r"^project\(\w+ VERSION ([\d.]+)",
        source_tree.read(root, VERSION),
        re.MULTILINE,
    )
    return match.group(1)


def options(root, path=MAIN):
    """The options that a program knows."""
    return set(
        re.findall(
            r'add_(?:option|flag)\(\s*"(--[\w-]+)"',
            source_tree.read(root, path),
        )
    )


def entrypoint(root):
    match = re.search(
        r"^ENTRYPOINT (\[.*?\])",
        re.sub(r"\\\n\s*", "", source_tree.read(root, IMAGE)),
        re.MULTILINE,
    )
    return json.loads(match.group(1)) if match else []


def value(arguments, option):
    for position, argument in enumerate(arguments):
        if argument.startswith(option + "="):
            return argument.partition("=")[2]
        if argument == option and position + 1 < len(arguments):
            return arguments[position + 1]
    return None


def check_workload(root, workload):
    """(rule, text) of the StatefulSet."""
    spec = workload["spec"]
    template = spec["template"]
    pod = template["spec"]
    (container,) = pod["containers"]
    arguments = entrypoint(root)[1:] + container.get("args", [])
    labels = template["metadata"].get("labels") or {}
    if not is_part(spec["selector"].get("matchLabels"), labels):
        yield "k8s-selector", "the selector does not match the pod"
    known = options(root)
    for argument in arguments:
        name = argument.partition("=")[0]
        if name.startswith("--") and name not in known:
            yield "k8s-option", f"the worker has no {name}"
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    for option in ("--state-dir", "--allow-path"):
        path = value(arguments, option)
        if path is None or not any(
            path == mount or path.startswith(mount + "/") for mount in mounts
        ):
            yield "k8s-volume", f"{option} {path} is on no volume"
    claims = {
        claim["metadata"]["name"]
        for claim in spec.get("volumeClaimTemplates", ())
    } | {volume["name"] for volume in pod.get("volumes", ())}
    for mount in container["volumeMounts"]:
        if mount["name"] not in claims:
            yield "k8s-volume", f"nobody gives the volume {mount['name']}"
    yield from check_grace(pod, container, arguments)
    yield from check_ports(container, arguments)
    yield from check_security(pod, container)


def check_grace(pod, container, arguments):
    command = container["lifecycle"]["preStop"]["exec"]["command"]
    needed = (
        float(command[-1])
        + float(value(arguments, "--drain-timeout") or 20)
        + END_S
    )
    if pod.get("terminationGracePeriodSeconds", 30) <= needed:
        yield "k8s-grace", f"the grace time must be more than {needed:g} s"


def check_ports(container, arguments):
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for name, option in (("grpc", "--listen"), ("admin", "--admin-listen")):
        address = value(arguments, option) or ""
        if address.rpartition(":")[2] != str(ports.get(name)):
            yield "k8s-port", f"port {name} is not that of {option}"
        if address.startswith("127."):
            yield "k8s-port", f"{option} is not reached from outside the pod"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        got = container.get(probe, {}).get("httpGet", {})
        path = "/readyz" if probe == "readinessProbe" else "/livez"
        if got.get("port") != "admin" or got.get("path") != path:
            yield "k8s-probe", f"{probe} asks {path} of port admin"


def check_security(pod, container):
    mine = container.get("securityContext", {})
    whole = pod.get("securityContext", {})
    for good, text in (
        (whole.get("runAsNonRoot") is True, "runAsNonRoot"),
        (whole.get("runAsUser", 0) != 0, "runAsUser"),
        (mine.get("readOnlyRootFilesystem") is True, "readOnlyRootFilesystem"),
        (mine.get("allowPrivilegeEscalation") is False, "no escalation"),
        (mine.get("capabilities", {}).get("drop") == ["ALL"], "drop ALL"),
        ("memory" in container.get("resources", {}).get("limits", {}), "memory"),
    ):
        if not good:
            yield "k8s-security", f"missing: {text}"


def is_part(selector, labels):
    """An empty selector would take every pod: it is part of nothing."""
    return bool(selector) and set(selector.items()) <= set(labels.items())


def check_around(found):
    """What stands around the StatefulSet, and belongs to the same pods."""
    workload = found["StatefulSet"]
    template = workload["spec"]["template"]
    labels = template["metadata"].get("labels") or {}
    (container,) = template["spec"]["containers"]
    ports = {port["name"] for port in container["ports"]}
    service = found.get("Service")
    if service is None or (
        service["metadata"]["name"] != workload["spec"]["serviceName"]
        or service["spec"].get("clusterIP") != "None"
        or not is_part(service["spec"].get("selector"), labels)
        or not {p["targetPort"] for p in service["spec"]["ports"]} <= ports
    ):
        yield "k8s-service", "one headless Service names the pods"
    budget = found.get("PodDisruptionBudget", {}).get("spec", {})
    if not is_part(budget.get("selector", {}).get("matchLabels"), labels):
        yield "k8s-budget", "a PodDisruptionBudget selects the pods"
    if "--insecure" in container.get("args", []):
        policy = found.get("NetworkPolicy", {}).get("spec", {})
        if not is_part(
            policy.get("podSelector", {}).get("matchLabels"), labels
        ) or not all(rule.get("from") for rule in policy.get("ingress", ())):
            yield "k8s-policy", "--insecure needs a NetworkPolicy"


def check_controller(root, found, worker):
    """(rule, text) of the controllers, and whether workers let them in."""
    workload = found.get("Deployment")
    if workload is None:
        yield "k8s-workload", "no Deployment"
        return
    spec = workload["spec"]
    pod = spec["template"]["spec"]
    labels = spec["template"]["metadata"].get("labels") or {}
    (container,) = pod["containers"]
    if spec.get("replicas", 1) < 2:
        yield "k8s-standby", "one leads, one stands by: two replicas"
    if spec.get("minReadySeconds", 0) < READY_S:
        yield "k8s-standby", (
            f"minReadySeconds is {READY_S} or more: a file that cannot be run "
            "ends the first controller, not both"
        )
    if not is_part(spec["selector"].get("matchLabels"), labels):
        yield "k8s-selector", "the selector does not match the pod"
    for argument in container["args"]:
        name = argument.partition("=")[0]
        if name.startswith("--") and name not in options(root, CLI):
            yield "k8s-option", f"penstock run has no {name}"
    volumes = {volume["name"] for volume in pod.get("volumes", ())}
    mounts = {
        mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]
    }
    for name in sorted(set(mounts.values()) ^ volumes):
        yield "k8s-volume", f"{name} is a volume, and mounted?"
    pipeline = source_tree.read(root, f"{CONTROLLER}/pipeline.yaml")
    for path in re.findall(r"\$\{file:([^}]+)\}", pipeline):
        if path.rpartition("/")[0] not in mounts:
            yield "k8s-secret", f"{path} is on no volume"
    yield from check_security(pod, container)
    budget = found.get("PodDisruptionBudget", {}).get("spec", {})
    if not is_part(budget.get("selector", {}).get("matchLabels"), labels):
        yield "k8s-budget", "a PodDisruptionBudget selects the pods"
    allowed = [
        peer.get("podSelector", {}).get("matchLabels")
        for rule in worker.get("NetworkPolicy", {"spec": {"ingress": ()}})["spec"][
            "ingress"
        ]
        for peer in rule["from"]
    ]
    if not any(is_part(selector, labels) for selector in allowed):
        yield "k8s-policy", "workers do not let the controllers in"


def check_monitoring(root, found, worker):
    monitor = found.get("ServiceMonitor", {}).get("spec", {})
    service = worker.get("Service", {})
    labels = service.get("metadata", {}).get("labels") or {}
    ports = {port["name"] for port in service["spec"]["ports"]}
    asked = {endpoint["port"] for endpoint in monitor.get("endpoints", ())}
    if not is_part(
        monitor.get("selector", {}).get("matchLabels"), labels
    ) or not (asked and asked <= ports):
        yield "k8s-monitor", "the ServiceMonitor names a port of the Service"
    # Without a label it is the Service's name.
    label = monitor.get("jobLabel")
    job = labels.get(label) if label else service["metadata"]["name"]
    for asked in set(
        re.findall(r'job="([^"]*)"', source_tree.read(root, ALERTS))
    ) - {job}:
        yield "k8s-job", f"alerts ask for the job {asked}, it is called {job}"


def check(root):
    findings = []
    found = load(root, findings)
    if "StatefulSet" not in found:
        return findings + [Finding(PLACE, 0, "k8s-workload", "no StatefulSet")]
    for place, problems in (
        (PLACE, check_workload(root, found["StatefulSet"])),
        (PLACE, check_around(found)),
        (CONTROLLER,
         check_controller(root, load(root, findings, CONTROLLER), found)),
        (MONITORING, check_monitoring(root, load(root, findings, MONITORING), found)),
    ):
        for rule, text in problems:
            findings.append(Finding(place, 0, rule, text))
    return findings


class KubernetesTest(source_tree.LintTestCase):
    """Begins with the files of this tree, and breaks one thing at a time."""

    def setUp(self):
        super().setUp()
        tree = pathlib.Path(__file__).resolve().parents[2]
        for path in (
            *source_tree.files(tree, (".yaml",), (PLACE,)),
            MAIN,
            CLI,
            IMAGE,
            VERSION,
            ALERTS,
        ):
            self.write(path, source_tree.read(tree, path))

    def change(self, name, old, new):
        text = source_tree.read(self.root, f"{PLACE}/{name}")
        self.assertIn(old, text)
        self.write(f"{PLACE}/{name}", text.replace(old, new))

    def test_the_files_of_this_tree_are_clean(self):
        self.assertEqual([], check(self.root))

    def test_each_break_is_found(self):
        for name, old, new, rule in (
            ("statefulset.yaml", "drain-timeout=40", "drain-timeout=50",
             "k8s-grace"),
            ("statefulset.yaml", "--allow-path", "--allowed-path",
             "k8s-option"),
            ("statefulset.yaml", "mountPath: /data", "mountPath: /files",
             "k8s-volume"),
            ("statefulset.yaml", "0.0.0.0:7070", "0.0.0.0:7077", "k8s-port"),
            ("statefulset.yaml", "/readyz", "/ready", "k8s-probe"),
            ("statefulset.yaml", "drop: [ALL]", "drop: [CHOWN]",
             "k8s-security"),
            ("statefulset.yaml", "runAsNonRoot: true", "runAsNonRoot: false",
             "k8s-security"),
            ("service.yaml", "clusterIP: None", "clusterIP: ''",
             "k8s-service"),
            ("service.yaml", "targetPort: grpc", "targetPort: rpc",
             "k8s-service"),
            ("poddisruptionbudget.yaml", "component: worker",
             "component: other", "k8s-budget"),
            ("networkpolicy.yaml", "component: worker", "component: other",
             "k8s-policy"),
            ("kustomization.yaml", "  - networkpolicy.yaml\n", "",
             "k8s-listed"),
            ("kustomization.yaml", "newTag: 0", "newTag: 9", "k8s-version"),
            ("controller/deployment.yaml", "replicas: 2", "replicas: 1",
             "k8s-standby"),
            ("controller/deployment.yaml", "--insecure", "--secure",
             "k8s-option"),
            ("controller/deployment.yaml", 'penstock-client: "true"',
             'penstock-client: "no"', "k8s-policy"),
            ("controller/deployment.yaml", "/run/secrets/penstock",
             "/run/other", "k8s-secret"),
            ("controller/deployment.yaml", "drop: [ALL]", "drop: [CHOWN]",
             "k8s-security"),
            ("controller/poddisruptionbudget.yaml", "component: controller",
             "component: other", "k8s-budget"),
            ("controller/deployment.yaml", "  minReadySeconds: 30\n", "",
             "k8s-standby"),
            ("monitoring/servicemonitor.yaml", "port: admin", "port: web",
             "k8s-monitor"),
            ("monitoring/servicemonitor.yaml",
             "  jobLabel: app.kubernetes.io/name\n", "", "k8s-job"),
        ):
            with self.subTest(old=old):
                self.setUp()
                self.change(name, old, new)
                self.assertIn(rule, self.rules(check))


def skip(root):
    if yaml is None:
        return "no PyYAML here: apt-get install python3-yaml"
    return None if (root / PLACE).exists() else f"no {PLACE} yet"


if __name__ == "__main__":
    if yaml is None:
        print(f"SKIPPED: {skip(None)}")
        sys.exit(source_tree.SKIPPED)
    source_tree.run(check, __doc__, skip)
