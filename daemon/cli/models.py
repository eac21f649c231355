"""Which models the settings name, and whether their files are whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hmas.daemon.cli.findings import Finding, Mark
from hmas.daemon.settings import Settings

# What reads models is imported late: it takes a second that no other command should wait.
OFF: Final = "off"


def models(settings: Settings) -> Iterator[Finding]:
    """The task model, the length model and its challenger."""
    gateway = settings.gateway_settings()
    yield _task(gateway.classifier)
    yield _length("length model", gateway.length_model, "the history predicts")
    if gateway.length_challenger != OFF:
        yield _length("length challenger", gateway.length_challenger, "there is no duel")


def _task(choice: str) -> Finding:
    check = "task model"
    if choice == OFF:
        return Finding(check, Mark.OK, "off: the rules classify", facts={"choice": choice})
    from hmas.controllers.perception import learned, shipped

    path = learned.SHIPPED if choice == shipped.SHIPPED_NAME else Path(choice)
    try:
        card = learned.load(path).card
    except learned.ModelFileError as error:
        fix = "gateway.classifier: shipped, or hmas train perception"
        return Finding(check, Mark.FAIL, f"{error}: the rules classify alone", fix)
    return _whole(check, choice, card.version, card.data_hash, card.licence)


def _length(check: str, choice: str, without: str) -> Finding:
    if choice == OFF:
        return Finding(check, Mark.OK, f"off: {without}", facts={"choice": choice})
    from hmas.controllers.prediction.sealed import CorruptModelError
    from hmas.controllers.prediction.shipped import chosen_file, read_model

    path = chosen_file(choice)
    try:
        record = read_model(path).record
    except (OSError, CorruptModelError) as error:
        return Finding(check, Mark.FAIL, f"{path}: {error}: {without}", "hmas train length")
    return _whole(check, choice, record.version, record.data_hash, record.licence)


def _whole(check: str, choice: str, version: str, data_hash: str, licence: str) -> Finding:
    short = licence.partition(";")[0] or "no licence"
    said = f"{choice}: version {version}, data {data_hash[:16]}, {short}"
    facts: dict[str, str | float] = {
        "choice": choice,
        "version": version,
        "data_hash": data_hash,
        "licence": licence,
    }
    return Finding(check, Mark.OK, said, facts=facts)
