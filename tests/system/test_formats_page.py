"""The page on formats says what the library does: its code is that of a program
that checks what it fills."""

import re
import subprocess
import textwrap

from conftest import BIN, ROOT

EXAMPLE = ROOT / "examples/masks.cc"
PAGE = ROOT / "docs/formats.md"


def snippets():
    """The blocks of the example, by name."""
    return {name: textwrap.dedent(code) for name, code in re.findall(
        r"^  // \[(?!end\])([^\]]+)\]\n(.*?)^  // \[end\]$", EXAMPLE.read_text(), re.S | re.M)}


def test_the_program_finds_its_formats_right():
    done = subprocess.run([BIN / "masks"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_each_section_shows_the_code_of_the_program():
    sections = dict(re.findall(r"^## For ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.S | re.M))
    code = {name: re.findall(r"```cpp\n(.*?)```", text, re.S) for name, text in sections.items()}
    shown = {name: blocks[0] for name, blocks in code.items() if blocks}
    assert shown == snippets()


def test_the_page_names_every_format():
    """As FormatName has them: the table of kernels/fill_plan.cc."""
    names = re.findall(r'Info\("(\w+)",', (ROOT / "kernels/fill_plan.cc").read_text())
    assert len(names) == 44
    page = PAGE.read_text()
    blocks = {n for n in names if re.fullmatch(r"(full_)?(kv|q)_(num_blocks|indices)", n)}
    assert [n for n in names if f"`{n}`" not in page and n not in blocks] == []


def test_a_packed_batch_there_and_back():
    done = subprocess.run([BIN / "packed_batch"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "2 packs of 5 sequences, the longest of 11: 0 3 5 16 21 25 32\n"
