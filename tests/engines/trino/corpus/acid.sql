-- Transactional tables that a client of Hive has made, written by Trino.
SHOW TABLES;
SHOW CREATE TABLE full_acid;
SELECT * FROM full_acid;
INSERT INTO full_acid VALUES (1, 'a'), (2, 'b'), (3, 'c');
SELECT * FROM full_acid ORDER BY id;
UPDATE full_acid SET name = 'changed' WHERE id = 2;
SELECT * FROM full_acid ORDER BY id;
DELETE FROM full_acid WHERE id = 1;
SELECT * FROM full_acid ORDER BY id;
MERGE INTO full_acid AS t USING (VALUES (2, 'merged'), (9, 'new')) AS s (id, name) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name);
SELECT * FROM full_acid ORDER BY id;
MERGE INTO full_acid AS t USING (VALUES 3) AS s (id) ON t.id = s.id WHEN MATCHED THEN DELETE;
SELECT count(*), sum(id) FROM full_acid;
INSERT INTO full_acid SELECT id + 100, name FROM full_acid;
SELECT * FROM full_acid ORDER BY id;
DELETE FROM full_acid;
SELECT count(*) FROM full_acid;
-- fails
TRUNCATE TABLE full_acid;
INSERT INTO full_acid VALUES (5, 'again');
SELECT * FROM full_acid;
SELECT * FROM "full_acid_parted$partitions";
INSERT INTO full_acid_parted VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
SELECT * FROM "full_acid_parted$partitions" ORDER BY ds;
SELECT * FROM full_acid_parted ORDER BY id;
UPDATE full_acid_parted SET name = 'x' WHERE ds = 'd1';
SELECT * FROM full_acid_parted ORDER BY id;
INSERT INTO full_acid_parted VALUES (3, 'c', 'd1'), (4, 'd', 'd3');
DELETE FROM full_acid_parted WHERE id = 2;
SELECT * FROM full_acid_parted WHERE ds < 'd3' ORDER BY id;
SELECT * FROM "full_acid_parted$partitions" ORDER BY ds;
DELETE FROM full_acid_parted WHERE ds = 'd3';
SELECT * FROM full_acid_parted ORDER BY id;
ANALYZE full_acid_parted;
SHOW CREATE TABLE insert_only;
INSERT INTO insert_only VALUES (1, 'a'), (2, 'b');
SELECT * FROM insert_only ORDER BY id;
INSERT INTO insert_only VALUES (3, 'c');
SELECT count(*) FROM insert_only;
-- fails
UPDATE insert_only SET name = 'x' WHERE id = 1;
-- fails
DELETE FROM insert_only WHERE id = 1;
INSERT INTO insert_only_parted VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
SELECT * FROM "insert_only_parted$partitions" ORDER BY ds;
SELECT * FROM insert_only_parted WHERE ds = 'd2';
ALTER TABLE full_acid RENAME TO renamed;
SELECT * FROM renamed;
DROP TABLE insert_only;
SHOW TABLES;
