#!/bin/bash
# What the image does for SERVICE_NAME=metastore: the schema once, then the service. As there, its
# settings alone say where the database is and what its password is.
set -euo pipefail
[ "$SERVICE_NAME" = metastore ] && [ "$DB_DRIVER" = postgres ]
site=/opt/hive/conf/metastore-site.xml
value() { grep --after-context 1 "<name>javax.jdo.option.$1<" "$2" | sed -n 's#.*<value>\(.*\)</value>.*#\1#p'; }
secret=$(sed -n 's#.*<xi:include href="\(.*\)"/>.*#\1#p' "$site")
url=$(value ConnectionURL "$site")
database="${url#jdbc:}?user=$(value ConnectionUserName "$site")"
query() {
  PGPASSWORD=$(value ConnectionPassword "$secret") \
    psql --quiet --no-align --tuples-only -v ON_ERROR_STOP=1 "$database" "$@"
}
if ! query --command 'SELECT "SCHEMA_VERSION" FROM "VERSION"' >/dev/null 2>&1; then
  query --single-transaction --file /opt/hive/schema.sql >/dev/null 2>&1
fi
opened=$(java --describe-module java.base |
  awk '$1 == "exports" || $1 == "contains" { print $2 } $1 == "qualified" { print $3 }' | sort -u |
  sed 's#.*#--add-opens=java.base/&=ALL-UNNAMED#')
metastore=org.apache.hadoop.hive.metastore
export METASTORE_HOME=/opt/hive METASTORE_CONF_DIR=/opt/hive/conf
# shellcheck disable=SC2086
exec java $opened -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 ${SERVICE_OPTS:-} \
  -Dmetastore.schema.verification=false -Ddatanucleus.schema.autoCreateAll=true \
  "-Dmetastore.task.threads.remote=$metastore.txn.service.AcidHouseKeeperService,$metastore.txn.service.AcidTxnCleanerService" \
  -Dlog4j2.configurationFile=/opt/hive/log4j2.properties -cp '/opt/hive/conf:/opt/hive/lib/*' \
  $metastore.HiveMetaStore -p "${METASTORE_PORT:-9083}"
