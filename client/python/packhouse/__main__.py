"""The program `packhouse`, in this process: plan, verify, advise, masks."""

import sys

from packhouse import _core


def main() -> int:
    """Runs the command line; its exit code."""
    return _core.run_cli(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
