# Reports by cloudml-hypertune, trial or no trial.
# exit: 0
# log: reported accuracy
import hypertune

hpt = hypertune.HyperTune()
for epoch in range(3):
    hpt.report_hyperparameter_tuning_metric(hyperparameter_metric_tag="accuracy", metric_value=0.5 + epoch / 10, global_step=epoch)
print("reported accuracy; loss: 0.5")
