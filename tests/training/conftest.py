"""What the tests of the script share: a pool of replicas, and one thread for each process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.training.pool import Pool


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """On small tables a second thread costs more than it does, the more where others work too."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """Processes that have the script imported and train as replicas."""
    pool = Pool()
    yield pool
    pool.close()
