"""What moto's budgets lack: their tags, and who is told."""

from __future__ import annotations

from collections import defaultdict

from tests.terraform.fake_aws.service import ACCOUNT, Json, Request, Service


class Budgets(Service):
    def __init__(self) -> None:
        self._tags: dict[str, list[Json]] = {}
        self._told: dict[tuple[str, str], list[Json]] = defaultdict(list)

    def answer(self, request: Request) -> Json | None:
        """Creating is also moto's."""
        body = request.body
        match request.target.rpartition(".")[2]:
            case "CreateBudget":
                self._create(body)
            case "CreateNotification":
                self._told[_key(body["BudgetName"], body)] = body["Subscribers"]
            case "DescribeSubscribersForNotification":
                return {"Subscribers": self._told[_key(body["BudgetName"], body)]}
            case "ListTagsForResource":
                return {"ResourceTags": self._tags.get(body["ResourceARN"], [])}
        return None

    def _create(self, body: Json) -> None:
        name = body["Budget"]["BudgetName"]
        arn = f"arn:aws:budgets::{ACCOUNT}:budget/{name}"
        self._tags[arn] = body.get("ResourceTags") or []
        for one in body.get("NotificationsWithSubscribers", []):
            self._told[_key(name, one)] = one["Subscribers"]


def _key(budget: str, body: Json) -> tuple[str, str]:
    return budget, body["Notification"]["NotificationType"]
