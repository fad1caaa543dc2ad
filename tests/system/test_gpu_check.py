"""scripts/gpu-check is ready to run wherever there is a GPU, and says so where
there is none."""

import subprocess

import pytest

from conftest import BIN, ROOT

SCRIPT = ROOT / "scripts/gpu-check"


def run(*words, wait_s=300):
    return subprocess.run(words, capture_output=True, text=True, timeout=wait_s)


def test_equal_on_a_gpu_or_skipped():
    if not (BIN / "gpu_check").exists():
        pytest.skip("built without a CUDA compiler (scripts/install-deps --cuda)")
    done = run(BIN / "gpu_check", "--batches=100", "--no-bandwidth")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("skipped: no GPU can be reached") or "equals the CPU's" in done.stdout


@pytest.mark.parametrize("options", [["--unknown"], ["--batches", "0"], ["--batches"]])
def test_wrong_usage(options):
    done = run(SCRIPT, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gpu-check: ") and done.stderr.count("\n") == 1


def test_help_says_what_it_does():
    done = run(SCRIPT, "--help")
    assert done.returncode == 0 and "no GPU can be reached" in done.stdout
