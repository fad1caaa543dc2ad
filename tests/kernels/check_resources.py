#!/usr/bin/python3
"""Compiles the CUDA kernels for an architecture and checks, by the report of
ptxas, what they take of a multiprocessor.

usage: check_resources.py NVCC ARCHITECTURE SOURCE INCLUDE_FOLDER...

Limits: no spills and no stack, since that is memory traffic in kernels that are
bound by memory; no static shared memory; 128 registers, so that two blocks of
256 threads fit a multiprocessor with its 65,536.
"""

import re
import subprocess
import sys

MAX_REGISTERS = 128


def kernels(report):
    """Name, stack, spills, registers and shared memory of each kernel."""
    for block in report.split("Compiling entry function '")[1:]:
        def number(pattern):
            found = re.search(pattern, block)
            return int(found.group(1)) if found else 0
        yield {"name": block.split("'")[0],
               "stack": number(r"(\d+) bytes stack frame"),
               "spilled": number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"),
               "registers": number(r"Used (\d+) registers"),
               "shared": number(r"(\d+) bytes smem")}


def main(nvcc, architecture, source, *folders):
    done = subprocess.run(
        [nvcc, "-std=c++17", "-O2", "-cubin", "-o", "/dev/null", f"-arch={architecture}",
         "-Xptxas=-v", *(f"-I{folder}" for folder in folders), source],
        capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    found = list(kernels(done.stderr))
    if len(found) < 13:
        sys.exit(f"{len(found)} kernels in the report, 13 were expected:\n{done.stderr}")
    bad = [k for k in found
           if k["stack"] or k["spilled"] or k["shared"] or not 0 < k["registers"] <= MAX_REGISTERS]
    for kernel in found:
        print(kernel)
    if bad:
        sys.exit(f"{len(bad)} kernels take more than they may: {bad}")


if __name__ == "__main__":
    main(*sys.argv[1:])
