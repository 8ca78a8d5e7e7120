-- Partitions: written, listed, pruned, dropped, and the procedures that change them.
CREATE TABLE sales (id bigint, item varchar, ds varchar, country varchar)
WITH (format = 'ORC', partitioned_by = ARRAY['ds', 'country']);
SHOW CREATE TABLE sales;
SELECT * FROM "sales$partitions";
INSERT INTO sales VALUES (1, 'a', '2026-01-01', 'DE'), (2, 'b', '2026-01-01', 'FR');
SELECT * FROM "sales$partitions" ORDER BY ds, country;
INSERT INTO sales VALUES (3, 'c', '2026-01-02', 'DE'), (4, 'd', '2026-01-03', 'DE');
SELECT * FROM "sales$partitions" ORDER BY ds, country;
SELECT * FROM sales ORDER BY id;
INSERT INTO sales VALUES (5, 'e', '2026-01-03', 'DE');
SELECT id FROM sales WHERE ds = '2026-01-03' ORDER BY id;
SELECT id FROM sales WHERE ds > '2026-01-01' AND country = 'DE' ORDER BY id;
SELECT id FROM sales WHERE ds IN ('2026-01-01', '2026-01-02') ORDER BY id;
SELECT id FROM sales WHERE ds BETWEEN '2026-01-02' AND '2026-01-09' ORDER BY id;
SELECT id FROM sales WHERE country LIKE 'F%';
SELECT id FROM sales WHERE ds <> '2026-01-01' OR country = 'FR' ORDER BY id;
SELECT max(ds) FROM "sales$partitions";
SELECT ds, count(*) FROM sales GROUP BY ds ORDER BY ds;
SELECT ds FROM "sales$partitions" WHERE country = 'FR';
EXPLAIN (TYPE IO, FORMAT JSON) SELECT * FROM sales WHERE ds = '2026-01-02';
DELETE FROM sales WHERE ds = '2026-01-02';
SELECT * FROM "sales$partitions" ORDER BY ds, country;
DELETE FROM sales WHERE ds = '2026-01-01' AND country = 'FR';
SELECT * FROM sales ORDER BY id;
-- fails
DELETE FROM sales WHERE id = 1;
INSERT INTO sales VALUES (6, 'f', NULL, 'DE');
SELECT * FROM "sales$partitions" ORDER BY ds, country;
SELECT id FROM sales WHERE ds IS NULL;
INSERT INTO sales VALUES (7, 'g', 'a b/c:d%e', 'A=B'), (8, 'h', '', 'DE');
SELECT * FROM "sales$partitions" ORDER BY ds, country;
SELECT id FROM sales WHERE ds = 'a b/c:d%e';
CALL system.create_empty_partition('{schema}', 'sales', ARRAY['ds', 'country'], ARRAY['2026-02-01', 'IT']);
SELECT * FROM "sales$partitions" WHERE ds LIKE '2026-02%';
-- fails
CALL system.create_empty_partition('{schema}', 'sales', ARRAY['ds', 'country'], ARRAY['2026-02-01', 'IT']);
-- fails
CALL system.create_empty_partition('{schema}', 'sales', ARRAY['ds'], ARRAY['2026-02-01']);
-- fails
CALL system.register_partition(
  '{schema}', 'sales', ARRAY['ds', 'country'], ARRAY['2026-02-02', 'IT'],
  'file://{folder}/{schema}/sales/ds=2026-01-03/country=DE'
);
CALL system.unregister_partition('{schema}', 'sales', ARRAY['ds', 'country'], ARRAY['2026-02-01', 'IT']);
SELECT * FROM "sales$partitions" WHERE ds LIKE '2026-02%';
-- fails
CALL system.unregister_partition('{schema}', 'sales', ARRAY['ds', 'country'], ARRAY['2026-02-01', 'IT']);
CALL system.unregister_partition('{schema}', 'sales', ARRAY['ds', 'country'], ARRAY['2026-01-03', 'DE']);
SELECT count(*) FROM sales WHERE ds = '2026-01-03';
CALL system.sync_partition_metadata('{schema}', 'sales', 'ADD');
SELECT count(*) FROM sales WHERE ds = '2026-01-03';
CALL system.sync_partition_metadata('{schema}', 'sales', 'DROP');
CALL system.sync_partition_metadata('{schema}', 'sales', 'FULL');
SELECT * FROM "sales$partitions" ORDER BY ds, country;
-- fails
CALL system.sync_partition_metadata('{schema}', 'sales', 'SOME');
ALTER TABLE sales ADD COLUMN price double;
SELECT id, price FROM sales ORDER BY id;
INSERT INTO sales (id, price, ds, country) VALUES (9, 1.5e0, '2026-03-01', 'DE');
SELECT id, price FROM sales WHERE ds >= '2026-02-01' AND price > 1 ORDER BY id;
ALTER TABLE sales RENAME COLUMN price TO cost;
SELECT id, cost FROM sales WHERE cost IS NOT NULL;
ALTER TABLE sales RENAME TO sold;
SELECT * FROM "sold$partitions" ORDER BY ds, country;
SELECT count(*) FROM sold WHERE country = 'DE';
-- fails
SELECT * FROM "sales$partitions";
ALTER TABLE sold RENAME TO sales;
SELECT count(*) FROM sales WHERE country = 'DE';
CREATE TABLE typed (id bigint, day date, hour integer, flag boolean)
WITH (partitioned_by = ARRAY['day', 'hour', 'flag']);
INSERT INTO typed VALUES (1, DATE '2026-01-01', 9, true), (2, DATE '2026-01-01', 10, false), (3, DATE '2026-01-02', 11, true);
SELECT * FROM "typed$partitions" ORDER BY day, hour;
SELECT id FROM typed WHERE day = DATE '2026-01-01' ORDER BY id;
SELECT id FROM typed WHERE hour > 9 ORDER BY id;
SELECT id FROM typed WHERE day > DATE '2025-12-31' AND hour BETWEEN 10 AND 11 AND flag;
SELECT id FROM typed WHERE day IN (DATE '2026-01-01', DATE '2026-01-02') AND NOT flag;
CREATE TABLE copied WITH (partitioned_by = ARRAY['ds']) AS SELECT id, country, ds FROM sales WHERE ds LIKE '2026-%';
SELECT * FROM "copied$partitions" ORDER BY ds;
SELECT id, country FROM copied ORDER BY id;
CREATE TABLE wide WITH (partitioned_by = ARRAY['n']) AS SELECT x AS id, x AS n FROM UNNEST(sequence(1, 60)) AS t (x);
SELECT count(*) FROM "wide$partitions";
SELECT id FROM wide WHERE n IN (5, 55) ORDER BY id;
SELECT sum(id) FROM wide WHERE n BETWEEN 10 AND 20;
DELETE FROM wide WHERE n > 30;
SELECT count(*), max(n) FROM "wide$partitions";
DELETE FROM wide;
SELECT count(*) FROM "wide$partitions";
DROP TABLE sales;
-- fails
SELECT * FROM "sales$partitions";
CREATE TABLE sales (id bigint, ds varchar) WITH (partitioned_by = ARRAY['ds']);
SELECT * FROM "sales$partitions";
SELECT * FROM sales;
