"""The states of a client's connection, and which may follow which."""

from enum import IntEnum
from typing import Final


class State(IntEnum):
    """What a connection is doing.

    | from | to | when |
    | --- | --- | --- |
    | NEW | NEGOTIATING | the first bytes arrive, and are SASL's |
    | NEW | IDLE | the first bytes arrive, and aren't SASL's |
    | NEGOTIATING | IDLE | the client has proved who it is |
    | IDLE | SCANNING | bytes arrive that aren't exactly one call with a cached reply |
    | IDLE | IN_CALL | they are, but the database must be asked first |
    | IDLE | HOLDING | the client doesn't take the reply |
    | SCANNING | STARTING | a whole call was found |
    | SCANNING | IDLE | all calls that arrived have ended |
    | SCANNING | YIELDING | many calls of this client were begun in a row, or more bytes wait |
    | SCANNING | HOLDING | the client doesn't take the replies |
    | STARTING | SCANNING | the call ended at once |
    | STARTING | IN_CALL | the call goes on |
    | IN_CALL | IN_CALL | the call goes on in another task |
    | IN_CALL | IDLE | the call ended, and nothing waits |
    | IN_CALL | SCANNING | the call ended, and bytes wait |
    | IN_CALL | HOLDING | the call ended, and the client doesn't take the reply |
    | YIELDING | SCANNING | other clients had their turn |
    | YIELDING | HOLDING | they had, but the client doesn't take the replies |
    | HOLDING | IDLE | the client has taken the replies, and nothing waits |
    | HOLDING | SCANNING | the client has taken the replies, and bytes wait |
    | all but ENDING | ENDING | the connection is ended from here, or is lost |
    """

    NEW = 0
    """Nothing has arrived."""
    NEGOTIATING = 1
    """The client proves who it is."""
    IDLE = 2
    """No call is under way, and nothing waits except perhaps the beginning of one."""
    SCANNING = 3
    """The calls in the bytes that have arrived are begun, one after the other."""
    STARTING = 4
    """A call is being begun, and may end in the same step."""
    IN_CALL = 5
    """A call is under way; bytes that arrive wait for its end."""
    YIELDING = 6
    """Bytes that have arrived wait while other clients have their turn."""
    HOLDING = 7
    """Bytes that arrive wait until the client has taken replies."""
    ENDING = 8
    """No call begins any more."""


# Looking up a member in its class would cost as much as all the rest of a change of state.
NEW, NEGOTIATING, IDLE, SCANNING, STARTING, IN_CALL, YIELDING, HOLDING, ENDING = State

NEXT: Final[tuple[tuple[State, ...], ...]] = (
    # NEW
    (NEGOTIATING, IDLE, ENDING),
    # NEGOTIATING
    (IDLE, ENDING),
    # IDLE
    (SCANNING, IN_CALL, HOLDING, ENDING),
    # SCANNING
    (STARTING, IDLE, YIELDING, HOLDING, ENDING),
    # STARTING
    (SCANNING, IN_CALL, ENDING),
    # IN_CALL
    (IDLE, SCANNING, HOLDING, IN_CALL, ENDING),
    # YIELDING
    (SCANNING, HOLDING, ENDING),
    # HOLDING
    (IDLE, SCANNING, ENDING),
    # ENDING
    (),
)
"""The states that may follow each state, as in the table of `State`."""
