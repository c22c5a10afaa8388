"""A broker that is connected and answers nothing."""

_ANSWERS_WITHIN_S = 5.0


def describe_silence(silent_s: float) -> str:
    """A way that leads nowhere gives no error; but a broker that owes answers is silent."""
    if silent_s < _ANSWERS_WITHIN_S:
        return ""
    return f"it has answered nothing for {silent_s:.0f} s"
