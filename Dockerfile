# The worker as an image: build, test (on demand), slim runtime.
#
#   docker build -t penstock .
#   docker build --target test .          # the quick tests, instead
#   docker run --read-only --cap-drop ALL -v state:/var/lib/penstock \
#       -v /srv/data:/data --network host penstock --allow-path /data
#
# The worker listens on loopback unless told otherwise: see server/README.md.

FROM debian:12 AS build
WORKDIR /src
# By itself, so that an edit of the code does not install again.
COPY deploy/setup deploy/setup
RUN deploy/setup/install-deps.sh build \
 && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cmake --preset release -D PENSTOCK_TESTS=OFF \
 && cmake --build --preset release --target penstock penstock-worker \
 && mkdir /out \
 && strip --strip-debug -o /out/penstock build/release/bin/penstock \
 && strip --strip-debug -o /out/penstock-worker \
      build/release/bin/penstock-worker

FROM build AS test
RUN ./test.sh --quick

FROM debian:12-slim AS runtime
# What the two programs are linked with (half of it is what libpq5 and libcurl4
# bring along): tests/lint/image.py compares. And, by which brokers, databases and
# registries of a public authority are known, ca-certificates.
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      ca-certificates \
      libabsl20220623 \
      libbrotli1 \
      libc-ares2 \
      libc6 \
      libcom-err2 \
      libcurl4 \
      libffi8 \
      libgcc-s1 \
      libgmp10 \
      libgnutls30 \
      libgrpc++1.51 \
      libgrpc29 \
      libgssapi-krb5-2 \
      libhogweed6 \
      libidn2-0 \
      libisal2 \
      libk5crypto3 \
      libkeyutils1 \
      libkrb5-3 \
      libkrb5support0 \
      libldap-2.5-0 \
      liblz4-1 \
      libnettle8 \
      libnghttp2-14 \
      libp11-kit0 \
      libpq5 \
      libprometheus-cpp-core1.0 \
      libprotobuf32 \
      libpsl5 \
      librdkafka1 \
      libre2-9 \
      librtmp1 \
      libsasl2-2 \
      libsimdjson14 \
      libsqlite3-0 \
      libssh2-1 \
      libssl3 \
      libstdc++6 \
      libtasn1-6 \
      libunistring2 \
      libxxhash0 \
      libyaml-cpp0.7 \
      libzstd1 \
      zlib1g \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 penstock \
 && useradd --uid 10001 --gid penstock --no-create-home \
      --home-dir /nonexistent --shell /usr/sbin/nologin penstock \
 && install -d -o penstock -g penstock -m 0750 /var/lib/penstock
COPY --from=build /out/ /usr/local/bin/
# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
WORKDIR /var/lib/penstock
# Nothing but this directory, and what sinks are pointed at, is written.
ENTRYPOINT ["penstock-worker", "--state-dir", "/var/lib/penstock", \
            "--log-format", "json"]
