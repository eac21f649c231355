"""The shape of the project: rooms, tests that mirror them, what a wheel holds, what pages say."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("engine", "controllers", "storage", "prompts", "daemon", "console", "bench")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
MAX_UNTESTED_LINES = 40

TESTED_ELSEWHERE = {
    "storage/memory.py": "tests/storage/test_store.py runs the contract on every store",
    "storage/migrations/": "tests/storage/test_schema.py",
    "engine/vllm_": "tests/system/vllm needs a real vLLM for all of them",
}
"""Beginnings of paths without a test file of their own, and which test covers them."""

ENGINE_IMPORTS = {"msgspec", "zmq"}
"""What every vLLM installation has; DESIGN: the engine room imports nothing else."""
ENGINE_IMPORTS_IN = {
    "engine/simulator/": {"numpy", "aiohttp", "uvloop"},
    "engine/vllm_": {"vllm"},
}


@cache
def files() -> tuple[Path, ...]:
    """Everything in the project that git does not ignore, relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = (Path(line) for line in listed.stdout.splitlines())
    return tuple(sorted(path for path in paths if (ROOT / path).is_file()))


def room_files(suffix: str = "") -> list[Path]:
    found = (path for path in files() if path.parts[0] in ROOMS and len(path.parts) > 1)
    return [path for path in found if path.name.endswith(suffix)]


def python_files() -> list[Path]:
    return [path for path in files() if path.suffix == ".py" and path.parts[0] != "src"]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(), filename=str(path))


def lines_of_code(path: Path) -> int:
    """Lines that hold a statement: no blank lines, comments, docstrings or imports."""
    holding: set[int] = set()
    for node in ast.walk(parsed(path)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        if isinstance(node, ast.stmt) and not (is_text or is_import):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            holding.update(range(node.lineno, last + 1))
    return len(holding)


def report(problems: list[str], title: str) -> None:
    assert not problems, "\n  ".join([f"{title}:", *problems])


def test_every_room_is_linked_into_the_package() -> None:
    links = {
        path.name: str(path.readlink())
        for path in (ROOT / "src/hmas").iterdir()
        if path.is_symlink()
    }
    assert links == {room: f"../../{room}" for room in ROOMS}


def test_every_folder_with_code_is_a_package() -> None:
    missing = {
        path.parent
        for path in room_files(".py")
        if "migrations" not in path.parts and not (ROOT / path.parent / "__init__.py").exists()
    }
    report([f"add {path}/__init__.py" for path in sorted(missing)], "packages without __init__.py")


def test_every_test_file_has_its_code() -> None:
    orphans = []
    for path in python_files():
        if not path.name.startswith("test_") or path.parts[:2] == ("tests", "system"):
            continue
        code = Path(*path.parts[1:-1]) / path.name.removeprefix("test_")
        if path != Path("tests/test_layout.py") and not (
            (ROOT / code).exists() or (ROOT / code.with_suffix("")).is_dir()
        ):
            orphans.append(f"{path}: no {code} and no {code.with_suffix('')}/; rename or move it")
    report(orphans, "tests mirror the rooms; tests that span rooms go to tests/system/")


def covering_tests(path: Path) -> list[Path]:
    """Where the test of a module may be: beside it in the mirror, or for its whole package."""
    mirror, package = Path("tests") / path.parent, f"test_{path.parent.name}.py"
    own = [] if path.name == "__init__.py" else [mirror / f"test_{path.name}"]
    is_in_package = len(path.parts) > 2
    return [*own, mirror / package, *([mirror.parent / package] if is_in_package else [])]


def test_every_module_has_its_test() -> None:
    untested = [
        f"add {' or '.join(map(str, covering_tests(path)))}: "
        f"{path} has {lines_of_code(path)} lines of code"
        for path in room_files(".py")
        if not path.as_posix().startswith(tuple(TESTED_ELSEWHERE))
        and lines_of_code(path) > MAX_UNTESTED_LINES
        and not any((ROOT / test).exists() for test in covering_tests(path))
    ]
    report(untested, "modules without a test (or name the test in TESTED_ELSEWHERE)")


def test_the_list_of_exceptions_is_not_out_of_date() -> None:
    paths = [path.as_posix() for path in room_files()]
    gone = [begin for begin in TESTED_ELSEWHERE if not any(p.startswith(begin) for p in paths)]
    report(gone, "TESTED_ELSEWHERE names files that are gone")


def test_no_file_is_too_long() -> None:
    lengths = {path: (ROOT / path).read_text().count("\n") for path in python_files()}
    long = [f"{path}: {n} lines" for path, n in lengths.items() if n > MAX_FILE_LINES]
    report(long, f"split these, at most {MAX_FILE_LINES} lines")


def function_lengths(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            skipped = 0
            if ast.get_docstring(node) is not None:
                skipped = (first.end_lineno or first.lineno) - first.lineno + 1
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1 - skipped


def test_no_function_is_too_long() -> None:
    long = [
        f"{path}: {name} has {length} lines"
        for path in room_files(".py")
        if "migrations" not in path.parts
        for name, length in function_lengths(path)
        if length > MAX_FUNCTION_LINES
    ]
    report(long, f"split these, at most {MAX_FUNCTION_LINES} lines without the docstring")


def imported_roots(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: import by full name"
            yield (node.module or "").partition(".")[0]


def test_the_engine_room_imports_only_what_every_vllm_has() -> None:
    foreign = []
    for path in room_files(".py"):
        if path.parts[0] != "engine":
            continue
        allowed = {"hmas", *ENGINE_IMPORTS, *sys.stdlib_module_names}
        for prefix, more in ENGINE_IMPORTS_IN.items():
            if path.as_posix().startswith(prefix):
                allowed |= more
        foreign += [f"{path} imports {name}" for name in set(imported_roots(path)) - allowed]
    report(foreign, "not in a bare vLLM environment")


def test_scripts_can_be_run() -> None:
    scripts = [path for path in files() if path.suffix == ".sh" or path == Path(".ci/run")]
    assert scripts
    report(
        [f"chmod +x {path}" for path in scripts if not os.access(ROOT / path, os.X_OK)],
        "scripts without the executable bit",
    )
    for path in scripts:
        subprocess.run(["bash", "-n", str(ROOT / path)], check=True)


def pages() -> list[Path]:
    return [path for path in files() if path.suffix == ".md"]


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in pages():
        for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text()):
            name = target.partition("#")[0]
            if name and ":" not in target and not (ROOT / page.parent / name).exists():
                broken.append(f"{page}: {target}")
    report(broken, "broken links")


def test_pages_name_only_targets_that_the_makefile_has() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    unknown = [
        f"{page}: make {name}"
        for page in pages()
        for name in re.findall(r"`(?:[A-Z_]+=\S+ )*make ([a-z][a-z-]*)", (ROOT / page).read_text())
        if name not in targets
    ]
    report(unknown, "no such target in the Makefile")


def test_the_readme_says_how_to_start_and_how_to_test_and_ci_does_the_same() -> None:
    readme, ci = (ROOT / "README.md").read_text(), (ROOT / ".ci/run").read_text()
    for command in ("make demo", "make test"):
        assert command in readme, f"README.md does not say '{command}'"
    assert {"step lint", "step test", "step test-vllm"} <= set(ci.splitlines())


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that no build folder of the working tree can leak into it."""
    copy = tmp_path_factory.mktemp("source")
    for path in files():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_bytes((ROOT / path).read_bytes())
    (copy / "src/hmas").mkdir(parents=True, exist_ok=True)
    for room in ROOMS:
        (copy / "src/hmas" / room).symlink_to(f"../../{room}")
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    done = subprocess.run([*build, str(copy)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    [built] = out.iterdir()
    return built


def test_the_wheel_holds_the_rooms_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    rooms = {f"hmas/{path}" for path in room_files() if path.suffix != ".md"}
    expected = rooms | {"hmas/__init__.py", "hmas/py.typed"}
    missing = sorted(expected - names)
    report([f"{name}: add its pattern to package-data" for name in missing], "not in the wheel")
    extra = sorted(name for name in names - expected if not name.endswith(".md"))
    report(extra, "in the wheel, but not in a room")
    kinds = {"hmas/engine/simulator/profiles/": ".json", "hmas/storage/migrations/": ".mako"}
    for prefix, suffix in {**kinds, "hmas/prompts/": ".j2"}.items():
        assert any(name.startswith(prefix) and name.endswith(suffix) for name in names), prefix


def test_the_wheel_installs_the_command_and_the_plug_in(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [entry_points] = [n for n in archive.namelist() if n.endswith("/entry_points.txt")]
        [metadata] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        declared = archive.read(entry_points).decode()
        required = re.findall(r"^Requires-Dist: (.*)$", archive.read(metadata).decode(), re.M)
    assert "hmas = hmas.daemon.cli.main:main" in declared
    assert "hmas = hmas.engine.vllm_plugin:register" in declared
    always = sorted(re.split(r"[<>=!~ ]", name)[0] for name in required if "extra ==" not in name)
    assert always == ["msgspec", "pyzmq"]


def test_the_installed_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(target), str(wheel)], check=True)
    environment = {**os.environ, "PYTHONPATH": str(target)}
    url = f"sqlite:///{tmp_path}/hmas.db"
    upgrade = f"from hmas.storage import schema; print(schema.upgrade({url!r}), schema.__file__)"
    for command in ([sys.executable, "-c", upgrade], [str(target / "bin/hmas"), "--help"]):
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert str(target) in done.stdout or "Usage" in done.stdout
