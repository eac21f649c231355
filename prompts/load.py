"""Loads, checks and renders prompt templates. Errors name the file, the line and the variable.

A template is a file ``NAME.md.j2``: a YAML header between two ``---`` lines, then Jinja text.
It is rendered in a sandbox with plain data; a variable that is missing is an error, never an
empty string. Beside it lies ``NAME.example.json`` with one example of all inputs.
"""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

DIRECTORY: Final = Path(__file__).parent
SUFFIX: Final = ".md.j2"
MAX_RENDERED_CHARS: Final = 64 * 1024

_HEADER_FIELDS: Final = {"name", "version", "purpose", "output_schema", "inputs"}


class PromptError(ValueError):
    """A template that cannot be used; says where and why."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path.name}:{line}: {message}")
        self.path = path
        self.line = line


@dataclass(frozen=True, slots=True)
class Prompt:
    """A loaded template. ``digest`` identifies its text in records."""

    name: str
    version: int
    purpose: str
    output_schema: str
    inputs: Mapping[str, str]
    path: Path
    first_line: int
    body: str
    digest: str

    def render(self, inputs: Mapping[str, Any]) -> str:
        """The prompt's text. Raises :class:`PromptError`."""
        missing = sorted(self.inputs.keys() - inputs.keys())
        if missing:
            raise PromptError(self.path, 1, f"input {missing[0]!r} was not given")
        try:
            template = _environment().from_string(self._padded())
            text = template.render({name: inputs[name] for name in self.inputs})
        except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
            raise PromptError(self.path, _template_line(error), str(error)) from error
        if len(text) > MAX_RENDERED_CHARS:
            detail = f"renders to {len(text)} characters, at most {MAX_RENDERED_CHARS}"
            raise PromptError(self.path, self.first_line, detail)
        return text.lstrip("\n")

    def check(self, example: Mapping[str, Any]) -> None:
        """Header and text agree, and the example renders. Raises :class:`PromptError`."""
        tree = _parsed(self.path, self._padded())
        used = find_undeclared_variables(tree)
        for name in sorted(used - self.inputs.keys()):
            raise PromptError(
                self.path, _line_of(tree, name), f"variable {name!r} is not among the inputs"
            )
        for name in sorted(self.inputs.keys() - used):
            raise PromptError(self.path, 1, f"input {name!r} is declared but not used")
        self.render(example)

    def _padded(self) -> str:
        """Empty lines instead of the header, so that line numbers are those of the file."""
        return "\n" * (self.first_line - 1) + self.body


def load_prompt(name: str, directory: Path = DIRECTORY) -> Prompt:
    """The template ``NAME.md.j2``. Raises :class:`PromptError`."""
    path = directory / f"{name}{SUFFIX}"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise PromptError(path, 1, f"cannot be read: {error.strerror}") from error
    header, first_line, body = _split(path, text)
    _parsed(path, "\n" * (first_line - 1) + body)
    return Prompt(
        **_checked_header(path, header),
        path=path,
        first_line=first_line,
        body=body,
        digest=hashlib.sha256(text.encode()).hexdigest()[:16],
    )


def load_example(name: str, directory: Path = DIRECTORY) -> dict[str, Any]:
    """The shipped example of a template's inputs. Raises :class:`PromptError`."""
    path = directory / f"{name}.example.json"
    try:
        example = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PromptError(path, 1, f"cannot be read: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise PromptError(path, error.lineno, error.msg) from error
    if not isinstance(example, dict):
        raise PromptError(path, 1, "must be a JSON object")
    return example


def prompt_names(directory: Path = DIRECTORY) -> list[str]:
    """All templates of a folder."""
    return sorted(path.name.removesuffix(SUFFIX) for path in directory.glob(f"*{SUFFIX}"))


def check_prompts(directory: Path = DIRECTORY) -> list[Prompt]:
    """Load and check all templates with their examples. Raises :class:`PromptError`."""
    prompts = [load_prompt(name, directory) for name in prompt_names(directory)]
    for prompt in prompts:
        prompt.check(load_example(prompt.name, directory))
    return prompts


def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True
    )


def _split(path: Path, text: str) -> tuple[str, int, str]:
    """Header, number of the body's first line, body."""
    lines = text.split("\n")
    if lines[0].strip() != "---":
        raise PromptError(path, 1, "must begin with a header between two '---' lines")
    for number, line in enumerate(lines[1:], start=2):
        if line.strip() == "---":
            return "\n".join(lines[1 : number - 1]), number + 1, "\n".join(lines[number:])
    raise PromptError(path, 1, "the header has no closing '---' line")


def _checked_header(path: Path, header: str) -> dict[str, Any]:
    try:
        fields = yaml.safe_load(header)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise PromptError(path, line, f"header: {error.problem}") from error
    if not isinstance(fields, dict) or set(fields) != _HEADER_FIELDS:
        raise PromptError(path, 1, f"header must have exactly {', '.join(sorted(_HEADER_FIELDS))}")
    if fields["name"] != path.name.removesuffix(SUFFIX):
        raise PromptError(path, 1, f"header: name must be the file's, got {fields['name']!r}")
    if not isinstance(fields["version"], int) or fields["version"] < 1:
        raise PromptError(path, 1, f"header: version must be 1 or more, got {fields['version']!r}")
    inputs = fields["inputs"]
    if not isinstance(inputs, dict) or not all(isinstance(key, str) for key in inputs):
        raise PromptError(path, 1, "header: inputs must map each name to its meaning")
    return {
        "name": fields["name"],
        "version": fields["version"],
        "purpose": str(fields["purpose"]).strip(),
        "output_schema": str(fields["output_schema"]),
        "inputs": {name: str(meaning) for name, meaning in inputs.items()},
    }


def _parsed(path: Path, source: str) -> nodes.Template:
    try:
        return _environment().parse(source)
    except TemplateSyntaxError as error:
        raise PromptError(path, error.lineno, error.message or "syntax error") from error


def _line_of(tree: nodes.Template, variable: str) -> int:
    names = (node for node in tree.find_all(nodes.Name) if node.name == variable)
    return min((node.lineno for node in names), default=1)


def _template_line(error: BaseException) -> int:
    """The innermost template line of an error's traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == "<template>"]
    return (frames[-1].lineno or 1) if frames else 1
