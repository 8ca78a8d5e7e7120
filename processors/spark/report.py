"""Questions about the history of a topic, in Spark SQL."""

from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

_VIEWS: Final = {
    "events": """
        SELECT epoch, event, type, catalog, db, table, timestamp_millis(min(begin_ms)) AS time,
               sum(bytes) AS bytes
        FROM facts WHERE kind = 'event'
        GROUP BY epoch, event, type, catalog, db, table""",
    "transactions": """
        SELECT epoch, txn, timestamp_millis(begin_ms) AS begin, end_ms - begin_ms AS ms,
               CASE WHEN aborted THEN 'aborted' WHEN committed THEN 'committed' ELSE 'open' END
                   AS state
        FROM (SELECT epoch, txn, min(begin_ms) FILTER (WHERE type = 'open') AS begin_ms,
                     min(begin_ms) FILTER (WHERE type != 'open') AS end_ms,
                     max(type = 'aborted') AS aborted, max(type = 'committed') AS committed
              FROM facts WHERE kind = 'txn' GROUP BY epoch, txn)
        WHERE begin_ms IS NOT NULL""",
    "cold": """
        SELECT catalog, db, table, reason, timestamp_millis(begin_ms) AS begin,
               end_ms - begin_ms AS ms
        FROM facts WHERE kind = 'cold'""",
}


class Question(NamedTuple):
    """A table of the report; its first column holds names, its second is drawn as bars."""

    title: str
    statement: str


QUESTIONS: Final = (
    Question(
        "Events by type",
        "SELECT type, count(DISTINCT epoch, event) AS events FROM events "
        "GROUP BY type ORDER BY events DESC, type",
    ),
    Question(
        "Events by hour",
        "SELECT date_format(date_trunc('hour', time), 'yyyy-MM-dd HH:mm') AS hour, "
        "count(DISTINCT epoch, event) AS events FROM events GROUP BY hour ORDER BY hour LIMIT 744",
    ),
    Question(
        "Events by database",
        "SELECT concat_ws('.', catalog, db) AS database, count(DISTINCT epoch, event) AS events "
        "FROM events WHERE db != '' GROUP BY database ORDER BY events DESC, database LIMIT 50",
    ),
    Question(
        "Tables that change most",
        "SELECT concat_ws('.', catalog, db, table) AS name, "
        "count(DISTINCT epoch, event) AS events, sum(bytes) AS bytes "
        "FROM events WHERE table != '' GROUP BY name ORDER BY events DESC, name LIMIT 50",
    ),
    Question(
        "Transactions",
        "SELECT state, count(*) AS transactions, "
        "percentile_approx(ms, 0.5) AS ms_half, percentile_approx(ms, 0.95) AS ms_95, "
        "max(ms) AS ms_max FROM transactions GROUP BY state ORDER BY state",
    ),
    Question(
        "Cold time by reason",
        "SELECT reason, round(sum(ms) / 1000, 1) AS seconds, "
        "count(DISTINCT catalog, db, table) AS tables, round(max(ms) / 1000, 1) AS seconds_max "
        "FROM cold GROUP BY reason ORDER BY seconds DESC, reason",
    ),
)


class ReportResult(NamedTuple):
    """The rows that answer a question."""

    title: str
    columns: list[str]
    rows: list[tuple[Any, ...]]


def ask(session: SparkSession, history: DataFrame, parquet: str) -> list[ReportResult]:
    """Writes the views as Parquet below a URL and queries those: the topic is read once."""
    history.write.mode("overwrite").parquet(f"{parquet}/facts")
    session.read.parquet(f"{parquet}/facts").createOrReplaceTempView("facts")
    for name, statement in _VIEWS.items():
        session.sql(statement).write.mode("overwrite").parquet(f"{parquet}/{name}")
        session.read.parquet(f"{parquet}/{name}").createOrReplaceTempView(name)
    answers = []
    for question in QUESTIONS:
        frame = session.sql(question.statement)
        rows = [tuple(row) for row in frame.collect()]
        answers.append(ReportResult(question.title, frame.columns, rows))
    return answers
