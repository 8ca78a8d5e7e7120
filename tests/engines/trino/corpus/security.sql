-- Roles and privileges of the SQL standard, as an administrator and as two other users.
SHOW CURRENT ROLES FROM {catalog};
SET ROLE admin IN {catalog};
SHOW CURRENT ROLES FROM {catalog};
CREATE TABLE secret (id bigint, name varchar);
INSERT INTO secret VALUES (1, 'a');
SHOW GRANTS ON TABLE secret;
-- as bob
-- fails
SELECT * FROM secret;
SHOW TABLES;
-- fails
INSERT INTO secret VALUES (2, 'b');
-- fails
DROP TABLE secret;
-- as hive
GRANT SELECT ON TABLE secret TO USER bob;
SHOW GRANTS ON TABLE secret;
-- as bob
SELECT * FROM secret;
-- fails
INSERT INTO secret VALUES (2, 'b');
SHOW GRANTS ON TABLE secret;
-- as hive
GRANT INSERT, DELETE ON TABLE secret TO USER bob WITH GRANT OPTION;
-- as bob
INSERT INTO secret VALUES (2, 'b');
GRANT INSERT ON TABLE secret TO USER eve;
-- as eve
INSERT INTO secret VALUES (3, 'c');
-- fails
SELECT * FROM secret;
-- as hive
SELECT grantee, privilege_type, is_grantable FROM information_schema.table_privileges
WHERE table_schema = '{schema}' ORDER BY 1, 2;
REVOKE SELECT ON TABLE secret FROM USER bob;
-- as bob
-- fails
SELECT * FROM secret;
-- as hive
CREATE ROLE {schema}_reader IN {catalog};
-- fails
CREATE ROLE {schema}_reader IN {catalog};
SELECT role_name FROM information_schema.roles WHERE role_name LIKE '{schema}%';
GRANT SELECT ON TABLE secret TO ROLE {schema}_reader;
GRANT {schema}_reader TO USER eve IN {catalog};
-- as eve
SHOW CURRENT ROLES FROM {catalog};
SHOW ROLE GRANTS FROM {catalog};
SELECT * FROM secret ORDER BY id;
SET ROLE {schema}_reader IN {catalog};
SELECT * FROM secret ORDER BY id;
SET ROLE NONE IN {catalog};
-- fails
SELECT * FROM secret ORDER BY id;
SET ROLE ALL IN {catalog};
SELECT count(*) FROM secret;
-- as hive
CREATE ROLE {schema}_writer IN {catalog};
GRANT {schema}_reader TO ROLE {schema}_writer IN {catalog};
GRANT {schema}_writer TO USER bob WITH ADMIN OPTION IN {catalog};
-- as bob
SELECT count(*) FROM secret;
GRANT {schema}_writer TO USER eve IN {catalog};
SHOW ROLE GRANTS FROM {catalog};
-- as hive
REVOKE {schema}_reader FROM ROLE {schema}_writer IN {catalog};
-- as bob
-- fails
SELECT count(*) FROM secret;
-- as hive
CREATE VIEW shown AS SELECT count(*) AS n FROM secret;
GRANT SELECT ON TABLE shown TO USER bob;
-- as bob
SELECT * FROM shown;
-- as hive
DROP ROLE {schema}_reader IN {catalog};
-- as eve
-- fails
SELECT * FROM secret;
SHOW CURRENT ROLES FROM {catalog};
-- as hive
DROP ROLE {schema}_writer IN {catalog};
-- fails
DROP ROLE {schema}_writer IN {catalog};
SELECT role_name FROM information_schema.roles WHERE role_name LIKE '{schema}%';
ALTER TABLE secret RENAME TO public_now;
SHOW GRANTS ON TABLE public_now;
DROP TABLE public_now;
CREATE TABLE secret (id bigint);
SHOW GRANTS ON TABLE secret;
