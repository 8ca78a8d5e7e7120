#!/bin/bash
# The variables of the image that our files use. Begins as root, goes on as postgres.
set -euo pipefail
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" /var/run/postgresql
  chown -R postgres: "$(dirname "$(dirname "$PGDATA")")" /var/run/postgresql
  chmod 700 "$PGDATA"
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  user=${POSTGRES_USER:-postgres}
  password=${POSTGRES_PASSWORD:-$(cat "${POSTGRES_PASSWORD_FILE:?}")}
  read -ra more <<< "${POSTGRES_INITDB_ARGS:---encoding=UTF8 --locale=C}"
  initdb --username "$user" --auth scram-sha-256 --auth-local trust "${more[@]}" \
    --pwfile <(printf '%s\n' "$password") > /dev/null
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  pg_ctl --pgdata "$PGDATA" --options "-c listen_addresses=''" --wait start > /dev/null
  if [ "${POSTGRES_DB:-postgres}" != postgres ]; then
    psql --quiet --username "$user" --dbname postgres --command "CREATE DATABASE \"$POSTGRES_DB\""
  fi
  pg_ctl --pgdata "$PGDATA" --mode fast --wait stop > /dev/null
fi
unset POSTGRES_PASSWORD
exec "$@" -c listen_addresses='*'
