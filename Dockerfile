# Three images: `metatide`, the last stage, for connectors, workers and servers, holds neither Java nor
# Spark; `spark` adds both, for the commands that need them; `kerberos` is `metatide` with a client of
# Kafka that logs in by tickets. compose/images.yaml builds all.
# A release names it by its digest, and says which it was in a label.
ARG DEBIAN=debian:bookworm-slim
FROM ${DEBIAN} AS python
# hadolint ignore=DL3008
RUN apt-get update --quiet=2 \
 && apt-get install --quiet=2 --yes --no-install-recommends \
      ca-certificates libgssapi-krb5-2 libpython3.11-stdlib python3.11-minimal \
 && rm -rf /var/cache/apt/* /var/lib/apt/lists/*

FROM python AS dependencies
WORKDIR /src
# hadolint ignore=DL3008
RUN apt-get update --quiet=2 \
 && apt-get install --quiet=2 --yes --no-install-recommends \
      binutils gcc libc6-dev libkrb5-dev libpython3.11-dev python3-pip \
 && rm -rf /var/cache/apt/* /var/lib/apt/lists/* \
 && python3.11 -m pip install --quiet --no-cache-dir --break-system-packages uv==0.13.8 \
 && uv venv --quiet --python /usr/bin/python3.11 /opt/metatide \
 && echo metatide-client > /tmp/excluded
COPY requirements.lock pyproject.toml tests/support/gssapi-1.lock ./
# What debuggers and linkers need is more than half of the libraries. They come with tests and with
# what only compilers read, and nobody here asks for the languages that rich can color.
RUN uv pip install --quiet --no-cache --python /opt/metatide --compile-bytecode \
      --constraint requirements.lock --constraint gssapi-1.lock --excludes /tmp/excluded \
      --requirements pyproject.toml --extra jwt --extra kerberos --extra otel \
 && find /opt/metatide -name '*.so*' -type f -exec strip --strip-unneeded {} + \
 && find /opt/metatide -path '*/site-packages/*/tests' -prune -exec rm -r {} + \
 && find /opt/metatide -name '*.py[ix]' -delete -o -name '*.pxd' -delete -o -name '*.[ch]' -delete \
 && rm -r /opt/metatide/lib/python3.11/site-packages/pygments/lexers/__pycache__ \
      /opt/metatide/lib/python3.11/site-packages/sqlalchemy/testing

FROM dependencies AS pyspark
RUN uv pip install --quiet --no-cache --target /opt/pyspark --python /opt/metatide --no-deps \
      --constraint requirements.lock pyspark \
 && rm -rf /opt/pyspark/bin /opt/pyspark/pyspark/examples

FROM dependencies AS build
COPY README.md LICENSE ./
COPY hive hive
COPY state state
COPY connectors connectors
COPY processors processors
COPY query_api query_api
COPY metatide metatide
COPY packages packages
RUN uv pip install --quiet --no-cache --python /opt/metatide --compile-bytecode --no-deps \
      --build-constraint requirements.lock . ./packages/client \
 && /opt/metatide/bin/metatide --version

FROM python AS user
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin metatide \
 && install --directory --owner metatide --group metatide --mode 0700 /var/lib/metatide
# Every role listens where other containers reach it.
ENV PATH=/opt/metatide/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    METATIDE_DATA_DIR=/var/lib/metatide \
    METATIDE_CONNECT_HOST=0.0.0.0 \
    METATIDE_CONNECT_PORT=8080 \
    METATIDE_WORKER_HOST=0.0.0.0 \
    METATIDE_WORKER_PORT=8080 \
    METATIDE_THRIFT_HOST=0.0.0.0 \
    METATIDE_HTTP_HOST=0.0.0.0 \
    METATIDE_HTTP_PORT=8080
USER 10001:10001
VOLUME /var/lib/metatide
ENTRYPOINT ["metatide"]
CMD ["--help"]
ARG DEBIAN
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Metatide" \
      org.opencontainers.image.description="A never-stale cache for Apache Hive Metastore" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.base.name="$DEBIAN" \
      org.opencontainers.image.licenses="Apache-2.0"

FROM user AS serving
EXPOSE 8080 9083
HEALTHCHECK --interval=10s --timeout=30s --start-period=2m --retries=3 \
  CMD ["python", "-m", "metatide.probe"]

# The wheel of confluent-kafka can't log in by tickets. Its library is compiled apart from ours, which
# change more often.
FROM dependencies AS kafka
# hadolint ignore=DL3008
RUN apt-get update --quiet=2 \
 && apt-get install --quiet=2 --yes --no-install-recommends \
      g++ libcurl4-openssl-dev libsasl2-dev libssl-dev libzstd-dev make npm zlib1g-dev \
 && rm -rf /var/cache/apt/* /var/lib/apt/lists/*
COPY scripts/librdkafka ./
RUN ./librdkafka /opt/kafka \
 && strip --strip-unneeded /opt/kafka/lib/librdkafka.so.1 \
 && CFLAGS=-I/opt/kafka/include LDFLAGS='-L/opt/kafka/lib -Wl,-rpath,/opt/metatide/lib' \
    uv pip install --quiet --no-cache --no-deps --no-binary confluent-kafka --compile-bytecode \
      --python /opt/metatide --target /opt/kafka/python "confluent-kafka==$(./librdkafka --release)" \
 && find /opt/kafka/python -name '*.so' -exec strip --strip-unneeded {} +

FROM build AS kerberized
RUN rm -r /opt/metatide/lib/python3.11/site-packages/confluent_kafka*
COPY --from=kafka /opt/kafka/python /opt/metatide/lib/python3.11/site-packages
COPY --from=kafka /opt/kafka/lib/librdkafka.so.1 /opt/metatide/lib/

FROM serving AS kerberos
USER 0:0
# hadolint ignore=DL3008
RUN apt-get update --quiet=2 \
 && apt-get install --quiet=2 --yes --no-install-recommends libcurl4 libsasl2-modules-gssapi-mit \
 && rm -rf /var/cache/apt/* /var/lib/apt/lists/*
USER 10001:10001
COPY --from=kerberized /opt/metatide /opt/metatide

FROM user AS java
USER 0:0
# hadolint ignore=DL3008
RUN mkdir -p /usr/share/man/man1 \
 && apt-get update --quiet=2 \
 && apt-get install --quiet=2 --yes --no-install-recommends openjdk-17-jre-headless \
 && rm -rf /var/cache/apt/* /var/lib/apt/lists/*
COPY --from=pyspark /opt/pyspark /opt/metatide/lib/python3.11/site-packages
USER 10001:10001

# Spark's source of Kafka records, so that nothing is fetched when a job starts.
FROM java AS jars
COPY --from=dependencies /opt/metatide /opt/metatide
WORKDIR /src
COPY hive hive
COPY state state
COPY metatide/__init__.py metatide/
COPY metatide/process/__init__.py metatide/process/consoles.py metatide/process/
COPY metatide/config metatide/config
COPY metatide/stack metatide/stack
RUN METATIDE_CACHE_DIR=/tmp/jars python -m metatide.stack.jars fetch spark \
 && find /tmp/jars -name '.*' -delete && chmod -R a+rX /tmp/jars

FROM java AS spark
# Spark makes a folder where it is started.
WORKDIR /tmp
COPY --from=jars --chown=0:0 /tmp/jars /opt/metatide/share/metatide
COPY --from=build /opt/metatide /opt/metatide

FROM serving AS metatide
COPY --from=build /opt/metatide /opt/metatide
