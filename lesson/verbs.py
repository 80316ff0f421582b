"""The verbs that are the same on both clouds: wait, cancel, list_jobs, and what train ends with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

from lesson import LessonError, jobs, target, tuning
from lesson.backend import Backend, Epoch, JobSpec, JobStatus
from lesson.costs import PriceUnknown
from lesson.progress import Display, Progress
from lesson.runs import Run
from lesson.states import CANCELLED, ENDED, SUCCEEDED
from lesson.studies import Study
from lesson.this_machine import new_folder
from lesson.vm import Rented

if TYPE_CHECKING:
    import pandas as pd

NEWEST = 100  # jobs that list_jobs() shows
SEEN = 1000  # jobs among which it looks for one's own; on SageMaker each costs a request
# Seconds between two looks at a job; the local cloud answers when there is news.
PAUSE = {"local": 0.1, "cloud": 2.0}


def pause() -> None:
    """Let some time go by between two looks at a job."""
    time.sleep(PAUSE[target()])


class Verbs:
    """The verbs of a cloud."""

    def __init__(self, cloud: Backend) -> None:
        """Take the cloud's side."""
        self._cloud = cloud

    # ---- what learners call ---------------------------------------------------------------------
    @overload
    def wait(self, run_or_job: Run) -> Run: ...
    @overload
    def wait(self, run_or_job: Study) -> Study: ...
    @overload
    def wait(self, run_or_job: Any) -> Any: ...
    def wait(self, run_or_job: Any) -> Run | Study:
        """Show how far a job is until it ends, and fetch its results; return the completed run.

        Takes what train() or train_on_vm() returned, an SDK object, or a job's name; of what tune()
        returned, or a tuning job, it shows the trials and returns the study. Interrupting it leaves
        the job running; call it again to watch the job again. Raises LessonError if the job fails.
        """
        self._cloud.connected()
        if isinstance(run_or_job, Run) and isinstance(run_or_job.job, Rented):
            return run_or_job.job.wait(run_or_job)
        job = self.job_of(run_or_job)
        if self._cloud.is_tuning(job):
            request = run_or_job.request if isinstance(run_or_job, Study) else {}
            return self.follow_study(job, request)
        return self.follow(run_or_job if isinstance(run_or_job, Run) else self.run_of(job, {}))

    def cancel(self, run_or_job: Any) -> None:
        """Ask the service to end a job; takes what wait() takes. A job that has ended stays so."""
        self._cloud.connected()
        job = self.job_of(run_or_job)
        name = self._cloud.spec(job).name
        with self._cloud.refusals(f"cancelling {name}"):
            self._cloud.refresh(job)
            if (state := self._cloud.status(job).state) in ENDED:
                print(f"{name} had already ended: {state}")
                return
            self._cloud.stop(job)
        print(f"asked for the end of {name}; wait({name!r}) shows it")

    def list_jobs(self, mine: bool = False) -> pd.DataFrame:
        """Return the newest 100 training and tuning jobs of the region, newest first.

        In a project or account that several people share, `mine` leaves out the jobs that write
        elsewhere than into this session's bucket; it looks at the newest 1,000.
        """
        self._cloud.connected()
        with self._cloud.refusals("listing the jobs"):
            found = self._own() if mine else self._cloud.every()
            return jobs.table([self._row(job) for job in islice(found, NEWEST)])

    def own_jobs(self) -> pd.DataFrame:
        """Return all of this session's jobs among the newest 1,000: what they cost adds up."""
        with self._cloud.refusals("listing the jobs"):
            return jobs.table([self._row(job) for job in self._own()])

    def _own(self) -> Iterator[Any]:
        uri = f"{self._cloud.connected().uri}/"
        seen = islice(self._cloud.every(), SEEN)
        return (one for one in seen if self._base(one).startswith(uri))

    def _base(self, job: Any) -> str:
        return f"{self._cloud.spec(job).base}/"

    def _row(self, job: Any) -> Sequence[Any]:
        spec, now = self._cloud.spec(job), self._cloud.status(job)
        machine = str(spec) if now.trials is None else f"{now.trials} trials on {spec}"
        state = (now.state, now.service_state)
        return jobs.row(spec.name, state, now.times, spec.replicas, machine)

    # ---- what train() and tune() end with -------------------------------------------------------
    def job_of(self, run_or_job: Any) -> Any:
        """Return the SDK's object: of a run or study, by a job's name, or as it is given."""
        if isinstance(run_or_job, Run | Study):
            if isinstance(run_or_job.job, Rented):
                raise LessonError(f"{run_or_job.job.machine.name} is a machine, not a job")
            if run_or_job.job is None:
                raise LessonError(
                    f"the run on {run_or_job.place} was no job; there is nothing to ask"
                )
            return run_or_job.job
        if isinstance(run_or_job, str):
            with self._cloud.refusals(f"looking for {run_or_job}"):
                found = self._cloud.named(run_or_job)
            if found is None:
                raise LessonError(
                    f"there is no job {run_or_job}; list_jobs() shows the names of all"
                )
            return found
        if not self._cloud.is_job(run_or_job):
            raise LessonError(
                f"{run_or_job!r} is no job: give what train() or tune() returned, or a job's name"
            )
        return run_or_job

    def run_of(self, job: Any, request: Mapping[str, Any]) -> Run:
        """Return the row of a job that has not ended."""
        spec = self._cloud.spec(job)
        return Run(
            place=self._place(),
            machine=str(spec),
            seconds=None,
            accuracy=None,
            loss=None,
            artefacts=spec.output,
            replicas=spec.replicas,
            job=job,
            request=request,
        )

    def follow(self, run: Run) -> Run:
        """Show how far a run's job is until it ends, and complete its row."""
        spec = self._cloud.spec(run.job)
        with self._cloud.refusals(f"watching {spec.name}"):
            count = jobs.follow(spec.name, lambda display: self._watch(run.job, spec, display))
        return self.complete(replace(run, interruptions=max(run.interruptions, count)))

    def _watch(self, job: Any, spec: JobSpec, display: Display) -> int:
        """Show each look at a job; return how often it was interrupted."""
        count = 0
        curve: dict[int, float] = {}
        for now, epoch in self._cloud.watch(job):
            if epoch:
                curve[epoch.number] = epoch.loss
            display.show(replace(self._progress(spec, now, epoch), curve=sorted(curve.items())))
            count = now.interruptions
        return count

    def _progress(self, spec: JobSpec, now: JobStatus, epoch: Epoch | None) -> Progress:
        return Progress(
            state=now.state,
            service_state=now.word,
            epoch=epoch.number if epoch else None,
            epochs=jobs.epochs_of(spec.flags),
            loss=epoch.loss if epoch else None,
            accuracy=epoch.accuracy if epoch else None,
            seconds=now.times.seconds(),
            cost=self._cost(spec, now.times.running()),
            interruptions=now.interruptions,
        )

    def complete(self, run: Run) -> Run:
        """Return the row of a job that has ended; raise LessonError if it failed."""
        spec, now = self._cloud.spec(run.job), self._cloud.status(run.job)
        with self._cloud.refusals(f"reading how {spec.name} ended"):
            machines = self._cloud.backing_job(run.job)
            times = self._cloud.status(machines).times
            if now.state not in (SUCCEEDED, CANCELLED):
                reason = self._cloud.failure_reason(machines)
                raise LessonError(f"{spec.name} {now.state}. {reason}")
        cost = self._cost(spec, times.running())
        run = replace(run, seconds=times.seconds(), queued=times.queued(), cost=cost)
        if now.state == CANCELLED:
            print(f"{spec.name} was cancelled ({now.word}); its results are not fetched")
            return run
        if not run.artefacts:
            return run
        folder = new_folder(self._cloud.SERVICE.lower().replace(" ", "-"))
        return jobs.with_results(run, spec.name, times, self._cloud.fetch(run.artefacts, folder))

    def study(self, job: Any, request: Mapping[str, Any]) -> Study:
        """Return the study that a tuning job is, as last seen."""
        spec, now, found = self._cloud.spec(job), self._cloud.status(job), self._cloud.study_of(job)
        return replace(
            found,
            place=self._place(),
            name=spec.name,
            state=now.state,
            service_state=now.word,
            seconds=now.times.seconds(),
            cost=self._cost(spec, *(trial.seconds for trial in found.trials)),
            job=job,
            request=request,
        )

    def follow_study(self, job: Any, request: Mapping[str, Any]) -> Study:
        """Show the trials until a tuning job ends; fetch the best trial's results."""

        def look() -> Study:
            self._cloud.refresh(job)
            return self.study(job, request)

        def run_of_trial(name: str) -> Run:
            return self.complete(self.run_of(self._cloud.trial_job(name), request))

        name = self._cloud.spec(job).name
        with self._cloud.refusals(f"watching {name}"):
            study = tuning.follow(look, PAUSE[target()], self._cloud.trial_reason, name)
            return tuning.with_run(study, run_of_trial)

    def _place(self) -> str:
        return (
            f"{self._cloud.SERVICE} (local cloud)" if target() == "local" else self._cloud.SERVICE
        )

    def _cost(self, spec: JobSpec, *seconds: float) -> float | None:
        """Return US dollars for jobs that took so long, at list price; None if none is known."""
        try:
            return sum(self._cloud.estimate(spec, each / 3600).usd for each in seconds)
        except PriceUnknown:  # train() has said so
            return None
