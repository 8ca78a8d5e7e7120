"""A load of a real metastore's database holds what the metastore's own events amount to."""

import pytest

from connectors.loads.batch import Database, load
from hive.reader.engines import unpooled_engine
from hive.schema import Version
from tests.connectors.loads.load_topic import Log, Topic, contents, differences, scopes
from tests.hive.reader import script
from tests.support.hive.metastore import MetastoreFactory

FROM_THE_START = {"databases hive", "names hive.default"}
"""What was there before the log began, so that events alone never tell it."""


@pytest.mark.hive
def test_events_and_a_load_amount_to_the_same(metastore_factory: MetastoreFactory) -> None:
    instances = metastore_factory()
    with instances.connect() as client:
        script.run(client, "both")
    engine = unpooled_engine(instances.database_url)
    log = Log(engine, Version.V4_1)
    position = log.position()
    events, loads = Topic(0), Topic(position)
    events.publish(log.after(0), position)
    log.close()
    database = Database(engine, Version.V4_1)
    load(database, loads, 0, scopes(database))
    loaded, from_events = contents(loads), contents(events)
    warm = {label for label, value in from_events.items() if value is not None}
    assert {"table hive.both.busy", "table hive.both.child", "names hive.both"} <= warm
    assert all(label in loaded for label in warm if label.startswith("table"))
    # Its statistics were updated without bounds, see SILENT.
    assert differences(events, loads) & warm - FROM_THE_START == {"table hive.both.plain"}
