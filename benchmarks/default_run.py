"""The default run, judged: `myxtts train` with nothing else, then what it says.

Twenty-four sentences of the training corpus and, for every seed, twenty-four that are made of its words and are not
in it, drawn by that seed, are spoken by `myxtts synthesize` with no flag but those that name the model, the
speaker, the text and the file. Judged by `judge_speech.py` (its docstring says what to install), whose Python
runs this script too:

    python benchmarks/default_run.py target/release/myxtts WORK [--seed 1 --seed 2 ...] [-- further flags of train]
    python benchmarks/default_run.py target/release/myxtts WORK --run RUN     # a run that is there already

WORK is a folder to make. Each set of twenty-four is one closed grammar. Prints one JSON document: seconds of
training, the judgement of the corpus's sentences, and one of the unseen ones for every seed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
import warnings
from pathlib import Path

import judge_speech

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "crates" / "myxtts-data" / "corpus"
VOICES = ("slt", "rms")
COUNT = 24

# The phrases of tools/make-sample-corpus, slot by slot.
SLOTS = [
    "The baker|The sailor|My neighbour|A young doctor|The old farmer|Our captain|Her brother|The teacher",
    "carries|paints|watches|sells|finds|repairs|brings|counts",
    "seven apples|three lamps|a small boat|the broken clock|two letters|an old guitar|five horses|the golden bell",
    "near the river|behind the school|in the quiet market|under the bridge|at the harbour|before sunrise"
    "|after the storm|on a cold morning",
]


def corpus_sentences():
    """The sentences of the corpus, in its order."""
    lines = (CORPUS / "metadata.csv").read_text(encoding="utf-8").splitlines()
    return [line.split("|")[1] for line in lines]


def draw_seen(seed):
    return random.Random(f"seen {seed}").sample(corpus_sentences(), COUNT)


def draw_unseen(seed):
    """Sentences of the corpus's phrases that are not in it."""
    draw, known, drawn = random.Random(f"unseen {seed}"), set(corpus_sentences()), []
    while len(drawn) < COUNT:
        text = " ".join(draw.choice(slot.split("|")) for slot in SLOTS) + "."
        if text not in known and text not in drawn:
            drawn.append(text)
    return drawn


def speak(program, run, texts, folder, environment, flags=()):
    """Says each text, alternating the two voices; what cannot be said is silence."""
    folder.mkdir(parents=True)
    listed = []
    for index, text in enumerate(texts):
        speaker = VOICES[index % len(VOICES)]
        name = f"{index:02}_{speaker}.wav"
        command = [program, "synthesize", "--checkpoint", str(run), "--speaker", speaker]
        command += ["--text", text, "--out", str(folder / name), *flags]
        if subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode != 0:
            silence(folder / name)
        listed.append({"file": name, "text": text, "speaker": speaker})
    (folder / "samples.json").write_text(json.dumps(listed, indent=1))


def silence(path):
    import numpy
    import soundfile

    soundfile.write(path, numpy.zeros(judge_speech.RATE, dtype="float32"), judge_speech.RATE)


class Judges:
    """All three, loaded once. A voice is known by every fifth of its recordings."""

    def __init__(self):
        files = {voice: sorted(CORPUS.glob(f"wavs/{voice}_*"))[::5] for voice in VOICES}
        self.voices = judge_speech.VoiceJudge(files)
        self.transcriber = judge_speech.Transcriber()

    def judge(self, folder):
        samples = judge_speech.read_samples(folder)
        sentences = list(dict.fromkeys(judge_speech.words(sample["text"]) for sample in samples))
        rows = judge_speech.judge(folder, samples, sentences, self.voices, self.transcriber)
        (folder / "judged.json").write_text(json.dumps(rows, indent=1))
        return judge_speech.totals(rows, sentences, VOICES)


def train(program, run, flags, environment):
    begin = time.monotonic()
    command = [program, "train", "--checkpoint-dir", str(run), "--json", *flags]
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE)
    seconds = time.monotonic() - begin
    trained = json.loads(done.stdout)
    return {"seconds": round(seconds, 1), "steps": trained["steps"], "data_wait_pct": trained["data_wait_pct"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--seed", type=int, action="append", help="of a draw of unseen sentences; may be repeated")
    parser.add_argument("--run", type=Path, help="judge this run in place of a new one")
    parser.add_argument("flags", nargs="*")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    seeds = given.seed or [1, 2, 3, 4, 5]
    program = str(given.program.resolve())
    given.work.mkdir(parents=True)
    environment = dict(os.environ, XDG_CACHE_HOME=str(given.work.resolve() / "cache"))
    document = {}
    if given.run is None:
        document = train(program, given.work / "run", given.flags, environment)
    run = given.run or given.work / "run"
    judges = Judges()

    def judged(name, texts):
        speak(program, run, texts, given.work / name, environment)
        return judges.judge(given.work / name)

    document["seen"] = judged("seen", draw_seen(seeds[0]))
    document["unseen"] = {seed: judged(f"unseen_{seed}", draw_unseen(seed)) for seed in seeds}
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    sys.exit(main())
