"""How many files a process may have open."""

import resource

import structlog

log = structlog.get_logger(__name__)


def allow_open_files() -> None:
    """Raises the soft limit of open files to the hard one.

    Many systems give a process 1,024, for the sake of programs that use select(); a store keeps
    some dozens of files open, and each client is one more.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError) as error:
        # macOS allows fewer than it says.
        log.info("the limit of open files stays as it is", limit=soft, why=str(error))
