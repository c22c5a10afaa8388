"""Users' passwords on disk."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from millrace.platform.core.platform import Platform
from millrace.secrets.io.passwords import (
    NoCredentialsError,
    draft_password,
    ensure_user,
    forget_users,
    known_users,
    read_user,
    take_up,
)


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    return Platform(tmp_path)


def test_password_is_made_once(layout):
    made = ensure_user(layout, "plant-a", "app")
    assert ensure_user(layout, "plant-a", "app") == made == read_user(layout, "plant-a", "app")
    assert len(made.password) >= 32


def test_users_and_sites_share_no_password(layout):
    places = [("plant-a", "app"), ("plant-a", "ingest"), ("plant-b", "app")]
    assert len({ensure_user(layout, *place).password for place in places}) == 3


def test_two_at_once_agree(layout):
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: ensure_user(layout, "plant-a", "app"), range(8)))
    assert len(made) == 1


def test_password_is_in_no_repr(layout):
    user = ensure_user(layout, "plant-a", "app")
    assert user.password not in repr(user)
    assert user.username in repr(user)


def test_only_the_owner_may_look(layout):
    ensure_user(layout, "plant-a", "app")
    file = layout.user_secret("plant-a", "app")
    places = (file, file.parent, layout.secrets)
    assert [stat.S_IMODE(place.stat().st_mode) for place in places] == [0o600, 0o700, 0o700]


def test_file_holds_what_java_clients_need(layout):
    user = ensure_user(layout, "plant-a", "app")
    text = layout.user_secret("plant-a", "app").read_text()
    assert f'password="{user.password}";' in text.splitlines()[2]
    assert text.splitlines()[2].startswith("jaas=")


def test_unknown_user_is_told_who_is_known(layout):
    ensure_user(layout, "plant-a", "app")
    with pytest.raises(NoCredentialsError, match=r"'guest' of site 'plant-a'.*here: app\)"):
        read_user(layout, "plant-a", "guest")
    assert known_users(layout, "plant-b") == []


@pytest.mark.parametrize("text", ["", "username=app\n", "username=app\npassword=\n", "\0garbage"])
def test_broken_file_is_an_error_that_names_it(layout, text):
    ensure_user(layout, "plant-a", "app")
    file = layout.user_secret("plant-a", "app")
    file.write_text(text)
    with pytest.raises(NoCredentialsError, match=r"plant-a\.properties lacks"):
        ensure_user(layout, "plant-a", "app")


def test_a_drafted_password_is_in_force_when_it_is_taken_up(layout):
    before = ensure_user(layout, "plant-a", "app")
    draft = draft_password(layout, "plant-a", "app")
    assert read_user(layout, "plant-a", "app") == before != draft
    assert known_users(layout, "plant-a") == ["app"]
    take_up(layout, "plant-a", "app")
    assert read_user(layout, "plant-a", "app") == draft
    assert stat.S_IMODE(layout.user_secret("plant-a", "app").stat().st_mode) == 0o600


def test_a_draft_that_was_not_taken_up_is_found_again(layout):
    assert draft_password(layout, "plant-a", "app") == draft_password(layout, "plant-a", "app")


def test_forgotten_users_have_no_password_and_no_draft_here(layout):
    ensure_user(layout, "plant-a", "app")
    draft_password(layout, "plant-a", "app")
    forget_users(layout, "plant-a")
    assert list(layout.secrets.rglob("plant-a*")) == []
