-- Views: made, replaced, renamed, and out of date with what they read.
CREATE TABLE base (id bigint, name varchar);
INSERT INTO base VALUES (1, 'a'), (2, 'b');
CREATE VIEW seen AS SELECT id, upper(name) AS name FROM base;
SHOW TABLES;
SHOW CREATE VIEW seen;
SELECT * FROM seen ORDER BY id;
DESCRIBE seen;
-- fails
CREATE VIEW seen AS SELECT 1 AS x;
CREATE OR REPLACE VIEW seen COMMENT 'replaced' AS SELECT id FROM base WHERE id > 1;
SELECT * FROM seen;
SHOW CREATE VIEW seen;
COMMENT ON VIEW seen IS 'commented';
SHOW CREATE VIEW seen;
COMMENT ON COLUMN seen.id IS 'an id';
DESCRIBE seen;
CREATE VIEW invoked SECURITY INVOKER AS SELECT count(*) AS n FROM seen;
SELECT * FROM invoked;
SHOW CREATE VIEW invoked;
SELECT table_name, view_definition FROM information_schema.views WHERE table_schema = '{schema}' ORDER BY 1;
SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = '{schema}' ORDER BY 1;
INSERT INTO base VALUES (3, 'c');
SELECT * FROM invoked;
-- fails
INSERT INTO seen VALUES (4);
ALTER VIEW seen RENAME TO watched;
SHOW TABLES;
-- fails
SELECT * FROM invoked;
SELECT * FROM watched ORDER BY id;
ALTER VIEW watched RENAME TO seen;
SELECT * FROM invoked;
ALTER TABLE base RENAME COLUMN id TO number;
-- fails
SELECT * FROM seen;
ALTER TABLE base RENAME COLUMN number TO id;
SELECT * FROM seen ORDER BY id;
DROP TABLE base;
-- fails
SELECT * FROM seen;
CREATE TABLE base (id varchar);
-- fails
SELECT * FROM seen;
-- fails
DROP VIEW base;
-- fails
DROP TABLE seen;
DROP VIEW seen;
-- fails
DROP VIEW seen;
DROP VIEW IF EXISTS seen;
-- fails
CREATE MATERIALIZED VIEW kept AS SELECT * FROM base;
DROP VIEW invoked;
SHOW TABLES;
