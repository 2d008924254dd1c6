"""A waveform decoder trained here beside Griffin-Lim, judged on the embedded corpus.

    python benchmarks/decoder.py target/release/myxtts WORK --init RUN [--seed 1 ...] [-- further flags of train]
    python benchmarks/decoder.py target/release/myxtts WORK --run RUN      # a decoder that is there already

Trains `--stage decoder` on the model of RUN (a default run). Then, by both vocoders:

- copies: the held-out clips of the corpus go through the model's codes and back (`myxtts evaluate --copy`), and
  each copy is compared with its recording: PESQ (wideband) and STOI at 16 kHz, and the mel-cepstral distortion
  with alignment of pymcd.
- speech: the sentences of `default_run.py`, of the corpus and not, spoken by `myxtts synthesize` with its defaults, and
  with `--vocoder griffin-lim`, judged as there.

Needs what `judge_speech.py` says, and `pip install pesq pystoi pymcd`. WORK is a folder to make. Prints one JSON
document.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import default_run

RATE = 16_000
VOCODERS = ("hifigan", "griffin-lim")


def train(program, init, run, flags, environment):
    begin = time.monotonic()
    command = [program, "train", "--stage", "decoder", "--init", str(init), "--checkpoint-dir", str(run), "--json"]
    done = subprocess.run([*command, *flags], check=True, env=environment, stdout=subprocess.PIPE)
    seconds = time.monotonic() - begin
    return {"seconds": round(seconds, 1), "steps": json.loads(done.stdout)["steps"]}


def copies(program, run, vocoder, folder, environment):
    """Pairs of files, recording and copy. The page has them in turn."""
    command = [program, "evaluate", "--copy", "--checkpoint", str(run), "--vocoder", vocoder]
    subprocess.run(
        [*command, "--page", str(folder), "--json"], check=True, env=environment, stdout=subprocess.DEVNULL
    )
    files = sorted(folder.glob("*.wav"))
    return list(zip(files[::2], files[1::2]))


def judge_copies(pairs):
    import librosa
    from pesq import pesq
    from pymcd.mcd import Calculate_MCD
    from pystoi import stoi

    mcd = Calculate_MCD(MCD_mode="dtw")
    rows = []
    for recording, copy in pairs:
        waves = [librosa.load(path, sr=RATE)[0] for path in (recording, copy)]
        length = min(map(len, waves))
        real, made = (wave[:length] for wave in waves)
        rows.append(
            (pesq(RATE, real, made, "wb"), stoi(real, made, RATE), mcd.calculate_mcd(str(recording), str(copy)))
        )
    names = ("pesq", "stoi", "mcd_db")
    means = {name: round(statistics.fmean(column), 4) for name, column in zip(names, zip(*rows))}
    return {"clips": len(rows), **means}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--init", type=Path, help="the run whose model gets a decoder")
    parser.add_argument("--run", type=Path, help="judge the decoder of this run in place of a new one")
    parser.add_argument("--seed", type=int, action="append", help="of a draw of unseen sentences; may be repeated")
    parser.add_argument("--copies-only", action="store_true", help="no sentences")
    parser.add_argument("flags", nargs="*")
    given = parser.parse_args()
    if (given.init is None) == (given.run is None):
        parser.error("give --init RUN to train a decoder, or --run RUN to judge one")
    warnings.filterwarnings("ignore")
    program = str(given.program.resolve())
    given.work.mkdir(parents=True)
    environment = dict(os.environ)
    document = {}
    if given.run is None:
        document["training"] = train(program, given.init, given.work / "run", given.flags, environment)
    run = given.run or given.work / "run"
    for vocoder in VOCODERS:
        pairs = copies(program, run, vocoder, given.work / f"copies_{vocoder}", environment)
        document[vocoder] = {"copies": judge_copies(pairs)}
    if not given.copies_only:
        judges = default_run.Judges()
        seeds = given.seed or [1, 2]
        sets = {"seen": default_run.draw_seen(seeds[0])}
        sets |= {f"unseen_{seed}": default_run.draw_unseen(seed) for seed in seeds}
        for name, texts in sets.items():
            for vocoder in VOCODERS:
                flags = [] if vocoder == "hifigan" else ["--vocoder", vocoder]
                folder = given.work / f"{name}_{vocoder}"
                default_run.speak(program, run, texts, folder, environment, flags)
                document[vocoder][name] = judges.judge(folder)
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    sys.exit(main())
