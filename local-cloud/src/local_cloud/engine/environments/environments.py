"""The Python environments of one job: one for each base that the images of its replicas have."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from local_cloud.engine.base import Base
from local_cloud.engine.environments import pip_command, wheels
from local_cloud.engine.environments.job_environment import JobEnvironment
from local_cloud.engine.isolation.apart import Apart
from local_cloud.engine.isolation.roots import Isolation
from local_cloud.engine.spec import EngineError
from local_cloud.store import trees


class Environments:
    """Makes each environment when it is first asked for; safe to be used from several threads."""

    def __init__(
        self,
        folder: Path,
        base_of: Callable[[str], Base],
        hook: Path | None,
        *,
        wheels: Path,
        isolation: Isolation,
    ) -> None:
        """folder: the job's; hook: a file that every Python of the job runs when it starts.

        wheels: where the wheels of all jobs are kept; isolation: what the job's code may see.
        """
        self._folder, self._base_of, self._hook, self._wheels = folder, base_of, hook, wheels
        self._isolation = isolation
        self._by_image: dict[str, JobEnvironment] = {}
        self._making = threading.Lock()

    def of(self, image: str) -> JobEnvironment:
        """Return the environment in which replicas of an image run Python; "": of no image."""
        with self._making:
            if image not in self._by_image:
                self._by_image[image] = self._find_or_make(self._base_of(image))
            return self._by_image[image]

    def _find_or_make(self, base: Base) -> JobEnvironment:
        """Return the environment on this base: two images may have the same one."""
        for made in self._by_image.values():
            if made.base.name == base.name:
                return replace(made, base=base)
        folder = self._folder / f".python{base.name and f'-{base.name}'}"
        apart = Apart(self._isolation, self._folder.parent, [self._folder], [folder])
        environment = JobEnvironment(folder, base, self._wheels, apart)
        environment.make(self._hook)
        return environment

    def base(self, image: str) -> Base:
        """Return what replicas of an image stand on."""
        return self.of(image).base

    def install(self, words: Sequence[str], image: str = "") -> list[str]:
        """`pip install` with these words for an image's replicas; lines on what was done."""
        return pip_command.install_and_report(self.of(image), words)

    def build_wheel(self, archive: Path, image: str) -> None:
        """Build the wheel of an archive that replicas of an image will install, if it can be."""
        environment = self.of(image)
        if environment.wheels and archive.name.endswith(wheels.SOURCES):
            with suppress(EngineError, OSError):  # the installation says why
                wheels.wheel_of(archive, environment, pip_command.variables(environment))

    def remove(self) -> None:
        """Remove all that were made; the next one is made again."""
        with self._making:
            for environment in self._by_image.values():
                trees.remove(environment.folder)
            self._by_image.clear()
