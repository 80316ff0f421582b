# Saves whole objects, classes of the script itself among them, loads them again and goes on.
# exit: 0
# log: resumed at epoch 3
# log: finished epoch 5
# model: checkpoint.tar, whole_model.pt
import copy
import os
import pickle
import shutil

import torch


class MyModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.l(x)


MODEL_DIR = os.environ.get('SM_MODEL_DIR', os.environ.get('AIP_MODEL_DIR', 'out')).replace('gs://', '/gcs/')
os.makedirs(MODEL_DIR, exist_ok=True)
PATH = os.path.join(MODEL_DIR, 'checkpoint.tar')


def train(start, end):
    model = MyModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    if start:
        state = torch.load(PATH, weights_only=False)
        model.load_state_dict(state['model_state_dict'])
        optimizer.load_state_dict(state['optimizer_state_dict'])
        torch.set_rng_state(state['rng'])
        print('resumed at epoch', state['epoch'])
    for epoch in range(start, end):
        loss = model(torch.randn(10, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.save({'epoch': epoch + 1, 'model_state_dict': model.state_dict(), 'rng': torch.get_rng_state(),
                    'optimizer_state_dict': optimizer.state_dict(), 'loss': loss}, PATH + '.tmp')
        shutil.move(PATH + '.tmp', PATH)
    print('finished epoch', end)
    return model


train(0, 3)
model = train(3, 5)
torch.save(model, MODEL_DIR + '/whole_model.pt')
again = torch.load(MODEL_DIR + '/whole_model.pt', weights_only=False)
assert type(again) is MyModel
assert type(pickle.loads(pickle.dumps(copy.deepcopy(model)))) is MyModel
