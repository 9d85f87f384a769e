from __future__ import annotations

import asyncio
import functools
import threading
import time
from typing import Any

import pytest

from dfah_cli.adapter.contract import Agent, agent_problem
from dfah_cli.adapter.decorator import CallableAgent, agent
from dfah_cli.adapter.invoke import invoke
from dfah_cli.errors import AgentContractError
from dfah_cli.records.case import Case
from dfah_cli.records.episode import AgentResult
from dfah_cli.records.trajectory import Trajectory
from dfah_cli.records.wire import WireRequest
from tests.adapter.build import a_context, a_manifest, a_suite

CASE = Case(case_id="C0", input={})
RESULT = AgentResult(
    output_text="DECISION: YES",
    trajectory=Trajectory.of(()),
    wire_request=WireRequest.from_payload(provider="p", model="m", payload={}, parameters={}, adapter="a"),
)


def result_of(candidate: Any) -> AgentResult:
    return asyncio.run(invoke(candidate, CASE, a_context()))


async def answers(case: Case, context: Any) -> AgentResult:
    return RESULT


def answers_plainly(case: Case, context: Any) -> AgentResult:
    return RESULT


class AsyncCallable:
    async def __call__(self, case: Case, context: Any) -> AgentResult:
        return RESULT


@pytest.mark.parametrize(
    "function",
    [
        answers,
        answers_plainly,
        AsyncCallable(),
        functools.partial(answers),
        functools.partial(answers_plainly),
        lambda case, context: answers(case, context),
    ],
    ids=["async", "plain", "async-object", "async-partial", "plain-partial", "lambda-of-async"],
)
def test_every_kind_of_function_is_an_agent(function: Any) -> None:
    assert result_of(agent(function, manifest=a_manifest())) is RESULT


def test_the_decorator_keeps_manifest_tools_and_suite() -> None:
    suite = a_suite()
    made = agent(manifest=a_manifest(suite), suite=suite)(answers)
    assert isinstance(made, CallableAgent)
    assert isinstance(made, Agent)
    assert (made.suite, made.tools, made.__name__) == (suite, None, "answers")
    assert "answers" in repr(made)


@pytest.mark.parametrize("wrong", [None, "DECISION: YES", {"output_text": "x"}, 1])
@pytest.mark.parametrize("is_async", [True, False])
def test_another_return_type_is_a_contract_error_and_never_coerced(wrong: Any, is_async: bool) -> None:
    async def later(case: Case, context: Any) -> Any:
        return wrong

    function: Any = later if is_async else lambda case, context: wrong
    with pytest.raises(AgentContractError, match=type(wrong).__name__):
        result_of(agent(function, manifest=a_manifest()))


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"function": 1}, "int"),
        ({"manifest": {}}, "dict"),
        ({"tools": []}, "list"),
        ({"suite": "toy-risk"}, "str"),
    ],
)
def test_wrong_parts_are_refused_at_once(arguments: dict[str, Any], found: str) -> None:
    parts: dict[str, Any] = {"function": answers, "manifest": a_manifest(), **arguments}
    with pytest.raises(AgentContractError, match=found):
        CallableAgent(**parts)


def test_a_plain_function_runs_outside_the_loop_thread() -> None:
    threads: list[int] = []

    def plain(case: Case, context: Any) -> AgentResult:
        threads.append(threading.get_ident())
        return RESULT

    result_of(agent(plain, manifest=a_manifest()))
    assert threads != [threading.get_ident()]


def test_a_time_limit_passes_a_plain_function_by() -> None:
    def slow(case: Case, context: Any) -> AgentResult:
        time.sleep(0.5)
        return RESULT

    async def main() -> float:
        started = time.perf_counter()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(invoke(agent(slow, manifest=a_manifest()), CASE, a_context()), 0.05)
        return time.perf_counter() - started

    assert asyncio.run(main()) < 0.4


def test_many_plain_functions_run_at_once() -> None:
    barrier = threading.Barrier(40, timeout=10)

    def meets(case: Case, context: Any) -> AgentResult:
        barrier.wait()
        return RESULT

    candidate = agent(meets, manifest=a_manifest())

    async def main() -> None:
        await asyncio.gather(*(invoke(candidate, CASE, a_context()) for _ in range(40)))

    asyncio.run(main())


class PlainAgent:
    manifest = a_manifest()

    def arun(self, case: Case, context: Any) -> AgentResult:
        return RESULT


class AsyncAgent:
    manifest = a_manifest()

    async def arun(self, case: Case, context: Any) -> AgentResult:
        return RESULT


class AwaitableAgent:
    manifest = a_manifest()

    def arun(self, case: Case, context: Any) -> Any:
        return answers(case, context)


class WrongAgent:
    manifest = a_manifest()

    def arun(self, case: Case, context: Any) -> Any:
        return "DECISION: YES"


@pytest.mark.parametrize("kind", [PlainAgent, AsyncAgent, AwaitableAgent])
def test_classes_of_the_users_own_are_agents(kind: Any) -> None:
    assert isinstance(kind(), Agent)
    assert result_of(kind()) is RESULT


def test_a_class_that_returns_something_else_is_a_contract_error() -> None:
    with pytest.raises(AgentContractError, match="str"):
        result_of(WrongAgent())


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("is_async", [True, False])
def test_what_an_adapter_raises_reaches_the_caller_unchanged(kind: type[BaseException], is_async: bool) -> None:
    def fail(case: Case, context: Any) -> AgentResult:
        raise kind("text")

    async def fail_later(case: Case, context: Any) -> AgentResult:
        raise kind("text")

    candidate = agent(fail_later if is_async else fail, manifest=a_manifest())

    async def main() -> BaseException | None:
        try:
            await invoke(candidate, CASE, a_context())
        except BaseException as problem:
            return problem
        return None

    assert type(asyncio.run(main())) is kind


class NoManifest:
    async def arun(self, case: Case, context: Any) -> None: ...


class RaisingManifest(NoManifest):
    @property
    def manifest(self) -> Any:
        raise OSError("private")


class WrongManifest(NoManifest):
    manifest = "a string"


@pytest.mark.parametrize(
    ("candidate", "says"),
    [
        (answers, "@agent"),
        (AsyncAgent, "instance"),
        (object(), "arun"),
        (NoManifest(), "manifest"),
        (RaisingManifest(), "OSError"),
        (WrongManifest(), "build_manifest"),
    ],
)
def test_what_an_object_lacks_to_be_an_agent_is_said(candidate: Any, says: str) -> None:
    problem = agent_problem(candidate)
    assert problem is not None
    assert says in problem
    assert "private" not in problem


def test_an_agent_has_no_problem() -> None:
    assert agent_problem(AsyncAgent()) is None
