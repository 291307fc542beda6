-- logsvc: schemas and roles.

\echo Use "CREATE EXTENSION logsvc" to load this file. \quit

CREATE SCHEMA logsvc;
COMMENT ON SCHEMA logsvc IS 'logsvc: the API';

CREATE SCHEMA logsvc_internal;
COMMENT ON SCHEMA logsvc_internal IS 'logsvc: tables and functions of the service itself';
