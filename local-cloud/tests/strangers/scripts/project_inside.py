# Asks for its default credentials and its project, which is the one that the job was sent in.
# only: vertex, vertex-trial: SageMaker's machines have no account of Google's
# exit: 0
# log: project is strangers-project
import google.auth
from google.cloud import storage

_, project = google.auth.default()
print("project is", project)
print([b.name for b in storage.Client().list_buckets()])
