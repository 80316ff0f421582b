# skorch's habits: a torch module inside a scikit-learn estimator, a pipeline, cross-validation.
# exit: 0
# log: best params
import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler


class NeuralNetClassifier(ClassifierMixin, BaseEstimator):
    def __init__(self, hidden=4, max_epochs=5, lr=0.1):
        self.hidden, self.max_epochs, self.lr = hidden, max_epochs, lr

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        torch.manual_seed(0)
        self.module_ = torch.nn.Sequential(torch.nn.Linear(X.shape[1], self.hidden), torch.nn.ReLU(), torch.nn.Linear(self.hidden, 2))
        opt = torch.optim.SGD(self.module_.parameters(), lr=self.lr)
        xt, yt = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y)
        for _ in range(self.max_epochs):
            opt.zero_grad()
            torch.nn.functional.cross_entropy(self.module_(xt), yt).backward()
            opt.step()
        return self

    def predict(self, X):
        with torch.no_grad():
            return self.module_(torch.as_tensor(X, dtype=torch.float32)).argmax(1).numpy()


X = np.random.default_rng(0).normal(size=(120, 5))
y = (X[:, 0] > 0).astype(np.int64)
pipe = Pipeline([("scale", StandardScaler()), ("net", NeuralNetClassifier())])
gs = GridSearchCV(pipe, {"net__lr": [0.05, 0.5], "net__hidden": [4]}, cv=2, scoring="accuracy")
gs.fit(X, y)
print("best params", gs.best_params_, gs.best_score_)
