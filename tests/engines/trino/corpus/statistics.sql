-- Statistics: collected while writing and by ANALYZE, used in plans, dropped.
CREATE TABLE numbers (id bigint, half double, name varchar, born date, price decimal(10, 2), ok boolean);
SHOW STATS FOR numbers;
INSERT INTO numbers SELECT x, x / 2e0, concat('n', cast(x AS varchar)), DATE '2026-01-01', 1.5, x % 2 = 0
FROM UNNEST(sequence(1, 50)) AS t (x);
SHOW STATS FOR numbers;
INSERT INTO numbers VALUES (1000, NULL, NULL, NULL, NULL, NULL);
SHOW STATS FOR numbers;
ANALYZE numbers;
SHOW STATS FOR numbers;
SHOW STATS FOR (SELECT * FROM numbers WHERE id > 25);
EXPLAIN (TYPE IO, FORMAT JSON) SELECT * FROM numbers WHERE id > 25;
CALL system.drop_stats('{schema}', 'numbers');
SHOW STATS FOR numbers;
ANALYZE numbers WITH (columns = ARRAY['id', 'name']);
SHOW STATS FOR numbers;
ALTER TABLE numbers RENAME COLUMN half TO part;
SHOW STATS FOR numbers;
ALTER TABLE numbers RENAME TO figures;
SHOW STATS FOR figures;
-- fails
TRUNCATE TABLE figures;
SHOW STATS FOR figures;
CREATE TABLE daily (id bigint, item varchar, ds varchar) WITH (partitioned_by = ARRAY['ds']);
INSERT INTO daily VALUES (1, 'a', 'd1'), (2, 'b', 'd1'), (3, 'c', 'd2');
SHOW STATS FOR daily;
SHOW STATS FOR (SELECT * FROM daily WHERE ds = 'd1');
INSERT INTO daily VALUES (10, 'z', 'd1');
SHOW STATS FOR (SELECT * FROM daily WHERE ds = 'd1');
ANALYZE daily WITH (partitions = ARRAY[ARRAY['d1']]);
SHOW STATS FOR daily;
-- fails
ANALYZE daily WITH (partitions = ARRAY[ARRAY['nowhere']]);
CALL system.drop_stats('{schema}', 'daily', ARRAY[ARRAY['d2']]);
SHOW STATS FOR (SELECT * FROM daily WHERE ds = 'd2');
SHOW STATS FOR daily;
ANALYZE daily;
SHOW STATS FOR daily;
DELETE FROM daily WHERE ds = 'd1';
SHOW STATS FOR daily;
EXPLAIN (TYPE IO, FORMAT JSON) SELECT item FROM daily WHERE ds = 'd2';
DROP TABLE daily;
CREATE TABLE daily (id bigint, ds varchar) WITH (partitioned_by = ARRAY['ds']);
SHOW STATS FOR daily;
