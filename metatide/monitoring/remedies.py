"""How to react to each metric, in display order."""

from typing import Final, NamedTuple


class Section(NamedTuple):
    """Metrics that belong together."""

    title: str
    remedies: dict[str, str]
    """How to react to each metric, by its name."""


SECTIONS: Final = (
    Section(
        "Health",
        {
            "metatide_missing_age_seconds": "Above `metatide_age_limit_seconds`: see "
            "MetatideEventsLate in docs/alerts.md.",
            "metatide_missing_events": "How much is late; as its age.",
            "metatide_age_limit_seconds": "`health.amber_s` and `health.red_s` of the workers: "
            "give all of them the same.",
            "metatide_connector_quiet_seconds": "Above `metatide_age_limit_seconds`: see "
            "MetatideConnectorSilent in docs/alerts.md. `none`: no connector is heard.",
            "metatide_connector_leads": "0 where other connectors lead all: it joined just now, or "
            "can't join the group `NAME.loads`; its log says why.",
        },
    ),
    Section(
        "Reads over HTTP",
        {
            "metatide_answers": "Its reasons and their remedies: docs/alerts.md, Reasons.",
            "metatide_answer_seconds": "`database` slow: look at the database's own load and at "
            "`metatide_requests_in_flight`; `cache` slow: the worker lacks CPU, add one.",
            "metatide_refused_requests": "4xx is the client's: its body says what is wrong. 503: "
            "see `metatide_database_reads`, or too many requests for this worker.",
            "metatide_requests_in_flight": "Near 2,000 requests are refused: add workers.",
            "metatide_recent_reads": "`failed`: bring the database back; meanwhile `within` asks "
            "it each time, as `latest` does. Too many: raise the ages that readers ask for.",
            "metatide_unproved_answers": "Above 0: see MetatidePeerUnproved in docs/alerts.md. "
            "A few while `worker.secret_file` is being changed are no fault.",
            "metatide_database_reads": "`down`, `left_alone`: bring the database back. `busy`, "
            "`late`: raise `database.connections`, or find out why so much misses. `refused`: the "
            "worker's log has the database's words; mostly a right is missing.",
        },
    ),
    Section(
        "Calls over Thrift",
        {
            "metatide_thrift_answers": "Its reasons and their remedies: docs/alerts.md, Reasons.",
            "metatide_thrift_relayed": "By reason, as above; `not_cached`, `form` and "
            "`capabilities` are the client's way to ask and no fault.",
            "metatide_thrift_seconds": "`metastore` slow: the metastore is; `database`, `cache`: "
            "as over HTTP.",
            "metatide_thrift_shadowed": "`different`: see `/v1/thrift/differences` before the "
            "cache answers these clients.",
            "metatide_thrift_expressions": "`read` and `remembered` are answered here; why others "
            "aren't is in the worker's log. `thrift.hive_classpath` names the jars.",
            "metatide_thrift_connections": "Near `thrift.connections_max` clients are turned away: "
            "raise it or add workers.",
            "metatide_thrift_upstream_connections": "`client` and `impersonated` follow the "
            "clients that make relayed calls, at most `upstream.connections_per_user_max` for a "
            "user; `worker` stays at a few.",
            "metatide_thrift_refused": "`upstream`: see MetatideMetastoresFail in docs/alerts.md. "
            "Others: the worker's log names the client and what it did.",
            "metatide_thrift_logins": "Each is a connection, or a user of one over HTTP: many show "
            "clients that keep none.",
        },
    ),
    Section(
        "Workers",
        {
            "metatide_shards": "`failed`: `metatide status` has the fault, and it is tried again. "
            "`over_limit`: make room. `stopped`: a record can't be read. `catching_up` for long: "
            "see the lag.",
            "metatide_unreadable_record": "1: nobody but an operator lets its shard go on: see "
            "MetatideRecordUnreadable in docs/alerts.md.",
            "metatide_topic_shards": "More than the sum of the group's `metatide_shards`: a "
            "shard has no owner. Start a worker.",
            "metatide_lag_records": "Growing: the worker lacks CPU or disk, or it catches up. "
            "Reads that need more go to the database meanwhile. Add workers.",
            "metatide_lag_seconds": "High while `metatide_lag_records` is low: the brokers are "
            "slow, or clocks differ.",
            "metatide_fold_seconds": "Above 5 ms for long: a slow disk, or transactions and "
            "tables of unusual size.",
            "metatide_batch_records": "Large batches say that much comes at once; nothing to do.",
            "metatide_recovery_seconds": "Long: make images (`images.url`), or make them more "
            "often.",
            "metatide_shard_faults": "Rising: `metatide status` and the worker's log say why.",
            "metatide_rebalances": "Rising without restarts: workers miss their session; raise "
            "`worker.session_timeout_s`, or give them CPU.",
            "metatide_load_requests": "Rising fast: something makes tables cold again and again: "
            "see `metatide_connect_faults` and `metatide status --content`.",
            "metatide_load_requests_waiting": "As the age of the oldest of them.",
            "metatide_load_requests_oldest_seconds": "Above half an hour: nobody loads. See that a "
            "connector runs, and `metatide_loads_faults`.",
            "metatide_image_made_seconds": "Old: see MetatideImagesOld and "
            "MetatideServedImagesOld in docs/alerts.md.",
            "metatide_image_every_seconds": "`images.every_s`, for the alerts.",
        },
    ),
    Section(
        "Room",
        {
            "metatide_over_limit": "Raise the limit that `metatide status` names, or add a worker.",
            "metatide_store_bytes": "Near `worker.disk_max_mib`: raise that, or add a worker.",
            "metatide_disk_free_bytes": "Near `worker.disk_free_min_mib`: make room.",
            "metatide_store_memory_bytes": "It rises to `state.memory_mib`, and stays there.",
            "metatide_memory_bytes": "Near `worker.memory_max_mib`: raise it, or lower "
            "`state.memory_mib`.",
        },
    ),
    Section(
        "Processes",
        {
            "metatide_build_info": "Different releases for long: an upgrade was left half done.",
            "metatide_loop_lag_seconds": "Above 50 ms for long: the worker lacks CPU, or single "
            "requests are too large; add a worker.",
            "process_cpu_seconds": "Near 1 a second in a worker: its event loop is full; add one.",
            "process_resident_memory_bytes": "As `metatide_memory_bytes`.",
            "process_virtual_memory_bytes": "Nothing: stores are mapped files.",
            "process_open_fds": "Near `process_max_fds`: raise the hard limit (`ulimit -Hn`).",
            "process_max_fds": "The limit itself; a worker raises it to the hard one, for stores "
            "keep many files open.",
            "process_start_time_seconds": "It changes often: something ends the process; its log "
            "says what.",
        },
    ),
    Section(
        "Connectors",
        {
            "metatide_connect_lag_events": "Growing: see `metatide_connect_faults`; without "
            "faults the brokers are slow.",
            "metatide_connect_lag_ms": "As `metatide_connect_lag_events`.",
            "metatide_connect_looked_seconds": "Old: the connector waits, and `/healthz` says for "
            "what; or it hangs: restart it.",
            "metatide_connect_faults": "Each kind has its remedy: docs/connectors.md.",
            "metatide_connect_failed_seconds": "As `metatide_connect_faults`, also of what went "
            "wrong before Prometheus first looked.",
            "metatide_connect_publish_seconds": "High: the brokers are slow, or "
            "`connect.poll_interval_ms` is.",
            "metatide_connect_events": "None while the metastore writes: see the lag.",
            "metatide_connect_records": "More than events, since some go to all shards.",
            "metatide_connect_bytes": "What the topic grows by: plan its disks, or trim it "
            "(`metatide topic trim`).",
            "metatide_connect_position": "Connectors that differ for long: one is behind.",
            "metatide_connect_epoch": "It rose: the database was restored, failed over and lost "
            "rows, or is another one. See docs/connectors.md.",
        },
    ),
    Section(
        "Loads",
        {
            "metatide_loads": "Many of the same kind for long: something makes tables cold again.",
            "metatide_loads_partitions": "High: large tables are loaded; it spares the database "
            "to do so once, with `metatide prewarm`.",
            "metatide_loads_bytes": "As `metatide_connect_bytes`.",
            "metatide_loads_faults": "`source`: the database; `publish`: the brokers; `refused`: "
            "one table or list alone. The connector's log says what.",
            "metatide_loads_failed_seconds": "As `metatide_loads_faults`, also of what went wrong "
            "before Prometheus first looked.",
            "metatide_loads_waiting": "Growing: more is asked for than is loaded: add connectors.",
            "metatide_load_requests_received": "Many `unreadable`: workers of a later release "
            "than the connector's. Upgrade connectors. `rests`: as `metatide_loads_vain`.",
            "metatide_loads_vain": "Rising: a shard claims events that the log doesn't have: see "
            "MetatideLoadsInVain in docs/alerts.md.",
            "metatide_loads_batch_seconds": "High: the database is slow, or tables are large.",
        },
    ),
    Section(
        "Audits in the background",
        {
            "metatide_audit_objects": "0 and `audit.every_s` is set: see the faults and what is "
            "left out.",
            "metatide_audit_disagreements": "`metatide audit` shows each; `metatide admin refresh` "
            "fixes a table, `metatide prewarm --again` names and databases. Then find out who "
            "writes to the database behind the metastore.",
            "metatide_audit_disagreed_seconds": "As `metatide_audit_disagreements`.",
            "metatide_audit_left_out": "As the same reason of an answer.",
            "metatide_audit_faults": "Mostly the database was away; the worker's log says why.",
            "metatide_audit_finished_seconds": "Old: see MetatideAuditsFail in docs/alerts.md.",
            "metatide_audit_every_seconds": "`audit.every_s`, for the alert.",
        },
    ),
)
