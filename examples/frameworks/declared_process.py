"""A program that speaks JSON lines, in any language; here in Python. This file is the program too, given `agent`."""

import json
import sys

from refunds import lookup_customer, read_policy, show, suite

from dfah.integrations import agent_from_mapping

TOOLS = {"lookup_customer": lookup_customer, "read_policy": read_policy}


def program():
    case = json.loads(sys.stdin.readline())
    for name in TOOLS:
        print(json.dumps({"type": "call", "id": name, "name": name, "arguments": case["input"]}), flush=True)
        json.loads(sys.stdin.readline())
    print(json.dumps({"type": "answer", "output_text": "DECISION: APPROVE"}), flush=True)


def main():
    command = [sys.executable, __file__, "agent"]
    show(
        agent_from_mapping(
            {"kind": "process", "model": "my-program", "command": command, "tools": "declared_process:TOOLS"}, suite
        )
    )


if __name__ == "__main__":
    program() if sys.argv[1:] == ["agent"] else main()
