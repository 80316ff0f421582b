# scikit-learn with n_jobs=2 (threads and loky's processes), the model kept by joblib.
# exit: 0
# log: Accuracy:
# log: squares [0, 1, 4, 9]
# model: model.joblib
import argparse
import os

import joblib
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split


def square(n):
    return n * n


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--n-estimators', type=int, default=10)
    parser.add_argument('--model-dir', type=str, default=os.environ.get('SM_MODEL_DIR', os.environ.get('AIP_MODEL_DIR')))
    args, _ = parser.parse_known_args()
    X, y = make_classification(n_samples=200, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = RandomForestClassifier(n_estimators=args.n_estimators, n_jobs=2).fit(X_train, y_train)
    print('Accuracy:', model.score(X_test, y_test))
    print('squares', Parallel(n_jobs=2)(delayed(square)(i) for i in range(4)))
    folder = args.model_dir.replace('gs://', '/gcs/')
    os.makedirs(folder, exist_ok=True)
    joblib.dump(model, os.path.join(folder, 'model.joblib'))
