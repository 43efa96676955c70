#!/usr/bin/env python3
"""A Kafka broker behind TLS and a password lets the sink in.

The password comes by reference, and stands afterwards in no state, log or
answer. A dry run tells a wrong one.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

import harness
import kafka_broker

SECRET_NAME = "PENSTOCK_CHAOS_KAFKA_SECRET"
SECRET = "sluice-keepers-key"
LINES = [f'{{"key":"k{number % 5}","id":{number}}}\n' for number in range(500)]


def certificate(directory):
    """A key with its own certificate, for 127.0.0.1: one file, and a CA's."""
    both = os.path.join(directory, "broker.pem")
    ca = os.path.join(directory, "ca.pem")
    key = os.path.join(directory, "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
         key, "-out", ca, "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    with open(both, "w", encoding="utf-8") as out:
        for part in (key, ca):
            with open(part, encoding="utf-8") as text:
                out.write(text.read())
    return both, ca


def settings(both, ca):
    login = ("org.apache.kafka.common.security.plain.PlainLoginModule required"
             f' username="penstock" password="{SECRET}"'
             f' user_penstock="{SECRET}";')
    return [
        "listener.security.protocol.map=PLAINTEXT:SASL_SSL,"
        "CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name=PLAINTEXT",
        "sasl.enabled.mechanisms=PLAIN",
        "sasl.mechanism.inter.broker.protocol=PLAIN",
        f"listener.name.plaintext.plain.sasl.jaas.config={login}",
        "ssl.keystore.type=PEM", f"ssl.keystore.location={both}",
        "ssl.truststore.type=PEM", f"ssl.truststore.location={ca}",
        # The topic is made by whoever writes first.
        "auto.create.topics.enable=true"]


def write_pipeline(directory, source, broker, ca, password):
    harness.fresh(directory)
    options = {
        "bootstrap.servers": broker.bootstrap,
        "security.protocol": "SASL_SSL", "ssl.ca.location": ca,
        "sasl.mechanism": "PLAIN", "sasl.username": "penstock",
        "sasl.password": password}
    return harness.write_pipeline(
        directory, source, shards=1, sink="kafka: {topic: secured, options: {"
        + ", ".join(f"{name}: '{value}'" for name, value in options.items())
        + "}}")


def look_for_secret(directory, log):
    texts = harness.snapshot(directory)
    with open(log, "rb") as text:
        texts["log"] = text.read()
    for name, text in texts.items():
        if SECRET.encode() in text:
            raise harness.Failure(f"the password stands in {name}")


def look(programs, pipeline, refusal):
    """What a dry run tells of the sink; `refusal`: None, or a reason."""
    done = programs.call("validate", "--probe", pipeline, "--output", "json")
    sink = {each["phase"].rpartition("_")[2]: each for line in
            done.stdout.splitlines()
            for each in json.loads(line)["result"]["findings"]
            if each.get("target", "").endswith("SINK")}
    failed = {phase: each["reason"] for phase, each in sink.items()
              if each["outcome"].endswith("FAILED")}
    expected = {"AUTHENTICATE": refusal} if refusal else {}
    if failed != expected or "CONNECT" not in sink:
        raise harness.Failure(f"a dry run tells {sink}: {done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    kafka_broker.need_kafka()
    if shutil.which("openssl") is None:
        print("NOTHING WAS TESTED: openssl is not installed")
        return 77
    os.environ[SECRET_NAME] = SECRET

    def test(programs, directory):
        source = os.path.join(directory, "in.ndjson")
        with open(source, "w", encoding="utf-8") as out:
            out.writelines(LINES)
        both, ca = certificate(directory)
        broker = kafka_broker.KafkaBroker(os.path.join(directory, "kafka"),
                                          settings(both, ca))
        try:
            good = os.path.join(directory, "good")
            pipeline = write_pipeline(good, source, broker, ca,
                                      f"${{env:{SECRET_NAME}}}")
            run = programs.start_run(pipeline)
            harness.wait_for_end(run, 0)
            found = broker.read(
                "secured", more=["-X", "security.protocol=SASL_SSL", "-X",
                                 f"ssl.ca.location={ca}", "-X",
                                 "sasl.mechanism=PLAIN", "-X",
                                 "sasl.username=penstock", "-X",
                                 f"sasl.password={SECRET}"])
            if [record.value + "\n" for record in found] != LINES:
                raise harness.Failure(f"{len(found)} messages arrived")
            look_for_secret(good, os.path.join(directory, "log"))
            print("secured: all arrived, the password is nowhere", flush=True)
            look(programs, pipeline, None)
            os.environ[SECRET_NAME] = "another"
            look(programs, pipeline, "UNAUTHENTICATED")
            print("looked: a wrong password is told", flush=True)
        finally:
            programs.end_all()
            broker.end()

    return harness.main("kafka_security", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
