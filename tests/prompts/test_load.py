from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hmas.prompts.load import PromptError, check_prompts, load_example, load_prompt, prompt_names

HEADER = """---
name: greeting
version: 3
purpose: says hello
output_schema: none
inputs:
  person: who is greeted
---
"""


def write(folder: Path, text: str, example: str | None = None) -> None:
    (folder / "greeting.md.j2").write_text(text)
    if example is not None:
        (folder / "greeting.example.json").write_text(example)


def error_of(folder: Path, inputs: dict[str, Any] | None = None) -> str:
    with pytest.raises(PromptError) as caught:
        load_prompt("greeting", folder).check({"person": "Ada"} if inputs is None else inputs)
    return str(caught.value)


def test_all_shipped_prompts_are_sound() -> None:
    prompts = check_prompts()
    assert [prompt.name for prompt in prompts] == prompt_names()
    for prompt in prompts:
        text = prompt.render(load_example(prompt.name))
        assert text
        assert not text.startswith("\n")


def test_header_and_body_are_read(tmp_path: Path) -> None:
    write(tmp_path, HEADER + "Hello {{ person }}!\n", '{"person": "Ada"}')
    (prompt,) = check_prompts(tmp_path)
    assert (prompt.version, prompt.purpose, prompt.output_schema) == (3, "says hello", "none")
    assert prompt.inputs == {"person": "who is greeted"}
    assert prompt.render({"person": "Ada", "unused": 1}) == "Hello Ada!\n"
    assert len(prompt.digest) == 16


def test_the_digest_follows_the_text(tmp_path: Path) -> None:
    write(tmp_path, HEADER + "Hello {{ person }}!\n")
    before = load_prompt("greeting", tmp_path).digest
    write(tmp_path, HEADER + "Hello, {{ person }}!\n")
    assert load_prompt("greeting", tmp_path).digest != before


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("Hi {{ person }}\n\n{{ persn }}", "greeting.md.j2:11: variable 'persn' is not among"),
        ("Hi", "greeting.md.j2:1: input 'person' is declared but not used"),
        ("Hi {{ person }", "greeting.md.j2:9: unexpected '}'"),
        ("{{ person }}\n{{ person.surname }}", "greeting.md.j2:10: 'str object' has no attribute"),
        ("{{ person }}\n{{ person / 0 }}", "greeting.md.j2:10: unsupported operand"),
        ("{{ person }}{{ person.__class__.__mro__ }}", "greeting.md.j2:9: access to attribute"),
        ("{{ person }}{% for i in range(10**9) %}x{% endfor %}", "Range too big"),
        ("{{ person }}{% include 'other' %}", "greeting.md.j2:9:"),
    ],
)
def test_faults_are_named_with_file_and_line(tmp_path: Path, body: str, message: str) -> None:
    write(tmp_path, HEADER + body)
    assert message in error_of(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no header", "greeting.md.j2:1: must begin with a header"),
        ("---\nname: greeting\n", "has no closing '---' line"),
        ("---\nname: [\n---\n", "greeting.md.j2:2: header:"),
        ("---\nname: greeting\n---\n", "header must have exactly"),
        (HEADER.replace("greeting", "other"), "name must be the file's"),
        (HEADER.replace("version: 3", "version: new"), "version must be 1 or more"),
        (HEADER.replace("  person: who is greeted", "  - person"), "inputs must map"),
    ],
)
def test_bad_headers_are_refused(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, text)
    assert message in error_of(tmp_path)


def test_a_missing_input_is_never_an_empty_string(tmp_path: Path) -> None:
    write(tmp_path, HEADER + "{{ person }}")
    assert error_of(tmp_path, {}) == "greeting.md.j2:1: input 'person' was not given"


def test_runaway_output_is_refused(tmp_path: Path) -> None:
    write(tmp_path, HEADER + "{{ person * 100000 }}")
    assert "characters, at most" in error_of(tmp_path)


def test_missing_files_and_broken_examples_are_named(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"absent.md.j2:1: cannot be read"):
        load_prompt("absent", tmp_path)
    write(tmp_path, HEADER + "{{ person }}")
    with pytest.raises(PromptError, match=r"greeting.example.json:1: cannot be read"):
        check_prompts(tmp_path)
    write(tmp_path, HEADER + "{{ person }}", '{\n"person": }')
    with pytest.raises(PromptError, match=r"greeting.example.json:2:"):
        check_prompts(tmp_path)
    write(tmp_path, HEADER + "{{ person }}", "[]")
    with pytest.raises(PromptError, match="must be a JSON object"):
        check_prompts(tmp_path)
