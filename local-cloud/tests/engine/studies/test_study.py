"""Studies whose trials are real processes: side by side, judged, stopped, gone on with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from local_cloud.engine.jobs.queue import JobQueue
from local_cloud.engine.spec import EngineError, Job, JobContext, Plan, State
from local_cloud.engine.studies.early_stopping import Curve, Other, Rule
from local_cloud.engine.studies.search import Parameter, Trial, Value
from local_cloud.engine.studies.spec import EARLIER, Study, StudySpec, TrialJob
from local_cloud.engine.studies.studies import Studies
from local_cloud.store.records import Records
from tests.engine.support import SLEEP, plan, python, run, until, written

X = Parameter("x", "real", 0.0, 10.0)
SPEC = StudySpec((X,), maximize=False, max_trials=6, parallel_trials=2, seed=1)


class Lab:
    """A cloud whose trials print how far x is from 3, or what a test wants instead."""

    def __init__(self) -> None:
        self.values: dict[str, Mapping[str, Value]] = {}
        self.instead: dict[int, tuple[str, ...]] = {}  # by the trial's number
        self.engine: JobQueue

    # ---- as the study's cloud
    def send(self, study: Study, number: int, values: Mapping[str, Value]) -> str:
        job = f"{study.id}-{number}"
        self.values[job] = values
        self.engine.submit("lab", job, 1)
        return job

    def judge(self, study: Study, number: int, job: Job) -> float | str:
        if job.state is not State.SUCCEEDED and not study.trials[number - 1].early:
            return f"trial {number}: {job.state}"
        return float(self.engine.log(job.id, "r0").read_text().split()[-1])

    def reports(self, study: Study, number: int, job: Job) -> Curve:
        lines = self.engine.log(job.id, "r0").read_text().splitlines()
        return [(float(step), float(line)) for step, line in enumerate(lines, 1)]

    # ---- as the engine's dialect
    def stage(self, job_id: str, context: JobContext) -> Plan:
        number = int(job_id.rpartition("-")[2])
        command = python(f"print(abs({self.values[job_id]['x']} - 3))")
        return plan(self.instead.get(number, command))

    def collect(self, job: Job) -> None:
        pass


@asynccontextmanager
async def laboratory(
    folder: Path, lab: Lab, cores: int = 4, records: type[Records] = Records
) -> AsyncIterator[Studies]:
    """A running engine and its studies on a folder; the next one finds what this one left."""
    folder.mkdir(exist_ok=True)
    kept = records(folder / "records.db")
    lab.engine = JobQueue(folder / "jobs", kept, cores=cores)
    studies = Studies(kept, lab.engine)
    await lab.engine.start({"lab": lab})
    studies.start({"lab": lab})
    try:
        yield studies
    finally:
        await studies.close()
        await lab.engine.close()
        kept.close()


async def end(studies: Studies, study_id: str = "s") -> Study:
    study = studies.get(study_id)
    while not study.state.ended:
        study = await studies.wait_for_change(study, 20)
    return study


async def sent(studies: Studies, count: int) -> Study:
    """The study as soon as so many trials have been sent."""
    study = studies.get("s")
    while len(study.trials) < count:
        study = await studies.wait_for_change(study, 20)
    return study


def test_trials_run_side_by_side_and_the_best_is_known(tmp_path: Path) -> None:
    async def story() -> None:
        lab, most = Lab(), 0
        async with laboratory(tmp_path / "lab", lab) as studies:
            study = studies.submit("lab", "s", SPEC)
            assert study.state is State.RUNNING
            while not study.state.ended:
                study = await studies.wait_for_change(study, 20)
                most = max(most, sum(not trial.ended for trial in study.trials))
            assert most == SPEC.parallel_trials
            assert study.state is State.SUCCEEDED and study.ended is not None
            assert len(study.trials) == SPEC.max_trials
            for trial in study.trials:
                assert trial.result == pytest.approx(abs(float(trial.values["x"]) - 3))
            results = [trial.result or 0.0 for trial in study.trials]
            assert study.best and study.best.result == min(results)
            opposite = replace(study, spec=replace(SPEC, maximize=True))
            assert opposite.best and opposite.best.result == max(results)

    run(story())


def test_failed_trials_have_a_reason_and_do_not_end_a_study_without_a_limit(tmp_path: Path) -> None:
    async def story() -> None:
        lab = Lab()
        lab.instead = {2: python("raise SystemExit(3)"), 3: ("no-such-command",)}
        async with laboratory(tmp_path / "lab", lab) as studies:
            studies.submit("lab", "s", SPEC)
            study = await end(studies)
            assert study.state is State.SUCCEEDED
            assert [trial.reason for trial in study.trials] == [
                "", "trial 2: FAILED", "trial 3: FAILED", "", "", "",
            ]  # fmt: skip
            assert study.failed_count == 2 and study.best is not None

    run(story())


def test_too_many_failed_trials_end_the_study_and_what_runs_beside_them(tmp_path: Path) -> None:
    async def story() -> None:
        lab = Lab()
        lab.instead = {1: SLEEP} | {n: python("raise SystemExit(3)") for n in (2, 3)}
        async with laboratory(tmp_path / "lab", lab) as studies:
            studies.submit("lab", "s", replace(SPEC, max_failed_trials=2))
            study = await end(studies)
            assert study.state is State.FAILED
            assert [trial.reason for trial in study.trials] == [
                "trial 1: STOPPED", "trial 2: FAILED", "trial 3: FAILED",
            ]  # fmt: skip

    run(story())


def test_a_stopped_study_stops_its_jobs_and_sends_no_more(tmp_path: Path) -> None:
    async def story() -> None:
        lab = Lab()
        lab.instead = {1: SLEEP, 2: SLEEP}
        async with laboratory(tmp_path / "lab", lab) as studies:
            studies.submit("lab", "s", SPEC)
            await sent(studies, 2)
            assert studies.stop("s").state is State.STOPPING
            study = await end(studies)
            assert study.state is State.STOPPED and len(study.trials) == 2
            assert Counter(job.state for job in lab.engine.jobs()) == {State.STOPPED: 2}
            assert studies.stop("s") == study

    run(story())


def test_a_study_goes_on_with_the_next_server_and_loses_no_trial(tmp_path: Path) -> None:
    async def story() -> None:
        lab = Lab()
        lab.instead = {3: python("import time; print('here', flush=True); time.sleep(60)")}
        async with laboratory(tmp_path / "lab", lab) as studies:
            studies.submit("lab", "s", SPEC)
            await sent(studies, 3)
            await written(lab.engine.log("s-3", "r0"))
            before = studies.get("s")
        async with laboratory(tmp_path / "lab", lab) as studies:
            study = await end(studies)
            assert study.state is State.SUCCEEDED and len(study.trials) == SPEC.max_trials
            assert study.trials[2].reason == "trial 3: FAILED"  # its job went with the server
            for earlier, later in zip(before.trials, study.trials, strict=False):
                assert earlier.job == later.job and earlier.values == later.values

    run(story())


def test_a_study_that_was_being_stopped_is_stopped_by_the_next_server(tmp_path: Path) -> None:
    async def story() -> None:
        lab = Lab()
        lab.instead = {1: SLEEP}
        async with laboratory(tmp_path / "lab", lab, cores=1) as studies:
            studies.submit("lab", "s", SPEC)
            await sent(studies, 2)  # the second waits for the one core
            lab.engine.stop = lambda job_id: lab.engine.get(job_id)  # type: ignore[method-assign]
            studies.stop("s")
        async with laboratory(tmp_path / "lab", lab, cores=1) as studies:
            study = await end(studies)
            assert study.state is State.STOPPED and len(study.trials) == 2
            assert study.trials[1].reason == "trial 2: STOPPED"

    run(story())


def test_a_fault_ends_a_study_with_its_trials_and_is_told(tmp_path: Path) -> None:
    class Faulty(Lab):
        def judge(self, study: Study, number: int, job: Job) -> float | str:
            raise KeyError("what nobody thought of")

    lab = Faulty()
    lab.instead = {2: SLEEP}

    async def story() -> None:
        async with laboratory(tmp_path, lab) as studies:
            studies.submit("lab", "s", SPEC)
            study = await end(studies)
            assert study.state is State.FAILED
            assert [trial.reason for trial in study.trials] == [
                "A fault of the local cloud: KeyError('what nobody thought of')"
            ] * 2
            job = await until(lab.engine, study.trials[1].job)
            assert job.state is State.STOPPED

    run(story())


def test_a_grid_may_have_fewer_points_than_trials_are_allowed(tmp_path: Path) -> None:
    async def story() -> None:
        x = Parameter("x", "ordered", choices=(1.0, 3.0, 5.0))
        async with laboratory(tmp_path / "lab", Lab()) as studies:
            studies.submit("lab", "s", replace(SPEC, parameters=(x,), algorithm="grid"))
            study = await end(studies)
            assert study.state is State.SUCCEEDED
            assert [trial.values["x"] for trial in study.trials] == [1.0, 3.0, 5.0]

    run(story())


def test_a_study_is_known_by_a_name_of_its_own_and_forgotten_when_it_has_ended(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        lab = Lab()
        lab.instead = {1: SLEEP}
        async with laboratory(tmp_path / "lab", lab) as studies:
            studies.submit("lab", "s", replace(SPEC, max_trials=1))
            with pytest.raises(EngineError, match="there is a study s already"):
                studies.submit("lab", "s", SPEC)
            with pytest.raises(EngineError, match="stop it first"):
                studies.delete("s")
            await sent(studies, 1)
            studies.stop("s")
            await end(studies)
            studies.delete("s")
            with pytest.raises(EngineError, match="there is no study s"):
                studies.get("s")
            assert list(studies.all()) == []

    run(story())


# Reports its number ten times, each a tenth of a second after the other.
SLOWLY = "import time\nfor _ in range(10): print({}, flush=True); time.sleep(0.1)"


def test_a_trial_that_is_worse_than_the_others_is_stopped_early(tmp_path: Path) -> None:
    async def story() -> None:
        lab = Lab()
        results = {1: 1, 2: 2, 3: 3, 4: 9, 5: 0}
        lab.instead = {
            number: python(f"print({result}, flush=True)" if number < 4 else SLOWLY.format(result))
            for number, result in results.items()
        }
        lab.instead[4] = python("import time; print(9, flush=True); time.sleep(60)")
        async with laboratory(tmp_path / "lab", lab) as studies:
            rule = Rule("median")
            studies.submit(
                "lab", "s", replace(SPEC, max_trials=5, parallel_trials=1, early_stopping=rule)
            )
            study = await end(studies)
            assert [trial.result for trial in study.trials] == [1, 2, 3, 9, 0]
            assert [trial.early for trial in study.trials] == [False, False, False, True, False]
            assert lab.engine.get("s-4").state is State.STOPPED
            assert study.state is State.SUCCEEDED and study.failed_count == 0
            assert study.trials[0].curve == ((1.0, 1.0),)
        async with laboratory(tmp_path / "lab", lab) as studies:  # as it is on record
            assert studies.get("s") == study

    run(story())


def test_a_study_whose_time_is_up_is_stopped(tmp_path: Path) -> None:
    async def story() -> None:
        lab = Lab()
        lab.instead = {2: SLEEP}
        async with laboratory(tmp_path / "lab", lab) as studies:
            studies.submit("lab", "s", replace(SPEC, max_trials=9, parallel_trials=1, seconds=1.5))
            study = await end(studies)
            assert study.state is State.STOPPED and len(study.trials) == 2
            assert study.best == study.trials[0]

    run(story())


def test_trials_without_a_result_end_a_study_that_has_none_yet(tmp_path: Path) -> None:
    class Silent(Lab):
        def judge(self, study: Study, number: int, job: Job) -> float | str:
            return super().judge(study, number, job) if number in heard else "nothing was said"

    async def story() -> None:
        for folder, sent in (("none", 3), ("one", 6)):
            lab = Silent()
            heard[:] = [1] if folder == "one" else []
            async with laboratory(tmp_path / folder, lab) as studies:
                studies.submit("lab", "s", replace(SPEC, parallel_trials=1, max_without_metric=3))
                study = await end(studies)
                assert len(study.trials) == sent
                assert study.state is (State.FAILED if sent == 3 else State.SUCCEEDED)

    heard: list[int] = []
    run(story())


def test_what_earlier_studies_have_found_is_on_record_with_the_aim(tmp_path: Path) -> None:
    async def story() -> None:
        lab = Lab()
        spec = replace(SPEC, max_trials=1, earlier=(Trial({"x": 3.0}, 0.0),), alike=False)
        async with laboratory(tmp_path / "lab", lab) as studies:
            studies.submit("lab", "s", spec)
            await end(studies)
        async with laboratory(tmp_path / "lab", lab) as studies:
            assert studies.get("s").spec == spec

    run(story())


@pytest.mark.parametrize("count", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_more_trials_than_cores_wait_for_their_turn_and_all_end(tmp_path: Path, count: int) -> None:
    async def story() -> None:
        lab, most = Lab(), 0
        async with laboratory(tmp_path / "lab", lab, cores=2) as studies:
            spec = replace(SPEC, max_trials=count, parallel_trials=count, algorithm="random")
            study = studies.submit("lab", "s", spec)
            while not study.state.ended:
                study = await studies.wait_for_change(study, 20)
                waiting = (State.QUEUED, State.SUCCEEDED)
                most = max(most, sum(job.state not in waiting for job in lab.engine.jobs()))
            assert 1 <= most <= 2
            assert sum(trial.result is not None for trial in study.trials) == count

    run(story())


def test_what_a_trial_came_to_that_was_stopped_early_is_no_result_to_compare_with() -> None:
    curve = ((1.0, 0.5), (2.0, 0.4))
    ran = TrialJob("j", {}, result=0.4, curve=curve)
    assert ran.other(3) == Other(3, curve, ended=True, result=0.4)
    stopped = replace(ran, early=True)
    assert stopped.other(3) == Other(3, curve, ended=True, result=None)
    assert stopped.for_search().result == 0.4  # the search learns from it nonetheless


def test_a_study_that_an_earlier_version_has_recorded_is_read() -> None:
    study = Study("s", "lab", replace(SPEC, early_stopping=Rule("median")), State.RUNNING, 1.0)
    document = json.loads(json.dumps(study.document()))
    earlier = {new: old for old, new in EARLIER.items()}
    for names in (document, document["spec"]):
        for new in [name for name in names if name in earlier]:
            names[earlier[new]] = names.pop(new)
    assert "aim" in document and "at_once" in document["aim"]
    trial = {"job": "j", "values": {"x": 1.0}, "reason": "none", "silent": True}
    read_study = Study.of(document, [trial])
    assert replace(read_study, trials=()) == study
    assert read_study.trials[0].without_metric
