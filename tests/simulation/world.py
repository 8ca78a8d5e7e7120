"""A whole deployment in one simulation, and what becomes of it."""

import gc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from hive.names import DatabaseName, TableName
from query_api.consistency import Consistency
from tests.simulation import knobs
from tests.simulation.broker import Brokers
from tests.simulation.checker import Checker
from tests.simulation.clients import Clients
from tests.simulation.database import Database
from tests.simulation.edges import Surroundings, installed
from tests.simulation.faults import FAULTS
from tests.simulation.network import Network
from tests.simulation.nodes import METASTORES, ConnectorNode, MetastoreNode, Node, WorkerNode
from tests.simulation.plan import NUMBERS, Plan, Step
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.stores import Disk

_GARBAGE_AFTER = 50_000


@dataclass
class Outcome:
    """What a run came to."""

    plan: Plan
    story: list[str]
    error: BaseException | None = None
    simulated_s: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)


class World:
    """The parts of a simulation."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        scheduler = self.scheduler = Scheduler(plan.seed)
        self.database = Database(scheduler)
        self.brokers = Brokers(scheduler)
        network = self.network = Network(scheduler)
        self.random = scheduler.random("world")
        self.metastores = [
            MetastoreNode(
                scheduler,
                n,
                network,
                self.database,
                self.ask_around,
                serves=plan.thrift is not None,
                cache_s=plan.metastores_cache_s,
            )
            for n in range(METASTORES)
        ]
        disks = {f"worker-{n}": Disk() for n in range(plan.workers)}
        self.connectors = [
            ConnectorNode(
                scheduler,
                n,
                network,
                plan.shards,
                self.database,
                poll_interval_ms=knobs.poll_interval_ms(plan.knobs),
            )
            for n in range(plan.connectors)
        ]
        self.workers = [
            WorkerNode(
                scheduler,
                n,
                network,
                self.database,
                disks[f"worker-{n}"],
                images=plan.images,
                thrift=None if plan.thrift is None else Consistency(plan.thrift),
            )
            for n in range(plan.workers)
        ]
        self.checker = Checker(self.database, plan.metastores_cache_s)
        self.clients = Clients(scheduler, self.database, network, self.workers, self._check)
        self.around = Surroundings(scheduler, self.brokers, self.database, disks, plan.knobs)
        self.counts: Counter[str] = Counter()
        self.applications: list[Process] = []
        """The processes of Spark."""
        self.faults_over = False
        self.has_lost_records = False
        self.owes_epoch = False
        """Whether the operator who trimmed the topic has restored the database, too: no connector
        can know of that, so the operator orders an epoch when all is over."""
        self.has_lost_acknowledged = False
        """Whether stores may hold records that the topic has lost."""
        self._wrong: BaseException | None = None

    def start(self) -> None:
        if self.plan.thrift is not None:
            self.clients.start()
        for node in self.nodes:
            node.start()
        for step in self.plan.steps:
            self.scheduler.after(step.at_s, partial(self._take, step))

    @property
    def nodes(self) -> list[Node]:
        return [*self.metastores, *self.connectors, *self.workers]

    def run(self, until_s: float) -> None:
        """Runs up to a time; raises what a check has raised."""
        step_s = 5.0
        while self.scheduler.now < until_s:
            self.scheduler.run(min(until_s, self.scheduler.now + step_s))
            if self._wrong is not None:
                raise self._wrong
            assert not self.scheduler.complaints, self.scheduler.complaints[0]

    def _check(self, answered: object) -> None:
        try:
            self.checker(answered)  # type: ignore[arg-type]
        except AssertionError as error:
            self._wrong = self._wrong or error

    def _take(self, step: Step) -> None:
        self.counts[step.kind] += 1
        match step.kind:
            case "write":
                if self.plan.thrift is not None and step.numbers[-1] % 3 == 2:
                    self.clients.write(step.name, step.numbers)
                else:
                    number = step.numbers[0] % METASTORES
                    self.metastores[number].write(step.name, step.numbers)
            case "read":
                self.clients.ask(step.name, step.numbers)
            case "fault":
                if not self.faults_over:
                    FAULTS[step.name](self, step.numbers)

    def ask_around(self, of: TableName | DatabaseName | None, within_s: float = 0.008) -> None:
        """Asks for what is just being changed: around a commit answers are most telling."""
        about = of if isinstance(of, TableName) else None
        for _ in range(self.random.randint(1, 4)):
            numbers = tuple(self.random.randrange(1000) for _ in range(NUMBERS))
            name = self.random.choice(("latest", "latest", "latest", "at_least", "write_ids"))
            # The event may have a former name of the table.
            ask = partial(self.clients.ask, name, numbers, self.random.choice((about, None)))
            self.scheduler.after(self.random.uniform(0.0, within_s), ask)

    def restart_later(self, node: Node, seconds: float) -> None:
        self.scheduler.after(seconds, node.start_if_ended)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Python looks for cyclic garbage less often, which would take a tenth of a run, and once at
    the end. Nobody warns of what killed processes have left open."""
    before = gc.get_threshold()
    gc.set_threshold(_GARBAGE_AFTER, *before[1:])
    gc.freeze()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unclosed connection", ResourceWarning)
            yield
            gc.collect()
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


def simulate(plan: Plan, settle: Callable[[World], None]) -> Outcome:
    """Runs a plan to its end, then lets everything settle."""
    with rare_collections():
        return _simulate(plan, settle)


def _simulate(plan: Plan, settle: Callable[[World], None]) -> Outcome:
    world = World(plan)
    outcome = Outcome(plan, world.scheduler.story)
    with installed(world.around):
        try:
            world.start()
            world.run(plan.seconds)
            settle(world)
        except Exception as error:
            outcome.error = error
        finally:
            world.counts["asked"] = world.clients.asked_count
            world.counts["answered"] = world.clients.answered
            world.counts["cached"] = world.clients.cached
            world.counts["unanswered"] = len(world.clients.unanswered)
            world.counts["events"] = world.database.now.event
            outcome.counts = world.counts
            outcome.simulated_s = world.scheduler.now
            for node in world.nodes:
                node.kill()
            for application in world.applications:
                application.kill()
            world.clients.end()
    return outcome
