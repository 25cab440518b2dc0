"""Reads a report of `mcs test -junit` with a library that others use, and prints what it understands.

    pip install junitparser
    python junit_report.py FILE    # suite, case, seconds, and how it went, a line each
"""

import sys

from junitparser import JUnitXml

report = JUnitXml.fromfile(sys.argv[1])
count = [0, 0, 0]
for suite in report:
    for case in suite:
        kinds = [type(r).__name__ for r in case.result]
        count = [count[0] + 1, count[1] + kinds.count("Failure"), count[2] + kinds.count("Error")]
        assert case.time is not None and case.time >= 0 and case.classname == suite.name, case
        print(suite.name, "|", case.name, "|", " ".join(f"{type(r).__name__}: {r.message}" for r in case.result) or "passed")
assert count == [report.tests, report.failures, report.errors], (count, report)
