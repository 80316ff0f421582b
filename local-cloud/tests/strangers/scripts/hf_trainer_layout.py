# Laid out as for a Hugging Face Trainer: dataclasses become flags, trainer_state.json at the end.
# exit: 0
# log: ***** Running training *****
# log: 'train_loss'
# model: config.json, pytorch_model.bin, trainer_state.json
# hyperparameters: {"model_name_or_path": "tiny/bert-of-our-own", "num_train_epochs": 2, "do_train": true, "per_device_train_batch_size": 8}
# tuned: learning_rate
import argparse
import dataclasses
import json
import logging
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import torch

logger = logging.getLogger(__name__)


@dataclass
class ModelArguments:
    model_name_or_path: str = field(metadata={"help": "Path to pretrained model"})
    cache_dir: Optional[str] = field(default=None, metadata={"help": "Where to store"})


@dataclass
class TrainingArguments:
    output_dir: str = field(default_factory=lambda: os.environ.get("SM_MODEL_DIR", os.environ.get("AIP_MODEL_DIR", "out")))
    do_train: bool = False
    num_train_epochs: float = 3.0
    per_device_train_batch_size: int = 8
    learning_rate: float = 5e-5


def to_bool(v):
    return v if isinstance(v, bool) else v.lower() in ("yes", "true", "t", "y", "1")


def parse(*classes):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for cls in classes:
        for f in dataclasses.fields(cls):
            kind = {"bool": to_bool, "float": float, "int": int}.get(getattr(f.type, "__name__", ""), str)
            extra = {"nargs": "?", "const": True} if kind is to_bool else {}
            default = f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
            if default is dataclasses.MISSING:
                extra["required"] = True
                default = None
            parser.add_argument("--" + f.name, type=kind, default=default, **extra)
    found = vars(parser.parse_args())
    return [cls(**{f.name: found[f.name] for f in dataclasses.fields(cls)}) for cls in classes]


def main():
    model_args, training_args = parse(ModelArguments, TrainingArguments)
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", handlers=[logging.StreamHandler(sys.stdout)], level=logging.INFO)
    out = Path(training_args.output_dir.replace("gs://", "/gcs/"))
    out.mkdir(parents=True, exist_ok=True)
    model = torch.nn.Embedding(100, 16)
    opt = torch.optim.AdamW(model.parameters(), lr=training_args.learning_rate)
    if training_args.do_train:
        logger.info("***** Running training *****")
        for _ in range(int(training_args.num_train_epochs)):
            loss = model(torch.randint(0, 100, (training_args.per_device_train_batch_size, 5))).pow(2).mean()
            loss.backward()
            opt.step()
            opt.zero_grad()
        print({"train_loss": loss.item(), "epoch": training_args.num_train_epochs})
    (out / "config.json").write_text(json.dumps({"_name_or_path": model_args.model_name_or_path}))
    torch.save(model.state_dict(), out / "pytorch_model.bin")
    (out / "trainer_state.json").write_text(json.dumps(dataclasses.asdict(training_args)))


if __name__ == "__main__":
    main()
