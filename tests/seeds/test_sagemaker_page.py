"""Every cell of the lesson's SageMaker page runs, in an IPython shell, with version 2 of the SDK.

The cells are those of the page “Training Models in SageMaker: PyTorch Example” that this lesson
grew from, which trained with version 2. Changed are names: of the bucket and of the notebook
instance. Epochs are as on the page. The last line prints where the three models are.
"""

from __future__ import annotations

from pathlib import Path

import boto3
import numpy as np
import pytest

from local_cloud import Status
from testing.other_environments import ROOT, results, run_sagemaker_2

pytestmark = pytest.mark.slow

BUCKET, INSTANCE = "seed-page-titanic", "Seed-Page-Notebook"

OPENING = "import local_cloud; local_cloud.activate()"  # the page had a cloud already

SET_UP = f"""
import boto3
import pandas as pd
import sagemaker
from sagemaker import get_execution_role

# Initialize the SageMaker role (will reflect notebook instance's policy)
role = sagemaker.get_execution_role()
print(f'role = {{role}}')

# Create a SageMaker session to manage interactions with Amazon SageMaker
session = sagemaker.Session()

# Initialize an S3 client
s3 = boto3.client('s3')

# Define the S3 bucket that we will load from
bucket_name = '{BUCKET}'

# Define train/test filenames
train_filename = 'titanic_train.csv'
test_filename = 'titanic_test.csv'
"""

INSTANCE_FACTS = f"""
import AWS_helpers.helpers as helpers
notebook_instance_name = '{INSTANCE}'
local_instance_info = helpers.get_notebook_instance_info(notebook_instance_name)
local_instance = local_instance_info['InstanceType']
local_instance
"""

PREPARE = """
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, LabelEncoder
import numpy as np

# Load and preprocess the Titanic dataset
df = pd.read_csv(train_filename)

# Encode categorical variables and normalize numerical ones
df['Sex'] = LabelEncoder().fit_transform(df['Sex'])
df['Embarked'] = df['Embarked'].fillna('S')  # Fill missing values in 'Embarked'
df['Embarked'] = LabelEncoder().fit_transform(df['Embarked'])

# Fill missing values for 'Age' and 'Fare' with median
df['Age'] = df['Age'].fillna(df['Age'].median())
df['Fare'] = df['Fare'].fillna(df['Fare'].median())

# Select features and target
X = df[['Pclass', 'Sex', 'Age', 'SibSp', 'Parch', 'Fare', 'Embarked']].values
y = df['Survived'].values

# Normalize features (helps avoid exploding/vanishing gradients)
scaler = StandardScaler()
X = scaler.fit_transform(X)

# Split the data
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=42)

# Save the preprocessed data to our local jupyter environment
np.savez('train_data.npz', X_train=X_train, y_train=y_train)
np.savez('val_data.npz', X_val=X_val, y_val=y_val)
"""

UPLOAD = """
import boto3

train_file = "train_data.npz"  # Local file path in your notebook environment
val_file = "val_data.npz"  # Local file path in your notebook environment

# Initialize the S3 client
s3 = boto3.client('s3')

# Upload the training and validation files to S3
s3.upload_file(train_file, bucket_name, f"{train_file}")
s3.upload_file(val_file, bucket_name, f"{val_file}")

print("Files successfully uploaded to S3.")
"""

TEST_LOCALLY = """
import torch
import time as t # Measure training time locally

epochs = 1000
learning_rate = 0.001

start_time = t.time()
%run  AWS_helpers/train_nn.py --train train_data.npz --val val_data.npz --epochs {epochs} --learning_rate {learning_rate}
print(f"Local training time: {t.time() - start_time:.2f} seconds, instance_type = {local_instance}")
"""  # noqa: E501

DEVICE = """
import torch

# Set device
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""


def train(estimator: str, instance_type: str, instance_count: int) -> str:
    """One of the page's three cells that train."""
    return f"""
from sagemaker.pytorch import PyTorch
from sagemaker.inputs import TrainingInput
import time as t

instance_count = {instance_count}
instance_type="{instance_type}"
output_path = f's3://{{bucket_name}}/output_nn/'

# Define the PyTorch estimator and pass hyperparameters as arguments
{estimator} = PyTorch(
    entry_point="AWS_helpers/train_nn.py",
    role=role,
    instance_type=instance_type,
    instance_count=instance_count,
    framework_version="1.9",
    py_version="py38",
    output_path=output_path,
    sagemaker_session=session,
    hyperparameters={{
        "train": "/opt/ml/input/data/train/train_data.npz",
        "val": "/opt/ml/input/data/val/val_data.npz",
        "epochs": epochs,
        "learning_rate": learning_rate
    }}
)

# Define input paths
train_input = TrainingInput(f"s3://{{bucket_name}}/train_data.npz", content_type="application/x-npz")
val_input = TrainingInput(f"s3://{{bucket_name}}/val_data.npz", content_type="application/x-npz")

# Start the training job and time it
start = t.time()
{estimator}.fit({{"train": train_input, "val": val_input}})
end = t.time()

print(f"Runtime for training on SageMaker: {{end - start:.2f}} seconds, instance_type: {{instance_type}}, instance_count: {{instance_count}}")
"""  # noqa: E501


CELLS = [
    OPENING,
    SET_UP,
    INSTANCE_FACTS,
    PREPARE,
    UPLOAD,
    TEST_LOCALLY,
    train("pytorch_estimator", "ml.m5.large", 1),
    "first = pytorch_estimator.model_data",
    DEVICE,
    train("pytorch_estimator_gpu", "ml.g4dn.xlarge", 1),
    train("pytorch_estimator", "ml.m5.xlarge", 2),
    "print('MODELS', first, pytorch_estimator_gpu.model_data, pytorch_estimator.model_data)",
]


def role() -> str:
    """The role that the local cloud has from its start."""
    found: str = boto3.client("iam").get_role(RoleName="SageMakerExecutionRole")["Role"]["Arn"]
    return found


@pytest.fixture(scope="module")
def page(cloud: Status, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The whole page, cell after cell in one shell; returns its folder and what it printed."""
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    boto3.client("sagemaker").create_notebook_instance(
        NotebookInstanceName=INSTANCE, InstanceType="ml.t3.medium", RoleArn=role()
    )
    folder = tmp_path_factory.mktemp("seed page")
    (folder / "AWS_helpers").symlink_to(ROOT / "AWS_helpers")
    (folder / "titanic_train.csv").symlink_to(ROOT / "data" / "titanic_train.csv")
    return folder, run_sagemaker_2("\n".join(CELLS), folder, shell=True)


def test_every_cell_runs(page: tuple[Path, str]) -> None:
    _, printed = page
    assert f"role = {role()}" in printed
    assert "Files successfully uploaded to S3." in printed
    assert "instance_type = ml.t3.medium" in printed
    assert printed.count("Completed - Training job completed") == 3
    assert printed.count("Runtime for training on SageMaker: ") == 3
    assert printed.count("Billable seconds: ") == 3
    # Once here and once in each job's log, which rank 0 writes.
    assert printed.count("validation:accuracy = 0.8") == 4


def test_the_archives_in_the_bucket_are_those_of_the_page(page: tuple[Path, str]) -> None:
    folder, _ = page
    for name in ("train_data.npz", "val_data.npz"):
        body = boto3.client("s3").get_object(Bucket=BUCKET, Key=name)["Body"].read()
        assert body == (folder / name).read_bytes()


def test_two_instances_without_a_distribution_trained_one_model(page: tuple[Path, str]) -> None:
    """The page only says so; an ordinary script would have trained two, side by side."""
    line = next(line for line in page[1].splitlines() if line.startswith("MODELS "))
    trained = [results(address) for address in line.split()[1:]]
    (one, weights), *_, (two, weights_of_two) = trained
    assert [metrics["world_size"] for metrics, _ in trained] == [1, 1, 2]
    rows = [(part["rows"]["start"], part["rows"]["stop"]) for part in two["replicas"]]
    assert rows == [(0, 284), (284, 569)]
    assert two["epochs"] == one["epochs"] and two["accuracy"] == one["accuracy"]
    for name, tensor in weights.items():
        np.testing.assert_allclose(tensor, weights_of_two[name], rtol=0, atol=1e-5)
