-- Schemas, functions, and the names of both.
SHOW SCHEMAS LIKE '{schema}%';
-- fails
CREATE SCHEMA {schema};
CREATE SCHEMA IF NOT EXISTS {schema};
SHOW CREATE SCHEMA {schema};
CREATE SCHEMA {schema}_more WITH (location = 'file://{folder}/{schema}_more');
SHOW SCHEMAS LIKE '{schema}%';
SHOW CREATE SCHEMA {schema}_more;
CREATE TABLE {schema}_more.there (id bigint);
SHOW TABLES FROM {schema}_more;
SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE '{schema}%' ORDER BY 1;
-- fails
DROP SCHEMA {schema}_more;
-- fails
DROP SCHEMA {schema}_more RESTRICT;
CREATE TABLE here AS SELECT 1 AS id;
ALTER TABLE here RENAME TO {schema}_more.moved;
SHOW TABLES;
SHOW TABLES FROM {schema}_more;
SELECT * FROM {schema}_more.moved;
-- fails
ALTER SCHEMA {schema}_more RENAME TO {schema}_other;
SHOW SCHEMAS LIKE '{schema}%';
DROP TABLE {schema}_more.there;
DROP SCHEMA {schema}_more CASCADE;
SHOW SCHEMAS LIKE '{schema}%';
-- fails
SHOW TABLES FROM {schema}_more;
-- fails
DROP SCHEMA {schema}_more;
DROP SCHEMA IF EXISTS {schema}_more;
CREATE SCHEMA {schema}_more WITH (location = 'file://{folder}/{schema}_again');
SHOW CREATE SCHEMA {schema}_more;
DROP SCHEMA {schema}_more;
CREATE FUNCTION {catalog}.{schema}.double_of(x bigint) RETURNS bigint RETURN x * 2;
SELECT {catalog}.{schema}.double_of(21);
SHOW FUNCTIONS FROM {catalog}.{schema};
-- fails
CREATE FUNCTION {catalog}.{schema}.double_of(x bigint) RETURNS bigint RETURN x * 2;
CREATE OR REPLACE FUNCTION {catalog}.{schema}.double_of(x bigint) RETURNS bigint RETURN x + x + 1;
SELECT {catalog}.{schema}.double_of(21);
CREATE FUNCTION {catalog}.{schema}.double_of(x varchar) RETURNS varchar RETURN x || x;
SELECT {catalog}.{schema}.double_of('ab');
SHOW FUNCTIONS FROM {catalog}.{schema};
DROP FUNCTION {catalog}.{schema}.double_of(bigint);
-- fails
SELECT {catalog}.{schema}.double_of(BIGINT '21');
DROP FUNCTION {catalog}.{schema}.double_of(varchar);
DROP FUNCTION IF EXISTS {catalog}.{schema}.double_of(varchar);
SHOW FUNCTIONS FROM {catalog}.{schema};
