"""JupyterLab for learners: `make lab`, `make hub`, and notebooks that are alone in Colab."""
