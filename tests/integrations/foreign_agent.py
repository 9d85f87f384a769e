"""A program that speaks JSON lines: looks up the customer, reads the policy, decides. A word on its command line
makes it misbehave."""

import json
import sys
import time


def say(**said):
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def hear():
    return json.loads(sys.stdin.readline())


def call(name, **arguments):
    say(type="call", id=name, name=name, arguments=arguments)
    return hear()


def main(how):
    case = hear()
    if how == "exit":
        sys.stderr.write("no more work\n")
        sys.exit(3)
    if how == "sleep":
        time.sleep(60)
    if how == "noise":
        print("Loading model ...", flush=True)
    customer = case["input"]["customer"]
    if how == "parallel":
        for name in ("lookup_customer", "read_policy"):
            say(type="call", id=name, name=name, arguments={"customer": customer})
        assert {hear()["id"], hear()["id"]} == {"lookup_customer", "read_policy"}
    else:
        found = call("lookup_customer", customer=customer)
        assert found["output"]["tier"] == "gold", found
        call("read_policy", **({} if how == "bad-arguments" else {"customer": customer}))
    say(
        type="answer",
        output_text=f"DECISION: {case['labels'][0]}",
        usage={"input_tokens": 10, "output_tokens": 2},
        cost_usd=0.5,
        refused=how == "refuse",
    )


main(sys.argv[1] if len(sys.argv) > 1 else "")
