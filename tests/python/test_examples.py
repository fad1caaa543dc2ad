"""The examples run as a newcomer would run them, and check themselves."""

import importlib.util
import re
import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = sorted((ROOT / "examples/python").glob("*.py"))


@pytest.mark.parametrize(
    "path",
    [path for path in EXAMPLES if path.name != "tiny.py"],
    ids=lambda path: path.name,
)
def test_example(path, tmp_path):
    said = re.search(r"^Needs ([^.]+)\.", path.read_text(), re.M)
    for name in re.split(r", | and ", said[1]):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{path.name} needs {name}")
    done = subprocess.run(
        [sys.executable, path],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout
