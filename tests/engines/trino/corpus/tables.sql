-- Tables of all kinds: created, filled, changed, renamed, dropped.
SHOW TABLES;
CREATE TABLE plain (
  id bigint, name varchar, born date, price decimal(10, 2), ok boolean, raw varbinary
) COMMENT 'plain' WITH (format = 'ORC');
SHOW TABLES;
SHOW COLUMNS FROM plain;
DESCRIBE plain;
SHOW CREATE TABLE plain;
SELECT * FROM plain;
-- fails
CREATE TABLE plain (id bigint);
CREATE TABLE IF NOT EXISTS plain (id bigint);
INSERT INTO plain VALUES
  (1, 'a', DATE '2026-01-01', 1.50, true, X'00ff'),
  (2, 'b', NULL, NULL, false, NULL);
SELECT * FROM plain ORDER BY id;
INSERT INTO plain (id, name) SELECT id + 10, concat(name, '+') FROM plain;
SELECT id, name, price FROM plain ORDER BY id;
SELECT count(*), sum(id), min(born), max(price) FROM plain;
-- fails
INSERT INTO plain (nowhere) VALUES (1);
-- fails
UPDATE plain SET name = 'x' WHERE id = 1;
-- fails
DELETE FROM plain WHERE id = 1;
SELECT count(*) FROM plain;
COMMENT ON TABLE plain IS 'other';
SHOW CREATE TABLE plain;
COMMENT ON TABLE plain IS NULL;
COMMENT ON COLUMN plain.name IS 'a name';
DESCRIBE plain;
ALTER TABLE plain ADD COLUMN extra integer;
ALTER TABLE plain ADD COLUMN IF NOT EXISTS extra integer;
-- fails
ALTER TABLE plain ADD COLUMN extra integer;
SELECT id, extra FROM plain ORDER BY id;
INSERT INTO plain (id, extra) VALUES (100, 7);
SELECT id, extra FROM plain WHERE extra IS NOT NULL;
ALTER TABLE plain RENAME COLUMN extra TO more;
DESCRIBE plain;
ALTER TABLE plain DROP COLUMN more;
DESCRIBE plain;
-- fails
ALTER TABLE plain DROP COLUMN nowhere;
-- fails
ALTER TABLE plain ALTER COLUMN id SET DATA TYPE integer;
-- fails
ALTER TABLE plain SET PROPERTIES auto_purge = true;
SELECT "external.table.purge" FROM "plain$properties";
ALTER TABLE plain RENAME TO renamed;
SHOW TABLES;
-- fails
SELECT * FROM plain;
SELECT count(*) FROM renamed;
ALTER TABLE renamed RENAME TO plain;
SELECT count(*) FROM plain;
-- fails
ALTER TABLE nowhere RENAME TO plain;
ALTER TABLE IF EXISTS nowhere RENAME TO plain;
CREATE TABLE alike (LIKE plain INCLUDING PROPERTIES);
SHOW CREATE TABLE alike;
-- fails
TRUNCATE TABLE plain;
SELECT count(*) FROM plain;
CREATE TABLE parquets WITH (format = 'PARQUET') AS SELECT 1 AS id, 'x' AS name;
SELECT * FROM parquets;
CREATE TABLE texts WITH (format = 'TEXTFILE', textfile_field_separator = ';') AS
SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS t (id, name);
SHOW CREATE TABLE texts;
SELECT * FROM texts ORDER BY id;
CREATE TABLE jsons WITH (format = 'JSON') AS SELECT * FROM texts;
SELECT * FROM jsons ORDER BY id;
CREATE TABLE csvs WITH (format = 'CSV') AS SELECT CAST(name AS varchar) AS name FROM texts;
SELECT * FROM csvs ORDER BY name;
CREATE TABLE avros WITH (format = 'AVRO') AS SELECT * FROM texts;
SELECT * FROM avros ORDER BY id;
CREATE TABLE sequences WITH (format = 'SEQUENCEFILE') AS SELECT * FROM texts WITH NO DATA;
SELECT * FROM sequences;
CREATE TABLE nested (
  id bigint, tags array(varchar), counts map(varchar, integer), place row(x double, y double),
  seen timestamp(3)
);
INSERT INTO nested VALUES (1, ARRAY['a', 'b'], MAP(ARRAY['k'], ARRAY[1]), ROW(1e0, 2e0), TIMESTAMP '2026-01-01 10:00:00.123');
SELECT id, tags[1], counts['k'], place.y, seen FROM nested;
DESCRIBE nested;
CREATE TABLE bucketed (id bigint, name varchar)
WITH (bucketed_by = ARRAY['id'], bucket_count = 4, sorted_by = ARRAY['name']);
INSERT INTO bucketed VALUES (1, 'a'), (2, 'b'), (3, 'c');
SELECT count(*) FROM bucketed WHERE id = 2;
SHOW CREATE TABLE bucketed;
CREATE TABLE outside (id varchar, name varchar)
WITH (external_location = 'file://{folder}/{schema}/texts', format = 'TEXTFILE', textfile_field_separator = ';');
SELECT * FROM outside ORDER BY id;
SHOW CREATE TABLE outside;
DROP TABLE outside;
SELECT count(*) FROM texts;
SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' ORDER BY table_name;
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = '{schema}' ORDER BY table_name, ordinal_position;
SELECT table_name, comment FROM system.metadata.table_comments
WHERE catalog_name = '{catalog}' AND schema_name = '{schema}' ORDER BY table_name;
SHOW TABLES LIKE '%s';
-- fails
SHOW TABLES FROM nowhere;
EXPLAIN (TYPE IO, FORMAT JSON) SELECT * FROM texts WHERE id = 1;
EXPLAIN (TYPE VALIDATE) SELECT * FROM texts;
DROP TABLE alike;
-- fails
DROP TABLE alike;
DROP TABLE IF EXISTS alike;
SHOW TABLES;
CREATE TABLE alike (other varchar);
DESCRIBE alike;
SELECT * FROM alike;
