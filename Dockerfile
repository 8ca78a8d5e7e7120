# Connectors, workers and servers. The image holds neither Java nor Spark: Kafka and the metastore's
# database are named by the environment, and Spark jobs run where your Spark runs.
FROM debian:bookworm-slim AS python
# hadolint ignore=DL3008
RUN apt-get update --quiet=2 \
 && apt-get install --quiet=2 --yes --no-install-recommends \
      ca-certificates libpython3.11-stdlib python3.11-minimal \
 && rm -rf /var/cache/apt/* /var/lib/apt/lists/*

FROM python AS dependencies
WORKDIR /src
# hadolint ignore=DL3008
RUN apt-get update --quiet=2 \
 && apt-get install --quiet=2 --yes --no-install-recommends binutils python3-pip \
 && rm -rf /var/cache/apt/* /var/lib/apt/lists/* \
 && python3.11 -m pip install --quiet --no-cache-dir --break-system-packages uv==0.13.8 \
 && uv venv --quiet --python /usr/bin/python3.11 /opt/metatide \
 && echo metatide-client > /tmp/excluded
COPY requirements.lock pyproject.toml ./
# What debuggers need is more than half of the libraries.
RUN uv pip install --quiet --no-cache --python /opt/metatide --compile-bytecode \
      --constraint requirements.lock --excludes /tmp/excluded --requirements pyproject.toml \
 && find /opt/metatide -name '*.so*' -type f -exec strip --strip-debug {} +

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

FROM python AS runtime
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
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="Metatide" \
      org.opencontainers.image.description="A never-stale cache for Apache Hive Metastore" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0"

FROM runtime AS metatide
EXPOSE 8080 9083
HEALTHCHECK --interval=10s --timeout=30s --start-period=2m --retries=3 \
  CMD ["python", "-m", "metatide.probe"]
COPY --from=build /opt/metatide /opt/metatide
