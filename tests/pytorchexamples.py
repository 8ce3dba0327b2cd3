"""PyTorch's examples, run unchanged by `python -m numtorch run`, with small random data in place of what they download.

    git clone https://github.com/pytorch/examples
    python -m tests.pytorchexamples examples --seconds 120 [--only mnist,vae] [--pytorch]

Of each script it says whether it reached its first loss (or its first episode), ran to its end without one (programs that train
nothing, and files that only define things), or stopped, and at what. A script is ended when its first loss is seen. torchvision,
gymnasium, requests and six are small ones of our own (`tests/standins`); no other package is made up. With `--pytorch` the installed
PyTorch runs them, which tells what stops by itself from what numtorch lacks.
"""
from __future__ import annotations

import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
LOSS = re.compile(r"(loss\w*[ :=\t]*|(?<!time )total: |episode )-?\d", re.IGNORECASE)
ARGUMENTS = {
    "dcgan/main.py": "--dataset fake --dry-run --workers 0", "imagenet/main.py": "--dummy -a resnet18 --epochs 1 -b 4 -j 0",
    "mnist/main.py": "--epochs 1 --dry-run", "mnist_rnn/main.py": "--epochs 1 --dry-run",
    "mnist_forward_forward/main.py": "--epochs 1 --no_accel --train_size 256 --test_size 128",
    "mnist_hogwild/main.py": "--epochs 1 --dry-run", "siamese_network/main.py": "--epochs 1 --dry-run",
    "super_resolution/main.py": "--upscale_factor 3 --batchSize 4 --testBatchSize 4 --nEpochs 1 --threads 0",
    "time_sequence_prediction/train.py": "--steps 1", "vae/main.py": "--epochs 1",
    **{f"distributed/ddp-tutorial-series/{name}.py": "1 1" for name in ("single_gpu", "multigpu", "multigpu_torchrun", "multinode")},
    "word_language_model/main.py": "--epochs 1 --log-interval 1", "gcn/main.py": "--epochs 10", "gat/main.py": "--epochs 10",
    "fast_neural_style/neural_style/neural_style.py": "train --dataset . --style-image style.jpg --save-model-dir . --epochs 1 "
                                                      "--image-size 64 --log-interval 1 --batch-size 2",
    "super_resolution/super_resolve.py": "--input_image dataset/BSDS300/images/test/0.jpg --model model.pth --output_filename out.png",
    "word_language_model/generate.py": "--words 40 --log-interval 10", "cpp/dcgan/display_samples.py": "-i samples.pt",
}
# What other programs of the folder would have saved.
SAVED = {
    "super_resolution": "from model import Net; torch.save(Net(3), 'model.pth')",
    "word_language_model": "from model import RNNModel; torch.save(RNNModel('LSTM', 201, 32, 32, 2), 'model.pt')",
    "cpp/dcgan": "torch.jit.script(torch.nn.Conv2d(1, 9, 28)).save('samples.pt')",
}


def prepare(folder: Path, pytorch: bool = False) -> None:
    """Put small random data where the scripts would have downloaded theirs, and models where others would have saved them."""
    first = "" if pytorch else "import numtorch.alias; numtorch.alias.install(); "
    for name, line in SAVED.items():
        subprocess.run([sys.executable, "-c", f"{first}import torch; {line}"],
                       cwd=folder / name, env={**os.environ, "PYTHONPATH": str(HERE.parent)}, check=True)
    random = np.random.default_rng(0)
    words = folder / "word_language_model/data/wikitext-2"
    words.mkdir(parents=True, exist_ok=True)
    for part in ("train", "valid", "test"):
        lines = [" ".join(f"word{i}" for i in random.integers(0, 200, 20)) for _ in range(150)]
        (words / f"{part}.txt").write_text("\n".join(lines))
    pictures = folder / "super_resolution/dataset/BSDS300/images"
    for part in ("train", "test"):
        (pictures / part).mkdir(parents=True, exist_ok=True)
        for i in range(8):
            _picture(random, 300).save(pictures / part / f"{i}.jpg")
    _picture(random, 64).save(folder / "fast_neural_style/neural_style/style.jpg")
    for name in ("gcn", "gat"):
        cora = folder / name / "cora"
        cora.mkdir(exist_ok=True)
        rows = [[i, *random.integers(0, 2, 20), f"class{i % 7}"] for i in range(2000)]
        (cora / "cora.content").write_text("\n".join(" ".join(map(str, row)) for row in rows))
        (cora / "cora.cites").write_text("\n".join(f"{a} {b}" for a, b in np.unique(random.integers(0, 2000, (3000, 2)), axis=0)))


def _picture(random, extent):
    return Image.fromarray(random.integers(0, 256, (extent, extent, 3), dtype=np.uint8))


def attempt(script: Path, arguments: str, seconds: float, pytorch: bool = False) -> tuple[str, str]:
    """How far a script comes: "loss", "end" or "stops", and the last thing it said."""
    program = [script.name] if pytorch else ["-m", "numtorch", "run", script.name]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "MPLBACKEND": "Agg",
                   "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE / "standins")])}
    process = subprocess.Popen([sys.executable, *program, *arguments.split()], cwd=script.parent, env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    late = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
    late.start()
    last = ""
    try:
        for line in process.stdout or ():
            last = line.strip() or last
            if LOSS.search(line):
                return "loss", last
        code = process.wait()
        if code == -signal.SIGKILL:
            return "stops", f"no loss within {seconds:.0f} s; last: {last}"
        return ("end" if code == 0 else "stops"), last
    finally:
        late.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def main() -> None:
    """Run what was asked for, and print a line a script and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--seconds", type=float, default=120, help="for each script")
    parser.add_argument("--pytorch", action="store_true", help="run them under the installed PyTorch")
    parser.add_argument("--only", default="", help="parts of paths, with commas between")
    options = parser.parse_args()
    counts: collections.Counter = collections.Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "examples"
        shutil.copytree(options.checkout, folder, ignore=shutil.ignore_patterns(".git"))
        prepare(folder, options.pytorch)
        scripts = sorted(str(p.relative_to(folder)) for p in folder.rglob("*.py"))
        for name in scripts:
            if any(part in name for part in options.only.split(",")):
                how, last = attempt(folder / name, ARGUMENTS.get(name, ""), options.seconds, options.pytorch)
                counts[how] += 1
                print(f"{how:6}{name}  {last[:160]}", flush=True)
    print(", ".join(f"{how}: {count}" for how, count in counts.items()))


if __name__ == "__main__":
    main()
