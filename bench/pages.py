"""What the scripts of this folder share: the machine, and the page they write.

Each script makes one section of docs/benchmarks.md and leaves the others as
they are, so that it can run alone.
"""

import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("PACKHOUSE_BIN", ROOT / "build/release/bin")).resolve()
PAGE = ROOT / "docs/benchmarks.md"
HEAD = """# Benchmarks

Made by the scripts in `bench`; do not edit.
"""
SECTIONS = ["density", "run", "service", "masks", "python"]  # in the order of the page


def say(text):
    print(text, file=sys.stderr, flush=True)


def command(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def build(*targets):
    say("building")
    subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, stdout=sys.stderr)
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", *targets],
                   cwd=ROOT, check=True, stdout=sys.stderr)


def machine():
    with open("/proc/cpuinfo") as file:
        model = next(l.split(":")[1].strip() for l in file if l.startswith("model name"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    compiler = command("c++", "--version").splitlines()[0]
    return (f"{model}, {os.cpu_count()} virtual cores, {memory:.0f} GiB; "
            f"Linux {platform.release()}; {compiler}; preset `release`")


def spread(values, digits=0):
    """The median, and the least and the most."""
    return (f"{statistics.median(values):.{digits}f} "
            f"({min(values):.{digits}f} to {max(values):.{digits}f})")


def write_section(name, text):
    """Puts `text` in the place of section `name`."""
    page = PAGE.read_text() if PAGE.exists() else ""
    sections = dict(re.findall(r"<!-- (\w+) -->\n(.*?)<!-- end -->\n", page, re.S))
    sections[name] = text.strip() + "\n"
    PAGE.write_text(HEAD + "".join(
        f"\n<!-- {key} -->\n{sections[key]}<!-- end -->\n"
        for key in SECTIONS if key in sections))
    say(f"wrote {PAGE.relative_to(ROOT)}, section {name}")
