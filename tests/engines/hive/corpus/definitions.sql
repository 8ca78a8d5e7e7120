-- Views, constraints, statistics, plans.
CREATE TABLE base (id int NOT NULL, name string DEFAULT 'none', price decimal(10, 2) CHECK (price > 0) DISABLE)
STORED AS ORC TBLPROPERTIES ('transactional' = 'true');
ALTER TABLE base ADD CONSTRAINT {schema}_pk PRIMARY KEY (id) DISABLE NOVALIDATE RELY;
CREATE TABLE child (id int, base_id int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true');
ALTER TABLE child ADD CONSTRAINT {schema}_fk FOREIGN KEY (base_id) REFERENCES base (id) DISABLE NOVALIDATE RELY;
DESCRIBE base;
INSERT INTO base (id, price) VALUES (1, 1.5), (2, 2.5);
SELECT * FROM base;
-- fails
INSERT INTO base (id, price) VALUES (NULL, 1.5);
ALTER TABLE child DROP CONSTRAINT {schema}_fk;
SELECT count(*) FROM base;
SELECT min(id), max(id), count(name) FROM base;
ANALYZE TABLE base COMPUTE STATISTICS FOR COLUMNS;
DESCRIBE FORMATTED base id;
SELECT min(id), max(id) FROM base;
EXPLAIN SELECT count(*) FROM base WHERE id > 1;
EXPLAIN SELECT name, sum(price) FROM base GROUP BY name;
CREATE VIEW seen AS SELECT id, upper(name) AS name FROM base;
SELECT * FROM seen;
SHOW VIEWS;
SHOW CREATE TABLE seen;
ALTER VIEW seen AS SELECT id FROM base WHERE id > 1;
SELECT * FROM seen;
DROP VIEW seen;
-- fails
SELECT * FROM seen;
CREATE MATERIALIZED VIEW kept TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')
AS SELECT id, price FROM base WHERE price > 2;
SELECT * FROM kept;
INSERT INTO base (id, price) VALUES (3, 3.5);
ALTER MATERIALIZED VIEW kept REBUILD;
SELECT * FROM kept;
SHOW MATERIALIZED VIEWS;
DROP MATERIALIZED VIEW kept;
ALTER TABLE base ADD COLUMNS (added string);
SELECT * FROM base;
ALTER TABLE base CHANGE COLUMN added renamed string COMMENT 'added';
DESCRIBE base;
ALTER TABLE base SET TBLPROPERTIES ('season' = 'winter');
SHOW TBLPROPERTIES base ('season');
CREATE EXTERNAL TABLE outside (id int) PARTITIONED BY (ds string) STORED AS TEXTFILE;
ALTER TABLE outside ADD PARTITION (ds = 'd1') PARTITION (ds = 'd2');
SHOW PARTITIONS outside;
ALTER TABLE outside PARTITION (ds = 'd1') RENAME TO PARTITION (ds = 'd9');
SHOW PARTITIONS outside;
MSCK REPAIR TABLE outside SYNC PARTITIONS;
SHOW PARTITIONS outside;
CREATE FUNCTION {schema}.lower_of AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFLower';
-- Sessions learn of functions of others only so.
RELOAD FUNCTIONS;
SELECT {schema}.lower_of('ABC');
DROP FUNCTION {schema}.lower_of;
SHOW DATABASES LIKE '{schema}';
DROP TABLE child;
SHOW TABLES;
