#!/usr/bin/env python3
"""What `kubectl kustomize` makes of deploy/kubernetes is what Kubernetes knows:
each resource is checked, strictly, against the schemas of several versions.

    kubernetes.py [--directory DIR]

The schemas come with the Python package kubernetes-validate, which is put into an
environment of its own below DIR. Where it, or kubectl, cannot be had, nothing is
tested, and that is said (exit code 77). Types of the Prometheus operator are in
no schema: the lint `kubernetes` looks at those.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = ("deploy/kubernetes", "deploy/kubernetes/controller")
PACKAGE = "kubernetes-validate>=1.29"
VERSIONS = ("1.25", "1.29")
SKIPPED = 77
CHECK = """
import sys, yaml, kubernetes_validate
bad = 0
for resource in yaml.safe_load_all(sys.stdin):
    name = resource["kind"] + " " + resource["metadata"]["name"]
    for version in sys.argv[1:]:
        try:
            kubernetes_validate.validate(resource, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            bad += 1
            where = "/".join(map(str, error.path))
            print("FAILED: %s, Kubernetes %s: %s: %s"
                  % (name, version, where, error.message))
    print("checked: " + name)
sys.exit(1 if bad else 0)
"""


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)


def environment(directory):
    """The Python of an environment that has the schemas."""
    python = directory / "bin/python3"
    if not python.exists():
        made = subprocess.run([sys.executable, "-m", "venv", directory],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            skip(f"no environment can be made: {made.stdout}{made.stderr}")
    try:
        there = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--retries", "1",
             "--timeout", "10", PACKAGE, "pyyaml"],
            capture_output=True, text=True, check=False, timeout=120,
        )
    except subprocess.TimeoutExpired:
        skip(f"{PACKAGE} cannot be had in time")
    if there.returncode != 0:
        skip(f"{PACKAGE} cannot be had: {there.stderr.strip()[-300:]}")
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=pathlib.Path)
    options = parser.parse_args()
    if shutil.which("kubectl") is None:
        skip("no kubectl here")
    with tempfile.TemporaryDirectory(prefix="penstock-") as scratch:
        python = environment(options.directory or pathlib.Path(scratch))
        failed = False
        for place in PLACES:
            made = subprocess.run(
                ["kubectl", "kustomize", ROOT / place],
                capture_output=True, text=True, check=False,
            )
            if made.returncode != 0:
                sys.exit(f"FAILED: kustomize {place}: {made.stderr}")
            done = subprocess.run(
                [python, "-c", CHECK, *VERSIONS], input=made.stdout, text=True,
                check=False,
            )
            failed |= done.returncode != 0
    if failed:
        sys.exit(1)
    print("PASSED")


if __name__ == "__main__":
    main()
