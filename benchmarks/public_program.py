"""One measurement through the public API, printed as a JSON line. Runs unchanged under us and under the peer.

usage: public_program.py {replay|resume|load} DIRECTORY CASES REPLAYS CONCURRENCY [SECONDS_A_CALL]
"""

import asyncio
import json
import os
import shutil
import sys
import time

from dfah import AgentResult, Case, Replay, Report, Suite, Trajectory, WireRequest, agent, build_manifest


def make_agent(cases: int, delay_s: float):
    suite = Suite(
        suite_id="bench",
        suite_version="1.0.0",
        decisions=("a", "b"),
        cases=tuple(Case(case_id=f"c{i}", artifact_case_id=f"p{i}", input=i) for i in range(cases)),
    )
    parameters = {"temperature": 0.0}
    manifest = build_manifest(
        suite,
        provider="none",
        model="no-op",
        adapter="bench",
        library_version="0.0.0",
        git_sha="0" * 40,
        implementation_hash="f" * 64,
        request_parameters=parameters,
    )
    empty = Trajectory(state="observed_empty")
    wire = WireRequest.from_payload(
        provider="none", model="no-op", payload=parameters, parameters=parameters, adapter="bench"
    )

    @agent(manifest=manifest, suite=suite)
    async def no_op(case, context):
        if delay_s:
            await asyncio.sleep(delay_s)
        return AgentResult(output_text="DECISION: a", trajectory=empty, wire_request=wire)

    return suite, no_op


def size_of(directory: str) -> tuple[int, int]:
    files = [os.path.join(root, name) for root, _, names in os.walk(directory) for name in names]
    return sum(os.path.getsize(file) for file in files), len(files)


def main() -> None:
    what, directory = sys.argv[1], sys.argv[2]
    cases, replays, concurrency = map(int, sys.argv[3:6])
    suite, adapter = make_agent(cases, float(sys.argv[6]) if len(sys.argv) > 6 else 0.0)
    replay = Replay(suite=suite, replays=replays, out=directory, concurrency=concurrency)
    if what == "replay":
        shutil.rmtree(directory, ignore_errors=True)
    started = time.perf_counter()
    report = Report.from_json(directory) if what == "load" else replay.run(adapter)
    seconds = time.perf_counter() - started
    size, files = size_of(directory)
    episodes = cases * replays
    assert report.episodes_completed == episodes
    print(json.dumps({"seconds": seconds, "episodes": episodes, "bytes": size, "files": files}))


if __name__ == "__main__":
    main()
