#!/usr/bin/env python3
"""A pipeline over mutual TLS, and what each certificate may do.

Certificates are made here. `penstock run` drives a worker that asks for one,
to the end; an observer lists connectors and may not drain, a controller may not
drain either, an operator may; who has no certificate gets no connection.
"""
import argparse
import os
import shutil
import subprocess
import sys

import harness

RECORDS = 20_000
UNREACHABLE = 4


def need_openssl():
    if shutil.which("openssl") is None:
        print("NOTHING WAS TESTED: openssl is not installed")
        raise SystemExit(77)


class Authority:
    def __init__(self, directory):
        self.directory = directory
        self._make("ca", "CA:TRUE", [])

    def path(self, name):
        return os.path.join(self.directory, name)

    def _make(self, name, constraint, more):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
             f"/CN={name}", "-addext", f"basicConstraints=critical,{constraint}",
             "-keyout", self.path(f"{name}.key"),
             "-out", self.path(f"{name}.pem"), *more],
            check=True, capture_output=True)

    def issue(self, name, alternative):
        self._make(name, "CA:FALSE",
                   ["-addext", f"subjectAltName={alternative}",
                    "-CA", self.path("ca.pem"), "-CAkey", self.path("ca.key")])

    def options(self, name):
        return ["--tls-ca", self.path("ca.pem"),
                "--tls-cert", self.path(f"{name}.pem"),
                "--tls-key", self.path(f"{name}.key")]


def expect(what, answer, code, text=""):
    output = (answer.stdout + answer.stderr).decode()
    if answer.returncode != code or text not in output:
        raise harness.Failure(
            f"{what} ended with {answer.returncode}, not {code} and '{text}': "
            f"{output}")


def test(programs, directory):
    authority = Authority(harness.fresh(os.path.join(directory, "tls")))
    authority.issue("worker", "IP:127.0.0.1")
    for name in ("observer", "operator", "controller"):
        authority.issue(name, f"DNS:{name}.example")
    port = harness.free_port()
    address = f"127.0.0.1:{port}"
    worker = programs.start_worker_at(
        address, os.path.join(directory, "worker"),
        "--tls-cert", authority.path("worker.pem"),
        "--tls-key", authority.path("worker.key"),
        "--tls-client-ca", authority.path("ca.pem"),
        *(word for name in ("observer", "operator", "controller")
          for word in ("--role", f"{name}={name}.example")))
    source = harness.make_source(os.path.join(directory, "in.ndjson"), RECORDS,
                                 31)
    site = harness.fresh(os.path.join(directory, "s"))
    pipeline = harness.write_pipeline(site, source.path)
    with open(pipeline, "a", encoding="utf-8") as out:
        out.write(f"workers: [{{address: '{address}'}}]\n"
                  "tls: {ca: ../tls/ca.pem,"
                  " certificate: ../tls/controller.pem,"
                  " private_key: ../tls/controller.key}\n")
    run = programs.start_run(pipeline)
    harness.wait_for_end(run, 0)
    harness.verify(programs, pipeline, source.print)
    print("a pipeline over mutual TLS: complete", flush=True)

    target = ["--worker", address]
    expect("an observer's look",
           programs.call("connectors", *target, *authority.options("observer")),
           0)
    for name in ("observer", "controller"):
        answer = programs.call("drain", *target, *authority.options(name))
        if answer.returncode == 0:
            raise harness.Failure(f"the {name} drained the worker")
        expect(f"a drain by the {name}", answer, answer.returncode,
               "needs the role operator")
    expect("a look without a certificate",
           programs.call("connectors", *target, "--tls-ca",
                         authority.path("ca.pem")), UNREACHABLE)
    expect("a look in plaintext", programs.call("connectors", *target),
           UNREACHABLE)
    expect("a drain by the operator",
           programs.call("drain", *target, *authority.options("operator")), 0)
    print("roles: each may what it may, and no more", flush=True)
    worker.terminate()
    harness.wait_for_end(worker, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    need_openssl()
    return harness.main("tls", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
