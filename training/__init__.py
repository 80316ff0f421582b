"""What a training job is sent: train_nn.py, and beside it what some of its flags need."""
