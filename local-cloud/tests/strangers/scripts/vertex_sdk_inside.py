# Calls the Vertex AI SDK from inside the job: init, metrics of an experiment, a list of models.
# only: vertex, vertex-trial: SageMaker's machines have no account of Google's
# exit: 0
# log: models: 0
# log: logged to run
import os

from google.cloud import aiplatform

aiplatform.init(project=os.environ.get("GOOGLE_CLOUD_PROJECT"), location="us-central1", experiment="strangers-" + os.environ["CLOUD_ML_JOB_ID"])
print("models:", len(aiplatform.Model.list(filter='display_name="no such model"')))
run = "run-" + os.environ["CLOUD_ML_JOB_ID"]
with aiplatform.start_run(run):
    aiplatform.log_params({"lr": 0.1})
    aiplatform.log_metrics({"accuracy": 0.5})
print("logged to", "run")
