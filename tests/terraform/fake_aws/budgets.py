"""The tags of budgets; moto has the budgets themselves."""

from __future__ import annotations

from tests.terraform.fake_aws.service import ACCOUNT, Json, Request, Service


class Budgets(Service):
    def __init__(self) -> None:
        self._tags: dict[str, list[Json]] = {}

    def answer(self, request: Request) -> Json | None:
        body = request.body
        match request.target.rpartition(".")[2]:
            case "CreateBudget":
                name = body["Budget"]["BudgetName"]
                arn = f"arn:aws:budgets::{ACCOUNT}:budget/{name}"
                self._tags[arn] = body.get("ResourceTags") or []
            case "ListTagsForResource":
                return {"ResourceTags": self._tags.get(body["ResourceARN"], [])}
        return None
