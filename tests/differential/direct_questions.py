"""Random questions about what no event tells."""

from collections.abc import Callable

from tests.differential.names import FUNCTIONS, PRINCIPALS, ROLES
from tests.differential.question_parts import NOBODY, Fields, QuestionParts
from tests.query_api.thrift.methods import corpus
from tests.query_api.thrift.methods.wire import request


class DirectQuestions(QuestionParts):
    """Makers of questions by the methods that the database answers."""

    def _of_functions(self) -> dict[str, Callable[[], corpus.Call]]:
        return {
            "get_functions": lambda: corpus.call(
                "get_functions", self._db(), self._random.choice(("*", None, "f*", "a|f", "no"))
            ),
            "get_function": lambda: corpus.call(
                "get_function",
                self._db(),
                self._names.full(self._random.choice((*FUNCTIONS, NOBODY))),
            ),
            "get_all_functions": lambda: corpus.call("get_all_functions"),
        }

    def _of_grants(self) -> dict[str, Callable[[], corpus.Call]]:
        return {
            "list_privileges": self._list_privileges,
            "get_role_names": lambda: corpus.call("get_role_names"),
            "get_role_grants_for_principal": lambda: corpus.req(
                "get_role_grants_for_principal",
                "GetRoleGrantsForPrincipalRequest",
                principal_name=self._principal(),
                principal_type=self._random.choice((1, 2, 3)),
            ),
            "get_principals_in_role": lambda: corpus.req(
                "get_principals_in_role",
                "GetPrincipalsInRoleRequest",
                roleName=self._names.full(self._random.choice((*ROLES, NOBODY))),
            ),
        }

    def _list_privileges(self) -> corpus.Call:
        random, of = self._random, self._of
        columns = list(of.columns) or ["id"]
        catalog = {"catName": self._maybe("hive")}
        table = {"dbName": of.db, "objectName": of.name, **catalog}
        objects: tuple[Fields, ...] = (
            {},
            catalog,
            {"objectType": 1},
            {"objectType": 2, "dbName": self._maybe(of.db, 0.8), **catalog},
            {"objectType": 3, **table},
            {"objectType": 3, **table},
            {"objectType": 3},
            {"objectType": 5, **table, "columnName": random.choice(columns)},
        )
        place = request("HiveObjectRef", **random.choice(objects))
        holders = ((None, None), *((self._principal(), type_) for type_ in (1, 2, 3, None)))
        return corpus.call("list_privileges", *random.choice(holders), place)

    def _principal(self) -> str:
        return self._names.full(self._random.choice((*PRINCIPALS, *ROLES, NOBODY)))

    def _of_transactions(self) -> dict[str, Callable[[], corpus.Call]]:
        return {
            "get_open_txns": lambda: corpus.call("get_open_txns"),
            "get_open_txns_req": lambda: corpus.req(
                "get_open_txns_req",
                "GetOpenTxnsRequest",
                excludeTxnTypes=self._random.choice(([], [0], [2], [2, 3], None)),
            ),
            "get_open_txns_info": lambda: corpus.call("get_open_txns_info"),
            "get_valid_write_ids": self._valid_write_ids,
        }

    def _valid_write_ids(self) -> corpus.Call:
        random = self._random
        tables = [self._of, self._nothing(), self._nothing()][: random.choice((1, 1, 2, 3))]
        hwm = random.choice((0, 1, 5, 20, 100))
        some = sorted(random.sample(range(1, hwm + 1), min(hwm, random.randrange(4))))
        listed = ",".join(map(str, some))
        texts = (f"{hwm}:{min(some, default=2**63 - 1)}:{listed}:", f"{hwm}:{2**63 - 1}::{listed}")
        return corpus.req(
            "get_valid_write_ids",
            "GetValidWriteIdsRequest",
            fullTableNames=[f"{one.db}.{one.name}" for one in tables],
            validTxnList=random.choice((None, None, *texts)),
        )
