"""How long the platform remembers its runs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from millrace.platform.io.environment import LocalSettings
from millrace.settings.core.history import cleaned

# As Airflow 3.0.6 and 3.3.2 print it.
PRINTED = """\
[2026-11-20T01:02:03.000+0000] {db_cleanup.py:1} INFO - something else
Checking table dag_run
Found 12 rows meeting deletion criteria.
Performing Delete...
Moving data to table _airflow_deleted__dag_run__20261120
Finished Performing Delete
Checking table log
Found 3400 rows meeting deletion criteria.
Checking table xcom
Found 0 rows meeting deletion criteria.
"""


def test_rows_are_counted_by_table() -> None:
    assert cleaned(PRINTED.splitlines()) == {"dag_run": 12, "log": 3400}


def test_it_is_ninety_days_unless_the_platform_says_otherwise() -> None:
    assert LocalSettings().history == timedelta(days=90)
    assert LocalSettings.model_validate({"history": "30 days"}).history == timedelta(days=30)


def test_a_history_shorter_than_what_waits_is_refused() -> None:
    with pytest.raises(ValidationError, match="below 2 days"):
        LocalSettings.model_validate({"history": "1 day"})
