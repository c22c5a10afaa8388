"""Errors of the product as Airflow takes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from millrace.base.errors import MillraceError, TransientError
from millrace_airflow.base.host import AirflowException, AirflowFailException


@contextmanager
def said_plainly() -> Iterator[None]:
    """A user's error fails the task with its message; only what may pass is tried again."""
    try:
        yield
    except TransientError as error:
        raise AirflowException(str(error)) from error
    except MillraceError as error:
        raise AirflowFailException(str(error)) from error
