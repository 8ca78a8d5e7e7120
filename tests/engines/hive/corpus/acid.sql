-- Tables of full ACID and insert-only ones: written, changed, merged, read.
SHOW TABLES;
CREATE TABLE full_acid (id int, name string) STORED AS ORC TBLPROPERTIES ('transactional' = 'true');
SHOW TABLES;
SELECT * FROM full_acid;
INSERT INTO full_acid VALUES (1, 'a'), (2, 'b'), (3, 'c');
SELECT * FROM full_acid;
SELECT count(*), min(id), max(id) FROM full_acid;
UPDATE full_acid SET name = 'changed' WHERE id = 2;
SELECT * FROM full_acid;
DELETE FROM full_acid WHERE id = 1;
SELECT * FROM full_acid;
SELECT count(*) FROM full_acid;
CREATE TABLE changes (id int, name string) STORED AS ORC TBLPROPERTIES ('transactional' = 'true');
INSERT INTO changes VALUES (2, 'merged'), (3, NULL), (9, 'new');
MERGE INTO full_acid t USING changes s ON t.id = s.id
WHEN MATCHED AND s.name IS NULL THEN DELETE
WHEN MATCHED THEN UPDATE SET name = s.name
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.name);
SELECT * FROM full_acid;
CREATE TABLE parted (id int, name string) PARTITIONED BY (ds string)
STORED AS ORC TBLPROPERTIES ('transactional' = 'true');
INSERT INTO parted PARTITION (ds = 'd1') VALUES (1, 'a'), (2, 'b');
INSERT INTO parted PARTITION (ds) VALUES (3, 'c', 'd2'), (4, 'd', 'd3');
SHOW PARTITIONS parted;
SELECT * FROM parted WHERE ds > 'd1';
SELECT * FROM parted WHERE ds IN ('d1', 'd3');
UPDATE parted SET name = 'x' WHERE ds = 'd1' AND id = 1;
DELETE FROM parted WHERE ds = 'd2';
SELECT * FROM parted;
ALTER TABLE parted DROP PARTITION (ds = 'd3');
SHOW PARTITIONS parted;
SELECT * FROM parted;
ALTER TABLE parted ADD PARTITION (ds = 'd9');
SHOW PARTITIONS parted;
-- fails
ALTER TABLE parted ADD PARTITION (ds = 'd9');
TRUNCATE TABLE changes;
SELECT * FROM changes;
INSERT INTO changes VALUES (9, 'new');
CREATE TABLE insert_only (id int, name string)
TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only');
INSERT INTO insert_only VALUES (1, 'a');
SELECT * FROM insert_only;
-- fails
UPDATE insert_only SET name = 'x';
INSERT OVERWRITE TABLE insert_only SELECT * FROM changes WHERE id = 9;
SELECT * FROM insert_only;
INSERT INTO insert_only VALUES (2, 'b');
SELECT * FROM insert_only;
CREATE TABLE insert_only_parted (id int) PARTITIONED BY (ds string)
TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only');
INSERT INTO insert_only_parted PARTITION (ds) VALUES (1, 'd1'), (2, 'd2');
SELECT * FROM insert_only_parted WHERE ds = 'd2';
INSERT INTO insert_only_parted PARTITION (ds = 'd1') VALUES (3);
SELECT * FROM insert_only_parted;
ALTER TABLE insert_only RENAME TO renamed;
SELECT * FROM renamed;
-- fails
SELECT * FROM insert_only;
DROP TABLE changes;
SHOW TABLES LIKE '*e*ed';
