# Connector, workers and servers. It holds neither Java nor Spark: Kafka and the metastore's
# database are named by the environment, and Spark jobs run where your Spark runs.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
RUN pip install --no-cache-dir uv==0.13.8 \
 && uv venv --quiet /opt/metatide \
 && printf 'pyspark\npy4j\n' > /tmp/excluded
COPY requirements.lock pyproject.toml README.md LICENSE ./
COPY hive hive
COPY state state
COPY connectors connectors
COPY processors processors
COPY query_api query_api
COPY metatide metatide
RUN uv pip install --quiet --no-cache --python /opt/metatide --compile-bytecode \
      --constraint requirements.lock --excludes /tmp/excluded . \
 && /opt/metatide/bin/metatide --version

FROM python:3.11-slim-bookworm
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin metatide \
 && install --directory --owner metatide --group metatide --mode 0700 /var/lib/metatide
COPY --from=build /opt/metatide /opt/metatide
ENV PATH=/opt/metatide/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    METATIDE_DATA_DIR=/var/lib/metatide \
    METATIDE_HTTP_HOST=0.0.0.0 \
    METATIDE_HTTP_PORT=8080
USER 10001:10001
VOLUME /var/lib/metatide
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ['METATIDE_HTTP_PORT']}/readyz\", timeout=5)"]
ENTRYPOINT ["metatide"]
CMD ["up"]
