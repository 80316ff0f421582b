"""Experiments of SageMaker: experiments, trials, trial components and their metrics."""
