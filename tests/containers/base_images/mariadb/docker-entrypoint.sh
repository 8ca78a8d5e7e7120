#!/bin/bash
# The variable of the image that the tests use.
set -euo pipefail
chown mysql: /var/lib/mysql
mariadb-install-db --no-defaults --user=mysql --datadir=/var/lib/mysql --skip-test-db > /dev/null
first=/run/mysqld/first.sql
cat > "$first" <<SQL
CREATE USER root@'%' IDENTIFIED BY '${MARIADB_ROOT_PASSWORD:?}';
GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;
SQL
exec mariadbd --no-defaults --user=mysql --datadir=/var/lib/mysql --init-file="$first" \
  --bind-address=0.0.0.0 --skip-name-resolve
