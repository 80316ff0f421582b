# The SageMaker SDK inside the job: its session, its role, and a description of the job itself.
# only: sagemaker, sagemaker-trial: Vertex AI's machines have no account of Amazon's
# exit: 0
# log: role SageMakerExecutionRole
# log: I am InProgress
import os
import warnings

warnings.filterwarnings("ignore")
import boto3
from sagemaker.core.helper.session_helper import Session, get_execution_role

session = Session()
print("role", get_execution_role(session).rsplit("/")[-1], "in", session.boto_region_name)
me = boto3.client("sagemaker").describe_training_job(TrainingJobName=os.environ["TRAINING_JOB_NAME"])
print("I am", me["TrainingJobStatus"])
