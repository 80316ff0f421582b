"""Which trial components belong to which trials."""

from __future__ import annotations

from local_cloud.store.records import Records

KIND = "component-of-trial"


class Memberships:
    """Pairs of a trial's and a component's name, in lower case: `TRIAL/COMPONENT`."""

    def __init__(self, records: Records) -> None:
        """Keep them as documents in the records."""
        self._records = records

    def add(self, trial: str, component: str) -> None:
        """Associate the component with the trial; a second time changes nothing."""
        self._records.put(KIND, f"{trial}/{component}".lower(), {})

    def remove(self, trial: str, component: str) -> None:
        """Disassociate them."""
        self._records.delete(KIND, f"{trial}/{component}".lower())

    def has(self, trial: str, component: str) -> bool:
        """Say whether the component is associated with the trial."""
        return self._records.get(KIND, f"{trial}/{component}".lower()) is not None

    def components(self, trial: str) -> set[str]:
        """Return the components of a trial."""
        pairs = self._records.list(KIND, f"{trial.lower()}/")
        return {name.partition("/")[2] for name, _ in pairs}

    def trials(self, component: str) -> list[str]:
        """Return the trials of a component."""
        pairs = (name.partition("/") for name, _ in self._records.list(KIND))
        return [trial for trial, _, name in pairs if name == component.lower()]
